"""Dual points of the pair bound, and the descent that makes them tight."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certpca.bounds.pair_bound.quasi_newton import descend
from certpca.bounds.pair_bound.sums import pack, slopes, smooth_row_sums, smooth_top_sum, totals, unpack
from certpca.runtime.arrays import Indices, Vector

# Measured: with these scales of K and log α gaps are two to four times smaller after the same work.
K_SCALE = 0.3
ALPHA_SCALE = 12.0
ROW_SMOOTHING = 0.5
LINK_BELOW = 0.02  # smoothing from which on K takes part; earlier it slows the start
LOOK_EVERY = 16  # evaluations between looks whether enough features could be fixed
WORTH_FIXING = 0.2
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class PairPoint:
    """U, K and α on some features."""

    features: Indices
    u: Vector
    k: Vector
    alpha: Vector

    def on(self, features: Indices) -> "PairPoint":
        """Restrict to features among its own, in their order."""
        if features.size == self.features.size and (features == self.features).all():
            return self
        order = np.argsort(self.features, kind="stable")
        place = order[np.searchsorted(self.features, features, sorter=order)]
        grid = np.ix_(place, place)
        return PairPoint(features, self.u[grid], self.k[grid], self.alpha[place])

    def shares(self, prices: Vector | None = None) -> Vector:
        """Return C less prices."""
        return priced(self.u**2 / (2 * (self.alpha[:, None] + self.alpha[None, :])) + self.k, prices)


@dataclass(frozen=True, slots=True, eq=False)
class StoredPoint:
    """A point in single precision, as a certificate keeps it: U above and K below the diagonal."""

    features: Indices
    pairs: NDArray[np.float32]
    alpha: Vector

    def unpacked(self) -> PairPoint:
        """Return the very numbers that the checker will work with."""
        pairs = self.pairs.astype(np.float64)
        upper, lower = np.triu(pairs), np.tril(pairs, -1)
        return PairPoint(self.features, upper + np.triu(upper, 1).T, lower - lower.T, self.alpha)

    def in_order(self) -> "StoredPoint":
        """Sort the features."""
        order = np.argsort(self.features, kind="stable")
        here = self.unpacked()
        return stored(
            self.features[order], here.u[np.ix_(order, order)], here.k[np.ix_(order, order)], here.alpha[order]
        )


def stored(features: Indices, u: Vector, k: Vector, alpha: Vector) -> StoredPoint:
    """Round to single precision."""
    return StoredPoint(features, (np.triu(u) + np.tril(k, -1)).astype(np.float32), alpha)


def priced(shares: Vector, prices: Vector | None) -> Vector:
    """Take prices off the diagonal of C, in place: a row counts where its feature is chosen."""
    if prices is not None:
        shares[np.diag_indices_from(shares)] -= prices
    return shares


def floor_of(prices: Vector | None) -> float:
    """Return the least that a free place is worth: with prices it may stay empty, without it is filled anyhow."""
    return -math.inf if prices is None else 0.0


def smooth_leading(matrix: Vector, smoothing: float) -> tuple[float, float, Vector]:
    """Return the largest eigenvalue, the smoothed one, and its derivative by the matrix: a density of eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    share = np.exp((values - values[-1]) / smoothing)
    total = float(share.sum())
    share /= total
    live = share > 1e-12
    density: Vector = (vectors[:, live] * share[live]) @ vectors[:, live].T
    return float(values[-1]), float(values[-1]) + smoothing * math.log(total), density


def bound_at(
    matrix: Vector, point: PairPoint, fixed: int, budget: int, prices: Vector | None = None
) -> tuple[float, float, Vector, Vector]:
    """Return the eigenvalue and T at a node, and T with each free feature forced in and out."""
    rest = matrix - point.u
    rest[np.diag_indices_from(rest)] += point.alpha
    return largest_eigenvalue(rest), *totals(point.shares(prices), fixed, budget, floor_of(prices))


def largest_eigenvalue(matrix: Vector) -> float:
    """Return λ_max of a symmetric matrix, zero for an empty one."""
    from scipy.linalg import eigh

    size = matrix.shape[0]
    if size == 0:
        return 0.0
    if size <= 60:
        return float(np.linalg.eigvalsh(matrix)[-1])
    values = eigh(matrix, eigvals_only=True, subset_by_index=[size - 1, size - 1], check_finite=False)
    return float(values[0]) if values.size else float(np.linalg.eigvalsh(matrix)[-1])


