"""Dual points that have numbers of their own on the rows that matter, and three numbers for all others."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from certpca.bounds.pair_bound.points import PairPoint, StoredPoint, largest_eigenvalue, stored
from certpca.bounds.pair_bound.sums import top_sum
from certpca.bounds.pair_rows.row_sums import forced_sums, other_sums, own_sums
from certpca.bounds.pair_rows.strongest import Strongest
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.threads import in_threads

COUNTS_FROM = 0.9  # rows with so large a share of the last one that is in the bound count
SHIFTS = (0.0, 0.003, 0.01, 0.03, 0.1)  # for the other features, as shares of what is captured


@dataclass(frozen=True, slots=True, eq=False)
class RowsPoint:
    """U, K and α on M, U between M and its partners J, and c, α₀ and s."""

    own: PairPoint
    partners: Indices
    across: Vector
    shift: float
    rest: float
    room: float

    def on(self, features: Indices) -> "RowsPoint":
        """Restrict to some features, which are then called by their places in that list."""
        mine, theirs = np.isin(self.own.features, features), np.isin(self.partners, features)
        own = self.own.on(self.own.features[mine])
        return RowsPoint(
            PairPoint(np.searchsorted(features, own.features), own.u, own.k, own.alpha),
            np.searchsorted(features, self.partners[theirs]),
            self.across[np.ix_(mine, theirs)],
            self.shift,
            self.rest,
            self.room,
        )

    def beside(self, partners: Indices, across: Vector) -> "RowsPoint":
        """Take other partners, with U as given for those that it has not."""
        known = np.isin(self.partners, partners)
        across[:, np.searchsorted(partners, self.partners[known])] = self.across[:, known]
        return replace(self, partners=partners, across=across)

    def joined(self, added: Indices, products: Vector) -> "RowsPoint":
        """Let features join M with the numbers they have now; `products` are their rows of the matrix."""
        if added.size == 0:
            return self
        own = self.own
        features = np.union1d(own.features, added)
        before, fresh = np.searchsorted(features, own.features), np.searchsorted(features, added)
        u, k = np.empty((features.size, features.size)), np.zeros((features.size, features.size))
        alpha = np.full(features.size, self.rest)
        u[np.ix_(before, before)], k[np.ix_(before, before)], alpha[before] = own.u, own.k, own.alpha
        between = products[:, own.features].T.copy()
        known = np.isin(added, self.partners)
        between[:, known] = self.across[:, np.searchsorted(self.partners, added[known])]
        u[np.ix_(before, fresh)], u[np.ix_(fresh, before)] = between, between.T
        inner = products[:, added].copy()
        inner[np.diag_indices_from(inner)] -= self.shift
        u[np.ix_(fresh, fresh)] = (inner + inner.T) / 2
        stay = ~np.isin(self.partners, added)
        across = np.empty((features.size, int(stay.sum())))
        across[before], across[fresh] = self.across[:, stay], products[:, self.partners[stay]]
        return RowsPoint(
            PairPoint(features, u, k, alpha), self.partners[stay], across, self.shift, self.rest, self.room
        )


@dataclass(frozen=True, slots=True, eq=False)
class WidePoint:
    """A point as it is stored, all β, the bound, and that of supports with each feature.

    `chosen` says how many of the rows of M that count choose each feature.
    """

    own: StoredPoint
    partners: Indices
    across: NDArray[np.float32]
    shift: float
    rest: float
    room: float
    sums: Vector
    bound: float
    forced: Vector
    chosen: Indices


def widened(pairs: Strongest, point: RowsPoint, sparsity: int, captured: float) -> WidePoint:
    """Choose c and α₀ anew, and evaluate the bound for all supports and for those with a given feature.

    The point is in units of what is captured.
    """
    own = stored(point.own.features, point.own.u * captured, point.own.k * captured, point.own.alpha * captured)
    across, room, here = (point.across * captured).astype(np.float32), point.room * captured, own.unpacked()
    middle = pairs.between(own.features, own.features) - here.u
    middle[np.diag_indices_from(middle)] += here.alpha
    if point.partners.size:
        between = pairs.between(own.features, point.partners)
        between -= across
        middle += between @ between.T / room
        del between
    else:
        room = 0.0
    leading = max(largest_eigenvalue(middle), 1.25 * room)  # c and α₀ come on top of s
    sides = _Sides(pairs, here, point.partners, across)
    shift = point.shift * captured
    if point.partners.size == 0:
        shift = _best_shift(sides, leading - room, sparsity, captured)
    shift = min(shift, (leading - room) / 2)
    sums, last = sides.rows(sides.others, shift, leading - room - shift, sparsity)
    total = top_sum(sums, sparsity)
    last_row = np.partition(sums, sums.size - sparsity)[sums.size - sparsity]
    forced, chosen = sides.forced(sums, last, leading - room - shift, COUNTS_FROM * last_row, sparsity)
    bound, rest = leading + total, leading - room - shift
    return WidePoint(own, point.partners, across, shift, rest, room, sums, bound, leading + forced, chosen)


class _Sides:
    """The squares of M with every feature, a row for each of these, in single precision; between M and J as chosen."""

    def __init__(self, pairs: Strongest, own: PairPoint, partners: Indices, across: NDArray[np.float32]) -> None:
        self.pairs, self.own, self.inner = pairs, own, own.shares()
        self.squares = np.empty((pairs.size, own.features.size), dtype=np.float32)
        for part, products in pairs.products(own.features):
            np.multiply(products, products, out=self.squares[part])
        self.squares[partners] = across.T**2
        self.place = np.full(pairs.size, -1)
        self.place[own.features] = np.arange(own.features.size)
        self.others = np.flatnonzero(self.place < 0)

    def _halves(self, rest: float) -> Vector:
        return np.asarray(1 / (2 * (self.own.alpha + rest)))

    def rows(self, others: Indices, shift: float, rest: float, sparsity: int) -> tuple[Vector, Vector]:
        """Return β of M and of some others for one c, and the last entry that each row of M chooses."""
        pairs, halves, count = self.pairs, self._halves(rest), self.own.features.size
        sums = np.zeros(pairs.size)
        sums[others] = (pairs.diagonal[others] - shift) ** 2 / (4 * rest)
        mine, last = np.empty(count), np.empty(count)

        def fill_own(first: int, end: int) -> None:
            own_sums(self.squares, halves, self.inner, self.place, sparsity - 1, mine, last, first, end)

        def fill_others(first: int, end: int) -> None:
            quarter = 1 / (4 * rest)
            other_sums(
                self.squares, halves, others, pairs.squares, pairs.partners, self.place, quarter, sums, first, end
            )

        in_threads(fill_own, count)
        in_threads(fill_others, others.size)
        sums[self.own.features] = mine
        return sums, last

    def forced(self, sums: Vector, last: Vector, rest: float, counts: float, sparsity: int) -> tuple[Vector, Indices]:
        """Return the largest rows with each feature forced in, and how many rows of M from `counts` on choose it."""
        own, halves = sums[self.own.features], self._halves(rest)
        outside = np.full(sparsity - 1, -np.inf)
        largest = np.sort(sums[self.others])[::-1][: sparsity - 1]
        outside[: largest.size] = largest
        forced, chosen, count = np.empty(sums.size), np.zeros(sums.size, dtype=np.intp), own >= counts

        def fill(first: int, end: int) -> None:
            forced_sums(
                self.squares, halves, self.inner, self.place, own, last, count, outside, forced, chosen, first, end
            )

        in_threads(fill, sums.size)
        return sums + forced, chosen


def _best_shift(sides: _Sides, level: float, sparsity: int, captured: float) -> float:
    """Return the c that is best for the rows of M and the strongest of the others."""
    pairs, others = sides.pairs, sides.others
    strength = pairs.diagonal**2 + pairs.squares.sum(axis=1, dtype=np.float64)
    strong = others[np.argsort(-strength[others], kind="stable")[: 2 * sparsity]]
    values = {
        shift: top_sum(sides.rows(strong, shift, level - shift, sparsity)[0], sparsity)
        for shift in (share * captured for share in SHIFTS)
        if shift < level
    }
    return min(values, key=values.__getitem__)
