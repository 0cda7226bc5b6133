"""The bound as a function of its levels, for what is known of the features: coordinates along a few directions.

Let B be orthonormal directions of sample space, the first of them W, and C = FᵀB. The level is R = T⁻¹T⁻ᵀ on W and r
elsewhere; the density that suggests the dual matrices is TᵀpT on W and p_r/r elsewhere. Then every dual matrix is zzᵀ
with z = T⁻¹z̃ on W and αa elsewhere (`secular`), and

    Bᵀ(kR + Σ zzᵀ)B = k diag(T⁻¹T⁻ᵀ, rI) + QᵀQ,    Q = [z̃T⁻ᵀ, α C beyond W].

Its eigenvalues are smoothed by a softmax, together with one that stands for all directions that are not in B, as if
what the features have there were spread evenly but for a factor, the `unevenness`. The derivative of that by the matrix
is a density matrix over eigenvectors, and that of each zzᵀ by the levels comes from implicit differentiation of θ.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.l0_level.secular import derivatives, factors
from certpca.runtime.arrays import Array, Vector, device_of, is_host, namespace, to_vector

NEGLIGIBLE = 1e-9  # share of an eigenvector in the softmax


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """T (`frame`), p (`weights`), r (`level`) and p_r (`rest_weight`); everything is free, and none can be wrong."""

    frame: Vector
    weights: Vector
    level: float
    rest_weight: float

    @property
    def width(self) -> int:
        """How many directions have levels of their own."""
        return int(self.weights.size)

    def wider(self, count: int) -> "Levels":
        """Give more directions levels of their own, which are those of the rest for now."""
        width = self.width
        frame = np.eye(width + count) / math.sqrt(self.level)
        frame[:width, :width] = self.frame
        return replace(self, frame=frame, weights=np.append(self.weights, np.full(count, self.rest_weight)))

    def matrix(self) -> Vector:
        """Return the level on W."""
        inverse = np.linalg.inv(self.frame)
        return np.asarray(inverse @ inverse.T)

    def times(self, factor: float) -> "Levels":
        """Return the levels of a matrix that is multiplied by a number."""
        return replace(self, frame=self.frame / math.sqrt(factor), level=self.level * factor)

    def moved(self, step: Vector) -> "Levels":
        """Return (I + X)T and weights and levels times exponentials, for X and exponents in one vector."""
        width = self.width
        turn = step[: width * width].reshape(width, width)
        with np.errstate(over="ignore"):
            logs = np.exp(np.clip(step[width * width :], -60, 60))
        frame = self.frame + turn @ self.frame
        level, rest_weight = self.level * float(logs[-2]), self.rest_weight * float(logs[-1])
        return Levels(frame, self.weights * logs[:width], level, rest_weight)

    def steps(self) -> int:
        """Return the number of coordinates of a step."""
        return self.width**2 + self.width + 2


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The smoothed bound, its gradient by a step from `base`, and the matrix's eigenvalues and eigenvectors in B."""

    value: float
    gradient: Vector
    eigenvalues: Vector
    eigenvectors: Vector
    beyond: float

    @property
    def largest(self) -> float:
        """The largest eigenvalue, without smoothing."""
        return max(float(self.eigenvalues[-1]), self.beyond)


