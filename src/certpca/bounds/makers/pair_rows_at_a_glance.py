"""Pairs of features before cells of counts, where one number already bounds by pairs what levels leave open.

Many features of one length in a sample space of few directions, as in correlations of expression data, leave levels
nothing to tell apart: a mixture of all directions is paid for every feature. Pairs see that no direction has them all.
"""

from certpca.bounds.makers import pair_rows
from certpca.bounds.pair_rows.search import by_one_number
from certpca.bounds.proof_search import ProofSearch

ORDER = 37
KINDS = pair_rows.KINDS
LARGEST_SUPPORT = 2000  # of which the strongest pairs are kept
SHARE = 0.15  # of the time that is left, that a look at all pairs may take,
HOPELESS_SHARE = 0.4  # or where the level is no better than a bound in closed form: cells would begin from there
seconds = pair_rows.seconds


def applies(search: ProofSearch) -> bool:
    """Whether pairs were not tried before, are soon looked at, and there is a level to compare them with."""
    levels = search.shared.levels
    if search.pairs_tried or search.finished() or levels is None or levels[0].aim.sparsity != search.sparsity:
        return False
    share = SHARE if "l0-level" in search.kinds else HOPELESS_SHARE
    return pair_rows.possible(search, LARGEST_SUPPORT) and search.fits(search.costs.pairs() / share)


def make(search: ProofSearch) -> None:
    """Look at all pairs, and go on with them if they bound more tightly than the level."""
    assert search.shared.levels is not None
    pairs = pair_rows.looked_at(search)
    if pairs is None:
        return
    bound = by_one_number(pairs, search.sparsity)[1]
    if search.improves(bound) and bound < search.shared.levels[1].best.bound:
        pair_rows.make(search, pairs)
