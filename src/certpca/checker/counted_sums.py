"""Sums of the largest shares over supports that have at least, and at most, so many features of each block.

The shares are not below zero here: a place may stay empty, so what is below zero is left out. Of every block the
largest that it must give are taken, and then the largest of all that are left and that it may give. That is the most:
so many of a block are worth no more than as many of its largest, and beyond those that it must give there are as many
places as the budget leaves. Where blocks must give more than that, or more than they have, there is no such support,
and any number bounds it.

The sums may pass over what is not a number, or infinite; who calls this adds an allowance that does not.
"""

from dataclasses import dataclass

import numpy as np

from certpca.checker.numbers import Indices, Vector, largest_sum


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The block of each feature, and how many of each a support has; the last block is that of the other features."""

    labels: Indices
    least: Indices
    most: Indices

    def less(self, features: Indices) -> "Counts":
        """Say how many others there are where a support is known to have these."""
        held = np.bincount(self.labels[features], minlength=self.least.size)
        return Counts(self.labels, np.maximum(self.least - held, 0), np.maximum(self.most - held, 0))

    def on(self, features: Indices) -> "Counts":
        """Restrict to these features."""
        return Counts(self.labels[features], self.least, self.most)


def largest_counted(values: Vector, budget: int, counts: Counts) -> Vector:
    """Return for each row of values the most that so many of them add up to."""
    total, left = np.zeros(values.shape[0]), []
    for block, (least, most) in enumerate(zip(counts.least, counts.most, strict=True)):
        ordered = _largest(values[:, counts.labels == block], int(max(least, most)))
        total += ordered[:, :least].sum(axis=1)
        left.append(ordered[:, least:])
    return np.asarray(total + largest_sum(np.hstack(left), max(budget - int(counts.least.sum()), 0)))


def _largest(values: Vector, count: int) -> Vector:
    """Return the largest of each row in falling order, zero where they are below it."""
    most = values.shape[1]
    if count <= 0:
        return values[:, :0]
    if count < most:
        values = np.partition(values, most - count, axis=1)[:, most - count :]
    return np.asarray(-np.sort(-np.maximum(values, 0.0), axis=1))


def largest_counted_total(shares: Vector, fixed: int, budget: int, counts: Counts) -> float:
    """Return T over such supports; `counts` are of the free features."""
    sums = shares[:, :fixed].sum(axis=1)
    sums[fixed:] += np.diagonal(shares)[fixed:]
    sums[:fixed] += largest_counted(shares[:fixed, fixed:], budget, counts)
    entries = shares[fixed:, fixed:].copy()
    np.fill_diagonal(entries, -np.inf)
    for block in range(counts.least.size):
        own = np.flatnonzero(counts.labels == block)
        if own.size:
            sums[fixed + own] += largest_counted(entries[own], budget - 1, counts.less(own[:1]))
    return float(sums[:fixed].sum() + largest_counted(sums[None, fixed:], budget, counts)[0])
