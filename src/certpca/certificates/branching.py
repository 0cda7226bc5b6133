"""Branch and bound over features: which are in the support and which are not.

A node is first tried with bounds that need nothing stored: its trace, its largest eigenvalue, listing its supports,
and the pair bound with U = A − cI ("squares"), which depends on one number. Then the pair bound is tightened step by
step; after every step the features it decides are fixed, so that the problem shrinks, often to nothing. What is left
is split on the feature whose weight is closest to one half, and the node with the largest bound comes next. Several
workers take several nodes at a time; visits change nothing but their node and are merged in order, so a run can be
repeated.

The record of all that is the certificate: a node is a list of operations, the last of which is a split or a leaf.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.arrays import Indices, Vector
from certpca.relaxation.pairs.points import PairPoint, bound_at, first_point, largest_eigenvalue, stored, tightened
from certpca.relaxation.pairs.sums import totals

LISTED_SUPPORTS = 3000  # that one leaf may list
LISTED_ENTRIES = 1 << 24  # of their matrices together
ROOT_SCHEDULE = ((0.03, 40), (0.01, 60), (0.003, 80), (0.001, 80), (0.0003, 80), (0.0001, 80))  # smoothing, steps
CHILD_SCHEDULE = ((0.003, 30), (0.001, 40), (0.0003, 40), (0.0001, 40))
AGAIN = 8  # descents with one smoothing while each fixes a tenth of the features
TREE_PROOF = 0.25  # time to prove a search, as a share of the search
POINT_BYTES = 4  # for each entry of U and K together, as stored

Operation = dict[str, Any]


@dataclass(slots=True, eq=False)
class Best:
    """The best support known, in the scaled matrix."""

    value: float
    support: Indices


@dataclass(slots=True, eq=False)
class Node:
    """Features in, features free, and what is known: `bound` holds for every support of the node."""

    inside: Indices
    free: Indices
    bound: float
    record: list[Operation] = field(default_factory=list)
    point: PairPoint | None = None
    shift: float | None = None  # of the best bound by squares
    weights: dict[int, float] = field(default_factory=dict)
    depth: int = 0
    closed: bool = False
    worst: float = 0.0  # largest bound of what was decided here
    evaluations: int = 0


@dataclass(frozen=True, slots=True)
class Progressed:
    """Where the search stands after some nodes."""

    upper_bound: float
    value: float
    nodes: int
    open_nodes: int
    stored_bytes: int

    @property
    def note(self) -> str:
        """Say how large the tree is."""
        return f"{self.nodes} nodes, {self.open_nodes} open"


class TreeSearch:
    """Best-first search on a matrix scaled by a power of two so that its diagonal is at most one."""

    def __init__(self, matrix: Vector, sparsity: int, support: Indices, target_gap: float) -> None:
        largest = float(np.diagonal(matrix).max())
        self.scale = 2.0 ** math.frexp(largest)[1] if largest > 0 else 1.0
        self.matrix = matrix / self.scale
        self.sparsity, self.target_gap = sparsity, target_gap
        filled = np.concatenate([support, np.setdiff1d(np.arange(matrix.shape[0]), support)])[:sparsity]
        self.best = Best(-math.inf, np.sort(filled))
        self._offer(self.best.support)
        self._offer(np.sort(np.argsort(-np.diagonal(matrix), kind="stable")[:sparsity]))
        self.root = Node(np.zeros(0, dtype=np.intp), np.arange(matrix.shape[0]), math.inf)
        self.nodes = 0
        self.worst = 0.0
        self.root_bound = math.inf
        self._heap: list[tuple[float, int, Node]] = [(-math.inf, 0, self.root)]
        self._ticket = 0
        self._points: dict[int, PairPoint] = {}

    @property
    def upper_bound(self) -> float:
        """What no support exceeds, in the units of the matrix that was given."""
        still_open = max((node.bound for _, _, node in self._heap), default=0.0)
        return max(self.worst, self.best.value, still_open) * self.scale

    def steps(self, late: Callable[[], bool], workers: int = 1) -> Iterator[Progressed]:
        """Visit nodes, several at a time where there are several workers, and say where the search stands.

        A search that was restored first says where it stands, so that its caller can decide whether to go on.
        """
        if self.nodes:
            yield self._standing()
        with ThreadPoolExecutor(workers) as pool:
            while self._heap:
                chosen = [heapq.heappop(self._heap)[2] for _ in range(min(workers, len(self._heap)))]
                before = self.best
                visits = [Visit(self.matrix, self.sparsity, node, before, self.target_gap, late) for node in chosen]
                for visit in pool.map(Visit.run, visits) if workers > 1 else map(Visit.run, visits):
                    self._merge(visit)
                yield self._standing()

    def _standing(self) -> Progressed:
        value, stored_bytes = self.best.value * self.scale, self._stored_bytes()
        return Progressed(self.upper_bound, value, self.nodes, len(self._heap), stored_bytes)

    def _offer(self, support: Indices) -> None:
        value = largest_eigenvalue(self.matrix[np.ix_(support, support)])
        if value > self.best.value:
            self.best = Best(value, support)

    def _merge(self, visit: "Visit") -> None:
        node = visit.node
        self.nodes += 1
        if node is self.root:
            self.root_bound = (max(node.worst, visit.best.value) if node.closed else node.bound) * self.scale
        self.worst = max(self.worst, node.worst)
        if visit.best.value > self.best.value:
            self.best = visit.best
        for operation in node.record:
            if "point" in operation:
                self._points[id(operation["point"])] = operation["point"]
        if node.closed:
            return
        if node.point is not None:
            self._points[id(node.point)] = node.point
        for still_open in visit.children or [node]:  # without children where no time was left
            self._ticket += 1
            heapq.heappush(self._heap, (-still_open.bound, self._ticket, still_open))

    def _stored_bytes(self) -> int:
        return sum(POINT_BYTES * point.features.size**2 for point in self._points.values())

    def certificate(self) -> tuple[list[list[Operation]], dict[str, Any]]:
        """Return the tree in plain lists and numbers, and its evidence; open nodes become leaves.

        The tree is a list of nodes, the root first; splits name their children by number, so that no depth is too deep.
        """
        for _, _, node in self._heap:
            if not node.record or "leaf" not in node.record[-1]:
                shift = shift_for(self.matrix, self.sparsity, self.best) if node.shift is None else node.shift
                leaf: Operation = {"leaf": "cheapest", "shift": shift}
                node.record.append(leaf if node.point is None else {**leaf, "point": node.point})
        points: dict[int, tuple[int, PairPoint]] = {}
        tree, _ = _plain(self.root.record, lambda point: points.setdefault(id(point), (len(points), point))[0])
        evidence: dict[str, Any] = {"scale": np.float64(self.scale)}
        for number, point in points.values():
            order = np.argsort(point.features, kind="stable")
            grid = np.ix_(order, order)
            packed = np.triu(point.u[grid]) + np.tril(point.k[grid], -1)  # U above, K below the diagonal
            evidence[f"point{number}_features"] = point.features[order]
            evidence[f"point{number}_pairs"] = packed.astype(np.float32)
            evidence[f"point{number}_alpha"] = point.alpha[order]
        return tree, evidence

    @property
    def points(self) -> list[PairPoint]:
        """All dual points that the tree refers to, in the order in which they were found."""
        return list(self._points.values())

    def state(self) -> dict[str, Any]:
        """Return where the search stands in plain lists and numbers; dual points are given by their places."""
        place = {key: number for number, key in enumerate(self._points)}
        records, numbers = _plain(self.root.record, lambda point: place[id(point)])
        return {
            "best": [self.best.value, self.best.support.tolist()],
            "nodes": self.nodes,
            "worst": self.worst,
            "root_bound": self.root_bound,
            "ticket": self._ticket,
            "records": records,
            "open": [
                {
                    "ticket": ticket,
                    "record": numbers[id(node.record)],
                    "inside": node.inside.tolist(),
                    "free": node.free.tolist(),
                    "bound": node.bound,
                    "point": None if node.point is None else place[id(node.point)],
                    "shift": node.shift,
                    "weights": list(node.weights.items()),
                    "depth": node.depth,
                    "worst": float(node.worst),
                    "evaluations": node.evaluations,
                }
                for _, ticket, node in self._heap
            ],
        }

    def restore(self, state: dict[str, Any], points: list[PairPoint]) -> None:
        """Go on from a state of the same search."""
        value, support = state["best"]
        self.best = Best(value, np.array(support, dtype=np.intp))
        self.nodes, self.worst, self.root_bound = state["nodes"], state["worst"], state["root_bound"]
        self._ticket = state["ticket"]
        self._points = {id(point): point for point in points}
        records = _restored(state["records"], points)
        self.root.record = records[0]
        self._heap = []
        for fields in state["open"]:
            node = Node(
                np.array(fields["inside"], dtype=np.intp),
                np.array(fields["free"], dtype=np.intp),
                fields["bound"],
                records[fields["record"]],
                None if fields["point"] is None else points[fields["point"]],
                fields["shift"],
                {int(feature): weight for feature, weight in fields["weights"]},
                fields["depth"],
                worst=fields["worst"],
                evaluations=fields["evaluations"],
            )
            if fields["record"] == 0:
                self.root = node
            self._heap.append((-node.bound, fields["ticket"], node))


def _plain(
    root: list[Operation], number_of: Callable[[PairPoint], int]
) -> tuple[list[list[Operation]], dict[int, int]]:
    """Return all records in plain lists and numbers, the root's first, and the number of each by its identity."""
    plain: list[list[Operation]] = []
    waiting = [root]  # numbers are given in the order of this list
    for record in waiting:
        entries: list[Operation] = []
        for operation in record:
            entry = dict(operation)
            if "point" in entry:
                entry["point"] = number_of(entry["point"])
            for name in ("in", "out"):
                if "split" in entry:
                    waiting.append(entry[name])
                    entry[name] = len(waiting) - 1
                elif name in entry:
                    entry[name] = [int(feature) for feature in entry[name]]
            entries.append(entry)
        plain.append(entries)
    return plain, {id(record): number for number, record in enumerate(waiting)}


