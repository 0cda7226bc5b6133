"""Prices of features, and levels for regions of directions at these: disjoint supports among many features."""

import numpy as np

from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.l0_level.aim import apart
from certpca.bounds.l0_level.search import LevelSearch
from certpca.bounds.sets.regions.pricing import good_prices
from certpca.bounds.sets.regions.search import RegionSearch
from certpca.bounds.sets.search import SetSearch
from certpca.bounds.stalling import Stall
from certpca.runtime.arrays import to_vector
from certpca.runtime.limits import limits
from certpca.search.krylov import leading_eigenpairs

ORDER = 4
KINDS = ("priced-regions",)
DIRECTIONS = 20  # that have levels of their own, about
SHARE = 0.8  # of the time, the rest of which is for single bounds where these are better
FEWEST_LEAVES = 3
BEYOND = 0.3  # of the gap that is asked for, by which regions are better than that: known directions are not all


def applies(search: SetSearch) -> bool:
    """Whether supports are disjoint, features too many for trees, and some regions proved in time."""
    if search.problem != "disjoint" or len(search.sparsities) < 2 or too_deep(search.operator, None):
        return False
    few, small = search.operator.size <= limits().searched_supports, max(search.sparsities) <= limits().small_supports
    if few or small:
        return False  # search trees are nearer, or prices that are sought together with a level
    return search.progress.remaining > FEWEST_LEAVES * search.shared.costs.level(DIRECTIONS, walks=8)


def make(search: SetSearch) -> None:
    """Find prices, split directions while that helps, and let the regions be proved."""
    operator, features, goal = search.operator, search.shared.features, search.goal
    progress, leaf = search.progress.part(SHARE), search.shared.costs.level(DIRECTIONS)
    panel = np.zeros((operator.size, len(search.components)))
    for number, component in enumerate(search.components):
        panel[component.support, number] = component.loadings
    own = features.combined(operator.adopt(panel))
    leading = leading_eigenpairs(operator, 2, accuracy=1e-3, rng=0, late=progress.late).vectors
    axes = features.combined(operator.adopt(to_vector(leading)))
    prices = good_prices(features, axes, own, search.sparsities, lambda: progress.late(FEWEST_LEAVES * leaf))
    aim = apart(search.sparsities)
    rounds = LevelSearch(features, aim, search.objective, progress.late)
    levels = rounds.taken_up(rounds.start(own))[0]
    inner = RegionSearch(rounds, levels, aim, prices, own, lambda leaves: progress.late((leaves + 2) * leaf))
    inner.start()
    stall = Stall(progress)
    enough = search.objective / (1 - (1 - BEYOND) * goal.target_gap)
    while inner.bound > enough and not stall.over(search.objective, inner.bound):
        progress.tick(search.objective, inner.bound)
        if progress.exhausted or progress.late((len(inner.leaves()) + 3) * leaf):
            break
        inner.step()
    if search.improves(inner.bound):
        tree, evidence = inner.certificate()
        priced = np.flatnonzero(prices)
        search.offer(search.proved("priced-regions", {**evidence, "priced": priced, "prices": prices[priced]}, tree))
