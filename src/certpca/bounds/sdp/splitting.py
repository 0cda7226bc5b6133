"""Alternating directions for the semidefinite relaxation, with one stored n × n matrix and few eigenvectors.

The problem is split as Z = W with Z in the spectraplex and W in the l1 ball. With the penalty r and the scaled
multiplier Λ, one step is

    Z ← projection of W − Λ + A/r,   W ← soft threshold of Z + Λ at the level t with Σ|W| = k,   Λ ← Z + Λ − W.

W is a soft threshold and Λ the clipped rest of the same matrix N = Z + Λ, so N and t are all that is stored;
products with W − Λ = N − 2 clip(N, ±t) are made by blocks of rows. Z has low rank: a few eigenvectors, kept from step
to step in a short Krylov space, are enough. U = rΛ is a dual matrix with max|U_ij| = rt in every step. (Boyd, Parikh,
Chu, Peleato & Eckstein, Foundations and Trends in Machine Learning, 2011: over-relaxation and the adaptive penalty.)
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from certpca.bounds.l0_dual.secular import row_chunks
from certpca.operators.base import Operator
from certpca.operators.views import Products
from certpca.runtime.arrays import Array, Vector, to_numpy, to_vector
from certpca.runtime.lateness import Late, never
from certpca.search.krylov import KrylovSpace, leading_eigenpairs

FULL_SPECTRUM = 48  # up to this size all eigenvectors are computed
FORMED = 4096  # up to this size A itself is stored too
DOUBLE = 1024  # up to this size in double precision
BLOCK = 8  # eigenvectors followed beyond the rank
RELAXED = 1.6
BALANCE_EVERY = 10  # steps, up to 200
LATER = (300, 500, 800, 1200, 1700, 2300)  # solutions of high rank need another penalty in the end


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """Z = V diag(z) Vᵀ, what it proves from below, and residuals, in units of the scale.

    `value` is that of Z shrunk into the l1 ball, so it is at most that of the relaxation.
    """

    vectors: Vector
    weights: Vector
    value: float
    norm: float
    primal_residual: float
    dual_residual: float


class Splitting:
    """The state N, t, r for one operator, scaled so that its largest eigenvalue is one."""

    def __init__(self, operator: Operator, sparsity: int, scale: float) -> None:
        self.operator, self.sparsity, self.scale = operator, sparsity, scale
        self.xp, self.size = operator.xp, operator.size
        self.dtype = operator.xp.float64 if operator.size <= DOUBLE else operator.xp.float32
        self.penalty = 1.0
        self.level = 0.0
        self._state = self.xp.zeros((self.size, self.size), dtype=self.dtype, device=operator.device)
        self._formed = None
        if self.size <= FORMED:
            columns = operator.columns(np.arange(self.size))
            self._formed = self.xp.astype(columns / scale, self.dtype)
        self._block: Array = None
        self._previous: tuple[Array, Array] | None = None

    @staticmethod
    def memory(size: int) -> int:
        """Return the bytes that N, A where it is formed, and the proof in double precision take."""
        item = 8 if size <= DOUBLE else 4
        return size * size * (item * (2 if size <= FORMED else 1) + 16)

    def start(self, vectors: Vector, weights: Vector, dual_rows: Callable[[slice], Array], level: float) -> None:
        """Begin at Z = V diag(z) Vᵀ and a dual matrix with entries up to `level`, given by rows."""
        xp = self.xp
        there = xp.asarray(vectors, dtype=self.dtype, device=self.operator.device)
        scaled = xp.asarray(vectors * weights, dtype=self.dtype, device=self.operator.device)
        for rows in self.rows():
            dual = dual_rows(rows) / self.penalty
            self._state[rows, :] = scaled[rows, :] @ xp.matrix_transpose(there) + dual
        self.level = level / self.penalty
        self._block = there

    def steps(self) -> Iterator[Iterate]:
        """Iterate for ever."""
        count = 0
        while True:
            vectors, weights = self._project()
            norm, primal, dual = self._advance(vectors, weights)
            image = self._product_with_matrix(vectors)
            energy = float(self.xp.sum(vectors * image * weights[None, :]))
            value = energy * min(1.0, self.sparsity / max(norm, 1e-300))
            yield Iterate(to_vector(vectors), to_vector(weights), value, norm, primal, dual)
            count += 1
            if (count % BALANCE_EVERY == 0 and count <= 200) or count in LATER:
                self._balance(primal, dual)

    def dual_top(self, accuracy: float, late: Late = never) -> float:
        """Estimate λ_max(A − U); infinite where there is no time for that, as an estimate from below would not do."""
        rest = Products(self.operator, self.times_rest, self.dtype)
        start = to_vector(self._block[:, 0])
        pairs = leading_eigenpairs(rest, min(2, self.size), accuracy=accuracy, start=start, late=late)
        if pairs.residual > accuracy and late():
            return math.inf
        value = float(pairs.values[0])
        return value + accuracy * abs(value)  # of eigenvalues closer together than that, it need not be the largest

    def dual_level(self) -> float:
        """Return max|U_ij|."""
        return self.penalty * self.level

    def dual_packed(self) -> Vector:
        """Return the lower triangle of U, in units of the scale."""
        parts = []
        for rows in self.rows():
            block = to_numpy(self.dual_rows(rows))
            for offset in range(block.shape[0]):
                parts.append(block[offset, : rows.start + offset + 1])
        return np.concatenate(parts)

    def times_dual(self, panel: Array) -> Array:
        """Multiply U by a panel."""
        return self.xp.concat([self.dual_rows(rows) @ panel for rows in self.rows()], axis=0)

    def times_rest(self, panel: Array) -> Array:
        """Multiply A − U by a panel."""
        return self._product_with_matrix(panel) - self.times_dual(panel)

    def dual_rows(self, rows: slice) -> Array:
        """Return rows of U."""
        return self.penalty * self._clipped(rows)

    def rows(self) -> list[slice]:
        """Cut the rows into runs whose temporaries stay small."""
        return row_chunks(self._state)

    def adopt(self, panel: Vector) -> Array:
        """Bring numbers to where the state is."""
        return self.xp.asarray(panel, dtype=self.dtype, device=self.operator.device)

    # --- one step -----------------------------------------------------------------------------------------------

    def _clipped(self, rows: slice) -> Array:
        return self.xp.clip(self._state[rows, :], -self.level, self.level)

    def _product(self, panel: Array) -> Array:
        """Multiply W − Λ + A/r by a panel."""
        parts = []
        for rows in self.rows():
            block = self._state[rows, :] - 2 * self._clipped(rows)
            if self._formed is not None:
                block = block + self._formed[rows, :] / self.penalty
            parts.append(block @ panel)
        product = self.xp.concat(parts, axis=0)
        if self._formed is None:
            product = product + self._product_with_matrix(panel) / self.penalty
        return product

    def _product_with_matrix(self, panel: Array) -> Array:
        if self._formed is not None:
            return self._formed @ panel
        return self.xp.astype(self.operator.matmat(panel) / self.scale, self.dtype)

    def _project(self) -> tuple[Array, Array]:
        """Return the eigenvectors and weights of the projection on the spectraplex."""
        xp = self.xp
        if self.size <= FULL_SPECTRUM or (self._block is not None and 6 * self._block.shape[1] >= self.size):
            whole = self._product(xp.eye(self.size, dtype=self.dtype, device=self.operator.device))
            values, vectors = xp.linalg.eigh((whole + xp.matrix_transpose(whole)) / 2)
            values, vectors = xp.flip(values), xp.flip(vectors, axis=1)
        else:
            values, vectors = self._leading()
        weights = _onto_simplex(to_vector(values))
        rank = max(1, int((weights > 0).sum()))
        self._block = vectors[:, : min(self.size, rank + BLOCK)]
        there = xp.asarray(weights[:rank], dtype=self.dtype, device=self.operator.device)
        return vectors[:, :rank], there

    def _leading(self) -> tuple[Array, Array]:
        """Approximate the leading eigenpairs in a Krylov space of three blocks around the last ones."""
        xp = self.xp
        width = min(self.size // 3, max(BLOCK + 1, self._block.shape[1]))
        block = self._block[:, :width]
        if block.shape[1] < width:
            noise = np.random.default_rng(0).standard_normal((self.size, width - block.shape[1]))
            noise = xp.asarray(noise / math.sqrt(self.size), dtype=self.dtype, device=self.operator.device)
            block = xp.concat([block, noise], axis=1)
        there = Products(self.operator, self._product, self.dtype)
        space = KrylovSpace(self.size, there.matmat, np.random.default_rng(0), xp, there.adopt)
        for _ in range(3):
            block = space.grow(block)
        values, rotation = space.ritz()
        return there.adopt(values[: 2 * width]), space.turned(rotation[:, : 2 * width])[0]

    def _advance(self, vectors: Array, weights: Array) -> tuple[float, float, float]:
        """Set N to the relaxed Z + Λ, find t, and return Σ|Z_ij|, ‖Z − W‖ and r‖Z − Z'‖ for the Z' before."""
        xp = self.xp
        scaled = vectors * weights[None, :]
        turned = xp.matrix_transpose(vectors)
        before, self._previous = self._previous, (scaled, turned)
        cut = 0.9 * self.level
        large: list[Vector] = []
        norm = primal = moved = 0.0
        for rows in self.rows():
            part = scaled[rows, :] @ turned
            norm += float(xp.sum(xp.abs(part), dtype=xp.float64))
            if before is not None:
                change = part - before[0][rows, :] @ before[1]
                moved += float(xp.sum(change * change, dtype=xp.float64))
            state = self._state[rows, :]
            multiplier = xp.clip(state, -self.level, self.level)
            other = state - multiplier
            difference = part - other
            primal += float(xp.sum(difference * difference, dtype=xp.float64))
            fresh = other + RELAXED * difference + multiplier
            self._state[rows, :] = fresh
            sizes = xp.abs(fresh)
            large.append(to_vector(sizes[sizes > cut]))
        level = _soft_level(np.concatenate(large), self.sparsity)
        if level < cut or cut == 0.0:  # the guess was too high: look at all entries
            everything = [to_vector(xp.reshape(xp.abs(self._state[rows, :]), (-1,))) for rows in self.rows()]
            level = _soft_level(np.concatenate(everything), self.sparsity)
        self.level = level
        dual = math.inf if before is None else self.penalty * math.sqrt(moved)
        return norm, math.sqrt(primal), dual

    def _balance(self, primal: float, dual: float) -> None:
        """Move the penalty so that both residuals shrink together; Λ = U/r is rescaled, W stays."""
        if not math.isfinite(dual) or min(primal, dual) <= 0:
            return
        factor = min(max(math.sqrt(primal / dual), 0.25), 4.0)
        if 0.7 < factor < 1.4:
            return
        for rows in self.rows():
            multiplier = self._clipped(rows)
            self._state[rows, :] = self._state[rows, :] - multiplier + multiplier / factor
        self.penalty *= factor
        self.level /= factor


def _onto_simplex(values: Vector) -> Vector:
    """Project values, largest first, on the nonnegative ones with sum at most one."""
    positive = np.maximum(values, 0.0)
    if positive.sum() <= 1:
        return positive
    sums = (np.cumsum(values) - 1) / np.arange(1, values.size + 1)
    count = int(np.flatnonzero(values > sums)[-1])
    return np.asarray(np.maximum(values - sums[count], 0.0))


def _soft_level(magnitudes: Vector, total: float) -> float:
    """Return t ≥ 0 with Σ(|N| − t)₊ = total, zero where the sum is smaller; smaller entries than given are ignored."""
    if magnitudes.sum() <= total:
        return 0.0
    level = 0.0
    active = magnitudes
    for _ in range(100):  # each pass drops entries for good
        fresh = (active.sum() - total) / active.size
        kept = active[active > fresh]
        if kept.size == active.size:
            return max(float(fresh), 0.0)
        level, active = fresh, kept
    return max(float(level), 0.0)
