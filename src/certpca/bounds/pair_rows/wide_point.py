"""Dual points that have numbers of their own on the rows that matter and two numbers for all others."""

import math
from dataclasses import dataclass

import numpy as np

from certpca.bounds.pair_bound.points import PairPoint, StoredPoint, largest_eigenvalue
from certpca.bounds.pair_bound.sums import top_sum
from certpca.bounds.pair_rows.strongest import Strongest
from certpca.runtime.arrays import Indices, Vector

SHIFTS = (0.0, 0.003, 0.01, 0.03, 0.1)  # for the other features, as shares of what is captured
ROW_ENTRIES = 1 << 24  # that are looked at together


@dataclass(frozen=True, slots=True, eq=False)
class WidePoint:
    """A point on some rows, c and α₀ for the others, all β, the bound, and that of supports with each feature."""

    own: StoredPoint
    shift: float
    rest: float
    sums: Vector
    bound: float
    forced: Vector

    def wider(self, sparsity: int, share: float, most: int) -> PairPoint:
        """Give rows that count as much as those of M numbers of their own, which are those they have now."""
        own = self.own.unpacked()
        last = np.partition(self.sums, self.sums.size - sparsity)[self.sums.size - sparsity]
        others = np.setdiff1d(np.flatnonzero(self.sums >= share * last), own.features)
        added = others[np.argsort(-self.sums[others], kind="stable")[:most]]
        return own if added.size == 0 else replace_rows(own, added, self.rest)


def replace_rows(own: PairPoint, added: Indices, rest: float) -> PairPoint:
    """Append features, in order, whose U is still to be filled in."""
    features = np.union1d(own.features, added)
    place = np.searchsorted(features, own.features)
    u, k = np.full((features.size, features.size), np.nan), np.zeros((features.size, features.size))
    alpha = np.full(features.size, rest)
    u[np.ix_(place, place)], k[np.ix_(place, place)], alpha[place] = own.u, own.k, own.alpha
    return PairPoint(features, u, k, alpha)


def widened(pairs: Strongest, point: StoredPoint, sparsity: int, captured: float) -> WidePoint:
    """Choose the two numbers, and evaluate the bound for all supports and for those with a given feature."""
    own = point.unpacked()
    rows = pairs.products(own.features)
    others = np.setdiff1d(np.arange(pairs.size), own.features)
    inner = rows[:, own.features]
    middle = inner - own.u
    middle[np.diag_indices_from(middle)] += own.alpha
    leading = largest_eigenvalue(middle)
    cross = rows[:, others] ** 2
    shifts = [share * captured for share in SHIFTS if leading - share * captured > 0]
    total = math.inf
    for choice in shifts:
        made = _rows(pairs, own, cross, others, choice, leading, sparsity)
        if (value := top_sum(made[0], sparsity)) < total:
            total, shift, (sums, last, shares) = value, choice, made
    forced = _forced(own, others, sums, last, shares, sparsity)
    return WidePoint(point, shift, leading - shift, sums, leading + total, leading + forced)


def _rows(
    pairs: Strongest, own: PairPoint, cross: Vector, others: Indices, shift: float, leading: float, sparsity: int
) -> tuple[Vector, Vector, Vector]:
    """Return all β for one c, and for the rows of M the last entry that they choose and all entries."""
    rest, count = leading - shift, sparsity - 1
    weights = 1 / (2 * (own.alpha + rest))
    shares = np.empty((own.features.size, pairs.size))
    shares[:, own.features] = own.shares()
    shares[:, others] = cross * weights[:, None]
    diagonal = shares[np.arange(own.features.size), own.features].copy()
    entries = shares.copy()
    entries[np.arange(own.features.size), own.features] = -np.inf
    chosen = np.partition(entries, pairs.size - count, axis=1)[:, pairs.size - count :]
    sums, last = np.empty(pairs.size), chosen.min(axis=1)
    sums[own.features] = diagonal + chosen.sum(axis=1)
    # Other rows: partners in M by their weights, others by 1/4α₀; what is not listed is no larger than the last.
    listed, partners = pairs.squares[others].astype(np.float64), pairs.partners[others]
    inside = np.isin(partners, own.features)
    listed = np.where(inside, listed[:, -1:], listed) / (4 * rest)
    height = max(1, ROW_ENTRIES // (own.features.size + count))
    for start in range(0, others.size, height):
        part = slice(start, start + height)
        both = np.concatenate([shares[:, others[part]].T, listed[part]], axis=1)
        largest = np.partition(both, both.shape[1] - count, axis=1)[:, both.shape[1] - count :]
        sums[others[part]] = (pairs.diagonal[others[part]] - shift) ** 2 / (4 * rest) + largest.sum(axis=1)
    return sums, last, shares


def _forced(own: PairPoint, others: Indices, sums: Vector, last: Vector, shares: Vector, sparsity: int) -> Vector:
    """Sum the largest rows with each feature forced in: a row of M that does not choose it gives up its last entry."""
    forced, count = np.empty(sums.size), sparsity - 1
    outside = np.sort(sums[others])[::-1][:count]
    place = np.full(sums.size, -1)
    place[own.features] = np.arange(own.features.size)
    height = max(1, ROW_ENTRIES // (own.features.size + count))
    for start in range(0, sums.size, height):
        features = np.arange(start, min(start + height, sums.size))
        rows = sums[own.features] - np.maximum(0.0, last - shares[:, features].T)
        mine = np.flatnonzero(place[features] >= 0)
        rows[mine, place[features[mine]]] = -np.inf
        both = np.concatenate([rows, np.broadcast_to(outside, (features.size, outside.size))], axis=1)
        largest = np.partition(both, both.shape[1] - count, axis=1)[:, both.shape[1] - count :]
        forced[features] = sums[features] + largest.sum(axis=1)
    return forced
