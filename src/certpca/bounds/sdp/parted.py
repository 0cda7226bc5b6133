"""A dual matrix for all features from one for some of them, without n × n numbers.

Solutions have few features: let M hold them, let U be a dual matrix on M × M, λ the largest eigenvalue of A − U there,
and μ its level. On the other features R the matrix itself is a good U as far as it stays within ±μ:

    U_RR = clip(A_RR, ±μ),   U_RM = clip(A_RM + δYᵀ, ±μ).

Complementary slackness asks that (A − U)_RM vanish on the eigenvectors of (A − U)_MM that belong to λ, however many
there are: a solution of rank r has r of them, and those that nearly belong to it count too. Y holds all of these, and a
row of δ is what brings the row of U there with the least change. With D = A − U, b ≥ λ_max(D_RR) and room σ,

    λ_max(A − U) ≤ max(λ_max(D_MM + D_MR D_RM/σ), b + σ),

and since D_RM vanishes on Y the second summand does no harm. b is a ratio of |D_RR|x to x, x > 0, which is tight for
blocks of features that move together. Where the bound is too large, the features that make it so belong to M.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from certpca.bounds.sdp.splitting import Splitting
from certpca.operators.base import Operator
from certpca.operators.views import Products
from certpca.runtime.arrays import Array, Indices, Vector, is_host, to_numpy, to_vector
from certpca.runtime.lateness import Late, require_time
from certpca.search.krylov import leading_eigenpairs

NEAR = 0.8  # of λ: eigenvectors from there on are in Y
MOST = 8  # columns of Y
REPAIRS = 15  # Newton steps for a row of δ
DAMPING = 1e-2  # of these steps, for rows that no shift can bring there
AT_ONCE, AT_ONCE_ON_DEVICE = 1 << 24, 1 << 28  # entries of A
LIGHTEST = 1e-6  # entry of x, relative to the largest
ROUNDS = 40  # of power iteration for x
TIGHT = 0.97  # of λ: where b is larger, features of R must be in M
MARGIN, MARGIN_IN_DOUBLE = 2e-6, 1e-7  # of the numbers in A − U; estimates are from below


@dataclass(frozen=True, slots=True, eq=False)
class PartedDual:
    """U on some features by its lower triangle, and what defines it elsewhere, in the matrix's own units."""

    packed: Vector
    features: Indices
    directions: Vector
    shifts: Vector
    weights: Vector
    level: float
    top: float
    bound: float

    def evidence(self) -> dict[str, Any]:
        """Return what the checker needs."""
        return {
            "matrix": self.packed,
            "features": self.features,
            "directions": self.directions,
            "shifts": self.shifts,
            "weights": self.weights,
            "level": np.float64(self.level),
            "top": np.float64(self.top),
        }

    def times_two_to(self, power: int) -> "PartedDual":
        """Return the dual for the matrix times 2 to the power."""
        level, top, bound = (math.ldexp(value, power) for value in (self.level, self.top, self.bound))
        # In double precision: single precision may have no room for it.
        packed, shifts = (np.ldexp(values.astype(np.float64), power) for values in (self.packed, self.shifts))
        return replace(self, packed=packed, shifts=shifts, level=level, top=top, bound=bound)

    def part(self) -> Vector:
        """Return U on its features, in the precision it is stored in."""
        return unpacked(self.packed, self.features.size)

    def dense(self, operator: Operator) -> Vector:
        """Return U in full, for problems small enough."""
        whole = operator.submatrix(np.arange(operator.size))
        others = np.setdiff1d(np.arange(operator.size), self.features)
        shifted = whole[np.ix_(others, self.features)] + self.shifts @ self.directions.T
        whole[np.ix_(others, self.features)] = shifted
        whole[np.ix_(self.features, others)] = shifted.T
        whole = np.clip(whole, -self.level, self.level)
        whole[np.ix_(self.features, self.features)] = self.part()
        return whole


def unpacked(packed: Vector, size: int) -> Vector:
    """Return a symmetric matrix from its lower triangle."""
    part = np.zeros((size, size), dtype=packed.dtype)
    part[np.tril_indices(size)] = packed
    return part + np.tril(part, -1).T


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """What U is off M × M, in units of the scale; `wanted` are features of R, those that M lacks most first.

    `top` estimates the bound on λ_max(A − U) from above.
    """

    directions: Vector
    shifts: Vector
    weights: Vector
    top: float
    wanted: Indices


def margin(splitting: Splitting, top: float) -> float:
    """Return what an estimate of λ_max(A − U) may be too small by; where it is, the checker tries more than once."""
    share = MARGIN if splitting.dtype == splitting.xp.float32 else MARGIN_IN_DOUBLE
    return share * min(1.0, top + splitting.dual_level() * splitting.size)


def bytes_beside(size: int, inside: int) -> int:
    """Return the bytes that D_RM and the blocks of A on the way to it take."""
    return 4 * (size - inside) * inside + 24 * AT_ONCE