class Model:
    """The bound on known coordinates. `along` is C, `lengths` the squared lengths of the features, both divided alike.

    `directions` is how many of the sample space there are: as many as C has columns, or more.
    """

    def __init__(self, along: Array, lengths: Vector, directions: int, unevenness: float = 1.0) -> None:
        self.xp = namespace(along)
        self.along, self.lengths = along, lengths
        self.directions, self.unevenness = directions, unevenness
        self.known = int(along.shape[1])
        self._theta = self._there(np.zeros(along.shape[0]))
        self._squares: dict[int, Array] = {}
        self._buffer: Array = None

    def _there(self, values: Vector) -> Array:
        host = np.ascontiguousarray(values)  # not every library takes arrays that run backwards
        return self.xp.asarray(host, dtype=self.xp.float64, device=device_of(self.along))

    def _left(self, width: int) -> Array:
        """Return the squared length of what each feature has outside the first directions."""
        xp = self.xp
        if width not in self._squares:
            if width == self.directions:
                left = xp.zeros_like(self._there(self.lengths))
            else:
                part = xp.astype(self.along[:, :width], xp.float64)
                left = self._there(self.lengths) - xp.sum(part * part, axis=1)
                left = xp.where(left > 0, left, xp.zeros_like(left))
            self._squares = {at: kept for at, kept in self._squares.items() if at == self.known}
            self._squares[width] = left
        return self._squares[width]

    def factors(self, levels: Levels) -> tuple[Array, ...]:
        """Return θ, N, z̃, α and b of every feature, and what it has beyond W in the frame."""
        xp, width = self.xp, levels.width
        own = self.along[:, :width]
        b = own @ xp.astype(self._there(levels.frame.T), own.dtype)
        rest = self._left(width) / levels.level
        theta, norm, z, other = factors(b, rest, self._there(levels.weights), levels.rest_weight, self._theta)
        self._theta = theta
        return theta, norm, z, other, b, rest

    def rows(self, levels: Levels, z: Array, other: Array) -> Array:
        """Return Q: what every dual vector has along the known directions; the next call may write over it."""
        xp, dtype = self.xp, self.along.dtype
        inverse = xp.astype(self._there(np.asarray(np.linalg.inv(levels.frame).T, dtype=np.float64)), dtype)
        mine = z @ inverse
        if levels.width == self.known:
            return mine
        if not is_host(mine):
            return xp.concat([mine, self.along[:, levels.width :] * xp.astype(other, dtype)[:, None]], axis=1)
        # The same memory serves all evaluations: new pages cost more than everything else in one of them.
        if self._buffer is None:
            self._buffer = np.empty_like(self.along)
        self._buffer[:, : levels.width] = mine
        scale = other.astype(dtype)[:, None]
        np.multiply(self.along[:, levels.width :], scale, out=self._buffer[:, levels.width :])
        return self._buffer

    def spectrum(self, levels: Levels, sparsity: int, rows: Array, other: Array) -> tuple[Vector, Vector, float]:
        """Return eigenvalues and eigenvectors in the known directions, and what stands for the others."""
        xp, width = self.xp, levels.width
        total = to_vector(xp.matrix_transpose(rows) @ rows)
        total[:width, :width] += sparsity * levels.matrix()
        total[range(width, self.known), range(width, self.known)] += sparsity * levels.level
        values, vectors = np.linalg.eigh((total + total.T) / 2)
        beyond = -math.inf
        if self.known < self.directions:
            mean = float(xp.sum(other**2 * self._left(self.known))) / (self.directions - self.known)
            beyond = sparsity * levels.level + self.unevenness * mean
        return values, vectors, beyond

    def evaluate(self, base: Levels, step: Vector, sparsity: int, smoothing: float) -> Evaluation:
        """Evaluate the smoothed bound and its gradient at a step away from some levels."""
        levels = base.moved(step)
        solved = self.factors(levels)
        _, _, z, other, _, _ = solved
        rows = self.rows(levels, z, other)
        values, vectors, beyond = self.spectrum(levels, sparsity, rows, other)
        top = max(float(values[-1]), beyond)
        shares = np.exp((np.append(values, beyond) - top) / smoothing)
        value = top + smoothing * math.log(float(shares.sum()))
        shares /= shares.sum()
        chosen = np.flatnonzero(shares[:-1] > NEGLIGIBLE)
        gradient = self._gradient(base, levels, sparsity, solved, rows, vectors, shares, chosen)
        return Evaluation(value, gradient, values, vectors, beyond)

    def _gradient(
        self,
        base: Levels,
        levels: Levels,
        sparsity: int,
        solved: tuple[Array, ...],
        rows: Array,
        vectors: Vector,
        shares: Vector,
        chosen: Any,
    ) -> Vector:
        xp, width, dtype = self.xp, levels.width, self.along.dtype
        theta, norm, z, other, b, rest = solved
        leading, share = vectors[:, chosen], shares[chosen]
        inverse = np.linalg.inv(levels.frame)
        turned = inverse.T @ leading[:width]  # ṽ
        images = rows @ xp.astype(self._there(leading), dtype)  # σ y
        weighted = images * xp.astype(self._there(share), dtype)[None, :]
        pull = weighted @ xp.astype(self._there(turned.T), dtype)
        value = xp.sum(xp.astype(weighted * images, xp.float64), axis=1)
        # σ y is what z̃ has along ṽ and α x: so X = Σ ωσy x comes without another product.
        mine = xp.sum(xp.astype(pull * z, xp.float64), axis=1)
        live = other > 0
        rest_pull = xp.where(live, (value - mine) / xp.where(live, other, xp.ones_like(other)), xp.zeros_like(other))
        spread = xp.zeros_like(other)
        if self.known < self.directions:
            spread = self._left(self.known) * (float(shares[-1]) * self.unevenness / (self.directions - self.known))
        value = value + other**2 * spread
        by_b, by_rest, by_weights, by_rest_weight = derivatives(
            b, rest, self._there(levels.weights), levels.rest_weight, (theta, norm), (pull, rest_pull, spread, value)
        )
        own = self.along[:, :width]
        by_frame = to_vector(xp.matrix_transpose(by_b) @ own)
        by_turned = 2 * to_vector(xp.matrix_transpose(z) @ weighted) + 2 * sparsity * turned * share
        by_frame = by_frame - turned @ by_turned.T @ inverse.T
        outside = float(share @ (1.0 - np.square(leading[:width]).sum(axis=0))) + float(shares[-1])
        by_level = sparsity * levels.level * outside - float(xp.sum(by_rest * rest))
        by_logs = np.append(to_vector(by_weights) * levels.weights, [by_level, by_rest_weight * levels.rest_weight])
        return np.concatenate([(by_frame @ base.frame.T).ravel(), by_logs])
