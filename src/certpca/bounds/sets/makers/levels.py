"""A matrix level for all components: sums of leading eigenvalues, or prices for features that several would use."""

import numpy as np

from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.l0_level.aim import Aim, apart, on_one_support, uncorrelated
from certpca.bounds.l0_level.evidence import set_evidence
from certpca.bounds.l0_level.search import FULL_UP_TO, LevelSearch, OnLevels
from certpca.bounds.sets.search import SetSearch
from certpca.runtime.arrays import Vector
from certpca.runtime.limits import limits
from certpca.runtime.resumable import resumable

ORDER = 5  # before single bounds, which for components on one support never come near
KIND_OF = {"shared": "shared-level", "uncorrelated": "uncorrelated-level", "disjoint": "priced-level"}
KINDS = tuple(KIND_OF.values())
SHARE = {"shared": 1.0, "uncorrelated": 0.6, "disjoint": 0.6}  # of the time, the rest of which is for single bounds
DIRECTIONS = 48  # that have levels of their own in the end, about
FULL_WITH_PRICES = 64  # samples up to which all directions have levels of their own, as each price takes a system


def applies(search: SetSearch) -> bool:
    """Whether levels say something about the problem, and the proof can factor what it must in time."""
    if search.problem not in KIND_OF or len(search.sparsities) < 2 or too_deep(search.operator, None):
        return False
    if search.problem == "disjoint" and (search.best is not None or search.operator.size <= limits().searched_supports):
        return False  # regions have been tried, or search trees are nearer
    return search.progress.remaining > search.shared.costs.level(DIRECTIONS, walks=8)


def make(search: SetSearch) -> None:
    """Make rounds until they do not help any more."""
    goal, features = search.goal, search.shared.features
    share = SHARE[search.problem]
    progress = search.progress if share == 1.0 else search.progress.part(share)
    full = FULL_WITH_PRICES if search.problem == "disjoint" else FULL_UP_TO
    rounds = LevelSearch(features, aim_of(search), search.objective, progress.late, full)

    def start() -> OnLevels:
        panel = np.zeros((search.operator.size, len(search.components)))
        for number, component in enumerate(search.components):
            panel[component.support, number] = component.loadings
        directions = features.combined(search.operator.adopt(panel))
        return rounds.start(directions, first_prices(search) if search.problem == "disjoint" else None)

    with progress.setting_aside(search.shared.costs.level(DIRECTIONS)):
        at = resumable(
            rounds.step,
            start,
            progress,
            f"levels-{search.problem}",
            OnLevels,
            enough=lambda at: at.done or goal.reached(search.objective, at.best.bound),
            tell=lambda at: (search.objective, at.best.bound, f"{features.walks} walks"),
        )
    if search.improves(at.best.bound):
        search.offer(search.proved(KIND_OF[search.problem], set_evidence(at.best)))


def aim_of(search: SetSearch) -> Aim:
    """Return what the levels are to bound."""
    if search.problem == "shared":
        return on_one_support(max(search.sparsities), len(search.sparsities))
    return (apart if search.problem == "disjoint" else uncorrelated)(search.sparsities)


def first_prices(search: SetSearch) -> Vector:
    """Make all components worth as much as the last one, by what each feature contributes to its own."""
    prices = np.zeros(search.operator.size)
    least = min(component.objective for component in search.components)
    for component in search.components:
        prices[component.support] = (component.objective - least) * component.loadings**2
    return prices
