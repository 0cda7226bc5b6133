"""Find a point on the rows that matter, leave out what it can, and search a tree over what is left."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.goals import Goal, Incumbent
from certpca.bounds.pair_bound.points import first_point, stored
from certpca.bounds.pair_rows import wide_point
from certpca.bounds.pair_rows.descent import Descent
from certpca.bounds.pair_rows.strongest import Strongest
from certpca.bounds.pair_rows.suggested import improved_by_pairs
from certpca.bounds.pair_rows.wide_point import RowsPoint, WidePoint, widened
from certpca.bounds.support_tree.search import TreeSearch, searched
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.budget import Progress
from certpca.runtime.resumable import resumable
from certpca.runtime.threads import one_thread_each

ROWS_FOR_EACH = 2  # rows of M for each feature of a support, at first,
FEWEST_ROWS, MOST_ROWS = 150, 1200  # within these
GROWN = 100  # rows that come to count join M, as many at a time
FIRST_ENTRIES, MOST_ENTRIES = 400_000, 1_500_000  # of U between M and its partners
OTHERS = 1000  # rows beside M that the descent keeps in view
ROOM = 0.04  # s to begin with, as a share of what is captured
SCHEDULE = ((0.03, 30), (0.01, 30), (0.006, 30), (0.003, 30), (0.002, 30), (0.001, 40), (0.0006, 40), (0.0003, 60))
LAST = len(SCHEDULE) - 1
ROUNDS = 8
WORTH_A_ROUND = 0.5  # of the features that must not be left for another round
ALL_IN = 400  # features that are left and all join M
SMALL_TREE = 64  # features that are left to the tree at once
LARGEST_TREE = 512  # features that are left to it at the end
HOPELESS, TELLS = 5.0, 0.003  # gap as a multiple of a smoothing from there on: what is beyond it stays open,
HOPELESS_GROWN, CHEAP = 10.0, 6.0  # or where rows have just joined M, with time for so many more stages
HELPS = 0.05  # share of the gap to close, or of the features to leave out, for another stage to be worth it
IDLE = 2  # stages that did not help, though rows joined M, after which no other does
AHEAD, SLOW_AT = 2.5, 1  # stages for which there must be time after the first, or other bounds make more of it
EIGENVECTORS = 10.0  # times n³ multiplications for those of a matrix of order n
ROWS = "rows"  # the parts of the evidence that hold wide points


@dataclass(frozen=True, slots=True, eq=False)
class Tightening:
    """The point after some stages, the best wide one so far, and the features that one leaves.

    `others` are the largest β beside M, times α₀, in units of what is captured; `idle` tells how long nothing helped,
    `grown` whether rows have joined M since the last descent.
    """

    stage: int
    current: RowsPoint
    others: Vector
    best: WidePoint
    left: Indices
    idle: int = 0
    grown: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The evidence of a certificate, and the bound it should prove."""

    bound: float
    evidence: dict[str, Any]
    tree: Any = None


def rows_for(sparsity: int) -> int:
    """Return how many rows have numbers of their own at first."""
    return max(FEWEST_ROWS, min(MOST_ROWS, ROWS_FOR_EACH * sparsity))


def search(
    pairs: Strongest, sparsity: int, incumbent: Incumbent, goal: Goal, progress: Progress, proof_seconds: float = 0.0
) -> Found:
    """Leave out features in rounds, each with a point of its own, then search the tree over those that are left."""
    evidence: dict[str, Any] = {}
    features, dropped, best = np.arange(pairs.size), 0.0, Found(math.inf, {})
    with progress.setting_aside(proof_seconds):
        improved_by_pairs(pairs, incumbent, progress.late)
    point: RowsPoint | None = None
    stage = 0
    for number in range(ROUNDS):
        search = _Round(pairs, features, sparsity, incumbent, goal, progress, proof_seconds)
        state = search.tightened(f"pair-rows-{number}", point, stage)
        arrays = _arrays(state.best)
        if max(state.best.bound, dropped) < best.bound:
            best = Found(max(state.best.bound, dropped), {**evidence, **within(f"{ROWS}{number}", arrays)})
        dropped = max(dropped, float(np.delete(state.best.forced, state.left).max(initial=0.0)))
        evidence |= within(f"{ROWS}{number}", {**arrays, "left": state.left})
        if goal.reached(incumbent.objective, best.bound) or progress.exhausted:
            return best
        point, stage = state.current.on(state.left), state.stage
        few = state.left.size <= max(SMALL_TREE, 2 * sparsity)
        if few or state.left.size > WORTH_A_ROUND * features.size:
            break
        features = features[state.left]
        fewer = pairs.of(state.left, sparsity - 1, lambda: progress.late(proof_seconds))
        if fewer is None:
            return best
        pairs = fewer
    if state.left.size > LARGEST_TREE:
        return best
    assert point is not None
    columns = pairs.columns.take(state.left if pairs.size == search.size else slice(0, pairs.size))
    found = _tree(
        columns.astype(np.float64),
        search.features[state.left],
        sparsity,
        point,
        incumbent,
        goal,
        progress,
        proof_seconds,
    )
    bound = max(found.bound, dropped)
    return Found(bound, {**evidence, **found.evidence}, found.tree) if bound < best.bound else best


