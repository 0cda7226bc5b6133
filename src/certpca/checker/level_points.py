"""Dual points whose level is a matrix: kR + Σ Y_i, formed.

The inequality is that of `rules/l0_level`; `levels` says what R is, `level_factors` what Y_i = z_iz_iᵀ is.

The sum. √λ_max moves by at most the length of the errors of all z together; sums over n features round as inner
products do, by γ_n tr in norm; kR is formed from W and S with an error of at most γ_{2m+4} kϱ in norm.

Proof: docs/mathematics.md, 3.1 to 3.5 and 12.1.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.checker.data import Prepared
from certpca.checker.large_eigenvalues import EXACT_UP_TO, Leading, about_largest
from certpca.checker.level_factors import described_vectors
from certpca.checker.level_suggestions import NEWTON_STEPS
from certpca.checker.levels import Level, level_of, prices_of
from certpca.checker.limits import LARGEST_LEVEL_ORDER
from certpca.checker.numbers import Vector, gamma, largest_eigenvalue, require

PANEL_BYTES = 24 << 20  # of dual vectors that are multiplied at a time


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """A level, Σ Y_i (`total`), and how far rounding can have moved that (`doubt`). It serves every sparsity.

    `prices` has a price for each feature. `along` is about Wᵀz_i of each and `lengths` about |z_i|²: they say which
    features need not be looked at. `known` keeps what is suggested for λ₁ and λ₂ of a sparsity.
    """

    level: Level
    total: Vector
    doubt: float
    prepared: Prepared
    prices: Vector
    along: NDArray[np.float32]
    lengths: Vector
    known: dict[float, Leading] = field(default_factory=dict)

    def matrix(self, k: float) -> tuple[Vector, float]:
        """Return kR + Σ Y_i, and how far rounding can have moved it."""
        together = self.level.formed()
        together *= k
        together += self.total
        doubt = self.doubted(k)
        require(bool(np.isfinite(together).all()) and math.isfinite(doubt), "its numbers overflow")
        both: Vector = together + together.T
        both *= 0.5
        return both, doubt

    def bound(self, k: int) -> float:
        """Bound λ_max(kR + Σ Y_i) of the F at hand."""
        matrix, doubt = self.matrix(k)
        if self.prepared.depth <= EXACT_UP_TO:
            return largest_eigenvalue(matrix, doubt)
        self.known[k] = about_largest(matrix)
        return largest_eigenvalue(matrix, doubt, suggestion=self.known[k].largest, spare=True)

    def leading(self, k: int) -> Leading:
        """Suggest the leading eigenvalues of kR + Σ Y_i."""
        if k not in self.known:
            self.known[k] = about_largest(self.matrix(k)[0])
        return self.known[k]

    def doubted(self, k: float) -> float:
        """Return how far rounding can have moved kR + Σ Y_i."""
        trace = float(np.trace(self.total)) * (1 + gamma(self.prepared.depth))
        return self.doubt + gamma(2 * self.level.matrix.shape[0] + 16) * (k * self.level.size + trace)


def level_point_of(prepared: Prepared, evidence: Mapping[str, Any]) -> LevelPoint:
    """Read a level and add up the Y_i that go with it."""
    require(prepared.depth <= LARGEST_LEVEL_ORDER, f"a level of order {prepared.depth} is too large to be factored")
    level, prices = level_of(prepared, evidence), prices_of(prepared, evidence)
    numbers = np.array([level.number, level.rest_weight])
    parts = (level.directions, level.matrix, level.frame, level.weights, numbers, prices)
    key = blake2b(b"level" + b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()
    known: LevelPoint | None = prepared.latest.get(key)
    if known is not None:
        return known
    depth, size, width = prepared.depth, prepared.size, level.matrix.shape[0]
    prepared.work.spend(float(size) * depth * (depth + 8.0 * width) + 4.0 * depth**3)
    prepared.work.spend(NEWTON_STEPS * float(width) ** 3 * np.count_nonzero(prices))
    along, lengths = np.empty((size, width), dtype=np.float32), np.empty(size)

    def vectors(part: slice, block: Vector) -> tuple[Vector, float]:
        z, stray, inner, lengths[part] = described_vectors(block, level, prices[part])
        along[part] = inner.T
        return z, stray

    total, doubt = sum_of_duals(prepared, vectors)
    point = LevelPoint(level, total, doubt, prepared, prices, along, lengths)
    prepared.latest.clear()
    prepared.latest[key] = point
    return point


def sum_of_duals(
    prepared: Prepared, vectors: Callable[[slice, Vector], tuple[Vector, float]], order: int | None = None
) -> tuple[Vector, float]:
    """Add up the z_i z_iᵀ of all features, given by blocks with their squared errors; return how far the sum is off.

    `order` is the length of the z, by default that of all directions.
    """
    depth, size = prepared.depth if order is None else order, prepared.size
    total, product, strays, at = np.zeros((depth, depth)), np.empty((depth, depth)), 0.0, 0
    # Several blocks are multiplied at a time, into memory that stays: adding up takes as long as multiplying else.
    panel = np.empty((depth, max(1, min(size, PANEL_BYTES // (8 * depth)))))
    for _, (made, stray) in prepared.worked_out(vectors):
        strays += stray
        live = made[0] != 0
        if not live.all():  # most are zero where levels are high
            live[~live] = made[:, ~live].any(axis=0)
        z = made if live.all() else made[:, live]
        for begin in range(0, z.shape[1], panel.shape[1]):
            some = z[:, begin : begin + panel.shape[1]]
            if at + some.shape[1] > panel.shape[1]:
                total += np.matmul(panel[:, :at], panel[:, :at].T, out=product)
                at = 0
            panel[:, at : at + some.shape[1]] = some
            at += some.shape[1]
    total += np.matmul(panel[:, :at], panel[:, :at].T, out=product)
    require(bool(np.isfinite(total).all()) and math.isfinite(strays), "its numbers overflow")
    total = np.add(total, total.T, out=product)
    total *= 0.5
    trace = float(np.trace(total)) * (1 + gamma(depth))
    stray = math.sqrt(strays) * (1 + gamma(size + 8))
    return total, gamma(size + 16) * trace + 2 * stray * math.sqrt(trace) + stray**2
