"""Scores on every two of several components, and on the diagonal how those on each are spread."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.plots.axes import legend
from certpca.plots.groups import draw_points, kinds, look
from certpca.plots.palette import LINE
from certpca.runtime.arrays import Vector

MOST = 6  # components that fit
INSET = 0.06  # of a panel, on each side
BINS = 24
SIDE = 1.15  # inches of a panel


def draw(
    ax: Any,
    scores: Vector,
    groups: Sequence[int],
    names: Sequence[str],
    labels: Sequence[str] | None = None,
) -> None:
    """Draw samples x components; panels share one axes, and each component fills the width and height of its own."""
    count = min(scores.shape[1], MOST)
    low, high = scores.min(axis=0), scores.max(axis=0)
    placed = INSET + (1 - 2 * INSET) * (scores - low) / np.where(high > low, high - low, 1.0)
    for row in range(count):
        for column in range(count):
            if row == column:
                _spread(ax, placed[:, row], groups, row)
            else:
                first = row == 1 and column == 0
                draw_points(
                    ax, placed[:, column] + column, row + 1 - placed[:, row], groups, names if first else [], 2.2
                )
    for edge in range(count + 1):
        ax.axvline(edge, color=LINE, linewidth=0.8)
        ax.axhline(edge, color=LINE, linewidth=0.8)
    told = labels or [f"component {j + 1}" for j in range(count)]
    ax.set_xlim(0, count)
    ax.set_ylim(count, 0)
    ax.set_xticks(np.arange(count) + 0.5, told[:count])
    ax.set_yticks(np.arange(count) + 0.5, [name.split(" (")[0] for name in told[:count]], rotation=90, va="center")
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_xlabel(
        "scores on components" if count == scores.shape[1] else f"scores on the first {count} of {scores.shape[1]}"
    )
    if names and count > 1:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(len(names), 4), fontsize=8, markerscale=1.6)
    elif names:
        legend(ax)


def height(scores: Vector, *_: Any, **__: Any) -> float:
    """Return the inches that the panels need."""
    return float(1.0 + SIDE * min(scores.shape[1], MOST))


def _spread(ax: Any, values: Vector, groups: Sequence[int], place: int) -> None:
    """Draw histograms of the groups, one over the other, in a panel of the diagonal."""
    numbers, edges = np.asarray(groups), np.linspace(INSET, 1 - INSET, BINS + 1)
    counts = {kind: np.histogram(values[numbers == kind], edges)[0] for kind in kinds(groups)}
    tallest = max(int(count.max(initial=0)) for count in counts.values()) or 1
    for kind, count in counts.items():
        tops = place + 1 - INSET - (1 - 2 * INSET) * count / tallest
        ax.stairs(tops, edges + place, baseline=place + 1 - INSET, color=look(kind)["color"], fill=True, alpha=0.45)
