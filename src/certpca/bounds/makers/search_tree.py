"""Branch and bound over supports, where few features are left."""

import numpy as np

from certpca.bounds.proof_search import ProofSearch
from certpca.bounds.stalling import Stall
from certpca.bounds.support_tree.nodes import Tree
from certpca.bounds.support_tree.search import constrained_tree, searched
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.runtime.limits import limits

ORDER = 60
KINDS = ("search-tree",)
NODES = 1000
NODES_BEYOND_TARGET = 50  # on small problems, whose optimum is sought whatever gap was asked for


def applies(search: ProofSearch) -> bool:
    """Whether few features are left, fewer than a tree was tried on before, and there is something to gain."""
    if search.root is None or search.best is None or not search.goal.over_supports or search.progress.exhausted:
        return False
    left = search.left.features.size
    tried = left == search.operator.size and "search-tree" in search.kinds
    return left <= limits().searched_supports and not tried and not search.near_enough(search.best.upper_bound)


def seconds(search: ProofSearch) -> float:
    """Return nothing: nodes are visited while there is time to prove what they gave."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Visit nodes; on small problems until the optimum is proved, as long as that takes few."""
    visit(search, "tree")


def visit(search: ProofSearch, name: str) -> None:
    """Visit nodes of a tree over the features that are left, and prove what came of it."""
    goal, progress, incumbent, left = search.goal, search.progress, search.incumbent, search.left
    gap = PROVED_OPTIMAL if search.small else max(goal.target_gap, PROVED_OPTIMAL)
    nodes = constrained_tree(incumbent.operator, left.features, incumbent.best.support, search.sparsity, gap)
    stall = Stall(progress)

    def enough(tree: Tree) -> bool:
        beyond = not search.small or tree.nodes >= NODES_BEYOND_TARGET
        reached = goal.reached(tree.value, tree.upper_bound) and beyond
        return reached or tree.nodes >= NODES or stall.over(tree.value, tree.upper_bound)

    with progress.setting_aside(left.seconds):
        start = np.searchsorted(left.features, incumbent.best.support)
        found = searched(nodes, start, progress, enough=enough, name=name)
    if found.value > incumbent.objective * (1 + 1e-9):
        incumbent.best = incumbent.refitted(left.features[found.best.support])
    if search.improves(found.upper_bound):
        tree, evidence = nodes.certificate(found)
        search.offer(search.proved_once(f"{name}-certificate", "search-tree", {**left.evidence, **evidence}, tree))
