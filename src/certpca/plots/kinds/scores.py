"""Samples by their scores on two components."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.plots.axes import legend
from certpca.plots.palette import GROUPS, SHAPES, SOFT
from certpca.runtime.arrays import Indices, Vector

MOST_POINTS = 4000  # beyond, a drawing shows some of the samples


def shown(samples: int) -> Indices:
    """Pick samples evenly, so that there are not too many points."""
    return np.arange(0, samples, math.ceil(samples / MOST_POINTS))


def draw(
    ax: Any,
    first: Vector,
    second: Vector,
    groups: Sequence[int],
    names: Sequence[str],
    labels: tuple[str, str] = ("component 1", "component 2"),
) -> None:
    """Draw a point for each sample; groups are numbered from 0, -1 is all others and has the last name."""
    drawn = shown(first.size)
    numbers = np.asarray(groups)[drawn]
    for kind in sorted(set(groups), key=lambda group: (group < 0, group)):
        chosen = drawn[numbers == kind]
        name = names[kind] if names else ""
        ax.plot(
            first[chosen],
            second[chosen],
            linestyle="none",
            marker=SHAPES[(kind + kind // len(GROUPS)) % len(SHAPES)] if kind >= 0 else "o",
            markersize=3.5,
            color=GROUPS[kind % len(GROUPS)] if kind >= 0 else SOFT,
            markeredgewidth=0,
            alpha=0.8,
            label=f" {name}" if names else None,  # a label that begins with an underscore would be left out
            gid=f"group{kind}" if kind >= 0 else "others",
        )
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    legend(ax)
