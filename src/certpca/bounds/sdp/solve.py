"""Solve the semidefinite relaxation to a duality gap: a rank-one attempt, then alternating directions."""

from dataclasses import replace

import numpy as np

from certpca.bounds.sdp.active_set import LARGEST_SHARE, solve_on_active
from certpca.bounds.sdp.clipped import ClippedDual, clipped_duals
from certpca.bounds.sdp.dense_steps import DenseSteps, Judge, Start, from_direction, from_matrix
from certpca.bounds.sdp.rank_one import Direction, sparse_direction
from certpca.bounds.sdp.relaxation import DenseDual, Relaxation, of_direction, of_zero
from certpca.bounds.sdp.splitting import Splitting
from certpca.operators.base import Operator
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.runtime.budget import Progress
from certpca.search.krylov import leading_eigenpairs

STARTS = 4  # leading eigenvectors from which the rank-one attempt begins
UNDER_LEVEL = 0.5  # share of the rank-one level below which a feature is left out at first
FEW = 1536  # features; all of them take part


def solve_relaxation(
    operator: Operator,
    sparsity: int,
    progress: Progress,
    *,
    gap: float = 1e-4,
    memory: float = 16 * 2**30,
    warm: Relaxation | None = None,
    judge: Judge | None = None,
) -> Relaxation:
    """Solve until the duality gap is small, or until the judge is content with (V, z, upper)."""
    pairs = leading_eigenpairs(operator, min(STARTS, operator.size), late=progress.late)
    if not pairs.values[0] > 0:
        return of_zero(operator.size, sparsity)
    warm = None if warm is None or warm.vectors.shape[0] != operator.size else warm
    start = None if warm is None else warm.vectors[:, 0]
    direction = sparse_direction(operator, sparsity, pairs, progress, start)
    best: ClippedDual | None = None
    for dual in clipped_duals(operator, direction, sparsity, progress.late):
        best = dual if best is None or dual.bound < best.bound else best
        found = of_direction(direction, best, sparsity, 0, Status.CONVERGED)
        going = progress.tick(0.0, best.bound)
        if found.gap <= gap or (judge is not None and judge(found.vectors, found.weights, best.bound)):
            return found
        if not going:
            return replace(found, status=Status.OUT_OF_BUDGET)
    assert best is not None
    reach = _reach(operator)
    above = int((reach > UNDER_LEVEL * best.level).sum())
    if above > FEW:
        active = solve_on_active(
            operator,
            sparsity,
            pairs,
            direction,
            best,
            progress,
            gap=gap,
            memory=memory,
            judge=judge,
            warm=warm,
            largest=round(LARGEST_SHARE * above),
        )
        if active is not None:
            return active
    return _on_all(operator, direction, best, sparsity, progress, gap, memory, judge, warm, reach)


def _reach(operator: Operator) -> Vector:
    """Bound the entries of each row."""
    diagonal = to_vector(operator.diagonal())
    return np.asarray(np.sqrt(np.maximum(diagonal, 0.0) * diagonal.max()))


def _start(direction: Direction, clipped: ClippedDual, features: Indices, warm: Relaxation | None) -> Start:
    """Begin at another solution on the same features; near one of rank one the clipped dual is the better start."""
    if warm is None or warm.weights.size == 1 or not isinstance(warm.dual, DenseDual):
        return from_direction(direction, clipped, features)
    if not np.array_equal(warm.dual.features, features):
        return from_direction(direction, clipped, features)
    dual, level = warm.dual.part() / direction.scale, warm.dual.level / direction.scale
    return from_matrix(warm.vectors[features], warm.weights, dual, level)


def _on_all(
    operator: Operator,
    direction: Direction,
    clipped: ClippedDual,
    sparsity: int,
    progress: Progress,
    gap: float,
    memory: float,
    judge: Judge | None,
    warm: Relaxation | None,
    reach: Vector,
) -> Relaxation:
    """Run alternating directions on the features that the level does not exclude, then look at the others."""
    level, needed, scale = UNDER_LEVEL * clipped.level, 0, direction.scale
    while not progress.exhausted:
        chosen = (reach > level) | (direction.vector != 0)
        features = np.flatnonzero(chosen)
        needed = Splitting.memory(features.size)
        if needed > memory:
            return of_direction(direction, clipped, sparsity, needed, Status.TOO_LARGE)
        run = DenseSteps(operator, features, sparsity, scale, _start(direction, clipped, features, warm))
        status = run.until(progress, gap, direction.value * scale, clipped.bound, judge)
        dual_found = run.dual()
        found = run.result(status, needed, dual_found)
        if not (reach[~chosen] > dual_found.level).any():
            break
        level = 0.0  # the level ended below features that were left out: take all of them
    else:
        return of_direction(direction, clipped, sparsity, needed, Status.OUT_OF_BUDGET)
    lone = of_direction(direction, clipped, sparsity, needed, status)
    found = replace(found, lone=lone.lone, lone_value=lone.lone_value)
    if clipped.bound < found.upper:
        found = replace(found, dual=clipped)
    if lone.lower > found.lower or 1 - lone.lower / found.upper <= gap:  # perhaps it was a solution all along
        found = replace(found, vectors=lone.vectors, weights=lone.weights, shrink=lone.shrink, lower=lone.lower)
    return found
