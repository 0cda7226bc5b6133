"""Dual matrices of a level by a few numbers for each feature, so that Σ Y_i is multiplied but never formed.

The inequality is that of `rules/l0_level`, R = rI + WSWᵀ as in `level_points`. Here c = Wg + ha for floating-point
numbers g and h, so that

    Bc = αa − Wu,   α = a·c − rh,   u = rg + SWᵀc,   and   Y = zzᵀ,   z = (αa − Wu)/√q

needs no vector of the length of a. All is computed from p = Wᵀa, |a|² and G = WᵀW:

    t = Gg + hp (Wᵀc),   β = p·g + h|a|² (a·c),   q = β² − r(g·t + hβ) − t·St.

Allowance. Let C = |W||g| + |h||a| ≥ |c| with Frobenius norms, ϱ = r + |W|²|S| ≥ ‖R‖, d = depth, m columns of W. p and
|a|² are off by γ_d|W||a| and γ_d|a|², G by γ_d|W|². So, as γ_i + γ_j + γ_iγ_j ≤ γ_{i+j},

    |t − Wᵀc| ≤ γ_{d+m+3}|W|C,   |β − a·c| ≤ γ_{d+m+3}|a|C,   |α − α'| ≤ γ_{d+m+6}(|a|C + r|h|),
    |u − u'| ≤ γ_{d+2m+6}(r|g| + |S||W|C),   |(αa − Wu) − Bc| ≤ γ_{d+2m+8}(|a|² + ϱ)C,
    |q − cᵀBc| ≤ γ_{2d+4m+16}(β² + ϱC² + 3|a|C|β|),

which is `level_points` with C in the place of |c|, and what follows is done as there: q is lowered by four times that
and z is off by at most twice the bound for Bc, divided by √q, which covers the division and the root. The z that is
multiplied later is that of the stored α and u, exactly.

Where the lowered q is not clearly positive, Y = (1 − 1/κ)₊ aaᵀ for a κ ≥ aᵀR⁻¹a as in `level_points`, with x = Wg + ha,
h about 1/r: x·Rx = r(g·t + hβ) + t·St and a − Rx = (1 − rh)a − W(rg + St), whose length is at most that of its parts.

Products. ZᵀX = α∘(FᵀX) − UWᵀX and ZY = F(α∘Y) − WUᵀY round relative to ζ|X| and ζ|Y|, by γ of d + m and n + m terms,
with ζ² = Σ(|α_i||a_i| + |W||u_i|)² ≥ |Z|².

Underflow. As in `level_points`: entries of W are at most one, S, r and C at most 2¹⁰⁰, and h is at most 2²⁰⁰ where C is
not asked for, so that what vanishes moves no z by more than 2⁻⁵⁵⁰.
"""

import math
from dataclasses import dataclass

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.level_points import LARGEST_LEVEL, SMALLEST_FORM, Level, coordinates
from certpca.checker.numbers import Vector, gamma, require


@dataclass(frozen=True, slots=True)
class Factors:
    """α and u for every feature, with ζ (`norm`) and how far Z can be off in the Frobenius norm (`stray`)."""

    level: Level
    scale: Vector
    turned: Vector
    norm: float
    stray: float

    @property
    def terms(self) -> int:
        """How many roundings a product with Z or Zᵀ has."""
        return self.scale.size + sum(self.level.directions.shape) + 16

    def add(self, columns: slice, block: Vector, panel: Vector, along: Vector, to: tuple[Vector, Vector]) -> float:
        """Add what a run of features gives of ZZᵀ panel, F part and W part; return |Zᵀ panel|² of them."""
        scale, turned = self.scale[columns, None], self.turned[columns]
        inner = (block.T @ panel) * scale - turned @ along
        to[0][:] += (inner * scale).T @ block.T
        to[1][:] += turned.T @ inner
        return float((inner**2).sum())

    def times(self, prepared: Prepared, panel: Vector) -> tuple[Vector, float]:
        """Walk over the data: return ZZᵀ panel and |Zᵀ panel|², rounded."""
        along = self.level.directions.T @ panel
        to = np.zeros(panel.shape[::-1]), np.zeros(along.shape)
        square = sum(self.add(columns, block, panel, along, to) for columns, block in prepared.blocks())
        return to[0].T - self.level.directions @ to[1], square


