"""Dual points: from a density matrix P and a level ρ to Σ Y_i, with every rounding accounted for.

The inequality they serve is that of `rules/l0_dual`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.limits import LARGEST_FACTORED
from certpca.checker.numbers import SMALLEST_DIVISOR, Vector, array_of, gamma, largest_eigenvalue, require
from certpca.results.evidence_forms import Form, Forms, features, triangle

NEWTON_STEPS = 40
POINT: Forms = {
    "density": Form("f", (triangle(LARGEST_FACTORED),)),
    "level": Form("f", degree=1.0),
    "theta": Form("f", (features,), degree=1.0),
}


@dataclass(frozen=True, slots=True)
class Point:
    """ρ (`level`), Σ Y_i (`total`) in the coordinates of `basis`, and how far rounding can have moved it (`doubt`).

    `values` are about its eigenvalues, `reach` about the most that one Y_i has along the leading direction of P. With a
    basis Q that is only nearly orthogonal, ξ = Qη with |η|² ≤ 1/σ_min(Q)², so bounds are divided by `turn`, a lower
    bound of σ_min(Q)². `error` bounds the roundings of QᵀF in the Frobenius norm.
    """

    level: float
    total: Vector
    doubt: float
    basis: Vector
    weights: Vector
    theta: Vector | None
    values: Vector
    reach: float
    turn: float
    error: float
    prepared: Prepared

    def largest(self) -> float:
        """Bound λ_max(Σ Y_i) of the rotated F at hand."""
        return largest_eigenvalue(self.total, self.doubt, suggestion=float(self.values[-1]))

    def lift(self, bound: float) -> float:
        """Turn a bound for the rotated F at hand into one for the exact matrix."""
        rotated = (math.sqrt(max(bound, 0.0)) + self.error) ** 2 / self.turn
        return self.prepared.lift(rotated * (1 + gamma(16)))


def point_of(prepared: Prepared, evidence: Mapping[str, Any]) -> Point:
    """Read P (packed lower triangle), ρ and, where it is there, θ, and add up the Y_i they suggest."""
    depth = prepared.depth
    require(depth <= prepared.limits.largest_factored, f"a density matrix of order {depth} is too large to be factored")
    packed = array_of(evidence, "density", 1)
    require(packed.size == depth * (depth + 1) // 2, "its density matrix has the wrong size")
    level = float(array_of(evidence, "level", 0)) / prepared.unit
    require(level >= 0, "its level is negative")
    theta = None
    if "theta" in evidence:
        theta = array_of(evidence, "theta", 1) / prepared.unit
        require(theta.size == prepared.size, "its roots are not one for each feature")
    key = blake2b(packed.tobytes() + np.float64(level).tobytes() + (b"" if theta is None else theta.tobytes()))
    known: Point | None = prepared.latest.get(key.hexdigest())
    if known is not None:
        return known
    density = np.zeros((depth, depth))
    density[np.tril_indices(depth)] = packed
    density = density + np.tril(density, -1).T
    weights, basis = np.linalg.eigh(density)
    weights = np.maximum(weights, 1e-14 * max(float(weights[-1]), float(np.finfo(float).tiny)))
    weights /= weights.sum()
    drift = float(np.linalg.norm(basis.T @ basis - np.eye(depth))) + gamma(depth + 4) * depth * 2
    require(drift < 0.01, "its density matrix has no usable eigenvectors")
    total, strays, reach = np.zeros((depth, depth)), 0.0, 0.0
    for columns, block in prepared.blocks():
        z, stray = dual_vectors(basis.T @ block, weights, level, None if theta is None else theta[columns])
        total += z @ z.T
        strays, reach = strays + stray, max(reach, float(np.square(z[-1]).max()))
    total = (total + total.T) / 2
    trace = float(np.trace(total)) * (1 + gamma(depth))
    # √λ_max moves by at most the length of all errors of the columns together; sums round as inner products do.
    stray = math.sqrt(strays) * (1 + gamma(prepared.size + 8))
    doubt = gamma(prepared.size + 16) * trace + 2 * stray * math.sqrt(trace) + stray**2
    error = math.sqrt(depth) * gamma(depth + 4) * math.sqrt(prepared.trace) * 1.01
    require(bool(np.isfinite(total).all()), "its numbers overflow")
    values: Vector = np.asarray(np.linalg.eigvalsh(total))
    point = Point(level, total, doubt, basis, weights, theta, values, reach, 1.0 - drift, error, prepared)
    prepared.latest.clear()
    prepared.latest[key.hexdigest()] = point
    return point


def dual_vectors(columns: Vector, weights: Vector, level: float, theta: Vector | None) -> tuple[Vector, float]:
    """Return vectors z_i with Y_i = z_i z_iᵀ for the columns a_i, and the squared length of all their errors.

    With B = aaᵀ − ρI and c suggested by the density, w = Bc = (a·c)a − ρc and q = (a·c)² − ρ|c|². The computed w is
    off by at most γ(|a|² + ρ)|c|, and q by at most γ((a·c)² + ρ|c|² + 2|a||c||a·c|): q is lowered by that, which
    only enlarges Y. Where the lowered q is not clearly positive, Y = aaᵀ is taken.
    """
    small = gamma(columns.shape[0] + 8)
    squares = (columns**2).sum(axis=0)
    if level == 0.0:
        return columns, 0.0
    if theta is None:
        theta = secular_roots(columns, weights, level)
    with np.errstate(all="ignore"):  # what is not finite is replaced below
        c = columns * (weights[:, None] / (theta + level * weights[:, None]))
        c /= np.linalg.norm(c, axis=0)
        inner, lengths = (columns * c).sum(axis=0), (c**2).sum(axis=0)
        q = inner**2 - level * lengths
        doubt = inner**2 + level * lengths + 2 * np.sqrt(squares * lengths) * np.abs(inner)
        lowered = q - 4 * small * doubt
        z = (inner * columns - level * c) / np.sqrt(lowered)
        stray = 2 * small * (squares + level) * np.sqrt(lengths / lowered)
    # A tiny q would magnify what underflow took from w.
    usable = np.isfinite(z).all(axis=0) & np.isfinite(stray) & (lowered > 0.5 * q) & (lowered > SMALLEST_DIVISOR)
    z[:, ~usable], stray[~usable] = columns[:, ~usable], 0.0
    gone = squares * (1 + 2 * small) <= level
    z[:, gone], stray[gone] = 0.0, 0.0
    return z, float((stray**2).sum())


def secular_roots(a: Vector, weights: Vector, level: float) -> Vector:
    """Solve Σ_j p_j a_j² / (θ + ρp_j) = 1 for each column by Newton's method on the reciprocal of the left side.

    The reciprocal is concave and increasing, so steps from above land at or left of the root and climb from there.
    Nothing depends on how well this converges: θ only suggests a direction.
    """
    weighted = weights[:, None] * a**2
    theta = weighted.sum(axis=0)
    active = np.flatnonzero(theta > 0)
    theta = np.maximum(theta, np.finfo(float).tiny)
    shift = level * weights[:, None]
    for _ in range(NEWTON_STEPS):
        if active.size == 0:
            break
        now = theta[active]
        inverse = 1.0 / (now + shift)
        terms = weighted[:, active] * inverse
        left, slope = terms.sum(axis=0), (terms * inverse).sum(axis=0)
        new = now - (left - left**2) / slope
        new = np.where(new > 0, new, 0.05 * now)
        theta[active] = new
        active = active[np.abs(new - now) > 1e-9 * new]
    return np.asarray(theta)
