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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import StoredPoint
from certpca.bounds.support_tree.nodes import Node, Operation, Problem, Tree
from certpca.bounds.support_tree.raising import raised_for
from certpca.bounds.support_tree.visit import Effort, Visit
from certpca.checker.allowed_supports import AllowedSupports
from certpca.operators.base import Operator
from certpca.operators.within import asked_of
from certpca.results.constraints import FREE, Constraints
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.budget import Progress
from certpca.runtime.resumable import resumable
from certpca.search.constrained import fitted_on

PROOF = 0.25  # time to prove a search, as a share of the search
POINT_BYTES = 4  # for each entry of U and K together, as stored


class TreeSearch:
    """Best-first search on a matrix scaled by a power of two so that its diagonal is at most one.

    With `prices` a support is worth its leading eigenvalue less what its features cost, smaller supports count too, and
    a bound may exceed the best value by `tolerance`. Prices, tolerance and values are in the units of the matrix given.
    Constraints are followed in every node. Where no loading may be negative, `raised` is what is added to the matrix,
    nowhere negative: no allowed loadings capture less then.
    """

    def __init__(
        self,
        matrix: Vector,
        sparsity: int,
        target_gap: float,
        effort: Effort | None = None,
        *,
        prices: Vector | None = None,
        tolerance: float = 0.0,
        semidefinite: bool = True,
        constraints: Constraints = FREE,
        raised: Vector | None = None,
    ) -> None:
        largest = float(np.diagonal(matrix).max())
        self.scale = 2.0 ** math.frexp(largest)[1] if largest > 0 else 1.0
        priced = None if prices is None else prices / self.scale
        self.raised = raised
        self.problem = Problem(
            (matrix if raised is None else matrix + raised) / self.scale,
            sparsity,
            target_gap,
            priced,
            tolerance / self.scale,
            semidefinite and raised is None,
            AllowedSupports(matrix.shape[0], sparsity, constraints) if constraints else None,
            matrix / self.scale if constraints.nonnegative else None,
        )
        self.effort = effort or Effort()

    def start(
        self,
        support: Indices,
        inside: Indices | None = None,
        free: Indices | None = None,
        point: StoredPoint | None = None,
    ) -> Tree:
        """Return the search before the first visit, with the better of a support and the largest variances.

        All supports are searched, or those that have all of `inside` and the others from `free`. A point on all
        features, in units of the scaled matrix, is where the first descent begins.
        """
        problem = self.problem
        everything = np.arange(problem.matrix.shape[0])
        allowed = problem.allowed
        if allowed is not None:
            root = Node(0, allowed.first, allowed.free, math.inf, point)
            return Tree(problem.valued(support), [[]], [(-math.inf, 0, root)], self.scale)
        inside = np.zeros(0, dtype=np.intp) if inside is None else inside
        free = everything if free is None else free
        root = Node(0, inside, free, math.inf, point)
        if problem.prices is None:
            support = np.concatenate([support, np.setdiff1d(everything, support)])[: problem.sparsity].astype(np.intp)
        large = np.concatenate([inside, free[np.argsort(-np.diagonal(problem.matrix)[free], kind="stable")]])
        first, second = problem.valued(support), problem.valued(large[: problem.sparsity])
        return Tree(second if second.value > first.value else first, [[]], [(-math.inf, 0, root)], self.scale)

    def step(
        self, tree: Tree, late: Callable[[], bool], workers: int = 1, pool: ThreadPoolExecutor | None = None
    ) -> Tree:
        """Visit the nodes with the largest bounds, several at a time where there are several workers."""
        chosen = [heapq.heappop(tree.open)[2] for _ in range(min(workers, len(tree.open)))]
        visits = [Visit(self.problem, node, tree.best, late, self.effort) for node in chosen]
        for visit in map(Visit.run, visits) if pool is None else pool.map(Visit.run, visits):
            self._merge(tree, visit)
        return tree

    def _merge(self, tree: Tree, visit: Visit) -> None:
        node, record = visit.node, tree.records[visit.node.number]
        record += visit.record
        tree.nodes += 1
        if node.number == 0:
            tree.root_bound = (max(node.worst, visit.best.value) if node.closed else node.bound) * self.scale
        tree.worst = max(tree.worst, node.worst)
        if visit.best.value > tree.best.value:
            tree.best = visit.best
        tree.stored_bytes += sum(POINT_BYTES * point.features.size**2 for point in visit.points())
        if node.closed:
            return
        waiting = [node]  # again, where no time was left to split it
        if visit.children:
            first = len(tree.records)
            waiting = [
                Node(number, *features, node.bound, node.point, node.shift, node.alpha, depth=node.depth + 1)
                for number, features in enumerate(visit.children, first)
            ]
            tree.records += [[] for _ in waiting]
            record[-1] |= {"in": first, "out": first + 1}
        for still_open in waiting:
            tree.tickets += 1
            heapq.heappush(tree.open, (-still_open.bound, tree.tickets, still_open))

    def certificate(self, tree: Tree) -> tuple[list[list[Operation]], dict[str, Any]]:
        """Return the tree in plain lists and numbers, and its evidence; open nodes become leaves.

        The tree is a list of nodes, the root first; splits name their children by number, so that no depth is too deep.
        """
        leaves = {node.number: self._leaf(tree, node) for _, _, node in tree.open}
        order = [0]  # which grows while it is walked over
        for number in order:
            order += [
                child for entry in tree.records[number] if "split" in entry for child in (entry["in"], entry["out"])
            ]
        places = {number: place for place, number in enumerate(order)}
        points: dict[int, tuple[int, StoredPoint]] = {}
        raised: list[dict[str, Any]] = []

        def plain(operation: Operation) -> Operation:
            entry = dict(operation)
            if "point" in entry:
                entry["point"] = points.setdefault(id(entry["point"]), (len(points), entry["point"]))[0]
            if "raised" in entry:
                raised.append(entry["raised"])
                entry["raised"] = len(raised) - 1
            for name in {"in", "out"} & entry.keys():
                value = entry[name]
                entry[name] = places[value] if "split" in entry else [int(feature) for feature in value]
            return entry

        nodes = [[plain(entry) for entry in tree.records[number] + leaves.get(number, [])] for number in order]
        evidence: dict[str, Any] = {"scale": np.float64(self.scale)}
        if self.raised is not None:
            evidence["raised"] = self.raised.astype(np.float32)
        for number, point in points.values():
            own = point.in_order()
            evidence |= within(f"point{number}", {"features": own.features, "pairs": own.pairs, "alpha": own.alpha})
        for number, more in enumerate(raised):
            entries = (np.asarray(more["entries"]) * self.scale).astype(np.float32)
            evidence |= within(f"raise{number}", {"features": np.asarray(more["features"]), "entries": entries})
        return nodes, evidence

    def _leaf(self, tree: Tree, node: Node) -> list[Operation]:
        leaf: Operation = {"leaf": "cheapest"}
        if self.problem.prices is None:
            leaf["shift"] = self.problem.shift_for(tree.best) if node.shift is None else node.shift
        elif node.shift is not None:
            leaf |= {"shift": node.shift, "alpha": node.alpha}
        return [leaf if node.point is None else {**leaf, "point": node.point}]


