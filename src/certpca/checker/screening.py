"""Features that a dual point proves to be in no, or in every, optimal support; those in none may be left out.

Proof: docs/mathematics.md, 4.1 to 4.3; under constraints 17.1.
"""

from typing import NamedTuple

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.dual_points import Point, dual_vectors, point_of
from certpca.checker.numbers import Mask, Vector, gamma, require
from certpca.checker.proved import Proved
from certpca.results.certificate import Certificate
from certpca.results.constraints import FREE, Constraints
from certpca.results.evidence_forms import parts_of

SCREEN = "screen"  # the part of the evidence that holds a first dual point


class Screened(NamedTuple):
    """The data without some features, which those are, and what is asked of the others."""

    kept: Prepared
    dropped: Mask
    objective: float
    constraints: Constraints = FREE

    def proved(self, bound: float, outside: Mask, inside: Mask) -> Proved:
        """Turn what is proved about the features kept into what is proved about all."""
        everywhere, nowhere = self.dropped.copy(), np.zeros(self.dropped.size, dtype=bool)
        everywhere[~self.dropped], nowhere[~self.dropped] = outside, inside
        # Supports with dropped features stay below the objective, so they never raise the bound above it.
        return Proved(max(bound, self.objective if self.dropped.any() else 0.0), everywhere, nowhere)


def screened(prepared: Prepared, certificate: Certificate, objective: float) -> Screened:
    """Leave out features that a first dual point proves to be in no optimal support."""
    first = parts_of(certificate.evidence).get(SCREEN)
    if first is None:
        return Screened(prepared, np.zeros(prepared.size, dtype=bool), objective, certificate.constraints)
    point, k = point_of(prepared, first), certificate.sparsity
    outside, _ = screen(prepared, point, k, objective, certificate.constraints)
    require(prepared.size - int(outside.sum()) >= certificate.sparsity, "it leaves too few features")
    left = certificate.constraints.on(np.flatnonzero(~outside))
    return Screened(prepared.keep(~outside), outside, objective, left)


def screen(
    prepared: Prepared, point: Point, k: int, objective: float, constraints: Constraints = FREE
) -> tuple[Mask, Mask]:
    """Mark features proved to be in no, and in every, optimal support.

    What every support has is never left out, whatever roundings say; where a feature is left out, so is its group.
    """
    outside, inside = _screened(prepared, point, k, objective)
    outside[list(constraints.include)] = False
    for group in constraints.groups:
        members = list(group)
        outside[members] = outside[members].any()
    return outside, inside


def _screened(prepared: Prepared, point: Point, k: int, objective: float) -> tuple[Mask, Mask]:
    """Mark features that the dual point decides.

    Leaving i out removes Y_i: if kρ + λ_max(G − Y_i) is below the objective, every optimum contains i. Forcing i in
    replaces Y_i by a_ia_iᵀ with one feature less to choose: if (k − 1)ρ + λ_max(G − Y_i + a_ia_iᵀ) is below,
    none does. With D = tI − G at the level t that the objective leaves, both are tests of definiteness after updates of
    rank one: D + yyᵀ ≻ 0, where D has one negative eigenvalue, iff 1 + yᵀD⁻¹y < 0; and E − aaᵀ ≻ 0 for
    E = D + yyᵀ ≻ 0 iff aᵀE⁻¹a < 1. With VΛVᵀ = G up to `rest` and VᵀV = I up to `drift`, both measured, V⁻¹DV⁻ᵀ is
    tI − Λ up to κ times the distance of t from the eigenvalues, which is kept at 1e-6 of the largest or more. Then
    these quotients are off by at most 4κ of their terms; a margin of twice that is demanded.
    """
    outside, inside = np.zeros(prepared.size, dtype=bool), np.zeros(prepared.size, dtype=bool)
    target = objective - 2 * (point.lift(objective) - objective)
    if k == prepared.size or prepared.depth < 2 or not (target > 0 and point.lift(target) < objective):
        return outside, inside
    largest, small = max(abs(float(point.values[-1])), target), gamma(prepared.depth + 8)
    noise = 1e-6 * largest
    without, forced = target - point.doubt - k * point.level, target - point.doubt - (k - 1) * point.level

    def decidable(values: Vector) -> tuple[float, bool, bool]:
        # A lower level is a stronger demand, so it may be moved below the largest eigenvalue.
        lowered = min(without, float(values[-1]) - noise)
        # Without Y_i there is still what the others have along the leading direction.
        may_include = values[-2] + noise < lowered and point.total[-1, -1] - point.reach < lowered
        return lowered, bool(may_include), bool(forced > values[-1] + noise)

    if not any(decidable(point.values)[1:]):  # most often so, and eigenvectors would take a while
        return outside, inside
    values, vectors = np.linalg.eigh(point.total)
    rest = float(np.linalg.norm((vectors * values) @ vectors.T - point.total)) + 2 * small * float(np.abs(values).sum())
    drift = float(np.linalg.norm(vectors.T @ vectors - np.eye(prepared.depth))) + 2 * small * prepared.depth
    margin = max(1e-5, 8 * (rest + drift * largest) / noise)
    if not margin < 0.1:
        return outside, inside
    level_without, may_include, may_exclude = decidable(values)
    if not (may_include or may_exclude):
        return outside, inside
    for columns, block in prepared.blocks():
        a = point.basis.T @ block
        roots = None if point.theta is None else point.theta[columns]
        y = dual_vectors(a, point.weights, point.level, roots)[0]
        # Only the leading term of the quotient is negative: where it is too small, the others are not needed.
        hopeful = np.flatnonzero((vectors[:, -1] @ y) ** 2 > values[-1] - level_without)
        if may_include and hopeful.size:
            terms = (vectors.T @ y[:, hopeful]) ** 2 / (level_without - values)[:, None]
            included = 1 + terms.sum(axis=0) < -margin * (1 + np.abs(terms).sum(axis=0))
            inside[columns.start + hopeful[included]] = True
        if may_exclude:
            y, a = vectors.T @ y, vectors.T @ a
            inverse = (1.0 / (forced - values))[:, None]
            yy, aa, ya = (y**2 * inverse).sum(axis=0), (a**2 * inverse).sum(axis=0), (y * a * inverse).sum(axis=0)
            outside[columns] = aa - ya**2 / (1 + yy) < 1 - margin * (1 + aa)
    return outside, inside