def factors_of(prepared: Prepared, level: Level, panel: Vector) -> tuple[Factors, Vector, float]:
    """Walk over the data: return the factors of all dual matrices, and on the way ZZᵀ panel and |Zᵀ panel|²."""
    directions = level.directions
    width = directions.shape[1]
    gram, along = directions.T @ directions, directions.T @ panel
    scale, turned = np.empty(prepared.size), np.empty((prepared.size, width))
    found = Factors(level, scale, turned, math.nan, math.nan)
    to = np.zeros(panel.shape[::-1]), np.zeros(along.shape)
    norms = strays = square = 0.0
    wide, lengths = _size(directions), prepared.diagonal()
    for columns, block in prepared.blocks():
        squares = lengths[columns]
        scale[columns], u, stray = of_features(directions.T @ block, squares, level, gram, wide)
        turned[columns] = u.T
        norms += float(((np.abs(scale[columns]) * np.sqrt(squares) + wide * np.linalg.norm(u, axis=0)) ** 2).sum())
        strays += stray
        square += found.add(columns, block, panel, along, to)
    require(math.isfinite(norms) and math.isfinite(strays) and math.isfinite(square), "its numbers overflow")
    more = 1 + gamma(2 * prepared.size + prepared.depth + 64)
    factors = Factors(level, scale, turned, math.sqrt(norms) * more, math.sqrt(strays) * more)
    return factors, to[0].T - directions @ to[1], square


def of_features(
    along: Vector, squares: Vector, level: Level, gram: Vector, wide: float
) -> tuple[Vector, Vector, float]:
    """Return α and u from Wᵀa and |a|² of features, and the squared length of the errors of all z.

    `gram` is WᵀW, `wide` at least the Frobenius norm of W.
    """
    depth, width = level.directions.shape
    small = gamma(2 * depth + 4 * width + 32)
    if level.size == 0.0:  # R = 0
        return np.ones(squares.size), np.zeros_like(along), 0.0
    sizes = np.sqrt(squares)
    with np.errstate(all="ignore"):  # what is not finite is replaced below
        g, h = coordinates(along, squares, level)
        length = np.sqrt((g * (gram @ g + h * along)).sum(axis=0) + h * ((along * g).sum(axis=0) + h * squares))
        g, h = g / length, h / length
        t, inner = gram @ g + h * along, (along * g).sum(axis=0) + h * squares
        s = level.matrix @ t
        reach = wide * np.linalg.norm(g, axis=0) + np.abs(h) * sizes
        q = inner**2 - level.number * ((g * t).sum(axis=0) + h * inner) - (t * s).sum(axis=0)
        lowered = q - 4 * small * (inner**2 + level.size * reach**2 + 3 * sizes * reach * np.abs(inner))
        root = np.sqrt(lowered)
        scale, u = (inner - level.number * h) / root, (level.number * g + s) / root
        stray = 2 * small * (squares + level.size) * reach / root
    usable = np.isfinite(u).all(axis=0) & np.isfinite(scale) & np.isfinite(stray)
    usable &= (lowered > 0.5 * q) & (lowered > SMALLEST_FORM) & (reach < LARGEST_LEVEL)
    others = np.flatnonzero(~usable)
    if others.size:
        scale[others] = shrunk = _shrunk(along[:, others], squares[others], level, gram, wide)
        u[:, others] = 0.0
        stray[others] = gamma(4) * shrunk * sizes[others]
    return scale, u, float((stray**2).sum())


def _shrunk(along: Vector, squares: Vector, level: Level, gram: Vector, wide: float) -> Vector:
    """Return √(1 − 1/κ)₊ for an upper bound κ of aᵀR⁻¹a of each feature: one where there is none."""
    if level.inverse is None:
        return np.ones(squares.size)
    depth, width = level.directions.shape
    small = gamma(2 * depth + 4 * width + 32)
    with np.errstate(all="ignore"):
        h = 1.0 / level.number
        g = -(level.inverse @ along) * h
        t, inner = gram @ g + h * along, (along * g).sum(axis=0) + h * squares
        s = level.matrix @ t
        sizes, reach = np.sqrt(squares), wide * np.linalg.norm(g, axis=0) + h * np.sqrt(squares)
        value = 2 * inner - level.number * ((g * t).sum(axis=0) + h * inner) - (t * s).sum(axis=0)
        off = 4 * small * (2 * sizes * reach + level.size * reach**2)
        rest = wide * np.linalg.norm(level.number * g + s, axis=0) + 4 * small * (sizes + level.size * reach)
        kappa = (value + off + rest**2 / level.least) * (1 + gamma(16))
        share = np.sqrt(np.maximum(1 - 1 / kappa, 0.0) * (1 + gamma(8)) + gamma(8))
    share = np.where(kappa <= 1, 0.0, share)
    return np.where(np.isfinite(share), np.minimum(share, 1.0), 1.0)


def _size(matrix: Vector) -> float:
    """Return at least the Frobenius norm."""
    return float(np.linalg.norm(matrix)) * (1 + gamma(matrix.size + 4))
