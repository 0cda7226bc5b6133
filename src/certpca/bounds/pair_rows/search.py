"""Find a point on the rows that matter, leave out what it can, and search a tree over what is left."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.goals import Goal, Incumbent
from certpca.bounds.pair_bound.points import PairPoint, first_point, stored, tightened
from certpca.bounds.pair_rows.strongest import Strongest, among
from certpca.bounds.pair_rows.wide_point import WidePoint, widened
from certpca.bounds.support_tree.search import TreeSearch, searched
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.budget import Progress
from certpca.runtime.resumable import resumable

ROWS_FOR_EACH = 6  # rows of M for each feature of a support,
FEWEST_ROWS, MOST_ROWS = 400, 1200  # within these
COUNTS_FROM, GROWN = 0.9, 200  # rows with so large a share of the last that counts join M, as many at a time
SCHEDULE = ((0.03, 15), (0.01, 25), (0.003, 40), (0.001, 60), (0.0003, 60))  # smoothing, steps
ROUNDS = 6
WORTH_A_ROUND = 0.8  # of the features that must not be left for another round
SMALL_TREE = 64  # features that are left to the tree at once
LARGEST_TREE = 512  # features that are left to it at the end
HOPELESS = 0.15  # gap after two stages that further ones do not close
HELPS = 0.05  # share of the gap to close, or of the features to leave out, for another stage to be worth it
SHARE = 0.4  # of the time there is, for stages that may come to nothing
ROWS = "rows"  # the parts of the evidence that hold wide points


@dataclass(frozen=True, slots=True, eq=False)
class Tightening:
    """The point after some stages, the best wide one so far, the features that one leaves, and whether it helped."""

    stage: int
    current: PairPoint
    best: WidePoint
    left: Indices
    helped: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The evidence of a certificate, and the bound it should prove."""

    bound: float
    evidence: dict[str, Any]
    tree: Any = None


def search(
    pairs: Strongest, sparsity: int, incumbent: Incumbent, goal: Goal, progress: Progress, proof_seconds: float = 0.0
) -> Found:
    """Leave out features in rounds, each with a point of its own, then search the tree over those that are left."""
    evidence: dict[str, Any] = {}
    features, dropped, best = np.arange(pairs.size), 0.0, Found(math.inf, {})
    for number in range(ROUNDS):
        search = _Round(pairs, features, sparsity, incumbent, goal, progress, proof_seconds)
        state = search.tightened(f"pair-rows-{number}")
        arrays = _arrays(state.best)
        if max(state.best.bound, dropped) < best.bound:
            best = Found(max(state.best.bound, dropped), {**evidence, **within(f"{ROWS}{number}", arrays)})
        dropped = max(dropped, float(np.delete(state.best.forced, state.left).max(initial=0.0)))
        evidence |= within(f"{ROWS}{number}", {**arrays, "left": state.left})
        few = state.left.size <= max(SMALL_TREE, 2 * sparsity)
        if goal.reached(incumbent.objective, best.bound) or progress.exhausted:
            return best
        if few or state.left.size > WORTH_A_ROUND * features.size:
            break
        features = features[state.left]
        fewer = among(pairs.columns[:, state.left], sparsity - 1, lambda: progress.late(proof_seconds))
        if fewer is None:
            return best
        pairs = fewer
    if state.left.size > LARGEST_TREE:
        return best
    columns = pairs.columns[:, state.left] if pairs.size == search.size else pairs.columns
    found = _tree(
        columns.astype(np.float64), search.features[state.left], sparsity, incumbent, goal, progress, proof_seconds
    )
    bound = max(found.bound, dropped)
    return Found(bound, {**evidence, **found.evidence}, found.tree) if bound < best.bound else best


def _tree(
    columns: Vector,
    features: Indices,
    sparsity: int,
    incumbent: Incumbent,
    goal: Goal,
    progress: Progress,
    proof_seconds: float,
) -> Found:
    tree = TreeSearch(columns.T @ columns, sparsity, max(goal.target_gap, PROVED_OPTIMAL))
    reached = searched(
        tree,
        np.searchsorted(features, incumbent.best.support),
        progress,
        enough=lambda found: goal.reached(found.value, found.upper_bound),
        proof_seconds=proof_seconds,
    )
    if reached.value > incumbent.objective * (1 + 1e-9):
        incumbent.best = incumbent.refitted(features[reached.best.support])
    records, evidence = tree.certificate(reached)
    return Found(reached.upper_bound, evidence, records)


