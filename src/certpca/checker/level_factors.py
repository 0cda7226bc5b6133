"""Dual matrices Y_i of a level by a few numbers for each feature.

The inequality is that of `rules/l0_level`, R = rI + WSWᵀ as in `levels`. B = aaᵀ − R has at most one positive
eigenvalue, so that any c will do. Here c = Wg + ha for floating-point numbers g and h, exactly, so that

    Bc = αa − Wu,   α = a·c − rh,   u = rg + SWᵀc,   and   Y = zzᵀ,   z = (αa − Wu)/√q

needs no vector of the length of a. All is computed from p = Wᵀa, |a|² and G = WᵀW:

    t = Gg + hp (Wᵀc),   β = p·g + h|a|² (a·c),   q = β² − r(g·t + hβ) − t·St.

Allowance. Let l_j be the length of w_j, C = Σ l_j|g_j| + |h||a| ≥ |c|, ϱ = r + Σ_ij l_i|S_ij|l_j ≥ ‖R‖, d = depth, m
columns of W. p_j and |a|² are off by γ_d l_j|a| and γ_d|a|², G_ij by γ_d l_il_j. So, as γ_i + γ_j + γ_iγ_j ≤ γ_{i+j},

    |t − Wᵀc|_j ≤ γ_{d+m+3} l_jC,   |β − a·c| ≤ γ_{d+m+3}|a|C,   |α − α'| ≤ γ_{d+m+6}(|a|C + r|h|),
    |u − u'|_i ≤ γ_{d+2m+6}(r|g_i| + Σ_j|S_ij|l_jC),   |(αa − Wu) − Bc| ≤ γ_{d+2m+8}(|a|² + ϱ)C,
    |q − cᵀBc| ≤ γ_{2d+4m+16}(β² + ϱC² + 3|a|C|β|),

where the square of the error of β is at most a quarter of γ|a|C|β| if |β| ≥ 4γ|a|C; elsewhere the lowered q below is
negative. q is lowered by four times that bound, which only enlarges Y = (Bc)(Bc)ᵀ/q, and z is off by at most twice the
bound for Bc, divided by √q, which covers the division and the root. The z that is multiplied later is that of the
stored α and u, exactly; where it is formed, that rounds by γ_{m+2}(|α||a| + Σ l_j|u_j|) more.

Where the lowered q is not clearly positive, Y = (1 − 1/κ)₊ aaᵀ for a κ ≥ aᵀR⁻¹a: aaᵀ ⪯ κR, so aaᵀ − R ⪯ (1 − 1/κ)aaᵀ.
For every x, with e = a − Rx, aᵀR⁻¹a = 2a·x − xᵀRx + eᵀR⁻¹e ≤ 2a·x − xᵀRx + |e|²/least. Here x = Wg + ha, h about 1/r:
x·Rx = r(g·t + hβ) + t·St and e = (1 − rh)a − W(rg + St), whose length is at most that of its parts. Where that gives
nothing, κ = ∞: Y = aaᵀ always will do. Features with κ ≤ 1 need no dual matrix at all.

Prices. A feature with the price w ≥ 0 has R + wI in place of R, and r + w in place of r: B still has at most one
positive eigenvalue. r + w rounds once more, so everything above holds with ϱ + w in place of ϱ and least + w in place
of least, κ included.

Rank one. Y = (Bc)(Bc)ᵀ/q ⪰ aaᵀ − R_c for R_c = (Rc)(Rc)ᵀ/cᵀRc as well, since Bc and cᵀBc are the same for R_c as for R;
and (1 − 1/κ)aaᵀ = aaᵀ − aaᵀ/κ. So for each feature there is a matrix of rank one below R that does what R does: rules
for several directions at once may count on it.

Products. ZᵀX = α∘(FᵀX) − UWᵀX and ZY = F(α∘Y) − WUᵀY round relative to ζ|X| and ζ|Y|, by γ of d + m and n + m terms,
with ζ² = Σ_i(|α_i||a_i| + Σ_j l_j|u_ij|)² ≥ |Z|².

Uncentred. Where F = (A − 1mᵀ)diag(c) is known by numbers A as they are stored (`whole_numbers`), Z = A diag(α') −
W'U'ᵀ with α' = αc, W' = [W, 1] and U' = [U, α'm], so nothing is centred. All roundings are then relative to reach_i
in place of |a_i|: p is off by γ_{d+4} l_j reach_i, so what is said above holds with γ times reach_i/|a_i|
(`coarser`); ζ has reach_i for |a_i|, and α' and α'm, which are stored, move z by γ_4|α|reach_i besides. Where
`coarser` is so large that γ times it is not small, Y = aaᵀ.

Underflow. Entries of W are at most one, S, r and C at most 2¹⁰⁰, h is at most 2²⁰⁰ where C is not asked for, and q must
be above 2⁻²⁰⁰, so that what vanishes below the normal range moves no z by more than 2⁻⁵⁵⁰.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certpca.checker.data import Prepared
from certpca.checker.level_suggestions import coordinates, inverse_times, priced_coordinates
from certpca.checker.levels import LARGEST_LEVEL, SMALLEST_FORM, Level
from certpca.checker.numbers import Vector, gamma, require

SMALL = 1e-3  # largest relative error that the allowances above are made for
CACHED_BYTES = 1 << 18  # of a table that is worked on at a time


@dataclass(frozen=True, slots=True)
class Factors:
    """α' and u' for every feature, with ζ (`norm`) and how far Z can be off in the Frobenius norm (`stray`).

    `beside` is W': directions of the level, and ones where data are not centred.
    """

    level: Level
    beside: Vector
    scale: Vector
    turned: Vector
    norm: float
    stray: float

    @property
    def terms(self) -> int:
        """How many roundings a product with Z or Zᵀ has."""
        return self.scale.size + sum(self.beside.shape) + 16

    def add(self, columns: slice, block: Vector, product: Vector, along: Vector, to: tuple[Vector, Vector]) -> float:
        """Add what a run of features gives of ZZᵀ panel, F part and W part; return |Zᵀ panel|² of them.

        `product` is blockᵀ panel.
        """
        scale, turned = self.scale[columns, None], self.turned[columns]
        inner = product * scale - turned @ along
        to[0][:] += (inner * scale).T @ block.T
        to[1][:] += turned.T @ inner
        return float((inner**2).sum())

    def times(self, prepared: Prepared, panel: Vector) -> tuple[Vector, float]:
        """Walk over the data: return ZZᵀ panel and |Zᵀ panel|², rounded."""
        along = self.beside.T @ panel
        to = np.zeros(panel.shape[::-1]), np.zeros(along.shape)
        square = sum(
            self.add(columns, block, block.T @ panel, along, to) for columns, block in prepared.stored_blocks()
        )
        return to[0].T - self.beside @ to[1], square


def factors_of(prepared: Prepared, level: Level, panel: Vector) -> tuple[Factors, Vector, float]:
    """Walk over the data: return the factors of all dual matrices, and on the way ZZᵀ panel and |Zᵀ panel|²."""
    directions, stored = level.directions, prepared.uncentred
    beside, depth = directions, prepared.depth
    if stored is not None:
        beside = np.concatenate([directions, np.ones((depth, 1))], axis=1)
    sums = directions.sum(axis=0)
    along = beside.T @ panel
    scale, turned = np.empty(prepared.size), np.empty((prepared.size, beside.shape[1]))
    found = Factors(level, beside, scale, turned, math.nan, math.nan)
    to = np.zeros(panel.shape[::-1]), np.zeros(along.shape)
    norms = strays = square = 0.0
    lengths, together = prepared.diagonal(), np.concatenate([panel, directions], axis=1)
    for columns, block in prepared.stored_blocks():
        squares = lengths[columns]
        products = block.T @ together  # one wide product takes less than two
        inner = products[:, panel.shape[1] :].T
        if stored is None:
            scale[columns], u, stray = of_features(inner, squares, level)
            turned[columns], reach = u.T, np.sqrt(squares)
            parts = _parts(scale[columns], u, reach, level)
        else:
            mean, weight, reach = stored.mean[columns], stored.weight[columns], stored.reach[columns]
            with np.errstate(all="ignore"):  # a column of zeros
                coarser = 2 * reach / np.sqrt(squares)
            alpha, u, stray = of_features((inner - sums[:, None] * mean) * weight, squares, level, coarser=coarser)
            scale[columns] = own = alpha * weight
            turned[columns] = np.concatenate([u, (own * mean)[None, :]]).T
            parts = _parts(alpha, u, reach, level)
            stray = stray + gamma(8) * np.abs(alpha) * reach
        norms += float((parts**2).sum())
        strays += float((stray**2).sum())
        square += found.add(columns, block, products[:, : panel.shape[1]], along, to)
    require(math.isfinite(norms) and math.isfinite(strays) and math.isfinite(square), "its numbers overflow")
    more = 1 + gamma(2 * prepared.size + prepared.depth + 64)
    factors = Factors(level, beside, scale, turned, math.sqrt(norms) * more, math.sqrt(strays) * more)
    return factors, to[0].T - beside @ to[1], square


def level_vectors(columns: Vector, level: Level, prices: Vector | None = None) -> tuple[Vector, float]:
    """Return z_i with Y_i = z_i z_iᵀ for the columns a_i, and the squared length of all their errors."""
    return described_vectors(columns, level, prices)[:2]


def described_vectors(
    columns: Vector, level: Level, prices: Vector | None = None
) -> tuple[Vector, float, NDArray[np.float32], Vector]:
    """Return also about Wᵀz_i and |z_i|², from numbers that are at hand: the vectors need not be read again."""
    squares, along = np.einsum("ij,ij->j", columns, columns), level.directions.T @ columns
    scale, u, stray = of_features(along, squares, level, prices)
    stray = stray + gamma(level.directions.shape[1] + 8) * _parts(scale, u, np.sqrt(squares), level)
    with np.errstate(all="ignore"):  # no bound rests on these
        turned = level.gram @ u
        lengths = scale * (scale * squares - 2 * (along * u).sum(axis=0)) + (turned * u).sum(axis=0)
        inner = (scale * along - turned).astype(np.float32)
    z = _combined(columns, scale, level.directions @ u)
    return z, float((stray**2).sum()), inner, np.maximum(lengths, 0.0)


def vectors_of_groups(columns: Vector, levels: list[Level], labels: NDArray[np.int8]) -> tuple[Vector, float]:
    """Return the same where each feature has one of several levels, which have their directions in common."""
    directions, width = levels[0].directions, levels[0].directions.shape[1]
    squares, along = np.einsum("ij,ij->j", columns, columns), directions.T @ columns
    scale, u, strays = np.empty(squares.size), np.empty_like(along), 0.0
    for label, level in enumerate(levels):
        mine = np.flatnonzero(labels == label)
        if mine.size:
            scale[mine], turned, stray = of_features(along[:, mine], squares[mine], level)
            u[:, mine] = turned
            stray = stray + gamma(width + 8) * _parts(scale[mine], turned, np.sqrt(squares[mine]), level)
            strays += float((stray**2).sum())
    return _combined(columns, scale, directions @ u), strays * (1 + gamma(8))


def _combined(columns: Vector, scale: Vector, within: Vector) -> Vector:
    """Return αa − Wu in the memory of Wu."""
    for rows in _rows(within):  # a few at a time stay in the cache
        np.subtract(columns[rows] * scale, within[rows], out=within[rows])
    return within


def _rows(table: Vector) -> Iterator[slice]:
    """Cut rows into runs of moderate size."""
    height = max(1, CACHED_BYTES // (8 * max(table.shape[1], 1)))
    for start in range(0, table.shape[0], height):
        yield slice(start, start + height)


def _parts(scale: Vector, u: Vector, sizes: Vector, level: Level) -> Vector:
    """Return |α||a| + Σ l_j|u_j| of each feature."""
    whole: Vector = np.abs(scale) * sizes + level.lengths @ np.abs(u)
    return whole


def of_features(
    along: Vector, squares: Vector, level: Level, prices: Vector | None = None, coarser: Vector | float = 1.0
) -> tuple[Vector, Vector, Vector]:
    """Return α and u from Wᵀa and |a|² of features, and how far each z is off.

    `coarser` is how many times as far Wᵀa is off as a product with a would be.
    """
    depth, width = level.directions.shape
    small, gram, lengths = coarser * gamma(2 * depth + 4 * width + 32), level.gram, level.lengths
    prices = np.zeros(squares.size) if prices is None else prices
    if level.size == 0.0 and not prices.any():  # R = 0
        return np.ones(squares.size), np.zeros_like(along), np.zeros(squares.size)
    sizes, number, norm = np.sqrt(squares), level.number + prices, level.size + prices
    with np.errstate(all="ignore"):  # what is not finite is replaced below
        g, h = coordinates(along, squares, level)
        paying = np.flatnonzero(prices)
        if paying.size:
            g[:, paying], h[paying] = priced_coordinates(along[:, paying], squares[paying], level, prices[paying])
        length = np.sqrt((g * (gram @ g + h * along)).sum(axis=0) + h * ((along * g).sum(axis=0) + h * squares))
        g, h = g / length, h / length
        t, inner = gram @ g + h * along, (along * g).sum(axis=0) + h * squares
        s = level.matrix @ t
        reach = lengths @ np.abs(g) + np.abs(h) * sizes
        q = inner**2 - number * ((g * t).sum(axis=0) + h * inner) - (t * s).sum(axis=0)
        lowered = q - 4 * small * (inner**2 + norm * reach**2 + 3 * sizes * reach * np.abs(inner))
        root = np.sqrt(lowered)
        scale, u = (inner - number * h) / root, (number * g + s) / root
        stray = 2 * small * (squares + norm) * reach / root
    usable = np.isfinite(u).all(axis=0) & np.isfinite(scale) & np.isfinite(stray)
    usable &= (lowered > 0.5 * q) & (lowered > SMALLEST_FORM) & (reach < LARGEST_LEVEL) & (small < SMALL)
    others = np.flatnonzero(~usable)
    if others.size:
        coarse = np.broadcast_to(coarser, squares.shape)[others]
        scale[others] = share = shrunk(along[:, others], squares[others], level, prices[others], coarse)
        u[:, others] = 0.0
        stray[others] = gamma(4) * share * sizes[others]
    return scale, u, stray


def shrunk(
    along: Vector, squares: Vector, level: Level, prices: Vector | None = None, coarser: Vector | float = 1.0
) -> Vector:
    """Return √(1 − 1/κ)₊ for an upper bound κ of aᵀ(R + wI)⁻¹a of each feature: one where there is none."""
    if level.inverse is None:
        return np.ones(squares.size)
    depth, width = level.directions.shape
    small, gram, lengths = coarser * gamma(2 * depth + 4 * width + 32), level.gram, level.lengths
    prices = np.zeros(squares.size) if prices is None else prices
    number, norm = level.number + prices, level.size + prices
    with np.errstate(all="ignore"):
        h = 1.0 / number
        g = -inverse_times(along, level, prices) * h
        t, inner = gram @ g + h * along, (along * g).sum(axis=0) + h * squares
        s = level.matrix @ t
        sizes, reach = np.sqrt(squares), lengths @ np.abs(g) + h * np.sqrt(squares)
        value = 2 * inner - number * ((g * t).sum(axis=0) + h * inner) - (t * s).sum(axis=0)
        off = 4 * small * (2 * sizes * reach + norm * reach**2)
        rest = lengths @ np.abs(number * g + s) + 4 * small * (sizes + norm * reach)
        kappa = (value + off + rest**2 / (level.least + prices)) * (1 + gamma(16))
        share = np.sqrt(np.maximum(1 - 1 / kappa, 0.0) * (1 + gamma(8)) + gamma(8))
    share = np.where(kappa <= 1, 0.0, share)
    return np.where(np.isfinite(share) & (small < SMALL), np.minimum(share, 1.0), 1.0)
