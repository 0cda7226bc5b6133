"""The work at one node: fix features, close it, or split it."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import (
    PairPoint,
    StoredPoint,
    bound_at,
    first_point,
    largest_eigenvalue,
    stored,
    tightened,
)
from certpca.bounds.pair_bound.sums import totals
from certpca.bounds.support_tree.nodes import Best, Node, Operation, shift_for
from certpca.runtime.arrays import Indices, Vector

LISTED_ENTRIES = 1 << 24  # of the matrices of all supports that one leaf lists
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

    def __init__(
        self,
        matrix: Vector,
        sparsity: int,
        node: Node,
        best: Best,
        target_gap: float,
        late: Callable[[], bool],
        effort: Effort,
    ) -> None:
        self.matrix, self.sparsity, self.node = matrix, sparsity, node
        self.best, self.target_gap, self.late, self.effort = best, target_gap, late, effort
        self.inherited = node.point
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
        return self._plainly() or self._by_squares() or (not self.late() and self._by_pairs())

    @property
    def _enough(self) -> float:
        return self.best.value * (1 + self.target_gap)

    @property
    def _budget(self) -> int:
        return self.sparsity - self.node.inside.size

    def _here(self) -> tuple[Indices, Vector]:
        features = np.concatenate([self.node.inside, self.node.free])
        return features, self.matrix[np.ix_(features, features)]

    def _offer(self, support: Indices) -> None:
        value = largest_eigenvalue(self.matrix[np.ix_(support, support)])
        if value > self.best.value:
            self.best = Best(value, np.sort(support))

    def _leaf(self, kind: str, bound: float, **more: Any) -> bool:
        self.record.append({"leaf": kind, **more})
        self.node.worst = max(self.node.worst, bound)
        return True

    def _plainly(self) -> bool:
        """Close the node by counting, by listing its supports, or by a bound that needs no choice."""
        node, budget = self.node, self._budget
        if budget < 0 or node.free.size < budget:
            return self._leaf("empty", 0.0)
        if budget in (0, node.free.size):
            support = node.inside if budget == 0 else np.concatenate([node.inside, node.free])
            self._offer(support)
            return self._leaf("eigenvalue", largest_eigenvalue(self.matrix[np.ix_(support, support)]))
        listed = math.comb(node.free.size, budget)
        if listed <= self.effort.listed and listed * self.sparsity**2 <= LISTED_ENTRIES:
            chosen = np.array(list(itertools.combinations(node.free, budget)), dtype=np.intp)
            supports = np.hstack([np.tile(node.inside, (chosen.shape[0], 1)), chosen])
            values = np.linalg.eigvalsh(self.matrix[supports[:, :, None], supports[:, None, :]])[:, -1]
            winner = int(values.argmax())
            self._offer(supports[winner])
            return self._leaf("list", float(values[winner]))
        diagonal = np.diagonal(self.matrix)
        trace = float(diagonal[node.inside].sum() + np.sort(diagonal[node.free])[::-1][:budget].sum())
        if trace <= self._enough:
            return self._leaf("trace", trace)
        leading = largest_eigenvalue(self._here()[1])
        node.bound = min(node.bound, trace, leading)
        return leading <= self._enough and self._leaf("eigenvalue", leading)

    def _by_squares(self) -> bool:
        """Use U = A − cI: the bound is c + √T with squares as shares."""
        node = self.node
        while True:
            shift = shift_for(self.matrix, self.sparsity, self.best)
            _, here = self._here()
            here[np.diag_indices_from(here)] -= shift
            total, forced_in, forced_out = totals(here * here, node.inside.size, self._budget)
            bound = shift + math.sqrt(max(total, 0.0))
            if bound < node.bound or node.shift is None:
                node.bound, node.shift = min(bound, node.bound), shift
            if bound <= self._enough:
                return self._leaf("squares", bound, shift=shift)
            with_it = shift + np.sqrt(np.maximum(forced_in, 0.0))
            without_it = shift + np.sqrt(np.maximum(forced_out, 0.0))
            if not self._fix({"fix": "squares", "shift": shift}, with_it, without_it):
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
            here, point.unpacked().on(features), node.inside.size, self._budget
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
        node, unit = self.node, max(self.best.value, np.finfo(float).tiny)
        features, here = self._here()
        fixed, budget = node.inside.size, self._budget
        here = here / unit
        if start is None:
            shift = shift_for(self.matrix, self.sparsity, self.best) / unit
            begin = first_point(features, here, shift, fixed, budget)
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
        self._offer(np.concatenate([node.inside, likely]))
        place = int(np.argmin(np.abs(weights - 0.5)))
        feature, rest = node.free[place], np.delete(node.free, place)
        self.children = [(np.append(node.inside, feature), rest), (node.inside, rest)]
        self.record.append({"split": int(feature)})
