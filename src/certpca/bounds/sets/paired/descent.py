"""The descent: M = VVᵀ, w = s² and a point for each sparsity, on a smoothed bound.

The slope by M is I − Σ_t X_t, X_t the density of the leading eigenvectors, and by w_i one less how often feature i is
chosen: so no direction, and no feature, is used more than once in the end, by the mixtures that the bound allows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from certpca.bounds.pair_bound.counted_sums import Counts, counted_total, smooth_counted_rows, smooth_counted_sum
from certpca.bounds.pair_bound.points import (
    ALPHA_SCALE,
    K_SCALE,
    LINK_BELOW,
    ROW_SMOOTHING,
    PairPoint,
    first_point,
    floor_of,
    largest_eigenvalue,
    smooth_leading,
)
from certpca.bounds.pair_bound.quasi_newton import descend
from certpca.bounds.pair_bound.sums import pack, slopes, unpack
from certpca.runtime.arrays import Vector

MEMORY = 12
SCALE = 0.3  # of V and s: with it a step changes them about as much as U
LEAST_PRICE = 1e-4  # of a place in a component: a price of zero has no slope by its root


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """A sparsity, how many components have it and how many features of each block, and U, K and α for these."""

    sparsity: int
    copies: int
    counts: Counts
    u: Vector
    k: Vector
    alpha: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """V, w (None where features have no prices), and the sparsities with their points; the bound.

    Everything is in the units in which `Descent` holds the matrix.
    """

    directions: Vector
    prices: Vector | None
    kinds: tuple[Paired, ...]
    bound: float


class Descent:
    """Descends for one matrix, scaled so that components capture about one."""

    def __init__(self, matrix: Vector, late: Callable[[], bool]) -> None:
        self.matrix, self.late = matrix, late

    def first(self, at: Prices, sparsity: int, copies: int, size: int, shift: float) -> Paired:
        """Return a sparsity with the point U = A − M − cI."""
        point = first_point(np.arange(size), self.left(at.directions), shift, 0, sparsity, at.prices)
        return Paired(sparsity, copies, Counts.free(size, sparsity), point.u, point.k, point.alpha)

    def left(self, directions: Vector) -> Vector:
        """Return A − M."""
        return np.asarray(self.matrix - directions @ directions.T)

    def exact(self, at: Prices) -> Prices:
        """Return prices with their bound, without smoothing."""
        bound = float((at.directions**2).sum()) + (0.0 if at.prices is None else float(at.prices.sum()))
        left = self.left(at.directions)
        for kind in at.kinds:
            rest, own = left - kind.u, kind.counts
            rest[np.diag_indices_from(rest)] += kind.alpha
            shares = PairPoint(np.arange(left.shape[0]), kind.u, kind.k, kind.alpha).shares(at.prices)
            total = counted_total(shares, kind.sparsity, own.labels, own.least, own.most, floor_of(at.prices))
            bound += kind.copies * (largest_eigenvalue(rest) + total)
        return replace(at, bound=bound)

    def run(self, at: Prices, schedule: Sequence[tuple[float, int]], target: float) -> Prices:
        """Let the smoothing fall; return the best of what was met, with its bound."""
        best = at = self.exact(at)
        for smoothing, steps in schedule:
            if self.late() or best.bound <= target:
                break
            at = self.exact(self._descended(at, smoothing, steps, target))
            best = at if at.bound < best.bound else best
        return best

    def _descended(self, start: Prices, smoothing: float, steps: int, target: float) -> Prices:
        kinds = [_Smoothed(kind, smoothing) for kind in start.kinds]
        size, width = start.directions.shape
        places = np.cumsum([0, size * width, 0 if start.prices is None else size, *(kind.numbers for kind in kinds)])
        best, found = math.inf, start

        def smoothed(packed: Vector) -> tuple[float, Vector]:
            nonlocal best, found
            parts = [packed[low:high] for low, high in pairwise(places)]
            directions = SCALE * parts[0].reshape(size, width)
            roots = SCALE * parts[1]
            prices = None if start.prices is None else roots**2
            value = float((directions**2).sum()) + float((roots**2).sum())
            left, density, used, gradients = self.left(directions), np.zeros((size, size)), np.zeros(size), []
            for kind, own in zip(kinds, parts[2:], strict=True):
                worth, gradient, own_density = kind.evaluate(left, prices, own)
                value += kind.copies * worth
                density += kind.copies * own_density
                used += kind.copies * kind.outer
                gradients.append(kind.copies * gradient)
            if value < best:
                points = tuple(kind.at(own) for kind, own in zip(kinds, parts[2:], strict=True))
                best, found = value, replace(start, directions=directions, prices=prices, kinds=points)
            by_directions = 2 * SCALE * (directions - density @ directions)
            by_roots = 2 * SCALE * roots * (1 - used[: roots.size])
            return value, np.concatenate([by_directions.ravel(), by_roots, *gradients])

        begin = [start.directions.ravel() / SCALE]
        if start.prices is not None:
            least = LEAST_PRICE / max(kind.sparsity for kind in start.kinds)
            begin.append(np.sqrt(np.maximum(start.prices, least)) / SCALE)
        descend(
            smoothed,
            np.concatenate([*begin, *(kind.begin() for kind in kinds)]),
            steps=steps,
            tolerance=1e-4 * smoothing * sum(kind.copies for kind in kinds),
            stop=lambda value: self.late() or value <= target,
            memory=MEMORY,
        )
        return found


class _Smoothed:
    """The smoothed bound of the components with one sparsity."""

    def __init__(self, kind: Paired, smoothing: float) -> None:
        self.kind, self.copies, self.smoothing = kind, kind.copies, smoothing
        size = kind.alpha.size
        self.numbers = size * (size + 1)
        self.unit = K_SCALE / kind.sparsity
        self.outer = np.ones(size)  # how often each feature is chosen
        self._link = self.unit if smoothing < LINK_BELOW else 0.0
        self._shares, self._weights, self._gradient = (np.empty((size, size)) for _ in range(3))
        self._levels, self._level = np.full(size, np.nan), math.nan

    def begin(self) -> Vector:
        """Return the numbers of its point."""
        kind = self.kind
        return np.concatenate([pack(kind.u, kind.k, self.unit).ravel(), np.log(kind.alpha) / ALPHA_SCALE])

    def _unpacked(self, packed: Vector) -> tuple[Vector, Vector, Vector]:
        size = self.outer.size
        u, k = unpack(packed[: size * size].reshape(size, size), self.unit)
        return u, k, np.exp(np.clip(packed[size * size :] * ALPHA_SCALE, -40, 40))

    def at(self, packed: Vector) -> Paired:
        """Return the point of these numbers."""
        u, k, alpha = self._unpacked(packed)
        return replace(self.kind, u=u, k=k, alpha=alpha)

    def evaluate(self, left: Vector, prices: Vector | None, packed: Vector) -> tuple[float, Vector, Vector]:
        """Return the bound of A − M less prices, its gradient by the point, and the density of its eigenvectors."""
        sparsity, smoothing, size = self.kind.sparsity, self.smoothing, self.outer.size
        u, k, alpha = self._unpacked(packed)
        floor, own = floor_of(prices), np.zeros(size) if prices is None else prices
        row_smoothing = ROW_SMOOTHING * smoothing / sparsity**2
        counts = self.kind.counts
        blocks = counts.labels, counts.least, counts.most
        sums = smooth_counted_rows(
            u, k, alpha, sparsity, *blocks, row_smoothing, self._levels, self._shares, self._weights, own, floor
        )
        rest = left - u
        rest[np.diag_indices(size)] += alpha
        _, smooth, density = smooth_leading(rest, smoothing)
        top, self._level = smooth_counted_sum(
            sums, counts.labels, sparsity, *blocks[1:], smoothing / sparsity, self.outer, self._level, floor
        )
        value = smooth + top
        by_alpha = slopes(u, alpha, density, self._weights, self.outer, self._link, self._gradient)
        return value, np.concatenate([self._gradient.ravel(), ALPHA_SCALE * by_alpha]), density
