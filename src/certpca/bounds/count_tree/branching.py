"""Where to split a cell: at a group of whose features the competing directions choose different numbers.

The density of a cell's bound has a few leading eigenvectors. Each, after some steps of a power method with
thresholding, chooses features as a support of the cell would. A group that is the choice of one of them, or one that is
there, is worth splitting if the numbers chosen from it differ; the split is at their mean, which suits none of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from certpca.bounds.count_tree.cells import Cell
from certpca.runtime.arrays import Indices, Vector

DIRECTIONS = 6  # eigenvectors that are looked at,
SHARE = 2e-3  # with at least so much of the density
POWER_STEPS = 2
MOST_GROUPS = 3  # of a cell: there are up to eight vertices then
RATHER_OLD = 0.7  # of what a new group promises, for which one that is there is split again
MIDDLE = 0.3  # share of an interval that is on either side of a split at least


class Cut(NamedTuple):
    """Split at a group that is there, by its position, or at a new one; `suggested` are the features chosen."""

    position: int | None
    fresh: Indices | None
    most: int
    suggested: list[Indices]


def cut(
    cell: Cell, parts: Sequence[Indices], along: Vector, density: Vector, sparsity: int, first: Vector | None = None
) -> Cut | None:
    """Choose a group and a number; none where no direction disagrees. `first` is a direction to begin with."""
    values, vectors = np.linalg.eigh((density + density.T) / 2)
    leading = [number for number in range(values.size)[::-1] if values[number] > SHARE][:DIRECTIONS]
    directions, shares = [vectors[:, number] for number in leading], values[leading]
    if first is not None:
        directions, shares = [first, *directions], np.append(shares[0], shares)
    shares = shares / shares.sum()
    chosen = np.array([_choice(cell, parts, along, direction, sparsity) for direction in directions])
    best: tuple[float, int | None, Indices | None, float] | None = None
    for there, mine in enumerate(parts[1:]):
        counts = chosen[:, mine].sum(axis=1)
        best = _better(best, _spread(counts, shares), there, None, float(shares @ counts))
    old = best
    for number in range(len(directions) if len(parts) <= MOST_GROUPS else 0):
        mine = parts[0][chosen[number][parts[0]]]
        if 1 < mine.size < parts[0].size:
            counts = chosen[:, mine].sum(axis=1)
            gain = _spread(counts, shares) * (2.0 if number == 0 and first is not None else RATHER_OLD)
            best = _better(best, gain, None, mine, float(shares @ counts))
    suggested = [np.flatnonzero(some) for some in chosen]
    if best is None or best[0] < 0.5:  # not even one feature: halve the widest interval there is, or make one
        if old is not None:
            return _halved(cell, suggested)
        return None if suggested[0].size == parts[0].size else Cut(None, suggested[0], sparsity // 2, suggested)
    _, position, fresh, mean = best
    low, high = (0, fresh.size) if fresh is not None else cell.counts[position or 0]
    high = min(high, sparsity)
    if high <= low:
        return _halved(cell, suggested)
    margin = MIDDLE * (high - low)
    most = int(np.clip(round(mean), low + margin, high - margin - 1))
    return Cut(position, fresh, min(max(most, low), high - 1), suggested)  # both sides hold something


def _spread(counts: Vector, shares: Vector) -> float:
    return float(shares @ np.abs(counts - shares @ counts))


def _better(
    best: tuple[float, int | None, Indices | None, float] | None,
    gain: float,
    position: int | None,
    fresh: Indices | None,
    mean: float,
) -> tuple[float, int | None, Indices | None, float]:
    return best if best is not None and best[0] >= gain else (gain, position, fresh, mean)


def _halved(cell: Cell, suggested: list[Indices]) -> Cut | None:
    widths = [high - low for low, high in cell.counts]
    position = int(np.argmax(widths))
    low, high = cell.counts[position]
    return None if high <= low else Cut(position, None, (low + high) // 2, suggested)


def _choice(cell: Cell, parts: Sequence[Indices], along: Vector, direction: Vector, sparsity: int) -> Vector:
    """Mark the features that a direction chooses, after it was turned towards what it chooses."""
    for _ in range(POWER_STEPS):
        mine = along[_chosen(cell, parts, (along @ direction) ** 2, sparsity)]
        direction = mine.T @ (mine @ direction)
        direction = direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
    return _chosen(cell, parts, (along @ direction) ** 2, sparsity)


def _chosen(cell: Cell, parts: Sequence[Indices], energies: Vector, sparsity: int) -> Vector:
    """Mark the largest entries that a support of the cell can have."""
    marked, free = np.zeros(energies.size, dtype=bool), np.full(energies.size, -np.inf)
    free[parts[0]] = energies[parts[0]]
    for mine, (low, high) in zip(parts[1:], cell.counts, strict=True):
        order = mine[np.argsort(-energies[mine], kind="stable")]
        marked[order[:low]] = True
        free[order[low:high]] = energies[order[low:high]]
    left = sparsity - int(marked.sum())
    if left > 0:
        marked[np.argpartition(-free, left - 1)[:left]] = True
    return marked
