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
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import PairPoint, largest_eigenvalue
from certpca.bounds.support_tree.nodes import Best, Node, Operation, shift_for
from certpca.bounds.support_tree.records import plain, restored
from certpca.bounds.support_tree.visit import Visit
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices, Vector

TREE_PROOF = 0.25  # time to prove a search, as a share of the search


POINT_BYTES = 4  # for each entry of U and K together, as stored


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
        tree, _ = plain(self.root.record, lambda point: points.setdefault(id(point), (len(points), point))[0])
        evidence: dict[str, Any] = {"scale": np.float64(self.scale)}
        for number, point in points.values():
            order = np.argsort(point.features, kind="stable")
            grid = np.ix_(order, order)
            packed = np.triu(point.u[grid]) + np.tril(point.k[grid], -1)  # U above, K below the diagonal
            arrays = {
                "features": point.features[order],
                "pairs": packed.astype(np.float32),
                "alpha": point.alpha[order],
            }
            evidence |= within(f"point{number}", arrays)
        return tree, evidence

    @property
    def points(self) -> list[PairPoint]:
        """All dual points that the tree refers to, in the order in which they were found."""
        return list(self._points.values())

    def state(self) -> dict[str, Any]:
        """Return where the search stands in plain lists and numbers; dual points are given by their places."""
        place = {key: number for number, key in enumerate(self._points)}
        records, numbers = plain(self.root.record, lambda point: place[id(point)])
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
        records = restored(state["records"], points)
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
