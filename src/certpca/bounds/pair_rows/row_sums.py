"""Sums of the largest shares in the rows that matter, smoothed for the descent and exact for the bound, compiled.

A row of M has its shares with M first, then those with J.
"""

from typing import Any

import numpy as np
from numba import njit

from certpca.bounds.pair_bound.sums import smooth_top_sum
from certpca.runtime.arrays import Vector


@njit(cache=True, nogil=True)
def smooth_rows(
    u: Vector,
    k: Vector,
    across: Vector,
    alpha: Vector,
    rest: float,
    chosen: int,
    smoothing: float,
    levels: Vector,
    weights: Vector,
    sums: Vector,
    first: int,
    last: int,
) -> None:
    """Fill smoothed sums of some rows, and their derivatives with respect to the shares in `weights`."""
    size = u.shape[0]
    wide = size + across.shape[1]
    entries, part = np.empty(wide - 1), np.empty(wide - 1)
    for row in range(first, last):
        count = 0
        for column in range(size):
            if column != row:
                entries[count] = u[row, column] ** 2 / (2 * (alpha[row] + alpha[column])) + k[row, column]
                count += 1
        half = 1 / (2 * (alpha[row] + rest))
        for column in range(wide - size):
            entries[count + column] = across[row, column] ** 2 * half
        value, levels[row] = smooth_top_sum(entries, chosen, smoothing, part, levels[row])
        weights[row, :row], weights[row, row + 1 :], weights[row, row] = part[:row], part[row:], 1.0
        sums[row] = u[row, row] ** 2 / (4 * alpha[row]) + value


@njit(cache=True, nogil=True)
def slopes_across(
    across: Vector, alpha: Vector, rest: float, weights: Vector, outer: Vector, gradient: Vector, by_alpha: Vector
) -> float:
    """Take what M and J have together out of the gradient by √2·U, which already has what the eigenvalues give.

    By log α it is added to `by_alpha`; that by log α₀ is returned.
    """
    size, by_rest, root = across.shape[0], 0.0, np.sqrt(2.0)
    for row in range(size):
        change = 0.0
        for column in range(across.shape[1]):
            here = outer[row] * weights[row, size + column]
            ratio = across[row, column] / (alpha[row] + rest)
            gradient[row, column] = (here * ratio - gradient[row, column]) / root
            change += here * ratio * ratio / 2
        by_alpha[row] -= change * alpha[row]
        by_rest -= change * rest
    return by_rest


@njit(cache=True, nogil=True)
def _offered(heap: Any, value: float) -> None:
    """Let a value take the place of the smallest, which is first, if it is larger."""
    if value <= heap[0]:
        return
    at, count = 0, heap.size
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@njit(cache=True, nogil=True)
def own_sums(
    squares: Any,
    halves: Vector,
    inner: Vector,
    place: Any,
    count: int,
    sums: Vector,
    last: Vector,
    first: int,
    end: int,
) -> None:
    """Fill β of some rows of M, and the smallest share that each chooses.

    A row of M has its shares with M in `inner`; those with another feature are `squares` times `halves`. `place` is
    that of a feature in M, negative for others.
    """
    heaps = np.full((end - first, count), -np.inf)
    for feature in range(squares.shape[0]):
        at = place[feature]
        for row in range(first, end):
            share = inner[row, at] if at >= 0 else squares[feature, row] * halves[row]
            if at != row and share > heaps[row - first, 0]:
                _offered(heaps[row - first], share)
    for row in range(first, end):
        sums[row], last[row] = inner[row, row] + heaps[row - first].sum(), heaps[row - first, 0]


@njit(cache=True, nogil=True)
def other_sums(
    shared: Any,
    halves: Vector,
    others: Any,
    squares: Any,
    partners: Any,
    place: Any,
    quarter: float,
    sums: Vector,
    first: int,
    end: int,
) -> None:
    """Add to some other rows the largest of their shares with M and of the squares beside M, times `quarter`.

    What is not listed is no larger than the last that is.
    """
    count = squares.shape[1]
    heap = np.empty(count)
    for number in range(first, end):
        row = others[number]
        heap[:] = -np.inf
        for own in range(halves.size):
            _offered(heap, shared[row, own] * halves[own])
        smallest = squares[row, count - 1]
        for listed in range(count):
            square = smallest if place[partners[row, listed]] >= 0 else squares[row, listed]
            _offered(heap, square * quarter)
        sums[row] += heap.sum()


@njit(cache=True, nogil=True)
def forced_sums(
    squares: Any,
    halves: Vector,
    inner: Vector,
    place: Any,
    own: Vector,
    last: Vector,
    counts: Any,
    outside: Vector,
    forced: Vector,
    chosen: Any,
    first: int,
    end: int,
) -> None:
    """Sum the largest other rows with each feature forced in; `chosen` is how many rows of M in `counts` choose it.

    A row of M that does not choose it gives up its last entry.
    """
    heap = np.empty(outside.size)
    for feature in range(first, end):
        at = place[feature]
        heap[:] = outside[::-1]  # in order, so a heap
        for row in range(own.size):
            share = inner[row, at] if at >= 0 else squares[feature, row] * halves[row]
            if at != row:
                _offered(heap, own[row] - max(0.0, last[row] - share))
                chosen[feature] += counts[row] and share >= last[row]
        forced[feature] = heap.sum()
