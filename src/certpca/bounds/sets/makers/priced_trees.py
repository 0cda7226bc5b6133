"""Prices of features and search trees, for disjoint supports among up to some hundreds of features."""

from collections.abc import Callable

import numpy as np

from certpca.bounds.sets.prices.branching import AssignmentSearch
from certpca.bounds.sets.search import SetSearch
from certpca.operators import on_host
from certpca.runtime.limits import limits

ORDER = 60
KINDS = ("priced-trees",)
PROOF = 0.2  # time to prove a search, as a share of the search
UNHURRIED = 0.5  # of the time, in which parts are split and left unproved where fractions of supports are better
SOON_SPLIT = 128  # features up to which splitting comes to an end: beyond, what is proved of each part counts at once


def applies(search: SetSearch) -> bool:
    """Whether the matrix is small enough to be searched."""
    return search.problem == "disjoint" and search.operator.size <= limits().searched_supports


def make(search: SetSearch) -> None:
    """Go on as long as there is time."""
    progress = search.progress
    begin, left = progress.seconds, progress.remaining if progress.timed else 0.0

    def late() -> bool:
        return progress.exhausted or progress.late(PROOF * (progress.seconds - begin))

    def hurried() -> bool:
        return search.operator.size > SOON_SPLIT or (progress.timed and progress.seconds - begin > UNHURRIED * left)

    find(search, late, hurried)


def find(search: SetSearch, late: Callable[[], bool], hurried: Callable[[], bool]) -> None:
    """Find prices, split the problem where these leave a gap, and let the result be proved."""
    operator, progress = on_host(search.operator), search.progress
    matrix = operator.submatrix(np.arange(operator.size))
    supports = [component.support for component in search.components]
    inner = AssignmentSearch(matrix, search.sparsities, supports, search.goal.target_gap, late, hurried=hurried)
    while inner.step() and not late() and inner.bound > inner.target:
        progress.tick(max(inner.value, search.objective), inner.bound)
    if inner.value > search.objective * (1 + 1e-12):
        search.components = tuple(search.refitted(support) for support in inner.best)
    if search.improves(inner.bound):
        tree, evidence = inner.certificate()
        search.offer(search.proved("priced-trees", evidence, tree))