def first_point(
    features: Indices, matrix: Vector, shift: float, fixed: int, budget: int, prices: Vector | None = None
) -> PairPoint:
    """Begin at U = A − cI with the best constant α."""
    u = matrix.copy()
    u[np.diag_indices_from(u)] -= shift
    size = features.size
    level = best_constant(u, fixed, budget, prices)
    return PairPoint(features, u, np.zeros((size, size)), np.full(size, max(level, 1e-6)))


def best_constant(u: Vector, fixed: int, budget: int, prices: Vector | None = None) -> float:
    """Return the α, the same for all features, that makes α + T least, where C_ij = U_ij²/(4α)."""
    squares, floor = u * u, floor_of(prices)
    level = math.sqrt(max(totals(squares, fixed, budget, floor)[0], 0.0)) / 2
    if prices is None or level == 0.0:
        return level

    def value(alpha: float) -> float:
        return alpha + float(totals(priced(squares / (4 * alpha), prices), fixed, budget, floor)[0])

    # Prices leave less to share, so α is smaller than without them: a convex function of one number.
    low, high = level / 64, level
    for _ in range(12):
        left, right = high / (high / low) ** GOLDEN, low * (high / low) ** GOLDEN
        low, high = (low, right) if value(left) <= value(right) else (left, high)
    return math.sqrt(low * high)


def tightened(
    matrix: Vector,
    start: PairPoint,
    fixed: int,
    budget: int,
    *,
    smoothing: float,
    steps: int,
    target: float,
    late: Callable[[], bool],
    worth_fixing: float = WORTH_FIXING,
    prices: Vector | None = None,
) -> tuple[PairPoint, Vector, int]:
    """Descend on the smoothed bound; return the best point, the weights of the features in T, and the evaluations.

    The matrix is scaled so that values near one matter. The descent stops at the target, or when so large
    a share of the free features could be fixed that a smaller problem is worth it.
    """
    size, sparsity = start.features.size, fixed + budget
    diagonal, entries = np.diag_indices(size), size * size
    shares, weights, gradient = (np.empty((size, size)) for _ in range(3))
    outer = np.ones(size)
    levels, level = np.full(size, np.nan), math.nan
    unit = K_SCALE / sparsity
    link = unit if smoothing < LINK_BELOW else 0.0
    best: tuple[float, Vector, Vector, Vector, Vector] = (math.inf, start.u, start.k, start.alpha, outer.copy())
    evaluations, leading = 0, 0.0
    floor, own = floor_of(prices), np.zeros(size) if prices is None else prices

    def smoothed(packed: Vector) -> tuple[float, Vector]:
        nonlocal best, evaluations, leading, level
        alpha = np.exp(np.clip(packed[entries:] * ALPHA_SCALE, -40, 40))
        u, k = unpack(packed[:entries].reshape(size, size), unit)
        row_smoothing = ROW_SMOOTHING * smoothing / sparsity**2
        sums = smooth_row_sums(u, k, alpha, fixed, budget, row_smoothing, levels, shares, weights, own, floor)
        rest = matrix - u
        rest[diagonal] += alpha
        leading, smooth, density = smooth_leading(rest, smoothing)
        top, level = smooth_top_sum(sums[fixed:], budget, smoothing / sparsity, outer[fixed:], level, floor)
        value = smooth + float(sums[:fixed].sum()) + top
        evaluations += 1
        if value < best[0]:
            best = value, u, k, alpha, outer.copy()
        by_alpha = slopes(u, alpha, density, weights, outer, link, gradient)
        return value, np.concatenate([gradient.ravel(), ALPHA_SCALE * by_alpha])

    def stop(value: float) -> bool:
        if value <= target or late():
            return True
        if evaluations % LOOK_EVERY:
            return False
        _, forced_in, forced_out = totals(shares, fixed, budget, floor)
        decided = int((forced_in <= target - leading).sum() + (forced_out <= target - leading).sum())
        return decided >= worth_fixing * (size - fixed)

    begin = np.concatenate([pack(start.u, start.k, unit).ravel(), np.log(start.alpha) / ALPHA_SCALE])
    memory = 12 if size <= 600 else 8
    descend(smoothed, begin, steps=steps, tolerance=1e-4 * smoothing, stop=stop, memory=memory)
    _, u, k, alpha, last = best
    return PairPoint(start.features, u, k, alpha), last, evaluations
