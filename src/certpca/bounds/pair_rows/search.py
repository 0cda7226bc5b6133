"""Find a point on the rows that matter, leave out what it can, and search a tree over what is left."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.goals import Goal, Incumbent
from certpca.bounds.pair_bound.points import PairPoint, first_point, stored, tightened
from certpca.bounds.pair_rows.strongest import Strongest
from certpca.bounds.pair_rows.wide_point import WidePoint, widened
from certpca.bounds.support_tree.search import TreeSearch, searched
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices
from certpca.runtime.budget import Progress
from certpca.runtime.resumable import resumable

ROWS_FOR_EACH = 6  # rows of M for each feature of a support,
FEWEST_ROWS, MOST_ROWS = 400, 800  # within these
SCHEDULE = ((0.03, 15), (0.01, 25), (0.003, 40), (0.001, 60), (0.0003, 60))  # smoothing, steps
SMALL_TREE = 64  # features that are left to the tree at once
LARGEST_TREE = 512  # features that are left to it at the end
HOPELESS = 0.15  # gap after two stages that further ones do not close
ROWS = "rows"  # the part of the evidence that holds the wide point


@dataclass(frozen=True, slots=True, eq=False)
class Tightening:
    """The point after some stages, the best wide one so far, and the features that one leaves."""

    stage: int
    current: PairPoint
    best: WidePoint
    left: Indices


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The evidence of a certificate, and the bound it should prove."""

    bound: float
    evidence: dict[str, Any]
    tree: Any = None


def search(
    pairs: Strongest, sparsity: int, incumbent: Incumbent, goal: Goal, progress: Progress, proof_seconds: float = 0.0
) -> Found:
    """Tighten the point in stages, then search the tree over the features that it leaves."""
    state = _tightened(pairs, sparsity, incumbent, goal, progress, proof_seconds)
    alone = Found(state.best.bound, within(ROWS, _arrays(state.best)))
    small_enough = sparsity <= state.left.size <= LARGEST_TREE
    if not small_enough or goal.reached(incumbent.objective, alone.bound) or progress.exhausted:
        return alone
    dropped = float(np.delete(state.best.forced, state.left).max(initial=0.0))
    columns = pairs.columns[:, state.left].astype(np.float64)
    tree = TreeSearch(columns.T @ columns, sparsity, max(goal.target_gap, PROVED_OPTIMAL))
    support = np.searchsorted(state.left, incumbent.best.support)
    reached = searched(
        tree,
        support,
        progress,
        enough=lambda found: goal.reached(found.value, found.upper_bound),
        proof_seconds=proof_seconds,
    )
    if reached.value > incumbent.objective * (1 + 1e-9):
        incumbent.best = incumbent.refitted(state.left[reached.best.support])
    bound = max(reached.upper_bound, dropped)
    if not bound < alone.bound:
        return alone
    records, evidence = tree.certificate(reached)
    return Found(bound, {**within(ROWS, {**_arrays(state.best), "left": state.left}), **evidence}, records)


def _tightened(
    pairs: Strongest, sparsity: int, incumbent: Incumbent, goal: Goal, progress: Progress, proof_seconds: float
) -> Tightening:
    captured, support = incumbent.objective, incumbent.best.support
    count = min(pairs.size, max(FEWEST_ROWS, min(MOST_ROWS, ROWS_FOR_EACH * sparsity)))
    sums = pairs.squares.astype(np.float64).sum(axis=1) + pairs.diagonal**2
    features = np.union1d(np.argsort(-sums, kind="stable")[:count], support)
    columns = pairs.columns[:, features].astype(np.float64)
    matrix = columns.T @ columns / captured
    enough = captured * (1 + max(goal.target_gap, PROVED_OPTIMAL))

    def late() -> bool:
        return progress.late(proof_seconds)

    def after(stage: int, current: PairPoint, best: Tightening | None) -> Tightening:
        own = stored(features, current.u * captured, current.k * captured, current.alpha * captured)
        wide = widened(pairs, own, sparsity, captured)
        # The features of the incumbent are always left, so that the tree can say that it is optimal.
        left = np.union1d(np.flatnonzero(wide.forced > enough), support)
        if best is not None and (best.left.size, best.best.bound) < (left.size, wide.bound):
            return replace(best, stage=stage, current=current)
        return Tightening(stage, current, wide, left)

    def step(state: Tightening) -> Tightening:
        smoothing, steps = SCHEDULE[state.stage]
        target = enough / captured
        current, _, _ = tightened(
            matrix, state.current, 0, sparsity, smoothing=smoothing, steps=steps, target=target, late=late
        )
        return after(state.stage + 1, current, state)

    def over(state: Tightening) -> bool:
        few = state.left.size <= max(SMALL_TREE, 2 * sparsity)
        hopeless = state.stage == 2 and captured < (1 - HOPELESS) * state.best.bound
        return few or hopeless or state.stage == len(SCHEDULE) or goal.reached(captured, state.best.bound)

    def start() -> Tightening:
        return after(0, first_point(features, matrix, _shift(pairs, sparsity) / captured, 0, sparsity), None)

    return resumable(
        step,
        start,
        progress,
        "pair-rows",
        Tightening,
        enough=over,
        tell=lambda state: (captured, state.best.bound, f"{state.left.size} features left"),
        late=lambda _: late(),
    )


def _arrays(point: WidePoint) -> dict[str, Any]:
    own = point.own
    return {
        "scale": np.float64(1.0),  # the search works in units near one; whoever changes them changes this number
        "features": own.features,
        "pairs": own.pairs,
        "alpha": own.alpha,
        "shift": np.float64(point.shift),
        "rest": np.float64(point.rest),
    }


def _shift(pairs: Strongest, sparsity: int) -> float:
    """Return the c that is best for c + √T with squares alone: T is quadratic in c on the rows that count."""
    others = pairs.squares.astype(np.float64).sum(axis=1)
    shift = 0.0
    for _ in range(20):
        rows = (pairs.diagonal - shift) ** 2 + others
        chosen = np.argsort(-rows, kind="stable")[:sparsity]
        mean = float(pairs.diagonal[chosen].mean())
        spread = float(((pairs.diagonal[chosen] - mean) ** 2).sum() + others[chosen].sum())
        # c + √(k(mean − c)² + spread) is least where √k(mean − c) = √(spread/(k − 1)).
        fresh = mean - math.sqrt(spread / (sparsity * (sparsity - 1)))
        if abs(fresh - shift) <= 1e-9 * mean:
            break
        shift = fresh
    return shift