def _tree(
    columns: Vector,
    features: Indices,
    sparsity: int,
    point: RowsPoint,
    incumbent: Incumbent,
    goal: Goal,
    progress: Progress,
    proof_seconds: float,
) -> Found:
    matrix, captured = columns.T @ columns, incumbent.objective
    tree = TreeSearch(matrix, sparsity, max(goal.target_gap, PROVED_OPTIMAL))
    others = np.setdiff1d(np.arange(features.size), point.own.features)
    own, unit = point.joined(others, matrix[others] / captured).own, captured / tree.scale
    reached = searched(
        tree,
        np.searchsorted(features, incumbent.best.support),
        progress,
        enough=lambda found: goal.reached(found.value, found.upper_bound),
        proof_seconds=proof_seconds,
        name="pairs-tree",
        point=stored(own.features, own.u * unit, own.k * unit, own.alpha * unit),
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
        self._proof_seconds, self._took = proof_seconds, 0.0

    def tightened(self, name: str, point: RowsPoint | None, stage: int) -> Tightening:
        """Go through the stages while that helps and there is time."""
        captured = self._captured
        return resumable(
            self._step,
            lambda: self._start() if point is None else self._after(stage, self._wider(point), None),
            self._progress,
            name,
            Tightening,
            enough=self._over,
            tell=lambda state: (captured, max(state.best.bound, captured), f"{state.left.size} features left"),
            late=lambda _: self._late(),
        )

    def _late(self) -> bool:
        return self._progress.late(self._proof_seconds)

    def _products(self, rows: Indices, columns: Indices) -> Vector:
        """Return a part of the matrix in units of what is captured."""
        return self._pairs.between(rows, columns) / self._captured

    def _start(self) -> Tightening:
        """Begin at U = A − cI on the rows whose squares are largest."""
        pairs, sparsity, captured = self._pairs, self._sparsity, self._captured
        count = min(pairs.size, rows_for(sparsity))
        sums = pairs.squares.astype(np.float64).sum(axis=1) + pairs.diagonal**2
        features = np.union1d(np.argsort(-sums, kind="stable")[:count], self._support)
        shift = by_one_number(pairs, sparsity)[0] / captured
        own = first_point(features, self._products(features, features), shift, 0, sparsity)
        nobody = np.zeros(0, dtype=np.intp)
        alone = RowsPoint(own, nobody, np.zeros((features.size, 0)), 0.0, 1.0, ROOM)
        return self._after(0, alone, None)

    def _wider(self, point: RowsPoint) -> RowsPoint:
        """Give M partners: the features whose products with it are largest, or all that there are."""
        pairs, own = self._pairs, point.own.features
        if pairs.size <= ALL_IN:
            added = np.setdiff1d(np.arange(pairs.size), own)
            return point.joined(added, pairs.rows(added) / self._captured)
        strength = np.concatenate(
            [(products.astype(np.float64) ** 4).sum(axis=1) for _, products in pairs.products(own)]
        )
        strength[own] = -np.inf
        strength[point.partners] = np.inf
        most = min(FIRST_ENTRIES // own.size, pairs.size - own.size)
        partners = np.sort(np.argsort(-strength, kind="stable")[: max(most, point.partners.size)])
        return point.beside(partners, self._products(own, partners))

    def _step(self, state: Tightening) -> Tightening:
        smoothing, steps = SCHEDULE[state.stage]
        point, begin = state.current, self._progress.seconds
        own = point.own.features
        descent = Descent(self._products(own, own), self._products(own, point.partners), state.others, self._sparsity)
        with one_thread_each(1, EIGENVECTORS * float(own.size) ** 3):
            current, _ = descent.tightened(
                point, smoothing=smoothing, steps=steps, target=self._enough / self._captured, late=self._late
            )
        following = self._after(state.stage + 1, current, state)
        self._took = self._progress.seconds - begin
        return following

    def _after(self, stage: int, current: RowsPoint, before: Tightening | None) -> Tightening:
        """Evaluate a point, and let rows that count join it."""
        captured, own = self._captured, current.own.features
        wide = widened(self._pairs, current, self._sparsity, captured)
        # The features of the incumbent are always left, so that the tree can say that it is optimal.
        left = np.union1d(np.flatnonzero(wide.forced > self._enough), self._support)
        others = np.sort(np.delete(wide.sums, own))[::-1][:OTHERS] * wide.rest / captured**2
        room = current.room if current.partners.size else ROOM
        current = replace(current, shift=wide.shift / captured, rest=wide.rest / captured, room=room)
        current = self._grown(current, wide)
        current = self._wider(current) if current.partners.size == 0 else self._joined(current, wide)
        if before is None:
            stage = next((at for at in range(stage, LAST) if SCHEDULE[at][0] < 1 - captured / wide.bound), LAST)
            return Tightening(stage, current, others, wide, left)
        closed, gap = before.best.bound - wide.bound, before.best.bound - captured
        helped = closed > HELPS * gap or left.size < (1 - HELPS) * before.left.size
        # Rows that only now have numbers of their own may have been all that kept the bound up.
        grown = current.own.features.size > own.size
        idle = 0 if helped else before.idle + (1 if grown else IDLE)
        if (before.left.size, before.best.bound) < (left.size, wide.bound):
            return replace(before, stage=stage, current=current, others=others, idle=idle, grown=grown)
        return Tightening(stage, current, others, wide, left, idle, grown)

    def _grown(self, current: RowsPoint, wide: WidePoint) -> RowsPoint:
        """Let rows that count as much as its own join M."""
        own, sums = current.own.features, wide.sums
        last = np.partition(sums, sums.size - self._sparsity)[sums.size - self._sparsity]
        others = np.setdiff1d(np.flatnonzero(sums >= wide_point.COUNTS_FROM * last), own)
        most = min(GROWN, max(0, MOST_ROWS - own.size))
        added = np.sort(others[np.argsort(-sums[others], kind="stable")[:most]])
        return current.joined(added, self._pairs.rows(added) / self._captured) if added.size else current

    def _joined(self, current: RowsPoint, wide: WidePoint) -> RowsPoint:
        """Let features that rows of M choose become partners."""
        own, chosen = current.own.features, wide.chosen.copy()
        chosen[own] = chosen[current.partners] = 0
        most = max(0, MOST_ENTRIES // own.size - current.partners.size)
        added = np.argsort(-chosen, kind="stable")[: min(most, int((chosen > 0).sum()))]
        if added.size == 0:
            return current
        partners = np.union1d(current.partners, added)
        return current.beside(partners, self._products(own, partners))

    def _over(self, state: Tightening) -> bool:
        few = state.left.size <= max(SMALL_TREE, 2 * self._sparsity)
        shrunk = state.left.size <= WORTH_A_ROUND * self.size
        reached = self._goal.reached(self._captured, state.best.bound)
        return few or shrunk or reached or state.stage == len(SCHEDULE) or self._put_off(state)

    def _put_off(self, state: Tightening) -> bool:
        """Say whether other bounds promise more: this one does not move, is far off for its smoothing, or is slow."""
        if self._took == 0:
            return False
        gap = 1 - self._captured / state.best.bound
        smoothing = SCHEDULE[state.stage - 1][0]
        ahead = (self._progress.remaining - self._proof_seconds) / self._took  # stages for which there is time
        growing = state.grown and ahead >= CHEAP
        far = smoothing >= TELLS and gap > (HOPELESS_GROWN if growing else HOPELESS) * smoothing
        slow = state.stage <= SLOW_AT and ahead < AHEAD
        return far or slow or state.idle >= (IDLE if growing else 1)


def _arrays(point: WidePoint) -> dict[str, Any]:
    own = point.own
    arrays: dict[str, Any] = {
        "scale": np.float64(1.0),  # the search works in units near one; whoever changes them changes this number
        "features": own.features,
        "pairs": own.pairs,
        "alpha": own.alpha,
        "shift": np.float64(point.shift),
        "rest": np.float64(point.rest),
    }
    if point.partners.size:
        arrays |= {"partners": point.partners, "across": point.across, "room": np.float64(point.room)}
    return arrays


def by_one_number(pairs: Strongest, sparsity: int) -> tuple[float, float]:
    """Return the c that is best for c + √T with squares alone, and that bound."""
    others = pairs.squares[:, : sparsity - 1].sum(axis=1, dtype=np.float64)
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
    rows = np.sort((pairs.diagonal - shift) ** 2 + others)[-sparsity:]
    return shift, shift + math.sqrt(float(rows.sum()))
