"""λ_max(kR + ΣY_i) of a matrix too large to be formed: leading directions apart, and chance for all others.

M = kR + ZZᵀ with the Z of `level_factors`. Let B have nearly orthonormal columns, |BᵀB − I| ≤ drift, and let
cᵀMc ≤ μ|c|² for all c with Bᵀc = 0. For x = By + c with such a c and every λ > μ, with T = MB and N = T − BX, any X,

    xᵀMx = yᵀBᵀTy + 2(Ny)·c + cᵀMc ≤ yᵀHy + λ|c|²,   H = BᵀT + NᵀN/(λ − μ),

since 2(Ny)·c ≤ |Ny|²/(λ − μ) + (λ − μ)|c|². So λ_max(M) ≤ max(λ_max(H)/(1 − drift), λ). Where B holds the leading
eigenvectors, N is small and counts with its square: the bound is that of the whole matrix but for |N|²/(λ − μ), and μ
may be far from sharp. λ is chosen where both terms are about equal; any choice is valid.

For μ. cᵀMc = k(r|c|² + (Wᵀc)ᵀS(Wᵀc)) + |Zᵀc|². Wᵀc = (W − BX)ᵀc is nearly nothing where B holds W, whatever X is; and
Zᵀc = Zᵀ(I − BBᵀ)c, so |Zᵀc|² ≤ λ_max((I − BBᵀ)ZZᵀ(I − BBᵀ))|c|², which `random_spaces` bounds but with probability
`FAILURE`: nothing else depends on chance. The bound holds after any number of products. They go on until a claim is
confirmed, or where there is none until the bound is nearly what the Ritz values themselves would give: more of them
would only narrow a gap by a `NARROWER` share of itself.

Allowance. The computed T is off by e ≤ γ(2ζ²|B| + ζ|ZᵀB| + kϱ|B|) in the Frobenius norm, N by e_N ≤ γ(|T| + |B||X|)
besides, X = BᵀT as computed. Then 2(Ny)·c is off by at most 2ē|y||c| ≤ ē(|y|² + |c|²), ē = e + e_N, so λ − μ is
replaced by λ − μ − ē, and H is off by at most ē + 1.01e + γ|B||T| + γ|N|²/(λ − μ − ē). λ_max(H) is proved by a Cholesky
factorisation. √λ_max(M) moves by at most how far Z can be off.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.level_factors import Factors, factors_of
from certpca.checker.levels import level_of
from certpca.checker.numbers import Vector, array_of, gamma, largest_eigenvalue, require
from certpca.checker.random_spaces import USABLE_DRIFT, RandomSpace

WIDEST = 512  # directions of a level, and leading ones besides
STARTS, MOST_PRODUCTS = 32, 8  # more vectors save products: reading and converting data takes as long as 32 of them
ENOUGH = 1e-4  # relative, of the bound,
NARROWER = 0.01  # and of what lies between it and what is captured
OTHER_DRAWS = 0.02  # relative; by how much the random part may differ for other draws. A tenth of it was seen.
STEPS = 60  # towards the λ at which both terms are equal


@dataclass(slots=True)
class RandomLevelPoint:
    """A level, its dual matrices by factors, and what is known of their sum; it serves every sparsity.

    `basis` is B, `images` ZZᵀB and `square` |ZᵀB|²; `space` bounds what is left, and can be asked for more.
    """

    prepared: Prepared
    factors: Factors
    basis: Vector
    drift: float
    images: Vector
    square: float
    space: RandomSpace

    def bounds(
        self, k: int, objective: float = math.inf, confirms: Callable[[float], bool] | None = None
    ) -> tuple[float, float]:
        """Bound λ_max(kR + Σ Y_i) of the F at hand, as proved now and as other random numbers will confirm it.

        What is captured, and whether a bound confirms a claim, only say when to stop.
        """
        level, stray = self.factors.level, self.factors.stray
        split = _Split(self, k)
        if self.basis.shape[0] == self.basis.shape[1]:  # nothing is left
            best = _moved(split.bound(0.0), stray)
            return best, best
        best = again = math.inf
        while True:
            found = self.space.bounded()
            value, other = split.bound(found.bound), split.bound(found.bound * (1 + OTHER_DRAWS))
            best, again = min(best, value), min(again, other)
            if confirms is None:
                least = split.bound(found.seen)
                near = least + max(ENOUGH * least, NARROWER * (least - objective))
                good = again <= near
                again = max(again, near) if good else again  # others may stop as near as that, and no nearer
            else:
                good = confirms(_moved(best, stray))
            if good or self.space.whole or self.space.products >= MOST_PRODUCTS:
                break
            self.prepared.work.spend(4.0 * self.prepared.size * (self.prepared.depth + level.matrix.shape[0]) * STARTS)
            self.space.take(self.factors.times(self.prepared, self.space.panel())[0])
        require(math.isfinite(again), "its evidence proves nothing")
        again = max(again, best * (1 + ENOUGH))
        return _moved(best, stray), _moved(again, stray)


def random_level_point_of(prepared: Prepared, evidence: Mapping[str, Any]) -> RandomLevelPoint:
    """Read a level and leading directions, and multiply these."""
    level = level_of(prepared, evidence)
    leading = array_of(evidence, "leading", 2)
    depth, size, width = prepared.depth, prepared.size, level.matrix.shape[0]
    require(leading.shape[0] == depth and width <= WIDEST, "its directions have the wrong form")
    require(leading.shape[1] <= WIDEST and leading.shape[1] + width <= depth, "it has too many directions")
    parts = (level.directions, level.matrix, level.frame, level.weights, np.array([level.number, level.rest_weight]))
    hashed = b"".join(np.ascontiguousarray(part).tobytes() for part in (*parts, leading))
    key = blake2b(b"random level" + hashed).hexdigest()
    known: RandomLevelPoint | None = prepared.latest.get(key)
    if known is not None:
        return known
    basis = np.linalg.qr(np.concatenate([level.directions, leading], axis=1))[0]
    count = basis.shape[1]
    drift = float(np.linalg.norm(basis.T @ basis - np.eye(count))) + gamma(depth + 4) * count * 2
    require(drift < USABLE_DRIFT, "its directions cannot be made orthogonal")  # also where they are not numbers
    prepared.work.spend(4.0 * size * (depth * (count + STARTS) + width * (width + count)) + 4.0 * depth * count**2)
    # The norm of Z is known after the walk that makes it, on which the first random vectors come along.
    space = RandomSpace(basis, drift, math.nan, 0, STARTS)
    factors, images, square = factors_of(prepared, level, np.concatenate([basis, space.panel()], axis=1))
    space.rounds(factors.norm, factors.terms)
    space.take(images[:, count:])
    point = RandomLevelPoint(prepared, factors, basis, drift, images[:, :count], square, space)
    prepared.latest.clear()
    prepared.latest[key] = point
    return point


class _Split:
    """H as a function of λ − μ for one sparsity."""

    def __init__(self, point: RandomLevelPoint, k: int) -> None:
        level, basis, norm = point.factors.level, point.basis, point.factors.norm
        directions, width = level.directions, level.matrix.shape[0]
        depth, count = basis.shape
        small = gamma(point.factors.terms + 2 * (depth + width + count) + 64)
        whole = point.images + k * level.times(basis)
        inner = basis.T @ whole
        beside = whole - basis @ inner
        self._inner, self._cross = (inner + inner.T) / 2, beside.T @ beside
        wide, long = math.sqrt(count) * (1 + point.drift), float(np.linalg.norm(whole))
        off = small * (2 * norm**2 * wide + norm * math.sqrt(point.square) + k * level.size * wide)
        self._off = off + small * (long + wide * float(np.linalg.norm(inner)))
        self._doubt = self._off + 1.01 * off + 2 * small * wide * long
        self._rounding = 2 * small * float(np.linalg.norm(beside)) ** 2
        left = directions - basis @ (basis.T @ directions)
        size = float(np.linalg.norm(directions))
        reach = float(np.linalg.norm(left)) * (1 + small) + small * size * (1 + wide)
        matrix = float(np.linalg.norm(level.matrix)) * (1 + small)
        self._floor = k * (level.number + matrix * reach**2) * (1 + gamma(8))
        self._drift = point.drift
        sound = math.isfinite(self._floor) and math.isfinite(self._doubt) and bool(np.isfinite(self._cross).all())
        require(sound, "its numbers overflow")

    def bound(self, rest: float) -> float:
        """Bound λ_max(M) where |Zᵀc|² ≤ rest |c|² for all c with Bᵀc = 0."""
        if not math.isfinite(rest):
            return math.inf
        least = (self._floor + rest) * (1 + gamma(4)) + self._off
        gap = self._about(least) - least
        level = least + gap
        gap *= 1 - gamma(16) - 2 * gamma(4) * level / gap  # λ − μ − ē of the numbers themselves
        matrix = self._inner + self._cross / gap
        doubt = self._doubt + self._rounding / gap + gamma(8) * float(np.linalg.norm(matrix))
        top = largest_eigenvalue((matrix + matrix.T) / 2, doubt * (1 + gamma(16)))
        return max(top / (1 - self._drift), level) * (1 + gamma(16))

    def _about(self, least: float) -> float:
        """Return about the λ > μ + ē at which λ_max(H) is λ; any larger number will do."""
        tiny = 1e-9 * max(least, float(np.abs(self._inner).max()), float(np.finfo(float).tiny))

        def excess(gap: float) -> float:
            return float(np.linalg.eigvalsh(self._inner + self._cross / gap)[-1]) - least - gap

        low = high = tiny
        while excess(high) > 0:
            low, high = high, 2 * high
            require(math.isfinite(high), "its numbers overflow")
        for _ in range(STEPS):
            if high - low <= tiny:
                break
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return least + high


def _moved(bound: float, stray: float) -> float:
    return (math.sqrt(max(bound, 0.0)) + stray) ** 2 * (1 + gamma(8))
