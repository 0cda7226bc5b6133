"""Levels that are matrices, for cells of supports told apart by how many features they have in some groups."""

from collections.abc import Sequence

import numpy as np

from certpca.bounds.count_tree.cells import CountTree
from certpca.bounds.count_tree.evidence import tree_evidence, tree_of
from certpca.bounds.count_tree.search import CountSearch
from certpca.bounds.goals import Known
from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.proof_search import ProofSearch
from certpca.bounds.stalling import Stall
from certpca.operators.within import asked_of
from certpca.runtime.arrays import Indices
from certpca.runtime.resumable import resumable
from certpca.runtime.threads import threads_allowed

ORDER = 38
KINDS = ("count-tree",)
FEW_CELLS = 6  # that must be proved in time for levels to be left rough,
FIRST_CELLS = 2  # and to begin at all: both sides of the first split
DIRECTIONS, KNOWN = 24, 160  # that have levels of their own, and all that are known, about
EVALUATIONS = 110  # that a cell takes
BETTER = 1e-6  # relative: what a support must promise to be looked at


def applies(search: ProofSearch) -> bool:
    """Whether there are levels for all supports to go on from, and something to gain in time."""
    levels = search.shared.levels
    if levels is None or levels[0].aim.sparsity != search.sparsity or not in_sight(search, FIRST_CELLS):
        return False
    return not search.finished()


def in_sight(search: ProofSearch, cells: int = FEW_CELLS) -> bool:
    """Whether supports may be split, and so many cells can be proved in time."""
    possible = search.goal.over_supports and not too_deep(search.operator, search.goal.depth)
    solving = 2 * search.costs.evaluations(EVALUATIONS, min(KNOWN, search.costs.depth))  # both sides of a split
    return possible and search.fits(cells * search.costs.cell(DIRECTIONS, 1) + solving)


def seconds(search: ProofSearch) -> float:
    """Return nothing: cells are split while there is time to prove all of them."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Split cells, the one with the largest bound first."""
    assert search.shared.levels is not None
    rounds, at = search.shared.levels
    incumbent, goal, progress = search.incumbent, search.goal, search.progress
    levels, unevenness = rounds.taken_up(at)

    def improved(known: Known, supports: Sequence[Indices]) -> Known:
        if search.constrained:  # supports that are suggested need not be allowed
            images = np.zeros((len(supports), search.operator.size))
            for image, support in zip(images, supports, strict=True):
                image[support] = 1.0
            known = incumbent.improved(known, list(images))
        for support in () if search.constrained else supports:
            found = incumbent.refitted(support)
            if found.objective > known.objective * (1 + BETTER):
                image = np.zeros(search.operator.size)
                image[found.support] = found.loadings
                known = incumbent.improved(found, [image])
        incumbent.best = known if known.objective > incumbent.objective else incumbent.best
        return incumbent.best

    def enough(known: Known) -> float:
        return known.objective / (1 - goal.target_gap)

    cells = CountSearch(rounds.space, levels, unevenness, search.sparsity, enough, improved, progress.late)

    def start() -> CountTree:
        panel = np.zeros((search.operator.size, 1))
        panel[incumbent.best.support, 0] = incumbent.best.loadings
        direction = rounds.space.combined(search.operator.adopt(panel))[:, 0]
        forced = np.array(asked_of(search.operator).include, dtype=np.intp)
        with progress.setting_aside(2 * search.costs.cell(levels.width, 1)):
            return cells.start(incumbent.best, direction, at.best.bound, forced)

    stall = Stall(progress)

    def proof(tree: CountTree, more: int) -> float:
        """Return the seconds to prove the cells, and so many that a step may add."""
        each = [search.costs.cell(levels.width, len(tree.cells[number].groups)) for number in tree.leaves()]
        return sum(each) + more * max(each)

    def step(tree: CountTree) -> CountTree:
        with progress.setting_aside(proof(tree, threads_allowed()) + cells.correcting):
            return cells.step(tree)

    def over(tree: CountTree) -> bool:
        objective = tree.known.objective
        return tree.stuck or goal.reached(objective, tree.bound) or stall.over(objective, tree.bound)

    found = resumable(
        step,
        start,
        progress,
        "counts",
        CountTree,
        enough=over,
        tell=lambda tree: (tree.known.objective, tree.bound, f"{len(tree.leaves())} cells"),
        late=lambda tree: progress.late(proof(tree, threads_allowed()) + cells.correcting),
    )
    if found.known.objective > incumbent.objective:
        incumbent.best = found.known
    if search.improves(found.bound):
        search.offer(search.proved_once("counts-certificate", "count-tree", tree_evidence(found), tree_of(found)))
    search.over = search.finished()
