"""A dual point whose level is a matrix: tighter than a number, and found without a matrix of samples x samples."""

import numpy as np

from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.l0_level.evidence import level_evidence
from certpca.bounds.l0_level.search import LevelSearch, OnLevels
from certpca.bounds.makers.count_tree import in_sight
from certpca.bounds.proof_search import ProofSearch
from certpca.runtime.limits import limits
from certpca.runtime.resumable import resumable

ORDER = 36
KINDS = ("l0-level",)
DIRECTIONS = 32  # that have levels of their own in the end, about
ROUGH = 3  # smoothings that are gone through where cells of counts follow
IMAGES = 3  # leading eigenvectors of the bound's matrix that suggest better loadings


def applies(search: ProofSearch) -> bool:
    """Whether features are too many for a tree alone, the proof can factor what it must, and there is time for it."""
    possible = search.operator.size > limits().few_features and not too_deep(search.operator, search.goal.depth)
    return possible and search.fits(search.costs.level(DIRECTIONS, walks=8))


def seconds(search: ProofSearch) -> float:
    """Return nothing: where time is short it does not apply, and other makers may."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Make rounds until they do not help any more, from where those for another sparsity ended if there were some."""
    operator, incumbent, goal, progress, shared = (
        search.operator,
        search.incumbent,
        search.goal,
        search.progress,
        search.shared,
    )
    known = shared.levels
    if known is None:
        rounds = LevelSearch(shared.features, search.sparsity, incumbent.objective, progress.late)
    else:
        rounds = known[0].at(search.sparsity, incumbent.objective, progress.late)

    def start() -> OnLevels:
        if known is not None:
            return rounds.begin(known[1])
        panel = np.zeros((operator.size, 1))
        panel[incumbent.best.support, 0] = incumbent.best.loadings
        return rounds.start(shared.features.combined(operator.adopt(panel)))

    rough = in_sight(search)  # cells are solved anew: what is left to gain here they gain sooner
    with progress.setting_aside(search.costs.level(DIRECTIONS)):
        at = resumable(
            rounds.step,
            start,
            progress,
            "levels",
            OnLevels,
            enough=lambda at: (
                at.done or goal.reached(incumbent.objective, at.best.bound) or (rough and at.stage >= ROUGH)
            ),
            tell=lambda at: (incumbent.objective, at.best.bound, f"{shared.features.walks} walks"),
        )
    shared.levels = rounds, at
    if not search.improves(at.best.bound):
        return
    if not goal.reached(incumbent.objective, at.best.bound) and not progress.exhausted:
        incumbent.best = incumbent.improved(incumbent.best, list(rounds.images(at, IMAGES).T))
    evidence = level_evidence(at.best.directions, at.best.levels)
    search.offer(search.proved_once("level-certificate", "l0-level", evidence))
    search.over = search.finished()