class _Round:
    """One point, tightened in stages; M grows by the rows that come to count as much as those it has."""

    def __init__(
        self,
        pairs: Strongest,
        features: Indices,
        sparsity: int,
        incumbent: Incumbent,
        goal: Goal,
        progress: Progress,
        proof_seconds: float,
    ) -> None:
        self._pairs, self.features, self._sparsity = pairs, features, sparsity
        self._goal, self._progress = goal, progress
        self.size, self._captured = pairs.size, incumbent.objective
        self._support = np.searchsorted(features, incumbent.best.support)
        self._enough = self._captured * (1 + max(goal.target_gap, PROVED_OPTIMAL))
        self._aside = max(proof_seconds, (1 - SHARE) * progress.remaining if progress.timed else 0.0)

    def tightened(self, name: str) -> Tightening:
        """Go through the stages while that helps and there is time."""
        captured = self._captured
        return resumable(
            self._step,
            self._start,
            self._progress,
            name,
            Tightening,
            enough=self._over,
            tell=lambda state: (captured, max(state.best.bound, captured), f"{state.left.size} features left"),
            late=lambda _: self._late(),
        )

    def _late(self) -> bool:
        return self._progress.late(self._aside)

    def _matrix(self, features: Indices) -> Vector:
        columns = self._pairs.columns[:, features].astype(np.float64)
        return np.asarray(columns.T @ columns / self._captured)

    def _start(self) -> Tightening:
        pairs, sparsity = self._pairs, self._sparsity
        count = min(pairs.size, max(FEWEST_ROWS, min(MOST_ROWS, ROWS_FOR_EACH * sparsity)))
        sums = pairs.squares.astype(np.float64).sum(axis=1) + pairs.diagonal**2
        features = np.union1d(np.argsort(-sums, kind="stable")[:count], self._support)
        shift = _shift(pairs, sparsity) / self._captured
        return self._after(0, first_point(features, self._matrix(features), shift, 0, sparsity), None)

    def _step(self, state: Tightening) -> Tightening:
        smoothing, steps = SCHEDULE[state.stage]
        matrix = self._matrix(state.current.features)
        current, _, _ = tightened(
            matrix,
            state.current,
            0,
            self._sparsity,
            smoothing=smoothing,
            steps=steps,
            target=self._enough / self._captured,
            late=self._late,
            worth_fixing=math.inf,
        )
        return self._after(state.stage + 1, current, state)

    def _after(self, stage: int, current: PairPoint, before: Tightening | None) -> Tightening:
        captured, features = self._captured, current.features
        own = stored(features, current.u * captured, current.k * captured, current.alpha * captured)
        wide = widened(self._pairs, own, self._sparsity, captured)
        # The features of the incumbent are always left, so that the tree can say that it is optimal.
        left = np.union1d(np.flatnonzero(wide.forced > self._enough), self._support)
        current = self._grown(current, wide)
        if before is None:
            return Tightening(stage, current, wide, left)
        closed, gap = before.best.bound - wide.bound, before.best.bound - captured
        helped = closed > HELPS * gap or left.size < (1 - HELPS) * before.left.size
        if (before.left.size, before.best.bound) < (left.size, wide.bound):
            return replace(before, stage=stage, current=current, helped=helped)
        return Tightening(stage, current, wide, left, helped)

    def _grown(self, current: PairPoint, wide: WidePoint) -> PairPoint:
        """Extend the point to rows that count as much as its own; U there is the matrix, c off its diagonal."""
        room = max(0, MOST_ROWS - current.features.size)
        grown = wide.wider(self._sparsity, COUNTS_FROM, min(room, GROWN))
        if grown.features.size == current.features.size:
            return current
        matrix = self._matrix(grown.features)
        matrix[np.diag_indices_from(matrix)] -= wide.shift / self._captured
        fresh = np.isnan(grown.u)
        u = np.where(fresh, matrix, grown.u / self._captured)
        return PairPoint(grown.features, u, grown.k / self._captured, grown.alpha / self._captured)

    def _over(self, state: Tightening) -> bool:
        few = state.left.size <= max(SMALL_TREE, 2 * self._sparsity)
        hopeless = state.stage >= 2 and (not state.helped or self._captured < (1 - HOPELESS) * state.best.bound)
        reached = self._goal.reached(self._captured, state.best.bound)
        return few or hopeless or reached or state.stage == len(SCHEDULE)


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