def completed(operator: Operator, features: Indices, splitting: Splitting, late: Late) -> Completion:
    """Complete the dual matrix of alternating directions on some features."""
    xp, scale, level = operator.xp, splitting.scale, splitting.dual_level()
    accuracy = 1e-6 if splitting.dtype == xp.float32 else 1e-9
    rest = Products(splitting.operator, splitting.times_rest, splitting.dtype)
    pairs = leading_eigenpairs(rest, min(MOST, features.size), accuracy=10 * accuracy, late=late)
    require_time(late)
    inner_top = float(pairs.values[0])
    near = pairs.values > NEAR * inner_top
    directions = pairs.vectors[:, near]
    others = np.setdiff1d(np.arange(operator.size), features)
    diagonal = to_vector(operator.diagonal()) / scale
    reach = np.sqrt(np.maximum(diagonal, 0.0) * diagonal.max())
    live = others[reach[others] > level]  # U is A itself on the rest
    shifts, weights = np.zeros((others.size, directions.shape[1])), np.ones(others.size)
    if not live.size:
        return Completion(directions, shifts, weights, inner_top + margin(splitting, inner_top), live)
    across, beyond, found = _beside(operator, features, live, directions, splitting, late)
    place = np.searchsorted(others, live)
    shifts[place] = found
    beside, weights[place] = _perron(beyond)
    room = max(inner_top - beside, (1 - TIGHT) * inner_top)

    def with_coupling(panel: Array) -> Array:
        product = splitting.times_rest(panel)
        for part in across:
            product = product + xp.matrix_transpose(part) @ (part @ panel) / room
        return product

    coupled = Products(splitting.operator, with_coupling, splitting.dtype)
    pairs = leading_eigenpairs(coupled, min(directions.shape[1] + 4, features.size), accuracy=accuracy, late=late)
    require_time(late)
    top = max(float(pairs.values[0]), beside + room) + margin(splitting, inner_top)
    above = pairs.values > inner_top * (1 + 1e-7)
    pull = np.zeros(live.size)
    if above.any():
        there = splitting.adopt(pairs.vectors[:, above])
        pulled = np.concatenate([to_vector(part @ there) for part in across])
        pull = (pulled**2 * (pairs.values[above] - inner_top)).sum(axis=1)
    if beside > TIGHT * inner_top:
        pull = np.maximum(pull, pull.max() * (weights[place] > 0.1)) if pull.any() else 1.0 * (weights[place] > 0.1)
    order = np.argsort(-pull, kind="stable")
    enough = int(np.searchsorted(np.cumsum(pull[order]), 0.98 * pull.sum())) + 1 if pull.any() else 0
    return Completion(directions, shifts, weights, top, live[order[:enough]])


def _beside(
    operator: Operator, features: Indices, live: Indices, directions: Vector, splitting: Splitting, late: Late
) -> tuple[list[Array], Any, Vector]:
    """Return D_RM by runs of rows, |D_RR| and δ, for the features of R that are not below the level."""
    xp, level = operator.xp, splitting.dual_level()
    inner, outer = (xp.asarray(places, device=operator.device) for places in (features, live))
    turn = splitting.adopt(directions)
    across, beyond, shifts = [], [], []
    width = max(1, (AT_ONCE if is_host(turn) else AT_ONCE_ON_DEVICE) // operator.size)
    for start in range(0, live.size, width):
        require_time(late)
        columns = operator.columns(live[start : start + width])
        columns = xp.astype(columns / splitting.scale, splitting.dtype)
        plain = xp.matrix_transpose(xp.take(columns, inner, axis=0))
        shift, change = _shifted(xp, plain, turn, level)
        shifts.append(to_vector(shift))
        across.append(change)
        left = xp.take(columns, outer, axis=0)
        beyond.append(sparse.csc_array(to_numpy(xp.abs(left - xp.clip(left, -level, level)))))
    return across, sparse.hstack(beyond, format="csr"), np.concatenate(shifts)


def _shifted(xp: Any, plain: Array, turn: Array, level: float) -> tuple[Array, Array]:
    """Return δ and A − clip(A + δYᵀ, ±μ) for rows of A, by Newton's method for (A − U)Y = 0."""
    count = turn.shape[1]
    shift = xp.zeros((plain.shape[0], count), dtype=plain.dtype, device=turn.device)
    change = plain - xp.clip(plain, -level, level)
    above, right = np.triu_indices(count)
    squares = xp.stack([turn[:, int(i)] * turn[:, int(j)] for i, j in zip(above, right, strict=True)], axis=1)
    spread = np.zeros((above.size, count * count))  # from the entries above the diagonal to all
    spread[np.arange(above.size), above * count + right] = spread[np.arange(above.size), right * count + above] = 1.0
    spread = xp.asarray(spread, dtype=plain.dtype, device=turn.device)
    damping = DAMPING * xp.eye(count, dtype=plain.dtype, device=turn.device)
    rows = xp.arange(plain.shape[0], device=turn.device)
    for _ in range(REPAIRS):
        miss = xp.take(change, rows, axis=0) @ turn
        bad = xp.max(xp.abs(miss), axis=1) > 1e-6 * level * math.sqrt(turn.shape[0])
        rows, miss = rows[bad], miss[bad, :]
        if rows.shape[0] == 0:
            break
        chosen, here = xp.take(plain, rows, axis=0), xp.take(shift, rows, axis=0)
        value = chosen + here @ xp.matrix_transpose(turn)
        free = xp.astype(xp.abs(value) < level, plain.dtype) @ squares @ spread
        system = xp.reshape(free, (rows.shape[0], count, count)) + damping[None, :, :]
        here = here + xp.linalg.solve(system, miss[:, :, None])[:, :, 0]
        shift[rows, :] = here
        change[rows, :] = chosen - xp.clip(chosen + here @ xp.matrix_transpose(turn), -level, level)
    return shift, change


def _perron(beyond: Any) -> tuple[float, Vector]:
    """Return b and x, from power iteration with a nonnegative matrix."""
    best, weights = math.inf, np.ones(beyond.shape[0])
    x = weights
    for _ in range(ROUNDS):
        image = beyond @ x
        ratio = float((image / x).max())
        if ratio < best:
            best, weights = ratio, x
        if ratio == 0:
            break
        fresh = x + image / ratio  # the shift keeps it from swinging
        x = np.maximum(fresh / fresh.max(), LIGHTEST)
    return best, weights
