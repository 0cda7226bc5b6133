"""The work at one node: fix features, close it, or split it."""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import (
    PairPoint,
    StoredPoint,
    best_constant,
    bound_at,
    first_point,
    floor_of,
    largest_eigenvalue,
    priced,
    stored,
    tightened,
)
from certpca.bounds.pair_bound.sums import top_sum, totals
from certpca.bounds.support_tree.doubly_nonnegative import raised_least
from certpca.bounds.support_tree.nodes import Best, Node, Operation, Problem
from certpca.runtime.arrays import Indices, Vector

LISTED_ENTRIES = 1 << 24  # of the matrices of all supports that one leaf lists
SMALLEST_ALPHA = 1e-9  # of the largest variance; it is divided by
TRIED = 8  # supports of a list whose non-negative loadings are looked for
FEW = 300  # supports that are rather split than bounded together where entries are raised
RAISED, RAISED_AT_ROOT = 60, 256  # features up to which entries of a node's own are raised
AGAIN = 8  # descents with one smoothing while each fixes a tenth of the features


Schedule = tuple[tuple[float, int], ...]  # smoothing of the pair bound, and steps with it


@dataclass(frozen=True, slots=True)
class Effort:
    """What is done at a node before it is split: supports that a leaf may list, and steps that tighten the bound."""

    listed: int = 3000
    root: Schedule = ((0.03, 40), (0.01, 60), (0.003, 80), (0.001, 80), (0.0003, 80), (0.0001, 80))
    child: Schedule = ((0.003, 30), (0.001, 40), (0.0003, 40), (0.0001, 40))