def _restored(plain: list[list[Operation]], points: list[PairPoint]) -> list[list[Operation]]:
    """Return the records of which `_plain` made plain ones."""
    records: list[list[Operation]] = [[] for _ in plain]
    for record, entries in zip(records, plain, strict=True):
        for entry in entries:
            operation = dict(entry)
            if "point" in operation:
                operation["point"] = points[operation["point"]]
            for name in ("in", "out"):
                if "split" in operation:
                    operation[name] = records[operation[name]]
                elif name in operation:
                    operation[name] = np.array(operation[name], dtype=np.intp)
            record.append(operation)
    return records


def shift_for(matrix: Vector, sparsity: int, best: Best) -> float:
    """Return c for U = A − cI: the mean of the eigenvalues of the best support but the largest."""
    if sparsity == 1:
        return 0.0
    trace = float(np.diagonal(matrix)[best.support].sum())
    return max((trace - best.value) / (sparsity - 1), 0.0)


class Visit:
    """The work at one node: it changes the node and nothing else."""

    def __init__(
        self, matrix: Vector, sparsity: int, node: Node, best: Best, target_gap: float, late: Callable[[], bool]
    ) -> None:
        self.matrix, self.sparsity, self.node = matrix, sparsity, node
        self.best, self.target_gap, self.late = best, target_gap, late
        self.children: list[Node] = []

    def run(self) -> "Visit":
        """Close the node, or split it where time is left."""
        node = self.node
        node.closed = self._close()
        if not node.closed and not self.late():
            self.children = self._split()
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
        self.node.record.append({"leaf": kind, **more})
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
        if listed <= LISTED_SUPPORTS and listed * self.sparsity**2 <= LISTED_ENTRIES:
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
        node.record.append({**operation, "out": node.free[out], "in": node.free[inside]})
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
        for smoothing, steps in ROOT_SCHEDULE if node.depth == 0 else CHILD_SCHEDULE:
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

    def _apply(self, point: PairPoint) -> tuple[bool, int]:
        """Evaluate a point at the node as it is now: close it, or fix features."""
        node = self.node
        features, here = self._here()
        leading, total, forced_in, forced_out = bound_at(here, point.on(features), node.inside.size, self._budget)
        bound = leading + total
        if bound < node.bound or node.point is None:
            node.bound, node.point = min(bound, node.bound), point
        if bound <= self._enough:
            return self._leaf("pairs", bound, point=point), 0
        before = node.free.size
        if not self._fix({"fix": "pairs", "point": point}, leading + forced_in, leading + forced_out):
            return False, 0
        return self._plainly(), before - node.free.size

    def _descend(self, start: PairPoint | None, smoothing: float, steps: int) -> PairPoint:
        """Tighten in units of the best value."""
        node, unit = self.node, max(self.best.value, np.finfo(float).tiny)
        features, here = self._here()
        fixed, budget = node.inside.size, self._budget
        here = here / unit
        if start is None:
            shift = shift_for(self.matrix, self.sparsity, self.best) / unit
            begin = first_point(features, here, shift, fixed, budget)
        else:
            there = start.on(features)
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

    def _split(self) -> list[Node]:
        """Split on the feature whose weight is closest to one half."""
        node = self.node
        weights = np.array([node.weights.get(int(feature), 0.0) for feature in node.free])
        likely = node.free[np.argsort(-weights, kind="stable")[: self._budget]]
        self._offer(np.concatenate([node.inside, likely]))
        place = int(np.argmin(np.abs(weights - 0.5)))
        feature, rest = node.free[place], np.delete(node.free, place)
        children = [
            Node(inside, rest, node.bound, point=node.point, shift=node.shift, depth=node.depth + 1)
            for inside in (np.append(node.inside, feature), node.inside)
        ]
        node.record.append({"split": int(feature), "in": children[0].record, "out": children[1].record})
        return children
