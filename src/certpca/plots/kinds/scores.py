"""Samples by their scores on two components."""

from collections.abc import Sequence
from typing import Any

from certpca.plots.axes import legend
from certpca.plots.groups import draw_ellipses, draw_names, draw_points
from certpca.runtime.arrays import Vector

NAMED = 12  # samples with their names beside them


def draw(
    ax: Any,
    first: Vector,
    second: Vector,
    groups: Sequence[int],
    names: Sequence[str],
    labels: tuple[str, str] = ("component 1", "component 2"),
    *,
    ellipses: float | None = None,
    texts: Sequence[str] | None = None,
    named: int = NAMED,
) -> None:
    """Draw a point for each sample; groups are numbered from 0, -1 is all others and has the last name.

    `ellipses` is the share of a normal distribution that one for each group holds; `texts` are names of samples, of
    which so many are written, those farthest out.
    """
    draw_points(ax, first, second, groups, names)
    if ellipses is not None:
        draw_ellipses(ax, first, second, groups, ellipses)
    if texts is not None:
        draw_names(ax, first, second, texts, named)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    legend(ax)
