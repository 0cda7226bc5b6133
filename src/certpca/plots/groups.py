"""Samples in groups: points of one look for each, ellipses around them, and names beside them."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from certpca.plots.axes import shortened
from certpca.plots.palette import GROUPS, SHAPES, SOFT
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError

MOST_POINTS = 4000  # beyond, a drawing shows some of the samples
MOST_GROUPS = 14  # that a legend holds
CORNERS = 72  # of an ellipse
LEAST = 3  # points that have an ellipse


def shown(samples: int) -> Indices:
    """Pick samples evenly, so that there are not too many points."""
    return np.arange(0, samples, math.ceil(samples / MOST_POINTS))


def grouped(labels: Sequence[str] | None, samples: int) -> tuple[list[int], list[str]]:
    """Give the largest groups a number each, and all others -1; name and count them."""
    if labels is None:
        return [0] * samples, []
    sizes = Counter(labels)
    kept = sorted(sizes, key=lambda label: (-sizes[label], label))
    if len(kept) > MOST_GROUPS:
        kept = kept[: MOST_GROUPS - 1]
    kept.sort()
    names = [f"{shortened(' '.join(label.split())) or '(none)'} ({sizes[label]:,})" for label in kept]
    rest = samples - sum(sizes[label] for label in kept)
    if rest:
        names.append(f"{len(sizes) - len(kept)} other labels ({rest:,})")
    places = {label: place for place, label in enumerate(kept)}
    return [places.get(label, -1) for label in labels], names


def kinds(groups: Sequence[int]) -> list[int]:
    """Return the groups in the order of a legend: -1, all others, comes last."""
    return sorted(set(groups), key=lambda group: (group < 0, group))


def look(kind: int) -> dict[str, Any]:
    """Return how the points of a group are drawn."""
    return {
        "linestyle": "none",
        "marker": SHAPES[(kind + kind // len(GROUPS)) % len(SHAPES)] if kind >= 0 else "o",
        "color": GROUPS[kind % len(GROUPS)] if kind >= 0 else SOFT,
        "markeredgewidth": 0,
        "alpha": 0.8,
    }


def group_id(kind: int) -> str:
    """Return the name of a group's points in a drawing."""
    return f"group{kind}" if kind >= 0 else "others"


def members(groups: Sequence[int]) -> Iterator[tuple[int, Indices]]:
    """Return the samples of each group that are drawn."""
    drawn = shown(len(groups))
    numbers = np.asarray(groups)[drawn]
    for kind in kinds(groups):
        yield kind, drawn[numbers == kind]


def draw_points(
    ax: Any, first: Vector, second: Vector, groups: Sequence[int], names: Sequence[str], size: float = 3.5
) -> None:
    """Draw a point for each sample; groups are numbered from 0, -1 is all others and has the last name."""
    for kind, chosen in members(groups):
        # A label that begins with an underscore would be left out.
        label = f" {names[kind]}" if names else None
        ax.plot(first[chosen], second[chosen], markersize=size, label=label, gid=group_id(kind), **look(kind))


def draw_ellipses(ax: Any, first: Vector, second: Vector, groups: Sequence[int], share: float) -> None:
    """Draw for each group the ellipse that holds such a share of a normal distribution with its mean and covariance."""
    if not 0 < share < 1:
        msg = f"ellipses must lie in (0, 1), the share of a normal distribution that they hold; got {share!r}"
        raise InvalidProblemError(msg)
    numbers = np.asarray(groups)
    angle = np.linspace(0, 2 * np.pi, CORNERS + 1)
    circle = np.sqrt(-2 * math.log1p(-share)) * np.stack([np.cos(angle), np.sin(angle)])
    for kind in kinds(groups):
        points = np.stack([first[numbers == kind], second[numbers == kind]])
        if kind < 0 or points.shape[1] < LEAST:
            continue
        values, vectors = np.linalg.eigh(np.cov(points))
        line = points.mean(axis=1, keepdims=True) + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
        ax.plot(*line, color=look(kind)["color"], linewidth=1.2, gid=f"ellipse{kind}")


def draw_names(ax: Any, first: Vector, second: Vector, texts: Sequence[str], most: int) -> None:
    """Write names beside the samples that lie farthest out, at most so many."""
    if len(texts) != first.size:
        msg = f"there must be one name for each of the {first.size} samples, got {len(texts)}"
        raise InvalidDataError(msg)
    centre = [np.median(first), np.median(second)]
    spread = [np.ptp(first) or 1.0, np.ptp(second) or 1.0]
    far = ((first - centre[0]) / spread[0]) ** 2 + ((second - centre[1]) / spread[1]) ** 2
    for sample in np.argsort(-far, kind="stable")[:most]:
        where = {"xy": (first[sample], second[sample]), "xytext": (4, 2), "textcoords": "offset points"}
        ax.annotate(str(texts[sample]), fontsize=7, parse_math=False, **where)
