"""Loadings of markers along the genome."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.genotypes.chromosomes import plain_names
from certpca.genotypes.markers import MarkerPanel
from certpca.plots.palette import GROUPS, LINE, SHAPES, SOFT
from certpca.runtime.arrays import Vector

ORDER = {name: number for number, name in enumerate(["X", "Y", "XY", "MT"], 1000)}
BETWEEN = 0.006  # of the genome, left free between chromosomes
CLOSEST = 0.026  # of the genome, between names of chromosomes


def draw(ax: Any, panel: MarkerPanel, spans: Mapping[str, int] | None = None) -> None:
    """Draw a stem for each loading, filled where the marker is proved to be in every best choice of so many variants.

    Parameters
    ----------
    ax
        Axes of matplotlib.
    panel
        The markers.
    spans
        How long chromosomes are, by plain name; by default each ends with its last marker.
    """
    plain = plain_names(panel.chromosomes)
    lengths = {name: int(panel.positions[plain == name].max()) for name in dict.fromkeys(plain)}
    for name, length in (spans or {}).items():
        lengths[name] = max(length, lengths.get(name, 0))
    names = sorted(lengths, key=_order)
    gap = BETWEEN * sum(lengths.values())
    begins, end = {}, 0.0
    for number, name in enumerate(names):
        begins[name] = end
        if number % 2:
            ax.axvspan(end - gap / 2, end + lengths[name] + gap / 2, color=LINE, alpha=0.45, linewidth=0, zorder=0)
        end += lengths[name] + gap
    places = panel.positions + np.array([begins[name] for name in plain])
    for number in range(panel.n_components):
        _stems(ax, places, panel, number)
    _name_chromosomes(ax, names, begins, lengths, end)
    ax.axhline(0.0, color=SOFT, linewidth=0.8)
    ax.set_xlim(-gap, end)
    ax.set_xlabel("chromosome")
    ax.set_ylabel("loading")
    ax.grid(visible=False, axis="x")
    # Above, where no stem is.
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize=8)


def _stems(ax: Any, places: Vector, panel: MarkerPanel, number: int) -> None:
    """Draw one component."""
    loadings, proved = panel.loadings[:, number], panel.proved[:, number]
    colour, shape = GROUPS[number % len(GROUPS)], SHAPES[number % len(SHAPES)]
    used = loadings != 0
    ax.vlines(places[used], 0.0, loadings[used], color=colour, linewidth=0.9, alpha=0.6)
    which = f"component {number + 1}: " if panel.n_components > 1 else ""
    for marks, face, text in (
        (used & (proved == 1), colour, "in every best choice, proved"),
        (used & (proved == 0), "none", "in the best choice known"),
        (used & (proved < 0), colour, "in the best choice known"),
    ):
        if marks.any():
            ax.plot(
                places[marks],
                loadings[marks],
                linestyle="none",
                marker=shape,
                markersize=5,
                markerfacecolor=face,
                markeredgecolor=colour,
                label=f"{which}{text} ({int(marks.sum())})",
            )


def _name_chromosomes(
    ax: Any, names: list[str], begins: Mapping[str, float], lengths: Mapping[str, int], end: float
) -> None:
    """Write names below the middle of chromosomes, but for those too near to the one before."""
    shown, last = [], -np.inf
    for name in names:
        middle = begins[name] + lengths[name] / 2
        if middle - last >= CLOSEST * end:
            shown.append((middle, name))
            last = middle
    ax.set_xticks([place for place, _ in shown], [name for _, name in shown], fontsize=7)
    ax.tick_params(axis="x", length=0)


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdigit() else (ORDER.get(name, 2000), name)