def constrained_tree(
    operator: Operator, features: Indices, support: Indices, sparsity: int, target_gap: float
) -> TreeSearch:
    """Return a search among some features of an operator that follows its constraints, from a support."""
    matrix, asked = operator.submatrix(features), asked_of(operator).on(features)
    if not asked.nonnegative:
        return TreeSearch(matrix, sparsity, target_gap, constraints=asked)
    known = fitted_on(operator, support)
    raised = raised_for(matrix, np.searchsorted(features, support), known.loadings, sparsity)
    return TreeSearch(matrix, sparsity, target_gap, constraints=asked, raised=raised)


def searched(
    search: TreeSearch,
    support: Indices,
    progress: Progress,
    *,
    enough: Callable[[Tree], bool],
    proof_seconds: float = 0.0,
    workers: int = 1,
    name: str = "tree",
    point: StoredPoint | None = None,
) -> Tree:
    """Search from a support until that is enough, nothing is open, or only the time for a proof is left.

    States are stored under the name; a point is one to begin from.
    """
    begin = progress.seconds

    def late() -> bool:
        return progress.exhausted or progress.late(proof_seconds + PROOF * (progress.seconds - begin))

    with ThreadPoolExecutor(workers) as threads:
        pool = threads if workers > 1 else None

        def step(tree: Tree) -> Tree:
            return search.step(tree, late, workers, pool)

        return resumable(
            step,
            lambda: step(search.start(support, point=point)),
            progress,
            name,
            Tree,
            enough=lambda tree: not tree.open or enough(tree),
            tell=lambda tree: (tree.value, tree.upper_bound, tree.note),
            late=lambda _: late(),
            kept=StoredPoint,
        )
