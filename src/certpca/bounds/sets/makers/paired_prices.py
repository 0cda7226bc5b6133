"""Prices of directions and of features with the pair bound, for orthogonal loadings and disjoint supports.

Where features are hundreds the trees of the other makers do not come far; where they are fewer they do better.
"""

import math

import numpy as np

from certpca.bounds.sets.counts.blocks import contested_blocks
from certpca.bounds.sets.counts.search import CountSearch
from certpca.bounds.sets.paired.search import PairedSearch
from certpca.bounds.sets.search import SetSearch
from certpca.operators import on_host
from certpca.runtime.limits import limits

ORDER = 50
KINDS = ("priced-trees", "matrix-prices")
KIND_OF = {"disjoint": "priced-trees", "orthogonal": "matrix-prices"}
PROOF = 0.05  # time to prove a search, as a share of the search
FROM = 200  # features
PATIENCE = 10.0  # times what the descent took, for which features are counted where there is no limit
MARGIN = 1.5  # of the time that a tree takes to prove, as the first one took
BEYOND = 0.1  # of the gap that is asked for, by which the bound is better than that, for what rounding adds


def applies(search: SetSearch) -> bool:
    """Whether features are many, and not too many to be held as a matrix."""
    few = max(search.sparsities) < search.operator.size  # else nothing is left to choose
    return search.problem in KIND_OF and FROM < search.operator.size <= limits().searched_supports and few


def make(search: SetSearch) -> None:
    """Descend, and let the result be proved; then count features of blocks for which components compete.

    Where trees did better at a glance, they have what time is left.
    """
    operator, progress = on_host(search.operator), search.progress
    matrix, begin = operator.submatrix(np.arange(operator.size)), progress.seconds

    def late() -> bool:
        return progress.exhausted or progress.late(PROOF * (progress.seconds - begin))

    loadings = np.zeros((operator.size, len(search.components)))
    for number, component in enumerate(search.components):
        loadings[component.support, number] = component.loadings
    target = search.objective / (1 - (1 - BEYOND) * search.goal.target_gap)
    inner = PairedSearch(matrix, search.sparsities, loadings, late, apart=search.problem == "disjoint")
    inner.run(target)
    found, better = progress.seconds, search.improves(inner.bound)
    if better:
        tree, evidence = inner.certificate()
        search.offer(search.proved(KIND_OF[search.problem], evidence, tree))
    if better and search.problem == "disjoint" and not search.finished():
        walked = MARGIN * (progress.seconds - found) / len(inner.at.kinds)
        until = math.inf if progress.timed else progress.seconds + PATIENCE * (found - begin)

        def hurried(trees: int) -> bool:
            return progress.exhausted or progress.seconds > until or progress.late(walked * trees)

        counting = CountSearch(inner, search.sparsities, contested_blocks(matrix, loadings), target, hurried)
        counting.run(lambda bound: progress.tick(search.objective, bound))
        if search.improves(counting.bound):
            tree, evidence = counting.certificate()
            search.offer(search.proved(KIND_OF["disjoint"], evidence, tree))
