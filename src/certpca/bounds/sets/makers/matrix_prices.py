"""Prices of directions and search trees, for orthogonal loadings of up to some hundreds of features."""

from typing import Any

import numpy as np

from certpca.bounds.sets.directions.search import DirectionSearch
from certpca.bounds.sets.search import SetSearch
from certpca.bounds.support_tree.search import TreeSearch
from certpca.operators import on_host
from certpca.results.evidence_forms import within
from certpca.runtime.limits import limits

ORDER = 55
KINDS = ("matrix-prices",)
SEARCHING = 0.5  # share of the time for the directions; the rest is for the trees
PROOF = 0.2  # time to prove a search, as a share of the search
NODES = 200
NEAR = 0.05  # share of the gap of the directions that the trees may add


def applies(search: SetSearch) -> bool:
    """Whether the matrix is small enough to be searched."""
    return search.problem == "orthogonal" and search.operator.size <= limits().searched_supports


def make(search: SetSearch) -> None:
    """Find directions, bound what is left by trees, and let that be proved."""
    operator, progress = on_host(search.operator), search.progress
    matrix = operator.submatrix(np.arange(operator.size))
    begin, left = progress.seconds, progress.remaining if progress.timed else 0.0

    def late() -> bool:
        return progress.exhausted or progress.late(PROOF * (progress.seconds - begin))

    loadings = np.zeros((operator.size, len(search.components)))
    for number, component in enumerate(search.components):
        loadings[component.support, number] = component.loadings
    aside = (1 - SEARCHING) * left
    inner = DirectionSearch(matrix, search.sparsities, loadings, lambda: late() or progress.late(aside))
    inner.run()
    directions = inner.directions.astype(np.float64)
    shift, rest = inner.shift_of(directions), inner.rest(directions)
    excess = max(inner.bound - search.objective, search.goal.target_gap * search.objective)
    tolerance = NEAR * excess / len(search.components)
    evidence: dict[str, Any] = {"directions": directions, "shift": np.float64(shift)}
    trees, bound = [], float((directions**2).sum())
    for number, (sparsity, support) in enumerate(
        zip(inner.slots.sparsities, inner.best_supports(directions), strict=True)
    ):
        tree_search = TreeSearch(rest, sparsity, 0.0, tolerance=tolerance, semidefinite=False)
        tree = tree_search.step(tree_search.start(support), late)
        while tree.open and tree.nodes < NODES and tree.upper_bound > tree.value + tolerance and not late():
            tree = tree_search.step(tree, late)
        nodes, arrays = tree_search.certificate(tree)
        trees.append(nodes)
        evidence |= within(f"slot{number}", arrays)
        bound += inner.slots.copies[number] * (tree.upper_bound - shift)
    if search.improves(bound):
        search.offer(search.proved("matrix-prices", evidence, trees))
