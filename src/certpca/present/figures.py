"""Figures. matplotlib loads when the first one is drawn."""

from typing import Any

import numpy as np

from certpca.arrays import Vector
from certpca.errors import DataFileError
from certpca.sparsity_path import Path

SIZE = (6.4, 4.0)
# Okabe & Ito's colours, which colour-blind readers tell apart.
FOUND, PROVED, CRITERION = "#0072B2", "#D55E00", "#009E73"


def draw_path(path: Path, ax: Any = None) -> Any:
    """Draw what is captured at each sparsity and, where it is proved, the band that holds the optimum."""
    ax = _axes(ax)
    sparsities, bounds = path.sparsities, path.upper_bounds
    proved = np.isfinite(bounds)
    if proved.any():
        ax.fill_between(
            sparsities[proved],
            path.objectives[proved],
            bounds[proved],
            color=PROVED,
            alpha=0.25,
            linewidth=0,
            label="where the optimum can be",
        )
        ax.plot(sparsities[proved], bounds[proved], color=PROVED, linewidth=1.2, label="proved upper bound")
    ax.plot(sparsities, path.objectives, color=FOUND, marker="o", markersize=4, linewidth=1.5, label="captured")
    if sparsities[-1] > 50 * sparsities[0]:
        ax.set_xscale("log")
    ax.set_xlabel("number of nonzero loadings")
    ax.set_ylabel("variance captured")
    ax.grid(alpha=0.3)
    ax.legend(loc="lower right", fontsize=8)
    return ax


def draw_choice(path: Path, scores: Vector, errors: Vector, label: str, chosen: int, ax: Any = None) -> Any:
    """Draw a path with the criterion on an axis of its own and the recommended sparsity marked."""
    ax = draw_path(path, ax)
    other = ax.twinx()
    style = {"color": CRITERION, "marker": "s", "markersize": 3, "linestyle": "--", "linewidth": 1, "label": label}
    if errors.any():
        other.errorbar(path.sparsities, scores, yerr=errors, capsize=2, **style)
    else:
        other.plot(path.sparsities, scores, **style)
    other.set_ylabel(label, color=CRITERION)
    ax.axvline(chosen, color="black", linewidth=1, linestyle=":", label=f"recommended: {chosen}")
    handles, labels = ax.get_legend_handles_labels()
    more_handles, more_labels = other.get_legend_handles_labels()
    ax.legend(handles + more_handles, labels + more_labels, loc="lower right", fontsize=8)
    return ax


def save_path(path: Path, file: str) -> None:
    """Draw a path into a file; its ending says the format."""
    from matplotlib.figure import Figure  # without pyplot, so that no window system is asked for

    figure = Figure(figsize=SIZE, layout="constrained")
    draw_path(path, figure.subplots())
    try:
        figure.savefig(file, dpi=150)
    except ValueError as error:  # an ending that matplotlib does not know
        msg = f"the figure cannot be written to {file}: {error}"
        raise DataFileError(msg) from error


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=SIZE, layout="constrained")[1]
