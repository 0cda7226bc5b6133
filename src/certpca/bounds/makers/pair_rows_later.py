"""Pairs of features after levels that are matrices, where the latter were expected to make more of the time."""

from certpca.bounds.makers import pair_rows
from certpca.bounds.proof_search import ProofSearch

ORDER = 39
KINDS = pair_rows.KINDS
make, seconds = pair_rows.make, pair_rows.seconds


def applies(search: ProofSearch) -> bool:
    """Whether they were not tried before, and there is something to gain."""
    return not search.pairs_tried and not search.finished() and pair_rows.possible(search)
