"""A tree of cells that grows step by step, from levels for all supports."""

from collections.abc import Sequence

import numpy as np

from certpca.bounds.count_tree.cells import CountTree
from certpca.bounds.count_tree.evidence import tree_evidence, tree_of
from certpca.bounds.count_tree.search import CountSearch
from certpca.bounds.goals import Known
from certpca.bounds.proof_search import ProofSearch
from certpca.operators.within import asked_of
from certpca.runtime.arrays import Indices
from certpca.runtime.threads import threads_allowed

BETTER = 1e-6  # relative: what a support must promise to be looked at


class CountGrowth:
    """Cells for the levels that a search has found."""

    name = "counts"

    def __init__(self, search: ProofSearch) -> None:
        assert search.shared.levels is not None
        self._search = search
        rounds, self._at = search.shared.levels
        levels, unevenness = rounds.taken_up(self._at)
        self._space, self._width = rounds.space, levels.width
        self._cells = CountSearch(
            rounds.space, levels, unevenness, search.sparsity, self._enough, self._improved, search.progress.late
        )

    def ready(self) -> bool:
        """Say that levels are all it needs."""
        return True

    def start(self) -> CountTree:
        """Split all supports once."""
        search, space = self._search, self._space
        panel = np.zeros((search.operator.size, 1))
        panel[search.incumbent.best.support, 0] = search.incumbent.best.loadings
        direction = space.combined(search.operator.adopt(panel))[:, 0]
        forced = np.array(asked_of(search.operator).include, dtype=np.intp)
        with search.progress.setting_aside(2 * search.costs.cell(self._width, 1)):
            return self._cells.start(search.incumbent.best, direction, self._at.best.bound, forced)

    def step(self, tree: CountTree) -> CountTree:
        """Split the cells with the largest bounds, or solve them more closely."""
        with self._search.progress.setting_aside(self.proof(tree)):
            return self._cells.step(tree)

    def stuck(self, tree: CountTree) -> bool:
        """Whether the cell with the largest bound cannot be split."""
        return tree.stuck

    def proof(self, tree: CountTree) -> float:
        """Return the seconds to prove the cells, and those that a step may add."""
        each = [self._search.costs.cell(self._width, len(tree.cells[number].groups)) for number in tree.leaves()]
        return sum(each) + threads_allowed() * max(each) + self._cells.correcting

    def note(self, tree: CountTree) -> str:
        """Count the cells."""
        return f"{len(tree.leaves())} cells"

    def offer(self, tree: CountTree) -> None:
        """Prove the cells, if they bound more tightly than what is proved."""
        search = self._search
        if search.improves(tree.bound):
            evidence, splits = tree_evidence(tree), tree_of(tree)
            search.offer(search.proved_once("counts-certificate", "count-tree", evidence, splits))

    def _enough(self, known: Known) -> float:
        return known.objective / (1 - self._search.goal.target_gap)

    def _improved(self, known: Known, supports: Sequence[Indices]) -> Known:
        search, incumbent = self._search, self._search.incumbent
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
