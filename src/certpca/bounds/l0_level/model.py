"""The bound as a function of its levels, for what is known of the features: coordinates along a few directions.

Let B be orthonormal directions of sample space, the first of them W, and C = FᵀB. The level is R = T⁻¹T⁻ᵀ on W and r
elsewhere; the density that suggests the dual matrices is TᵀpT on W and p_r/r elsewhere. Then every dual matrix is zzᵀ
with z = T⁻¹z̃ on W and αa elsewhere (`secular`), and

    Bᵀ(kR + Σ zzᵀ)B = k diag(T⁻¹T⁻ᵀ, rI) + QᵀQ,    Q = [z̃T⁻ᵀ, α C beyond W].

Its eigenvalues are smoothed (`aim.leading_sum`), together with one that stands for all directions that are not in B, as
if what the features have there were spread evenly but for a factor, the `unevenness`. The derivative of that by the
matrix is a density matrix over eigenvectors, and that of each zzᵀ by the levels comes from implicit differentiation of
θ. Features with a price have the level R + wI instead (`priced`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from certpca.bounds.l0_level.aim import Aim, Spectrum, leading_sum
from certpca.bounds.l0_level.priced import Frame, Solved, priced_derivatives, priced_factors
from certpca.bounds.l0_level.secular import derivatives, factors
from certpca.runtime.arrays import Array, Indices, Vector, device_of, is_host, namespace, to_vector

ROWS = 4096  # of a table that are converted at a time
NEGLIGIBLE = 1e-9  # share of an eigenvector in the softmax


def _row_squares(table: Array) -> Array:
    """Return the squared lengths of rows in float64, some rows at a time: a wide copy of all takes much memory."""
    xp, found = namespace(table), []
    for start in range(0, table.shape[0], ROWS):
        wide = xp.astype(table[start : min(start + ROWS, table.shape[0]), :], xp.float64)
        found.append(xp.sum(wide * wide, axis=1))
    return found[0] if len(found) == 1 else xp.concat(found)


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """T (`frame`), p (`weights`), r (`level`) and p_r (`rest_weight`); everything is free, and none can be wrong.

    `priced` are features with prices, which are positive.
    """

    frame: Vector
    weights: Vector
    level: float
    rest_weight: float
    priced: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    prices: Vector = field(default_factory=lambda: np.empty(0))

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
        frame = self.frame / math.sqrt(factor)
        return replace(self, frame=frame, level=self.level * factor, prices=self.prices * factor)

    def moved(self, step: Vector) -> "Levels":
        """Return (I + X)T and weights, levels and prices times exponentials, for X and exponents in one vector."""
        width = self.width
        turn = step[: width * width].reshape(width, width)
        with np.errstate(over="ignore"):
            logs = np.exp(np.clip(step[width * width :], -60, 60))
        frame = self.frame + turn @ self.frame
        level, rest_weight = self.level * float(logs[width]), self.rest_weight * float(logs[width + 1])
        prices = self.prices * logs[width + 2 :]
        return Levels(frame, self.weights * logs[:width], level, rest_weight, self.priced, prices)

    def steps(self) -> int:
        """Return the number of coordinates of a step."""
        return self.width**2 + self.width + 2 + self.prices.size


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The smoothed bound, its gradient by a step from `base`, and the spectra in B of the parts of the aim."""

    value: float
    gradient: Vector
    spectra: Sequence[Spectrum]


