"""How often half-samples select features."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.plots.axes import legend, name_rows
from certpca.plots.palette import FOUND, INK, LINE

ROW_HEIGHT = 0.19  # inches


def draw(
    ax: Any, names: Sequence[str], frequencies: Sequence[float], inside: Sequence[bool], *, stable: float | None = None
) -> None:
    """Draw a bar for each feature, the first on top, those `inside` the component apart from others; mark a share."""
    places, shares, within = np.arange(len(names)), 100 * np.asarray(frequencies), np.asarray(inside, dtype=bool)
    for chosen, colour, label, gid in (
        (within, FOUND, "in the component", "found"),
        (~within, LINE, "not in it", "rest"),
    ):
        if chosen.any():
            ax.barh(places[chosen], shares[chosen], color=colour, height=0.8, label=label, gid=gid)
    if stable is not None:
        ax.axvline(100 * stable, color=INK, linewidth=1, linestyle=":", label=f"stable: {stable:.0%}")
    name_rows(ax, names)
    ax.set_xlim(0, 100)
    ax.set_axisbelow(True)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.set_xlabel("half-samples that select it, %")
    legend(ax, "lower right")


def height(names: Sequence[str], *_: Any, **__: Any) -> float:
    """Return the inches that the names need."""
    return 0.9 + ROW_HEIGHT * len(names)
