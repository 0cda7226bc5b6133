"""What is captured at each sparsity and, where it is proved, the band that holds the optimum."""

from typing import Any

import numpy as np

from certpca.plots.axes import WIDE, legend, logarithmic, variance
from certpca.plots.palette import FOUND, PROVED, SOFT
from certpca.results.path import Path


def draw(ax: Any, path: Path, *, total: float | None = None, marked: int | None = None) -> None:
    """Draw a path; `total` is the variance that shares are of, `marked` a sparsity to point out."""
    unit = variance(ax.yaxis, total)
    sparsities, captured, bounds = path.sparsities, path.objectives / unit, path.upper_bounds / unit
    ax.plot(sparsities, captured, color=FOUND, marker="o", markersize=4, zorder=3, label="captured", gid="found")
    if marked is not None and sparsities[0] <= marked <= sparsities[-1]:
        ax.axvline(marked, color=SOFT, linewidth=1.2, linestyle=":", label=f"this report: {marked:,}", gid="mark")
    proved = np.isfinite(bounds)
    if proved.any():
        known = sparsities[proved]
        ax.plot(known, bounds[proved], color=PROVED, linestyle="--", label="proved upper bound", gid="proved")
        band = {"color": PROVED, "alpha": 0.22, "linewidth": 0, "label": "where the optimum can be", "gid": "band"}
        ax.fill_between(known, captured[proved], bounds[proved], **band)
    if sparsities[-1] > WIDE * sparsities[0]:
        logarithmic(ax.xaxis)
    ax.set_ylim(0.0, 1.06 * max([*captured, *bounds[proved]]) or 1.0)
    ax.set_xlabel("number of nonzero loadings")
    legend(ax, "lower right")
