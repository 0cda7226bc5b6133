"""Features that a dual point with a matrix as its level proves to be in no, or in every, optimal support.

Leaving i out removes Y_i: if λ_max(kR + G − Y_i) is below the objective, G = Σ Y_i, every optimum contains i. Forcing i
in replaces Y_i by a_ia_iᵀ with one feature less to choose: if λ_max((k − 1)R + G − Y_i + a_ia_iᵀ) is below, none does.
With D = tI − M for the matrix M of the one or the other, at the level t that the objective leaves, both are tests of
definiteness after updates of rank one: D + yyᵀ ≻ 0, where D has one negative eigenvalue, iff 1 + yᵀD⁻¹y < 0; and
E − aaᵀ ≻ 0 for E = D + yyᵀ ≻ 0 iff aᵀE⁻¹a < 1. The sum without one term is off by no more than the whole one, so t is
lowered by the doubt about that.

With VΛVᵀ = M up to `rest` and VᵀV = I up to `drift`, both measured, V⁻¹DV⁻ᵀ is tI − Λ up to κ times the distance of t
from the eigenvalues, which is kept at 1e-6 of the largest or more. Then these quotients are off by at most 4κ of their
terms; a margin of twice that is demanded.

Proof: docs/mathematics.md, 4.1 to 4.3.
"""

from typing import NamedTuple

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.large_eigenvalues import Leading
from certpca.checker.level_factors import level_vectors
from certpca.checker.level_points import LevelPoint
from certpca.checker.limits import LARGEST_FACTORED
from certpca.checker.numbers import Mask, Vector, gamma

NEARLY = 0.999
ROUNDED = 1e-5  # of the length of a dual vector: what its stored products can be off
APART = 1e-6  # of the largest eigenvalue: how far levels are kept from eigenvalues


class _Spectrum(NamedTuple):
    values: Vector
    vectors: Vector
    margin: float


def screen_levels(prepared: Prepared, point: LevelPoint, k: int, objective: float) -> tuple[Mask, Mask]:
    """Mark features proved to be in no, and in every, optimal support."""
    outside, inside = np.zeros(prepared.size, dtype=bool), np.zeros(prepared.size, dtype=bool)
    target = objective - 2 * (prepared.lift(objective) - objective)
    if prepared.depth > LARGEST_FACTORED:  # eigenvectors of so large a matrix take hours
        return outside, inside
    if k == prepared.size or prepared.depth < 2 or not (target > 0 and prepared.lift(target) < objective):
        return outside, inside
    excluding, including = _below(point, k, target), _one_above(point, k, target)
    if excluding is None and including is None:
        return outside, inside
    for columns, block in prepared.blocks():
        y = level_vectors(block, point.level)[0]
        if including is not None:
            level, (values, vectors, margin) = including
            # Only the leading term of the quotient is negative: where it is too small, the others are not needed.
            hopeful = np.flatnonzero((vectors[:, -1] @ y) ** 2 > values[-1] - level)
            if hopeful.size:
                terms = (vectors.T @ y[:, hopeful]) ** 2 / (level - values)[:, None]
                included = 1 + terms.sum(axis=0) < -margin * (1 + np.abs(terms).sum(axis=0))
                inside[columns.start + hopeful[included]] = True
        if excluding is not None:
            level, (values, vectors, margin) = excluding
            turned, a = vectors.T @ y, vectors.T @ block
            inverse = (1.0 / (level - values))[:, None]
            yy, aa = (turned**2 * inverse).sum(axis=0), (a**2 * inverse).sum(axis=0)
            ya = (turned * a * inverse).sum(axis=0)
            outside[columns] = aa - ya**2 / (1 + yy) < 1 - margin * (1 + aa)
    return outside, inside


def _below(point: LevelPoint, k: int, target: float) -> tuple[float, _Spectrum] | None:
    """Return the level and the spectrum for features to be forced in, if all eigenvalues are below the level."""
    level, leading = target - point.doubted(k - 1), point.leading(k)
    # Most often they are not: the leading direction says so, and else a factorisation, in a tenth of the time.
    if leading.largest - leading.residual - float(leading.vector @ point.level.times(leading.vector)) > level:
        return None
    matrix, _ = point.matrix(k - 1)
    shifted = -matrix
    shifted[np.diag_indices(matrix.shape[0])] += level
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return None
    found = _spectrum(matrix, target)
    return None if found is None or not level > found.values[-1] + _noise(found, target) else (level, found)


def _one_above(point: LevelPoint, k: int, target: float) -> tuple[float, _Spectrum] | None:
    """Return the level and the spectrum for features to be left out, if one eigenvalue alone is above the level."""
    leading, doubt = point.leading(k), point.doubted(k)
    # Most often there are several, or none of the Y_i reaches from one to the other: some products find that out in a
    # tenth of the time.
    apart = leading.largest - target + doubt
    if leading.second >= target - doubt or _longest(point, leading, apart) < NEARLY * apart:
        return None
    found = _spectrum(point.matrix(k)[0], target)
    if found is None:
        return None
    # A lower level is a stronger demand, so it may be moved below the largest eigenvalue.
    level = min(target - doubt, float(found.values[-1]) - _noise(found, target))
    return (level, found) if found.values[-2] + _noise(found, target) < level else None


def _longest(point: LevelPoint, leading: Leading, apart: float) -> float:
    """Return about as much as any (v·z_i)² can be, v the leading eigenvector.

    What v has within W is known of each z_i, and what it has beside that, or is off by, counts with the length of z_i.
    """
    largest = float(point.lengths.max())
    if largest < NEARLY * apart or apart <= 0:
        return largest
    within = np.linalg.lstsq(point.level.gram, point.level.directions.T @ leading.vector, rcond=None)[0]
    beside = float(np.linalg.norm(leading.vector - point.level.directions @ within))
    off = leading.residual / max(apart - leading.residual, 0.01 * apart)
    with np.errstate(all="ignore"):  # what is not finite is looked at
        seen = float((np.abs(point.along @ within) + (beside + off + ROUNDED) * np.sqrt(point.lengths)).max())
    return min(largest, seen * seen)


def _noise(found: _Spectrum, target: float) -> float:
    return APART * max(abs(float(found.values[-1])), target)


def _spectrum(matrix: Vector, target: float) -> _Spectrum | None:
    depth, small = matrix.shape[0], gamma(matrix.shape[0] + 8)
    values, vectors = np.linalg.eigh(matrix)
    largest = max(abs(float(values[-1])), target)
    rest = float(np.linalg.norm((vectors * values) @ vectors.T - matrix)) + 2 * small * float(np.abs(values).sum())
    drift = float(np.linalg.norm(vectors.T @ vectors - np.eye(depth))) + 2 * small * depth
    margin = max(1e-5, 8 * (rest + drift * largest) / (APART * largest))
    return _Spectrum(values, vectors, margin) if margin < 0.1 else None
