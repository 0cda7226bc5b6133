"""Sums of the largest shares over supports with so many features of each block, exact and smoothed, compiled.

`labels` are the blocks of features, `least` and `most` how many of each a support has.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from certpca.bounds.pair_bound.sums import fill_shares, smooth_top_sum
from certpca.runtime.arrays import Indices, Mask, Vector

EXCEEDED = 1e-9  # by a smoothed count


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The block of each feature, and at least and at most how many of each block a support has."""

    labels: Indices
    least: Indices
    most: Indices

    @classmethod
    def free(cls, size: int, sparsity: int) -> "Counts":
        """Return those of supports that may have any features."""
        return cls(np.zeros(size, dtype=np.intp), np.array([0]), np.array([sparsity]))


@njit(cache=True, nogil=True)
def _largest(values: Vector, labels: Indices, budget: int, least: Indices, most: Indices, floor: float) -> float:
    """Sum the largest values that make up a support; those below the floor count as that."""
    order = np.argsort(-values)
    taken, used, total, left = np.zeros(values.size, np.bool_), np.zeros(least.size, np.intp), 0.0, budget
    for place in order:
        block = labels[place]
        if used[block] < least[block] and left > 0:
            taken[place] = True
            used[block] += 1
            left -= 1
            total += max(values[place], floor)
    for place in order:
        if left <= 0 or values[place] <= floor:
            break
        block = labels[place]
        if not taken[place] and used[block] < most[block]:
            used[block] += 1
            left -= 1
            total += values[place]
    return total + (left * floor if left > 0 and floor > -np.inf else 0.0)


@njit(cache=True, nogil=True)
def counted_total(
    shares: Vector, budget: int, labels: Indices, least: Indices, most: Indices, floor: float = -np.inf
) -> float:
    """Return T over such supports."""
    size = shares.shape[0]
    sums, entries, others = np.empty(size), np.empty(size - 1), np.empty(size - 1, labels.dtype)
    for row in range(size):
        _without(shares, row, labels, entries, others)
        few, many = _less(least, labels[row]), _less(most, labels[row])
        sums[row] = shares[row, row] + _largest(entries, others, budget - 1, few, many, floor)
    return _largest(sums, labels, budget, least, most, floor)


@njit(cache=True, nogil=True)
def _without(shares: Vector, row: int, labels: Indices, entries: Vector, others: Indices) -> None:
    """Copy the entries of a row but its own, and their blocks."""
    count = 0
    for column in range(shares.shape[0]):
        if column != row:
            entries[count] = shares[row, column]
            others[count] = labels[column]
            count += 1


@njit(cache=True, nogil=True)
def _less(counts: Indices, block: int) -> Indices:
    """Return how many others there are beside one of a block."""
    counts = counts.copy()
    counts[block] = max(counts[block] - 1, 0)
    return counts


@njit(cache=True, nogil=True)
def smooth_counted_sum(
    values: Vector,
    labels: Indices,
    budget: int,
    least: Indices,
    most: Indices,
    smoothing: float,
    weights: Vector,
    start: float,
    floor: float = -np.inf,
) -> tuple[float, float]:
    """Smooth the sum as `smooth_top_sum` does; its derivatives go to `weights`.

    Blocks of which too many are chosen give as many as they may, or those of which too few are as many as they must,
    whichever are further off, and the places that are left go to the others.
    """
    value, level = smooth_top_sum(values, budget, smoothing, weights, start, floor)
    first, total, left = level, 0.0, budget
    settled = np.zeros(least.size, np.bool_)
    used = np.zeros(least.size)
    for _ in range(least.size):
        used[:] = 0.0
        for place in range(values.size):
            used[labels[place]] += weights[place]
        over = under = 0.0
        for block in range(least.size):
            if not settled[block]:
                over += max(used[block] - most[block], 0.0)
                under += max(least[block] - used[block], 0.0)
        if max(over, under) <= EXCEEDED:
            break
        for block in range(least.size):
            if settled[block]:
                continue
            beyond = used[block] - most[block] if over >= under else least[block] - used[block]
            if beyond > 0:
                count = most[block] if over >= under else least[block]
                total += _smooth_part(values, labels == block, count, smoothing, weights, level, floor)[0]
                settled[block] = True
                left -= count
        rest: Mask = np.zeros(values.size, np.bool_)
        for place in range(values.size):
            rest[place] = not settled[labels[place]]
        value, level = _smooth_part(values, rest, max(left, 0), smoothing, weights, level, floor)
    return total + value, first


@njit(cache=True, nogil=True)
def _smooth_part(
    values: Vector, part: Mask, count: int, smoothing: float, weights: Vector, start: float, floor: float
) -> tuple[float, float]:
    """Smooth the sum over a part of the values."""
    own = values[part]
    if own.size == 0:
        return 0.0, start
    shares = np.empty(own.size)
    result = smooth_top_sum(own, count, smoothing, shares, start, floor)
    weights[part] = shares
    return result


@njit(cache=True, nogil=True)
def smooth_counted_rows(
    u: Vector,
    k: Vector,
    alpha: Vector,
    budget: int,
    labels: Indices,
    least: Indices,
    most: Indices,
    smoothing: float,
    levels: Vector,
    shares: Vector,
    weights: Vector,
    prices: Vector,
    floor: float = -np.inf,
) -> Vector:
    """Fill the shares less prices, and return smoothed row sums with their derivatives in `weights`."""
    size = u.shape[0]
    sums, entries, part = np.empty(size), np.empty(size - 1), np.empty(size - 1)
    others = np.empty(size - 1, labels.dtype)
    fill_shares(u, k, alpha, prices, shares)
    for row in range(size):
        _without(shares, row, labels, entries, others)
        few, many = _less(least, labels[row]), _less(most, labels[row])
        value, levels[row] = smooth_counted_sum(
            entries, others, budget - 1, few, many, smoothing, part, levels[row], floor
        )
        weights[row, :row], weights[row, row], weights[row, row + 1 :] = part[:row], 1.0, part[row:]
        sums[row] = shares[row, row] + value
    return sums
