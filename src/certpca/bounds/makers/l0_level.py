"""A dual point whose level is a matrix: tighter than a number, and found without a matrix of samples x samples.

Where there are too many samples for a proof that factors such a matrix, the checker draws random vectors.
"""

from typing import Any

import numpy as np

from certpca.bounds.l0_dual.features import dual_depth, fewer_asked, too_deep
from certpca.bounds.l0_level.evidence import level_evidence
from certpca.bounds.l0_level.leading import leading_of, sharpen
from certpca.bounds.l0_level.search import LevelSearch, OnLevels
from certpca.bounds.makers.count_tree import in_sight
from certpca.bounds.proof_search import ProofSearch
from certpca.checker.limits import LARGEST_LEVEL_ORDER
from certpca.results.certificate import RANDOM
from certpca.runtime.limits import limits
from certpca.runtime.resumable import resumable

ORDER = 36
KINDS = ("l0-level", f"l0-level{RANDOM}")
DIRECTIONS = 32  # that have levels of their own in the end, about
LEADING = 48  # that a proof by random vectors treats apart, besides those: beyond them spectra fall slowly
ROUGH = 3  # smoothings that are gone through where cells of counts follow
IMAGES = 3  # leading eigenvectors of the bound's matrix that suggest better loadings
WALKS = 8  # at least, that a search takes,
SHARPENING = 2  # and that follow it before a proof by random vectors
WORTH_A_ROUND = 0.02  # share of the gap that a round must close to be followed by another where walks are dear


def applies(search: ProofSearch) -> bool:
    """Whether features are too many for a tree alone, and all directions are asked for."""
    operator = search.operator
    if operator.size <= limits().few_features or fewer_asked(operator, search.goal.depth):
        return False
    if not search.kinds.isdisjoint(KINDS):  # trees needed it
        return False
    return too_deep(operator) or search.fits(search.costs.level(DIRECTIONS, WALKS))


def _by_chance(search: ProofSearch) -> bool:
    """Whether the proof draws random vectors: for many samples, unless all are asked for and can be factored."""
    depth, asked = dual_depth(search.operator), search.goal.depth
    return too_deep(search.operator) and not (asked is not None and depth <= min(asked, LARGEST_LEVEL_ORDER))


def seconds(search: ProofSearch) -> float:
    """Return what a proof takes where no other maker applies; else nothing: it does not apply where time is short."""
    if _by_chance(search):
        return search.costs.level_random(LEADING, WALKS)
    return search.costs.level(DIRECTIONS, WALKS) if too_deep(search.operator) else 0.0


def make(search: ProofSearch) -> None:
    """Make rounds until they do not help any more, from where those for another sparsity ended if there were some."""
    operator, incumbent, goal, progress, shared = (
        search.operator,
        search.incumbent,
        search.goal,
        search.progress,
        search.shared,
    )
    chance, source = _by_chance(search), operator.source()
    if too_deep(operator) and (source.kind != "data" or source.values.shape[0] > operator.size):
        progress.run_out()  # such a proof is for data with at most as many samples as features
        return
    known = shared.levels
    if known is None:
        rounds = LevelSearch(shared.features, search.sparsity, incumbent.objective, progress.late)
    else:
        rounds = known[0].at(search.sparsity, incumbent.objective, progress.late)

    same = known is not None and known[0].aim.sparsity == search.sparsity
    rough = in_sight(search)  # cells are solved anew: what is left to gain here they gain sooner

    def enough(at: OnLevels) -> bool:
        # The first round finds what it made large in directions that nobody knew: only the second takes it away.
        first = chance and at.stage == 0 and at.descents <= 1
        slow = operator.cost.dear and at.stage > 0 and at.closed < WORTH_A_ROUND
        over = at.done or slow or (rough and at.stage >= ROUGH)
        return over or (not first and goal.reached(incumbent.objective, at.best.bound))

    def start() -> OnLevels:
        if known is not None:
            return known[1] if same else rounds.begin(known[1])
        panel = np.zeros((operator.size, 1))
        panel[incumbent.best.support, 0] = incumbent.best.loadings
        return rounds.start(shared.features.combined(operator.adopt(panel)))

    def step(at: OnLevels) -> OnLevels:
        with progress.setting_aside(rounds.correcting):
            return rounds.step(at)

    proof = search.costs.level_random(LEADING, SHARPENING) if chance else search.costs.level(DIRECTIONS)
    with progress.setting_aside(proof):
        at = resumable(
            step,
            start,
            progress,
            "levels",
            OnLevels,
            enough=enough,
            tell=lambda at: (incumbent.objective, at.best.bound, f"{shared.features.walks} walks"),
            late=lambda _: progress.late(rounds.correcting),
        )
    shared.levels = rounds, at
    nothing_new = known is not None and same and at.best is known[1].best and search.best is goal.known
    if nothing_new or not search.improves(at.best.bound):
        return
    with progress.setting_aside(proof):
        if not goal.reached(incumbent.objective, at.best.bound) and not progress.exhausted:
            incumbent.best = incumbent.improved(incumbent.best, list(rounds.images(at, IMAGES).T))
    evidence: dict[str, Any] = level_evidence(at.best.directions, at.best.levels)
    if chance:
        rounds.taken_up(at)  # another process may have made the last round
        width, space = at.best.levels.width, rounds.space
        sharpen(at.best, space, search.sparsity, LEADING)
        count = max(min(LEADING, space.known - width, space.features.depth - width), 0)
        leading = leading_of(at.best, space, search.sparsity, count)
        evidence["leading"] = leading.astype(np.float32)
    search.offer(search.proved_once("level-certificate", KINDS[chance], evidence))
    search.over = search.finished() or too_deep(operator)
