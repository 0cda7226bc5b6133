"""Alternating directions on the features that a solution needs, found on the way.

A solution Z has few features, and the dual matrix on these can be completed (`parted`) once there are enough of them.
A mixture of directions, one narrower and one wider than the sparsity, is what solutions of rank two often are: their
features are the first. Then those come in that the completed bound lacks most.
"""

from dataclasses import replace

import numpy as np

from certpca.bounds.sdp.clipped import ClippedDual
from certpca.bounds.sdp.dense_steps import DenseSteps, Judge, Start, from_direction, from_matrix
from certpca.bounds.sdp.parted import Completion, PartedDual, bytes_beside, completed
from certpca.bounds.sdp.rank_one import Direction, sparse_direction
from certpca.bounds.sdp.relaxation import Relaxation, of_direction
from certpca.bounds.sdp.splitting import Splitting
from certpca.operators.base import Operator
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_numpy, to_vector
from certpca.runtime.budget import Progress
from certpca.runtime.lateness import OutOfTimeError
from certpca.search.krylov import Eigenpairs

AROUND = 2  # times wider and narrower are the directions whose features are the first
WIDE = 0.3  # of all features: the wider direction is left out where it has more than that
ROUNDS = 12
LARGEST_SHARE = 0.7  # of the features; with more of them all may as well take part
GROWTH = 0.3  # of the features that there are, at most, come in at once
FIRST_GAP, LAST_GAP = 5.0, 0.3  # times the gap wanted, for the features at hand


def solve_on_active(
    operator: Operator,
    sparsity: int,
    pairs: Eigenpairs,
    direction: Direction,
    clipped: ClippedDual,
    progress: Progress,
    *,
    gap: float,
    memory: float,
    judge: Judge | None,
    warm: Relaxation | None,
    largest: int,
) -> Relaxation | None:
    """Solve with no more than so many features at a time; None where more are needed."""
    scale = direction.scale
    best = of_direction(direction, clipped, sparsity, 0, Status.STALLED)
    features, start = _first(operator, sparsity, pairs, direction, clipped, progress, warm)
    target, steps, iterations = FIRST_GAP * gap, None, 0
    for _ in range(ROUNDS):
        if features.size > largest:
            return None
        needed = Splitting.memory(features.size) + bytes_beside(operator.size, features.size)
        if needed > memory:
            return replace(best, status=Status.TOO_LARGE, needed_memory=needed)
        if steps is None:
            steps = DenseSteps(operator, features, sparsity, scale, start)
        before = steps.count
        status = steps.until(progress, target, best.lower, best.upper, complete=False)
        iterations += steps.count - before
        try:
            completion = completed(operator, features, steps.splitting, progress.late)
        except OutOfTimeError:
            return replace(best, status=Status.OUT_OF_BUDGET, iterations=iterations)
        best = _better(best, steps.result(status, needed, steps.dual(completion)), iterations)
        going = progress.tick(0.0, best.upper)
        if best.gap <= gap or (judge is not None and judge(best.vectors, best.weights, best.upper)):
            return replace(best, status=Status.CONVERGED)
        if not going or progress.exhausted:
            return replace(best, status=Status.OUT_OF_BUDGET)
        excess = (completion.top - steps.top) / steps.upper
        if excess <= 0.3 * gap and status is Status.STALLED:
            break
        target = max(LAST_GAP * gap, min(target, 0.3 * best.gap))
        if excess > 0.3 * gap and completion.wanted.size:
            wanted = completion.wanted[: max(32, round(GROWTH * features.size))]
            features, start = _extended(operator, steps, completion, wanted)
            steps = None
    return replace(best, status=Status.STALLED)


def _better(best: Relaxation, found: Relaxation, iterations: int) -> Relaxation:
    """Keep the larger lower and the smaller upper value."""
    primal = found if found.lower > best.lower else best
    dual = found.dual if found.upper < best.upper else best.dual
    return replace(
        found,
        vectors=primal.vectors,
        weights=primal.weights,
        shrink=primal.shrink,
        lower=primal.lower,
        dual=dual,
        iterations=iterations,
        lone=best.lone,
        lone_value=best.lone_value,
    )


def _first(
    operator: Operator,
    sparsity: int,
    pairs: Eigenpairs,
    direction: Direction,
    clipped: ClippedDual,
    progress: Progress,
    warm: Relaxation | None,
) -> tuple[Indices, Start]:
    """Return the features to begin with, and where to begin."""
    if warm is not None and isinstance(warm.dual, PartedDual) and warm.vectors.shape[0] == operator.size:
        features, scale = warm.dual.features, direction.scale
        dual = np.asarray(warm.dual.part() / scale)
        return features, from_matrix(warm.vectors[features], warm.weights, dual, warm.dual.level / scale)
    chosen = direction.vector != 0
    for other in (max(1, sparsity // AROUND), min(operator.size, AROUND * sparsity)):
        more = sparse_direction(operator, other, pairs, progress).vector != 0
        if other < sparsity or more.sum() <= WIDE * operator.size:
            chosen |= more
    features = np.flatnonzero(chosen)
    return features, from_direction(direction, clipped, features)


def _extended(operator: Operator, steps: DenseSteps, completion: Completion, wanted: Indices) -> tuple[Indices, Start]:
    """Add features, with Z and the completed U as they are there."""
    splitting, old, last = steps.splitting, steps.features, steps.last
    assert last is not None
    level = splitting.dual_level()
    features = np.union1d(old, wanted)
    columns = np.asarray(to_vector(operator.columns(wanted)) / splitting.scale, dtype=np.float32)
    place, fresh = np.searchsorted(features, old), np.searchsorted(features, wanted)
    outside = np.setdiff1d(np.arange(operator.size), old)
    shifts = completion.shifts[np.searchsorted(outside, wanted)]
    dual: Vector = np.zeros((features.size, features.size), dtype=to_numpy(splitting.dual_rows(slice(0, 1))).dtype)
    dual[np.ix_(place, place)] = np.concatenate([to_numpy(splitting.dual_rows(rows)) for rows in splitting.rows()])
    across = np.clip(columns[old].T + shifts @ completion.directions.T, -level, level)
    dual[np.ix_(fresh, place)], dual[np.ix_(place, fresh)] = across, across.T
    dual[np.ix_(fresh, fresh)] = np.clip(columns[wanted], -level, level)
    vectors = np.zeros((features.size, last.weights.size))
    vectors[place] = last.vectors
    return features, from_matrix(vectors, last.weights, dual, level, splitting.penalty)