class Visit:
    """The work at one node: it changes the node and nothing else.

    What was decided is in `record`. Where the node was split, the last entry says on which feature, and `children` are
    the features inside, with it and without, and those that stay free.
    """

    def __init__(self, problem: Problem, node: Node, best: Best, late: Callable[[], bool], effort: Effort) -> None:
        self.problem, self.node, self.best, self.late, self.effort = problem, node, best, late, effort
        self.matrix, self.sparsity = problem.matrix, problem.sparsity
        self.inherited = node.point
        self.few = False  # supports that are left: each with entries of its own to raise is soon looked at
        self.record: list[Operation] = []
        self.children: list[tuple[Indices, Indices]] = []

    def run(self) -> "Visit":
        """Close the node, or split it where time is left."""
        node = self.node
        node.closed = self._close()
        if not node.closed and not self.late():
            self._split()
        return self

    def _close(self) -> bool:
        if self._plainly():
            return True
        return not self.few and (self._by_squares() or (not self.late() and self._by_pairs()))

    @property
    def _enough(self) -> float:
        return self.problem.enough(self.best)

    @property
    def _budget(self) -> int:
        return self.sparsity - self.node.inside.size

    def _here(self) -> tuple[Indices, Vector]:
        features = np.concatenate([self.node.inside, self.node.free])
        return features, self.matrix[np.ix_(features, features)]

    def _offer(self, support: Indices) -> None:
        found = self.problem.valued(support)
        if found.value > self.best.value:
            self.best = found

    def _leaf(self, kind: str, bound: float, **more: Any) -> bool:
        self.record.append({"leaf": kind, **more})
        self.node.worst = max(self.node.worst, bound)
        return True

    def _plainly(self) -> bool:
        """Close the node by counting, by listing its supports, or by a bound that needs no choice."""
        node, problem = self.node, self.problem
        completed = problem.completed(node.inside, node.free)
        node.inside, node.free = (node.inside, node.free) if completed is None else completed
        budget, smaller = self._budget, problem.prices is not None
        too_few = node.free.size < budget and not (smaller or problem.grouped)
        if completed is None or budget < 0 or too_few:
            return self._leaf("empty", 0.0)
        if 0 in (budget, node.free.size) or (budget >= node.free.size and not smaller):
            support = node.inside if budget == 0 else np.concatenate([node.inside, node.free])
            self._offer(support)
            leading = problem.leading(support) - problem.price(support)
            return self._by_raising(support, leading) or self._leaf("eigenvalue", leading)
        return self._by_listing(budget) or self._by_traces(budget)

    def _by_listing(self, budget: int) -> bool:
        """Close the node by listing its supports, where these are few."""
        node, problem = self.node, self.problem
        if problem.grouped:
            return self._list_unions()
        listed = problem.most_chosen(budget, node.free.size)
        if listed > self.effort.listed or listed * self.sparsity**2 > LISTED_ENTRIES:
            return False
        return self._list([budget] if problem.prices is None else range(min(budget, node.free.size) + 1))

    def _by_traces(self, budget: int) -> bool:
        """Close the node by its trace or its largest eigenvalue."""
        node, problem = self.node, self.problem
        worth = np.diagonal(self.matrix) if problem.prices is None else np.diagonal(self.matrix) - problem.prices
        trace = float(worth[node.inside].sum()) + top_sum(worth[node.free], budget, floor_of(problem.prices))
        if not problem.semidefinite:
            trace = math.inf
        if trace <= self._enough:
            return self._leaf("trace", trace)
        leading = largest_eigenvalue(self._here()[1]) - problem.price(node.inside)
        node.bound = min(node.bound, trace, leading)
        if leading <= self._enough:
            return self._leaf("eigenvalue", leading)
        return self._by_raising(self._here()[0], self._enough * (1 + 1e-12))

    def _by_raising(self, features: Indices, below: float) -> bool:
        """Close the node by entries of its own to raise, where loadings must not be negative and that gives less."""
        own = self.problem.unraised
        if own is None or below <= self._enough or features.size > (RAISED if self.node.depth else RAISED_AT_ROOT):
            return False
        ordered = np.sort(features)
        bound, entries = raised_least(own[np.ix_(ordered, ordered)], self._enough)
        if not bound < below:
            return False
        return self._leaf("raised", bound, raised={"features": ordered, "entries": entries})

    def _list(self, counts: Iterable[int]) -> bool:
        """Try every support with so many free features."""
        node, problem, worst = self.node, self.problem, 0.0
        for count in counts:
            chosen = np.array(list(itertools.combinations(node.free, count)), dtype=np.intp)
            supports = np.hstack([np.tile(node.inside, (chosen.shape[0], 1)), chosen])
            if supports.shape[1] == 0:
                continue
            values = np.linalg.eigvalsh(self.matrix[supports[:, :, None], supports[:, None, :]])[:, -1]
            if problem.prices is not None:
                values = values - problem.prices[supports].sum(axis=1)
            winner = int(values.argmax())
            self._offer(supports[winner])
            worst = max(worst, float(values[winner]))
            if problem.unraised is not None and worst > self._enough:
                self.few = values.size <= FEW
                return False  # each with entries of its own to raise may be less
        return self._leaf("list", worst)

    def _list_unions(self) -> bool:
        """Try every choice of groups and single features, where these are few."""
        node, allowed = self.node, self.problem.allowed
        assert allowed is not None
        unions = allowed.unions(node.free, self._budget, self.effort.listed)
        if unions is None:
            return False
        supports = [np.append(node.inside, union) for union in unions]
        values = [self.problem.leading(support) for support in supports]
        if self.problem.unraised is not None and max(values) > self._enough and len(values) > 1:
            self.few = len(values) <= FEW
            return False  # each with entries of its own to raise may be less
        order = np.argsort(values)[::-1][: 1 if self.problem.unraised is None else TRIED]
        for place in order:
            self._offer(supports[place])
        return self._leaf("list", max(values))

    def _by_squares(self) -> bool:
        """Use U = A − cI: with squares as shares the bound is c + √T, and c + α + T with prices, which need an α."""
        node, prices = self.node, self.problem.prices
        while True:
            shift = self.problem.shift_for(self.best)
            features, here = self._here()
            here[np.diag_indices_from(here)] -= shift
            fixed, budget = node.inside.size, self._budget
            numbers = {"shift": shift}
            if prices is None:
                level, every = shift, totals(here * here, fixed, budget)
                shares = [np.sqrt(np.maximum(total, 0.0)) for total in every]
            else:
                own = prices[features]
                alpha = max(best_constant(here, fixed, budget, own), SMALLEST_ALPHA)
                every = totals(priced(here * here / (4 * alpha), own), fixed, budget, floor_of(prices))
                level, shares, numbers["alpha"] = shift + alpha, [np.asarray(total) for total in every], alpha
            bound, with_it, without_it = float(level + shares[0]), level + shares[1], level + shares[2]
            if bound < node.bound or node.shift is None:
                node.bound, node.shift, node.alpha = min(bound, node.bound), shift, numbers.get("alpha")
            if bound <= self._enough:
                return self._leaf("squares", bound, **numbers)
            if not self._fix({"fix": "squares", **numbers}, with_it, without_it):
                return False
            if self._plainly():
                return True

    def _fix(self, operation: Operation, with_it: Vector, without_it: Vector) -> bool:
        """Record the free features that their own bounds decide."""
        node = self.node
        out = with_it <= self._enough
        inside = (without_it <= self._enough) & ~out
        if not out.any() and not inside.any():
            return False
        node.worst = max(node.worst, with_it[out].max(initial=0.0), without_it[inside].max(initial=0.0))
        self.record.append({**operation, "out": node.free[out], "in": node.free[inside]})
        node.inside = np.concatenate([node.inside, node.free[inside]])
        node.free = node.free[~out & ~inside]
        return True

    def _by_pairs(self) -> bool:
        """Tighten the pair bound, fixing features on the way."""
        node = self.node
        if node.point is not None:
            closed, fixed = self._apply(node.point)
            while fixed and not closed:
                closed, fixed = self._apply(node.point)
            if closed:
                return True
        current = node.point
        fresh = node.depth == 0 and self.inherited is None
        for smoothing, steps in self.effort.root if fresh else self.effort.child:
            for _ in range(AGAIN):
                free = node.free.size
                current = self._descend(current, smoothing, steps)
                closed, fixed = self._apply(current)
                if closed:
                    return True
                if self.late():
                    return False
                if fixed < 0.1 * free:
                    break
        return False

    def _apply(self, point: StoredPoint) -> tuple[bool, int]:
        """Evaluate a point at the node as it is now: close it, or fix features."""
        node = self.node
        features, here = self._here()
        leading, total, forced_in, forced_out = bound_at(
            here, point.unpacked().on(features), node.inside.size, self._budget, self.problem.on(features)
        )
        bound = leading + total
        if bound < node.bound or node.point is None:
            node.bound, node.point = min(bound, node.bound), point
        if bound <= self._enough:
            return self._leaf("pairs", bound, point=point), 0
        before = node.free.size
        if not self._fix({"fix": "pairs", "point": point}, leading + forced_in, leading + forced_out):
            return False, 0
        return self._plainly(), before - node.free.size

    def _descend(self, start: StoredPoint | None, smoothing: float, steps: int) -> StoredPoint:
        """Tighten in units of the best value."""
        node, unit = self.node, max(self.best.leading, np.finfo(float).tiny)
        features, here = self._here()
        fixed, budget, prices = node.inside.size, self._budget, self.problem.on(features)
        here, prices = here / unit, None if prices is None else prices / unit
        if start is None:
            begin = first_point(features, here, self.problem.shift_for(self.best) / unit, fixed, budget, prices)
        else:
            there = start.unpacked().on(features)
            begin = PairPoint(features, there.u / unit, there.k / unit, there.alpha / unit)
        found, weights, evaluations = tightened(
            here,
            begin,
            fixed,
            budget,
            smoothing=smoothing,
            steps=steps,
            target=self._enough / unit,
            late=self.late,
            prices=prices,
        )
        node.evaluations += evaluations
        node.weights = dict(zip(features.tolist(), weights.tolist(), strict=True))
        return stored(features, found.u * unit, found.k * unit, found.alpha * unit)

    def points(self) -> list[StoredPoint]:
        """Return the dual points that were made here and are needed."""
        used = [operation["point"] for operation in self.record if "point" in operation]
        if self.node.point is not None and not self.node.closed:
            used.append(self.node.point)
        return list({id(point): point for point in used if point is not self.inherited}.values())

    def _split(self) -> None:
        """Split on the feature whose weight is closest to one half."""
        node = self.node
        weights = np.array([node.weights.get(int(feature), 0.0) for feature in node.free])
        likely = node.free[np.argsort(-weights, kind="stable")[: self._budget]]
        if self.problem.allowed is not None:
            likely = self.problem.allowed.filled(node.free, weights, self._budget)
        if self.problem.prices is not None:
            self._offer(np.concatenate([node.inside, node.free[weights > 0.5][: self._budget]]))
        self._offer(np.concatenate([node.inside, likely]))
        place = int(np.argmin(np.abs(weights - 0.5)))
        feature, rest = node.free[place], np.delete(node.free, place)
        self.children = [(np.append(node.inside, feature), rest), (node.inside, rest)]
        self.record.append({"split": int(feature)})