class Density:
    """A density matrix over directions: vectors, how much of each, and how much of all that are not known."""

    def __init__(self) -> None:
        self.elsewhere = 0.0
        self._parts: list[tuple[Vector, Vector]] = []

    def add(self, vectors: Vector, shares: Vector) -> None:
        """Add vectors with their shares, the last of which is for what is not known."""
        chosen = np.flatnonzero(shares[:-1] > NEGLIGIBLE * shares.sum())
        self._parts.append((vectors[:, chosen], shares[chosen]))
        self.elsewhere += float(shares[-1])

    def joined(self) -> tuple[Vector, Vector]:
        """Return all vectors and their shares."""
        vectors, shares = zip(*self._parts, strict=True)
        return np.concatenate(vectors, axis=1), np.concatenate(shares)


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
        self._solved: Solved | None = None  # of features with prices
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
                left = self._there(self.lengths) - _row_squares(self.along[:, :width])
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
        if levels.priced.size:
            at = self._priced(levels)
            own = priced_factors(to_vector(b[at, :]), to_vector(rest[at]), levels.prices, _frame(levels), self._solved)
            self._solved = own
            theta[at] = 0.0  # which `derivatives` leaves out
            z[at, :] = xp.astype(self._there(own.z), z.dtype)
            other[at] = self._there(own.other)
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

    def unknown(self, other: Array) -> float:
        """Return the trace of what dual vectors have along directions that are not known."""
        return float(self.xp.sum(other**2 * self._left(self.known)))

    def spectra(
        self, levels: Levels, aim: Aim, rows: Array, other: Array, more: Vector | None = None
    ) -> list[Spectrum]:
        """Return eigenvalues and eigenvectors of each part in the known directions, and what stands for the others.

        `more` is added to the matrix of each.
        """
        xp, width = self.xp, levels.width
        total = to_vector(xp.matrix_transpose(rows) @ rows)
        if more is not None:
            total = total + more
        mean = -math.inf
        if self.known < self.directions:
            mean = self.unknown(other) / (self.directions - self.known)
        found = []
        for part in aim.parts:
            matrix, k = total.copy(), part.sparsity
            level, number, apart = k * levels.matrix(), k * levels.level, None
            if part.once:
                apart = *np.linalg.eigh((level + level.T) / 2), number
                number = 0.0
            else:
                matrix[:width, :width] += level
                matrix[range(width, self.known), range(width, self.known)] += number
            values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
            found.append(Spectrum(part, values, vectors, number + self.unevenness * mean, apart))
        return found

    def evaluate(self, base: Levels, step: Vector, aim: Aim, smoothing: float) -> Evaluation:
        """Evaluate the smoothed bound and its gradient at a step away from some levels."""
        levels = base.moved(step)
        solved = self.factors(levels)
        _, _, z, other, _, _ = solved
        rows = self.rows(levels, z, other)
        spectra = self.spectra(levels, aim, rows, other)
        value, factors, level = float(levels.prices.sum()), Density(), Density()
        for spectrum in spectra:
            part = spectrum.part
            smooth, shares = leading_sum(np.append(spectrum.values, spectrum.beyond), part.leading, smoothing)
            factors.add(spectrum.vectors, part.times * shares)
            if spectrum.level is None:
                level.add(spectrum.vectors[: levels.width], part.sparsity * part.times * shares)
            else:
                values, vectors, number = spectrum.level
                paid, shares = leading_sum(np.append(values, number), 1, smoothing)
                smooth += paid
                level.add(vectors, part.sparsity * part.times * shares)
            value += part.times * smooth
        return Evaluation(value, self.gradient(base, levels, solved, rows, factors, level), spectra)

    def most_used(self, levels: Levels, aim: Aim, count: int) -> Indices:
        """Return features with most along the leading eigenvectors."""
        _, _, z, other, _, _ = self.factors(levels)
        rows = self.rows(levels, z, other)
        spectra = self.spectra(levels, aim, rows, other)
        leading = np.concatenate([some.vectors[:, -aim.components :] for some in spectra], axis=1)
        along = np.square(to_vector(rows @ self.xp.astype(self._there(leading), rows.dtype))).sum(axis=1)
        return np.sort(np.argsort(along)[::-1][:count])

    def gradient(
        self,
        base: Levels,
        levels: Levels,
        solved: tuple[Array, ...],
        rows: Array,
        density: Density,
        level_density: Density,
    ) -> Vector:
        """Differentiate, given the derivatives by Σ zzᵀ and by R as densities."""
        xp, width, dtype = self.xp, levels.width, self.along.dtype
        theta, norm, z, other, b, rest = solved
        leading, share = density.joined()
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
            spread = self._left(self.known) * (density.elsewhere * self.unevenness / (self.directions - self.known))
        value = value + other**2 * spread
        pulls = pull, rest_pull, spread, value
        by_b, by_rest, by_weights, by_rest_weight = derivatives(
            b, rest, self._there(levels.weights), levels.rest_weight, (theta, norm), pulls
        )
        by_level, by_prices, own = 0.0, np.empty(0), self.along[:, :width]
        by_frame = to_vector(xp.matrix_transpose(by_b) @ own)
        if levels.priced.size:
            assert self._solved is not None
            at = self._priced(levels)
            paid = priced_derivatives(
                to_vector(rest[at]),
                levels.prices,
                _frame(levels),
                self._solved,
                [to_vector(some[at]) for some in pulls],
            )
            by_rest[at] = self._there(paid.rest)
            by_weights, by_rest_weight = by_weights + self._there(paid.weights), by_rest_weight + paid.rest_weight
            by_frame = by_frame + paid.b.T @ to_vector(own[at, :]) + 2 * paid.gram @ levels.frame
            by_level, by_prices = levels.level * paid.level, levels.prices * (1.0 + paid.prices)
        by_turned = 2 * to_vector(xp.matrix_transpose(z) @ weighted)
        by_frame = by_frame - turned @ by_turned.T @ inverse.T
        axes, paid_share = level_density.joined()
        turned = inverse.T @ axes
        by_frame = by_frame - turned * (2 * paid_share) @ turned.T @ inverse.T
        outside = float(paid_share @ (1.0 - np.square(axes).sum(axis=0))) + level_density.elsewhere
        by_level += levels.level * outside - float(xp.sum(by_rest * rest))
        by_logs = np.append(to_vector(by_weights) * levels.weights, [by_level, by_rest_weight * levels.rest_weight])
        return np.concatenate([(by_frame @ base.frame.T).ravel(), by_logs, by_prices])

    def _priced(self, levels: Levels) -> Array:
        """Return which features have prices, where they are."""
        return self.xp.asarray(levels.priced, device=device_of(self.along))


def _frame(levels: Levels) -> Frame:
    return Frame(levels.weights, levels.rest_weight, levels.frame @ levels.frame.T, levels.level)
