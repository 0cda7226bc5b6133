"""Trees before rows of pairs where these take long to show anything, for as long as trees promise to be done soon.

With few samples and supports of hundreds of features regions of directions may reach a gap that is not very small in
much less time than pairs take for a first look; for smaller gaps, and smaller supports, pairs are better.
"""

from certpca.bounds.makers import count_tree, l0_level, pair_rows
from certpca.bounds.proof_search import ProofSearch
from certpca.bounds.rival_trees.growth import grow_for

ORDER = 34
KINDS = count_tree.KINDS
SOONER = 5.0  # times as long as trees take to begin, pairs must take to show anything; trees may then grow
WHILE = 2.0  # times as long as that
DESCENTS = 8  # each about as long as those for a cell, that levels take before
seconds = pair_rows.seconds


def applies(search: ProofSearch) -> bool:
    """Whether both are possible, trees begin much sooner than pairs show anything, and there is time for pairs then."""
    if search.finished() or not pair_rows.applies(search) or not l0_level.applies(search):
        return False
    if not count_tree.in_sight(search) or not count_tree.few_samples(search):
        return False
    pairs = pair_rows.first_stages(search)
    levels = search.costs.level(l0_level.DIRECTIONS, l0_level.WALKS) + DESCENTS * count_tree.descent(search)
    begun = levels + count_tree.beginning(search)
    return SOONER * begun <= pairs and search.fits(begun + WHILE * pairs + pairs / pair_rows.SHARE)


def make(search: ProofSearch) -> None:
    """Find levels, and let trees grow for about as long as pairs would."""
    l0_level.make(search)
    if not search.over and count_tree.applies(search):
        most = WHILE * pair_rows.first_stages(search)
        grow_for(most, search, count_tree.kinds(search, regions=True), count_tree.NAME)
