"""A dual matrix for a rank-one solution, in a form that never needs n × n numbers.

Let u be a unit vector with support S and signs s, Au = λu + μ‖u‖₁s on S. Complementary slackness asks for
U = μssᵀ on S × S and for U_jS u = (Au)_j off it; anything within ±μ is allowed elsewhere. With w = Au / (‖u‖₁√μ) and
a panel R of further directions, R orthogonal to u, the matrix used here is

    U_ij = w_i w_j                                    on S × S,
    U_ij = clip(w_i w_j + r_i·r_j + δ_j s_i, ±μ)      for i in S and j not (and the other way round),
    U_ij = clip(w_i w_j + r_i·r_j, ±μ)                off S.

R removes what A − wwᵀ still has above a share of λ, so that A − WWᵀ, W = [w R], is small but for u; δ_j repairs what
clipping does to U_jS u. What clipping changes, E = U − WWᵀ, is not small, but it vanishes on u. So −E ⪯ e(I − uuᵀ)
for any e ≥ ‖E‖, and

    λ_max(A − U) ≤ λ_max(A − WWᵀ − e uuᵀ) + e,

a matrix of low rank plus the covariance. ‖E‖ is bounded block by block: exactly on S × S, where E = −RRᵀ, and by
Frobenius norms elsewhere. On genotypes this closes the duality gap to rounding.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.l0_dual.secular import row_chunks
from certpca.bounds.sdp.rank_one import Direction
from certpca.operators.base import Operator
from certpca.operators.views import Precise, deflated
from certpca.runtime.arrays import Array, Indices, Vector, to_vector
from certpca.runtime.lateness import Late, OutOfTimeError, never, require_time
from certpca.search.krylov import leading_eigenpairs

DIRECTIONS = 24  # columns of R at most
FIRST_SHARE = 0.3  # of λ that A − WWᵀ may keep off u
ATTEMPTS = 5
REPAIRS = 12  # Newton steps for δ
MARGIN = 1e-6  # eigenvalues are estimated from below; a margin saves the checker a second attempt


@dataclass(frozen=True, slots=True, eq=False)
class ClippedDual:
    """U by its factor W (w first), the support S with u on it, δ and μ, in the matrix's own units.

    `top` estimates λ_max(A − U) as the inequality above bounds it, `bound` is that plus kμ.
    """

    factor: Vector
    active: Indices
    vector: Vector
    repair: Vector
    level: float
    top: float
    bound: float

    def evidence(self) -> dict[str, Any]:
        """Return what the checker needs."""
        return {
            "factor": self.factor.astype(np.float32) if self.factor.shape[0] > 1024 else self.factor,
            "active": self.active,
            "vector": self.vector,
            "repair": self.repair,
            "level": np.float64(self.level),
            "top": np.float64(self.top),
        }

    def times_two_to(self, power: int) -> "ClippedDual":
        """Return the dual for the matrix times 2 to the power, an even one."""
        level, top, bound = (math.ldexp(value, power) for value in (self.level, self.top, self.bound))
        factor, repair = np.ldexp(self.factor, power // 2), np.ldexp(self.repair, power)
        return replace(self, factor=factor, repair=repair, level=level, top=top, bound=bound)

    def dense(self, operator: Operator) -> Vector:
        """Return U in full, for problems small enough."""
        return np.asarray(self.block(np, slice(0, operator.size), np.float64, None))

    def restricted(self, features: Indices) -> "ClippedDual":
        """Keep the rows and columns of some features, the active ones among them."""
        position = np.full(self.factor.shape[0], -1)
        position[features] = np.arange(features.size)
        return replace(self, factor=self.factor[features], active=position[self.active], repair=self.repair[features])

    def block(self, xp: Any, rows: slice, dtype: Any, device: Any) -> Array:
        """Return rows of U in another namespace."""

        def there(values: Vector) -> Array:
            return xp.asarray(values, dtype=dtype, device=device)

        size = self.factor.shape[0]
        sign, inside = np.zeros(size), np.zeros(size)
        sign[self.active], inside[self.active] = np.sign(self.vector), 1.0
        repair = np.where(inside > 0, 0.0, self.repair)
        whole = there(self.factor[rows]) @ there(self.factor.T.copy())
        whole = whole + there(np.outer(repair[rows], sign)) + there(np.outer(sign[rows], repair))
        low = there(np.outer(self.factor[rows, 0], self.factor[:, 0]))
        both = there(np.outer(inside[rows], inside)) > 0
        level = there(np.asarray(self.level))
        return xp.where(both, low, xp.clip(whole, -level, level))


def clipped_duals(operator: Operator, direction: Direction, sparsity: int, late: Late = never) -> Iterator[ClippedDual]:
    """Try shares of λ until clipping and what is left fit together; each attempt is a valid dual point.

    Where it gets late before the first is there, U = 0 is what there is: its value is the largest eigenvalue.
    """
    found = False
    try:
        for dual in _attempts(operator, direction, sparsity, late):
            found = True
            yield dual
    except OutOfTimeError:
        if not found:
            yield _nothing(operator, direction)


def _nothing(operator: Operator, direction: Direction) -> ClippedDual:
    """Return U = 0."""
    top = max(direction.value, 1.0) * direction.scale  # the scale is the largest eigenvalue
    empty, active = np.zeros((operator.size, 1)), direction.support
    return ClippedDual(empty, active, direction.vector[active], empty[:, 0], 0.0, top, top)


def _attempts(operator: Operator, direction: Direction, sparsity: int, late: Late) -> Iterator[ClippedDual]:
    scale, level, eigenvalue = direction.scale, direction.level, direction.eigenvalue
    active = direction.support
    vector = direction.vector[active]
    if level <= 0:
        yield _nothing(operator, direction)
        return
    require_time(late)
    root, total = math.sqrt(level), float(np.abs(vector).sum())
    w = np.clip(direction.image / (total * root), -root, root)
    w[active] = root * np.sign(vector)
    left = deflated(operator, math.sqrt(scale) * w[:, None])
    pairs = leading_eigenpairs(left, min(DIRECTIONS, operator.size), accuracy=1e-4, late=late)
    values = pairs.values / scale
    turned = pairs.vectors - direction.vector[:, None] * (direction.vector @ pairs.vectors)[None, :]
    useful = np.linalg.norm(turned, axis=0) > 0.5  # not u itself
    values, turned = values[useful], turned[:, useful]
    share = FIRST_SHARE
    for _ in range(ATTEMPTS):
        kept = values > share * eigenvalue
        panel = turned[:, kept] * np.sqrt(values[kept] - share * eigenvalue)
        panel -= direction.vector[:, None] * (direction.vector @ panel)[None, :]
        repair, spread = _clipping(operator, direction, w, panel, late)
        factor = np.column_stack([w, panel])
        deflation = math.sqrt(scale) * np.column_stack([factor, math.sqrt(spread) * direction.vector])
        top = (_largest_eigenvalue(operator, deflation, late) / scale + spread) * (1 + MARGIN) * scale
        bound = top + sparsity * level * scale
        yield ClippedDual(factor * math.sqrt(scale), active, vector, repair * scale, level * scale, top, bound)
        fresh = min(max(1 - spread / max(eigenvalue, 1e-300) - 0.01, 0.02), 0.9)
        if abs(fresh - share) < 0.01:
            return
        share = fresh


def _largest_eigenvalue(operator: Operator, deflation: Vector, late: Late) -> float:
    """Estimate λ_max(A − VVᵀ); the last digits come from one product in double precision."""
    # Not started at u: it is an eigenvector, and the search would end there at once.
    left = deflated(operator, deflation)
    vectors, _ = np.linalg.qr(leading_eigenpairs(left, min(4, operator.size), accuracy=1e-6, late=late).vectors)
    require_time(late)  # or they are no eigenvectors yet
    precise = deflated(Precise(operator), deflation)
    small = vectors.T @ to_vector(precise.matmat(precise.adopt(vectors)))
    return float(np.linalg.eigvalsh((small + small.T) / 2)[-1])


def _clipping(operator: Operator, direction: Direction, w: Vector, panel: Vector, late: Late) -> tuple[Vector, float]:
    """Return δ and a bound on the norm of E, from its blocks S × S, S × rest and rest × rest."""
    xp, level = operator.xp, direction.level
    active = direction.support
    factor = np.column_stack([w, panel])
    lengths = np.linalg.norm(factor, axis=1)
    others = np.setdiff1d(np.arange(operator.size), active)
    others = others[np.argsort(-lengths[others], kind="stable")]
    inner = float(np.linalg.eigvalsh(panel[active].T @ panel[active])[-1]) if panel.shape[1] else 0.0
    reach = float(lengths[active].max())
    near = others[lengths[others] * reach > level * (1 - 1e-6)]
    repair = np.zeros(operator.size)
    signs = np.sign(direction.vector[active])
    s_rows = operator.adopt(panel[active] * signs[:, None])
    weights = operator.adopt(np.abs(direction.vector[active]))
    across = 0.0
    for rows in row_chunks(np.broadcast_to(np.float32(0), (near.size, active.size))):
        require_time(late)
        chosen = near[rows]
        images = operator.adopt(panel[chosen]) @ xp.matrix_transpose(s_rows)
        delta, squares = _repaired(xp, images, operator.adopt(w[chosen] * math.sqrt(level)), weights, level)
        repair[chosen] = to_vector(delta)
        across += squares
    beyond = _clipped_squares(operator, factor[others], lengths[others], level, late)
    norm = float(np.linalg.eigvalsh([[inner, math.sqrt(across)], [math.sqrt(across), math.sqrt(beyond)]])[-1])
    return repair, norm


def _repaired(xp: Any, images: Array, base: Array, weights: Array, level: float) -> tuple[Array, float]:
    """Solve Σ_i |u_i| clip(b_j + x_ji + δ_j, ±μ) = ‖u‖₁ b_j for δ_j, row by row, and sum the squares of the change."""
    plain = images + base[:, None]
    goal = base * xp.sum(weights)
    reach = xp.max(xp.abs(plain), axis=1) + level
    low, high = -reach, reach
    delta = xp.zeros_like(base)
    for _ in range(REPAIRS):
        value = xp.clip(plain + delta[:, None], -level, level)
        miss = value @ weights - goal
        if float(xp.max(xp.abs(miss))) <= 1e-7 * level * float(xp.sum(weights)):
            break
        low = xp.where(miss < 0, delta, low)
        high = xp.where(miss > 0, delta, high)
        slope = xp.astype(xp.abs(value) < level, weights.dtype) @ weights
        fresh = delta - miss / xp.where(slope > 0, slope, xp.ones_like(slope))
        delta = xp.where((slope > 0) & (fresh > low) & (fresh < high), fresh, (low + high) / 2)
    change = xp.clip(plain + delta[:, None], -level, level) - plain
    return delta, float(xp.sum(change * change))


def _clipped_squares(operator: Operator, factor: Vector, lengths: Vector, level: float, late: Late) -> float:
    """Sum the squares of what clipping takes off WWᵀ, for rows sorted by length: short ones are never clipped."""
    xp = operator.xp
    there = operator.adopt(factor)
    total, start, size = 0.0, 0, factor.shape[0]
    while start < size:
        reach = int(np.searchsorted(-lengths, -level / max(lengths[start], 1e-300)))
        if reach <= start:
            break
        require_time(late)
        height = max(1, min(reach - start, row_chunks(np.broadcast_to(np.float32(0), (size, reach - start)))[0].stop))
        product = xp.abs(there[start : start + height, :] @ xp.matrix_transpose(there[start:reach, :]))
        excess = xp.clip(product - level, 0.0, None)
        squares = excess * excess
        total += 2 * float(xp.sum(squares)) - float(xp.sum(squares[:, :height]))
        start += height
    return total
