"""A path, the criterion by which a sparsity was chosen, and the choice."""

from typing import Any

from certpca.plots.axes import legend
from certpca.plots.kinds import path as path_plot
from certpca.plots.palette import CRITERION, INK
from certpca.results.path import Path
from certpca.runtime.arrays import Vector


def draw(ax: Any, path: Path, scores: Vector, errors: Vector, criterion: str, chosen: int) -> None:
    """Draw a path with the criterion on an axis of its own and the recommended sparsity marked."""
    path_plot.draw(ax, path)
    other = ax.twinx()
    other.grid(visible=False)
    style = {"color": CRITERION, "marker": "s", "markersize": 3, "linestyle": "--", "linewidth": 1}
    other.errorbar(path.sparsities, scores, yerr=errors if errors.any() else None, capsize=2, **style)
    other.set_ylabel(criterion, color=CRITERION)
    ax.plot([], [], label=criterion, **style)  # one legend for both axes
    ax.axvline(chosen, color=INK, linewidth=1, linestyle=":", label=f"recommended: {chosen}")
    legend(ax, "lower right")
