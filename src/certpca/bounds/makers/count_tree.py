"""Cells of supports told apart by how many features they have in some groups; with few samples regions rival them."""

from certpca.bounds.count_tree.growth import CountGrowth
from certpca.bounds.direction_tree.growth import RegionGrowth
from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.makers import l0_dual, l0_screened
from certpca.bounds.proof_search import ProofSearch
from certpca.bounds.rival_trees.growth import Kind, grow

ORDER = 38
NAME = "trees"  # of their states
KINDS = ("count-tree", "l0-tree", "l0-dual")
FEW_CELLS = 6  # that must be proved in time for levels to be left rough,
FIRST_CELLS = 2  # and to begin at all: both sides of the first split
DIRECTIONS, KNOWN = 24, 160  # that have levels of their own, and all that are known, about
EVALUATIONS = 110  # that a cell takes
ROOT_STEPS = 30  # towards a dual point, about, which may take
ROOT_CELLS, ROOT_SHARE = 10, 0.3  # as long as so many cells, and such a share of the time that is left


def applies(search: ProofSearch) -> bool:
    """Whether there are levels for all supports to go on from, and something to gain in time."""
    levels = search.shared.levels
    if levels is None or levels[0].aim.sparsity != search.sparsity or not in_sight(search, FIRST_CELLS):
        return False
    return not search.finished()


def in_sight(search: ProofSearch, cells: int = FEW_CELLS) -> bool:
    """Whether supports may be split, and so many cells can be proved in time."""
    possible = search.goal.over_supports and not too_deep(search.operator, search.goal.depth)
    return possible and search.fits(cells * search.costs.cell(DIRECTIONS, 1) + 2 * descent(search))


def descent(search: ProofSearch) -> float:
    """Return the seconds to solve a cell."""
    return search.costs.evaluations(EVALUATIONS, min(KNOWN, search.costs.depth))


def seconds(search: ProofSearch) -> float:
    """Return nothing: cells are split while there is time to prove all of them."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Split cells, and regions of directions too where that is no dearer."""
    begun = search.rivals is not None and search.rivals.cover is not None
    grow(search, kinds(search, regions=begun or few_samples(search)), NAME)


def kinds(search: ProofSearch, *, regions: bool) -> list[Kind]:
    """Return the kinds of trees that take turns."""
    cells = CountGrowth(search)
    return [cells, RegionGrowth(search, lambda: _root(search))] if regions else [cells]


def _root(search: ProofSearch) -> None:
    """Find a dual point for all directions, and one without the features that it rules out."""
    for maker in (l0_dual, l0_screened):
        if maker.applies(search) and search.fits(maker.seconds(search)):
            maker.make(search)


def few_samples(search: ProofSearch) -> bool:
    """Whether matrices of samples x samples cost no more than those of the directions that levels know."""
    root = _root_seconds(search)
    cheap = root <= ROOT_CELLS * descent(search)
    return cheap and (not search.progress.timed or search.fits(root / ROOT_SHARE))


def beginning(search: ProofSearch) -> float:
    """Return the seconds until trees of both kinds have begun, where there are levels."""
    return 2 * descent(search) + _root_seconds(search)


def _root_seconds(search: ProofSearch) -> float:
    costs = search.costs
    return costs.posing() + ROOT_STEPS * costs.step() + costs.dual()
