"""Sums of the shares of pairs over the supports of a node of a search tree.

`shares` is the matrix C of the node with the features fixed in first; `fixed` is their number and `budget` the number
of free ones to choose, of which there are more. Where `fewer` may be chosen, a place can stay empty and counts zero.
"""

import numpy as np

from certpca.checker.numbers import Mask, Vector, largest_sum


def row_sums(shares: Vector, fixed: int, budget: int, *, fewer: bool = False) -> tuple[Vector, Vector, Vector]:
    """Bound the sum of each row over the supports of the node.

    Rows of I have all of I and the largest `budget` free entries; a free row counts only where it is chosen itself, so
    it has its own entry for sure and `budget` − 1 others. Also returned are the smallest free entry that is chosen
    (∞ where none is) and the largest that is not.
    """
    size = shares.shape[0]
    own = np.arange(size - fixed)
    entries = shares[:, fixed:].copy()
    entries[fixed + own, own] = -np.inf
    if fewer:
        entries = np.hstack([entries, np.zeros((size, budget + 1))])
    free = entries.shape[1]
    sums = shares[:, :fixed].sum(axis=1)
    sums[fixed:] += np.diagonal(shares)[fixed:]
    last, following = np.full(size, np.inf), np.empty(size)
    for rows, chosen in ((slice(0, fixed), budget), (slice(fixed, size), budget - 1)):
        places = [free - chosen - 1, free - chosen] if chosen else [free - 1]
        ordered = np.partition(entries[rows], places, axis=1)
        following[rows] = ordered[:, free - chosen - 1]
        if chosen:
            last[rows] = ordered[:, free - chosen]
            sums[rows] += ordered[:, free - chosen :].sum(axis=1)
    return sums, last, following


def largest_total(shares: Vector, fixed: int, budget: int, *, fewer: bool = False) -> float:
    """Return T."""
    sums, _, _ = row_sums(shares, fixed, budget, fewer=fewer)
    return float(sums[:fixed].sum() + _chosen(sums[fixed:], budget, fewer=fewer))


def forced_totals(
    shares: Vector, fixed: int, budget: int, out: Mask, inside: Mask, *, fewer: bool = False
) -> tuple[Vector, Vector]:
    """Return T with each feature of `out` forced in, and with each of `inside` forced out."""
    sums, last, following = row_sums(shares, fixed, budget, fewer=fewer)
    entering, leaving = fixed + np.flatnonzero(out), fixed + np.flatnonzero(inside)
    # Forced in: a row without it gives up its last entry. (Rows that choose nothing are not counted then: budget 1.)
    part = shares[:, entering]
    chosen = (part >= last[:, None]) | np.isinf(last)[:, None]
    rows = np.where(chosen, sums[:, None], sums[:, None] - np.where(np.isinf(last), 0.0, last)[:, None] + part)
    rows[entering, np.arange(entering.size)] = -np.inf
    with_it = rows[:fixed].sum(axis=0) + sums[entering] + _chosen(rows[fixed:].T, budget - 1, fewer=fewer)
    # Forced out: a row with it takes the next entry instead.
    part = shares[:, leaving]
    rows = np.where(part >= last[:, None], sums[:, None] - part + following[:, None], sums[:, None])
    rows[leaving, np.arange(leaving.size)] = -np.inf
    without_it = rows[:fixed].sum(axis=0) + _chosen(rows[fixed:].T, budget, fewer=fewer)
    return np.asarray(with_it), np.asarray(without_it)


def _chosen(rows: Vector, budget: int, *, fewer: bool) -> Vector:
    """Sum the largest rows, or only those of them that help."""
    return largest_sum(np.maximum(rows, 0.0) if fewer else rows, budget)
