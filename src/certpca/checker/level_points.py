"""Dual points whose level is a matrix: from directions W, a matrix on them and a number to kR + Σ Y_i.

The inequality is that of `rules/l0_level`; here is the arithmetic. The level is R = rI + WSWᵀ with r ≥ 0, W and S
exactly as they are read (after scaling by powers of two, which may drop numbers below the normal range: R is made of
what is left).

R ⪰ 0. Let L hold the lengths of the columns of W, or any other positive numbers. With τ ≥ λ_max(−LSL) and
σ ≥ λ_max(L⁻¹WᵀWL⁻¹), both proved, ξᵀRξ ≥ r|ξ|² − max(τ, 0)|L⁻¹Wᵀξ|² ≥ (r − max(τ, 0)σ)|ξ|². This `least`
eigenvalue must not be negative; nothing is asked of W, which may be far from orthonormal. Entries of LSL round twice,
so the matrix is off by at most γ_4 of its Frobenius norm; those of L⁻¹WᵀWL⁻¹ are at most one and off by γ_{d+4}.

Each Y_i. B = aaᵀ − R has at most one positive eigenvalue. Any c will do, so c is the vector of floating-point numbers
that came out of whatever was suggested. Then t = Wᵀc, s = St, v = Ws + rc, β = a·c, w = βa − v and q = β² − c·v are
computed. With d = depth, m columns of W, Frobenius norms |W|, |S|, ϱ = r + |W|²|S| ≥ ‖R‖, as γ_i + γ_j + γ_iγ_j ≤
γ_{i+j},

    |t − Wᵀc| ≤ γ_d |W||c|,   |s − SWᵀc| ≤ γ_{d+m} |S||W||c|,   |v − Rc| ≤ γ_{d+2m+2} ϱ|c|,   |β − a·c| ≤ γ_d |a||c|,
    |w − Bc| ≤ γ_{d+2m+6} (|a|² + ϱ)|c|,
    |q − cᵀBc| ≤ γ_{2d+2m+8} (β² + ϱ|c|² + 3|a||c||β|).

(The square of the error of β is at most a quarter of γ|a||c||β| where |β| ≥ 4γ|a||c|; elsewhere the lowered q below is
negative.) q is lowered by four times that, which only enlarges Y = wwᵀ/q, and z = w/√q is off by at most twice the
bound for w, divided by √q, which covers the division and the root.

Where the lowered q is not clearly positive, Y = (1 − 1/κ)₊ aaᵀ for a κ ≥ aᵀR⁻¹a: aaᵀ ⪯ κR, so aaᵀ − R ⪯ (1 − 1/κ)aaᵀ.
For every x, with e = a − Rx, aᵀR⁻¹a = 2a·x − xᵀRx + eᵀR⁻¹e ≤ 2a·x − xᵀRx + |e|²/least. Here x is what floating point
takes for R⁻¹a, the first two terms are off by at most γ_{2d+2m+8}(2|a||x| + ϱ|x|²) and |e| by γ_{d+2m+6}(|a| + ϱ|x|).
Where that gives nothing, κ = ∞: Y = aaᵀ always will do. Features with κ ≤ 1 need no dual matrix at all.

Prices. A feature with the price w ≥ 0 has R + wI in place of R, and r + w in place of r: B = aaᵀ − R − wI still has at
most one positive eigenvalue. r + w rounds once more, so everything above holds with ϱ + w in place of ϱ and
least + w in place of least, κ included.

Rank one. Y = (Bc)(Bc)ᵀ/q ⪰ aaᵀ − R_c for R_c = (Rc)(Rc)ᵀ/cᵀRc as well, since Bc and cᵀBc are the same for R_c as for R;
and (1 − 1/κ)aaᵀ = aaᵀ − aaᵀ/κ. So for each feature there is a matrix of rank one below R that does what R does: rules
for several directions at once may count on it.

The sum. √λ_max moves by at most the length of the errors of all z together; sums over n features round as inner
products do, by γ_n tr in norm; kR is formed from W and S with an error of at most γ_{2m+4} kϱ in norm.

Underflow. Columns of W have their largest entry between one half and one, or are zero; S and r are at most 2¹⁰⁰ in
units in which the data are near one. What vanishes below the normal range then moves no w by more than 2⁻⁸⁰⁰ and no q
either, and q must be above 2⁻²⁰⁰, so that no z moves by more than 2⁻⁷⁰⁰ of the largest number in it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.large_eigenvalues import largest_of
from certpca.checker.limits import LARGEST_LEVEL_ORDER
from certpca.checker.numbers import Vector, array_of, gamma, indices_of, largest_eigenvalue, require

NEWTON_STEPS = 40
SYSTEMS = 256  # that are solved at a time, for features with prices
SMALLEST_FORM = 2.0**-200
LARGEST_LEVEL = 2.0**100


@dataclass(frozen=True, slots=True)
class Level:
    """R = rI + WSWᵀ (`number`, `directions`, `matrix`), ϱ (`size`), a lower bound of its eigenvalues, and suggestions.

    `scales`, which directions were divided by, `frame`, `weights` and `rest_weight` only suggest vectors c; so does
    `inverse`, about (rI + SWᵀW)⁻¹S, for R⁻¹a.
    """

    number: float
    directions: Vector
    matrix: Vector
    size: float
    least: float
    scales: Vector
    frame: Vector
    weights: Vector
    rest_weight: float
    inverse: Vector | None

    def times(self, vectors: Vector, prices: Vector | float = 0.0) -> Vector:
        """Return about R vectors, each with its price added to R."""
        within = self.directions @ (self.matrix @ (self.directions.T @ vectors))
        product: Vector = within + (self.number + prices) * vectors
        return product

    def formed(self) -> Vector:
        """Return R, off by at most γ_{2m+4}ϱ in norm."""
        whole: Vector = (self.directions @ self.matrix) @ self.directions.T
        whole[np.diag_indices(whole.shape[0])] += self.number
        return (whole + whole.T) / 2


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """A level, Σ Y_i (`total`), and how far rounding can have moved that (`doubt`). It serves every sparsity.

    `prices` has a price for each feature.
    """

    level: Level
    total: Vector
    doubt: float
    prepared: Prepared
    prices: Vector

    def matrix(self, k: float) -> tuple[Vector, float]:
        """Return kR + Σ Y_i, and how far rounding can have moved it."""
        together = k * self.level.formed() + self.total
        trace = float(np.trace(self.total)) * (1 + gamma(self.prepared.depth))
        width = self.level.matrix.shape[0]
        doubt = self.doubt + gamma(2 * width + 16) * (k * self.level.size + trace)
        require(bool(np.isfinite(together).all()) and math.isfinite(doubt), "its numbers overflow")
        return (together + together.T) / 2, doubt

    def bound(self, k: int) -> float:
        """Bound λ_max(kR + Σ Y_i) of the F at hand."""
        return largest_of(*self.matrix(k))


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
    total, doubt = sum_of_duals(prepared, lambda part, block: level_vectors(block, level, prices[part]))
    point = LevelPoint(level, total, doubt, prepared, prices)
    prepared.latest.clear()
    prepared.latest[key] = point
    return point


def sum_of_duals(prepared: Prepared, vectors: Callable[[slice, Vector], tuple[Vector, float]]) -> tuple[Vector, float]:
    """Add up the z_i z_iᵀ of all features, given by blocks with their squared errors; return how far the sum is off."""
    depth, size = prepared.depth, prepared.size
    total, strays = np.zeros((depth, depth)), 0.0
    for part, block in prepared.blocks():
        z, stray = vectors(part, block)
        z = z[:, z.any(axis=0)]  # most are zero where levels are high
        total += z @ z.T
        strays += stray
    require(bool(np.isfinite(total).all()) and math.isfinite(strays), "its numbers overflow")
    total = (total + total.T) / 2
    trace = float(np.trace(total)) * (1 + gamma(depth))
    stray = math.sqrt(strays) * (1 + gamma(size + 8))
    return total, gamma(size + 16) * trace + 2 * stray * math.sqrt(trace) + stray**2


def level_of(prepared: Prepared, evidence: Mapping[str, Any]) -> Level:
    """Read a level, refusing one that is not positive semidefinite, and what suggests dual matrices for it."""
    directions = array_of(evidence, "directions", 2)
    depth, width = directions.shape
    require(depth == prepared.depth and 1 <= width <= depth, "its directions have the wrong form")
    packed, frame = array_of(evidence, "matrix", 1), array_of(evidence, "frame", 2)
    weights = array_of(evidence, "weights", 1)
    require(packed.size == width * (width + 1) // 2, "the matrix of its level has the wrong size")
    require(frame.shape == (width, width) and weights.size == width + 1, "its frame or weights have the wrong size")
    number = float(array_of(evidence, "level", 0)) / prepared.unit
    matrix = np.zeros((width, width))
    matrix[np.tril_indices(width)] = packed / prepared.unit
    matrix = matrix + np.tril(matrix, -1).T
    # Powers of two bring every direction near one; what that drops, R does without.
    powers = np.frexp(np.abs(directions).max(axis=0))[1]
    directions = np.ldexp(directions, -powers)
    with np.errstate(over="ignore"):  # and is refused
        matrix = np.ldexp(matrix, powers[:, None] + powers[None, :])
    matrix[np.abs(matrix) < 2.0**-400] = 0.0
    largest = max(float(np.abs(matrix).max()), number)
    require(number >= 0 and largest <= LARGEST_LEVEL, "its level is negative or too large")
    gram = directions.T @ directions
    square = float((directions**2).sum()) * (1 + gamma(depth * width + 4))
    least = number - _below_zero(directions, matrix, gram) * (1 + gamma(4))
    require(least >= 0, "its level is not positive semidefinite")
    norm = float(np.linalg.norm(matrix)) * (1 + gamma(width * width + 4))
    size = (number + square * norm) * (1 + gamma(8))
    inverse = None
    if least > SMALLEST_FORM:
        try:
            inverse = np.linalg.inv(np.eye(width) * number + matrix @ gram) @ matrix
        except np.linalg.LinAlgError:
            inverse = None
    scales, frame = np.ldexp(1.0, powers), frame * math.sqrt(prepared.unit)
    weights = np.abs(weights)
    return Level(number, directions, matrix, size, least, scales, frame, weights[:-1], float(weights[-1]), inverse)


def prices_of(prepared: Prepared, evidence: Mapping[str, Any]) -> Vector:
    """Read a price for each feature, zero where nothing is said, refusing those that are negative."""
    prices = np.zeros(prepared.size)
    if "prices" in evidence:
        priced, given = indices_of(evidence, "priced", prepared.size), array_of(evidence, "prices", 1)
        require(given.size == priced.size, "its prices are not one for each feature that has one")
        require(bool((given >= 0).all()), "a price is negative")
        prices[priced] = given / prepared.unit
        require(float(prices.max()) <= LARGEST_LEVEL, "its prices are too large")
        prices[prices < 2.0**-400] = 0.0
    return prices


def _below_zero(directions: Vector, matrix: Vector, gram: Vector) -> float:
    """Bound how far WSWᵀ reaches below zero."""
    depth, width = directions.shape
    lengths = np.linalg.norm(directions, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    scaled = matrix * lengths[:, None] * lengths[None, :]
    below = largest_eigenvalue(-(scaled + scaled.T) / 2, gamma(8) * float(np.linalg.norm(scaled)))
    if below <= 0.0 or not scaled.any():
        return 0.0
    cosines = gram / lengths[:, None] / lengths[None, :]
    return below * largest_eigenvalue((cosines + cosines.T) / 2, gamma(depth + 16) * width * 1.01)


def level_vectors(columns: Vector, level: Level, prices: Vector | None = None) -> tuple[Vector, float]:
    """Return z_i with Y_i = z_i z_iᵀ for the columns a_i, and the squared length of all their errors."""
    prices = np.zeros(columns.shape[1]) if prices is None else prices
    depth, width = columns.shape[0], level.matrix.shape[0]
    small = gamma(2 * (depth + width) + 16)
    squares = (columns**2).sum(axis=0)
    if level.size == 0.0 and not prices.any():  # R = 0
        return columns, 0.0
    sizes = level.size + prices
    with np.errstate(all="ignore"):  # what is not finite is replaced below
        c = suggested(columns, squares, level)
        paying = np.flatnonzero(prices)
        if paying.size:
            c[:, paying] = suggested_for_prices(columns[:, paying], squares[paying], level, prices[paying])
        c /= np.linalg.norm(c, axis=0)
        inner, lengths = (columns * c).sum(axis=0), (c**2).sum(axis=0)
        v = level.times(c, prices)
        q = inner**2 - (c * v).sum(axis=0)
        doubt = inner**2 + sizes * lengths + 3 * np.sqrt(squares * lengths) * np.abs(inner)
        lowered = q - 4 * small * doubt
        z = (inner * columns - v) / np.sqrt(lowered)
        stray = 2 * small * (squares + sizes) * np.sqrt(lengths / lowered)
    usable = np.isfinite(z).all(axis=0) & np.isfinite(stray) & (lowered > 0.5 * q) & (lowered > SMALLEST_FORM)
    others = np.flatnonzero(~usable)
    if others.size:
        share = shrunk(columns[:, others], squares[others], level, prices[others])
        z[:, others] = columns[:, others] * share
        stray[others] = gamma(4) * share * np.sqrt(squares[others])
    return z, float((stray**2).sum())


def shrunk(columns: Vector, squares: Vector, level: Level, prices: Vector | None = None) -> Vector:
    """Return √(1 − 1/κ)₊ for an upper bound κ of aᵀ(R + wI)⁻¹a of each column: one where there is none."""
    if level.inverse is None:
        return np.ones(squares.size)
    prices = np.zeros(squares.size) if prices is None else prices
    small = gamma(2 * (columns.shape[0] + level.matrix.shape[0]) + 16)
    with np.errstate(all="ignore"):
        x = _solved(columns, level, prices)
        v = level.times(x, prices)
        lengths, sizes, whole = np.linalg.norm(x, axis=0), np.sqrt(squares), level.size + prices
        value = 2 * (columns * x).sum(axis=0) - (x * v).sum(axis=0)
        off = 4 * small * (2 * sizes * lengths + whole * lengths**2)
        rest = np.linalg.norm(columns - v, axis=0) + 4 * small * (sizes + whole * lengths)
        kappa = (value + off + rest**2 / (level.least + prices)) * (1 + gamma(16))
        share = np.sqrt(np.maximum(1 - 1 / kappa, 0.0) * (1 + gamma(8)) + gamma(8))
    share = np.where(kappa <= 1, 0.0, share)
    return np.where(np.isfinite(share), np.minimum(share, 1.0), 1.0)


def _solved(columns: Vector, level: Level, prices: Vector) -> Vector:
    """Return about (R + wI)⁻¹a: any vector would do."""
    assert level.inverse is not None
    along = level.directions.T @ columns
    within = level.inverse @ along
    paying = np.flatnonzero(prices)
    if paying.size:
        product = level.matrix @ (level.directions.T @ level.directions)
        right, unit = (level.matrix @ along[:, paying]).T, np.eye(product.shape[0])
        for begin in range(0, paying.size, SYSTEMS):
            part = slice(begin, begin + SYSTEMS)
            systems = (level.number + prices[paying[part], None, None]) * unit + product
            try:
                within[:, paying[part]] = np.linalg.solve(systems, right[part, :, None])[:, :, 0].T
            except np.linalg.LinAlgError:  # what is there bounds less well, and nothing wrongly
                break
    made: Vector = (columns - level.directions @ within) / (level.number + prices)
    return made


def suggested(columns: Vector, squares: Vector, level: Level) -> Vector:
    """Return a vector c for each column: the best one for the density that the frame and the weights describe."""
    g, h = coordinates(level.directions.T @ columns, squares, level)
    c: Vector = level.directions @ g + h * columns
    return c


def coordinates(along: Vector, squares: Vector, level: Level) -> tuple[Vector, Vector]:
    """Return g and h of such a c = Wg + ha, from Wᵀa and |a|².

    With orthonormal W that is c = W(Tᵀc̃ − hWᵀa) + ha, c̃ = pb/(θ + p), b = TWᵀa and h = p_r/(r(θ + p_r)).
    """
    scales = level.scales[:, None]
    along = scales * along
    b = level.frame @ along
    whole = level.directions.shape[0] == level.directions.shape[1]
    rest = np.zeros_like(squares) if whole else np.maximum(squares - (along**2).sum(axis=0), 0.0) / level.number
    weights = np.append(level.weights, level.rest_weight)[:, None]
    theta = roots(np.concatenate([b**2, rest[None, :]]), weights)
    inner = level.weights[:, None] * b / (theta + level.weights[:, None])
    outer = 0.0 * theta if whole else level.rest_weight / (level.number * (theta + level.rest_weight))
    return scales * (level.frame.T @ inner - outer * along), outer


def suggested_for_prices(columns: Vector, squares: Vector, level: Level, prices: Vector) -> Vector:
    """Return a vector c for each column with a price.

    R + wI is not diagonal in the frame T of R, so each has a system of its own:
    c = W(Tᵀy − hWᵀa) + ha with (θ/p + I + wTTᵀ)y = b, h = 1/(r(θ/p_r + 1) + w), and θ such that b·y + hr|rest|² = 1.
    """
    scales = level.scales[:, None]
    along = scales * (level.directions.T @ columns)
    b = (level.frame @ along).T
    whole = level.directions.shape[0] == level.directions.shape[1]
    number = level.number if level.number > 0 else 1.0
    rest = np.zeros_like(squares) if whole else np.maximum(squares - (along**2).sum(axis=0), 0.0) / number
    gram, width = level.frame @ level.frame.T, level.frame.shape[0]
    p, q = np.maximum(level.weights, SMALLEST_FORM), max(level.rest_weight, SMALLEST_FORM)
    found = np.zeros_like(columns)
    for begin in range(0, prices.size, SYSTEMS):
        part = slice(begin, begin + SYSTEMS)
        systems = np.eye(width) + prices[part, None, None] * gram
        theta, y, outer = (b[part] ** 2 * p).sum(axis=1) + q * rest[part], b[part], rest[part]
        for _ in range(NEWTON_STEPS):
            shifted = systems.copy()
            shifted[:, range(width), range(width)] += theta[:, None] / p
            if not np.isfinite(shifted).all():
                break
            try:
                y = np.asarray(np.linalg.solve(shifted, b[part, :, None])[:, :, 0], dtype=np.float64)
            except np.linalg.LinAlgError:
                break
            outer = 1 / (theta / q + 1 + prices[part] / number)
            left = (b[part] * y).sum(axis=1) + rest[part] * outer
            slope = (y**2 / p).sum(axis=1) + rest[part] * outer**2 / q
            new = theta - (left - left**2) / slope
            new = np.where(new > 0, new, 0.05 * theta)
            done = bool((np.abs(new - theta) <= 1e-10 * new).all())
            theta = np.where(np.isfinite(new), new, theta)
            if done:
                break
        inner = scales * (level.frame.T @ y.T - outer / number * along[:, part])
        found[:, part] = level.directions @ inner + outer / number * columns[:, part]
    return found


def roots(held: Vector, weights: Vector) -> Vector:
    """Solve Σ_l p_l h_l/(θ + p_l) = 1 for each column by Newton's method on the reciprocal; θ only suggests."""
    weighted = weights * held
    theta = weighted.sum(axis=0)
    active = np.flatnonzero((theta > 0) & (held.sum(axis=0) > 1) & np.isfinite(theta))
    theta = np.maximum(np.nan_to_num(theta), np.finfo(float).tiny)
    for _ in range(NEWTON_STEPS):
        if active.size == 0:
            break
        now = theta[active]
        inverse = 1.0 / (now + weights)
        terms = weighted[:, active] * inverse
        left, slope = terms.sum(axis=0), (terms * inverse).sum(axis=0)
        new = now - (left - left**2) / slope
        new = np.where(new > 0, new, 0.05 * now)
        theta[active] = new
        active = active[np.abs(new - now) > 1e-10 * new]
    return np.asarray(theta)
