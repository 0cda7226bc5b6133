"""Variances of dense components, the largest first, what they have to exceed, and what sparse ones capture."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.plots.axes import legend, variance
from certpca.plots.palette import GROUPS, INK, PROVED, SHAPES, SOFT
from certpca.runtime.arrays import Vector

MOST = 30  # components that are drawn, unless more are recommended
BEYOND = 1.5  # as many as are recommended, to show what comes after


def draw(
    ax: Any,
    eigenvalues: Vector,
    *,
    thresholds: Mapping[str, Vector] | None = None,
    sparse: Mapping[str, Vector] | None = None,
    total: float | None = None,
    chosen: int | None = None,
) -> None:
    """Draw eigenvalues, `thresholds` for them and variances of `sparse` components, each with a name.

    `total` is the variance that shares are of, `chosen` a number of components to point out.
    """
    unit = variance(ax.yaxis, total)
    count = min(len(eigenvalues), max(MOST, int(BEYOND * (chosen or 0)) + 2))
    places = np.arange(1, count + 1)
    ax.plot(places, eigenvalues[:count] / unit, color=INK, marker="o", markersize=3.5, label="dense components")
    for name, limits in (thresholds or {}).items():
        ax.plot(places, limits[:count] / unit, color=PROVED, linestyle="--", linewidth=1.2, label=name)
    for j, (name, captured) in enumerate((sparse or {}).items()):
        style = {"marker": SHAPES[(j + 1) % len(SHAPES)], "markersize": 5, "linestyle": "-", "linewidth": 1}
        colour = GROUPS[j % len(GROUPS)]
        ax.plot(np.arange(1, len(captured) + 1), np.asarray(captured) / unit, color=colour, label=name, **style)
    if chosen:
        ax.axvline(chosen + 0.5, color=SOFT, linewidth=1, linestyle=":", label=f"recommended: {chosen:,}")
    ax.set_ylim(bottom=0.0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("component")
    legend(ax, "upper right")
