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
SHARE = 0.4  # of the time that is left, that a look at all pairs may take
NEAR = 0.12  # of the gap that a bound in closed form leaves: where a level leaves more, cells would gain little
seconds = pair_rows.seconds


def applies(search: ProofSearch) -> bool:
    """Whether pairs were not tried before, are soon looked at, and the level gained little."""
    levels, simple = search.shared.levels, search.estimate
    if search.pairs_tried or search.finished() or levels is None or levels[0].aim.sparsity != search.sparsity:
        return False
    objective = search.incumbent.objective
    if simple is None or levels[1].best.bound - objective < NEAR * (simple.bound - objective):
        return False
    return pair_rows.possible(search, LARGEST_SUPPORT) and search.fits(search.costs.pairs() / SHARE)


def make(search: ProofSearch) -> None:
    """Look at all pairs, and go on with them if they bound more tightly than the level."""
    assert search.shared.levels is not None
    pairs = pair_rows.looked_at(search)
    if pairs is None:
        return
    bound = by_one_number(pairs, search.sparsity)[1]
    if search.improves(bound) and bound < search.shared.levels[1].best.bound:
        found = pair_rows.tightened(search, pairs)
        del pairs  # the proof needs the memory
        pair_rows.prove(search, found)
