"""Pairs of features: small supports among many features, with a search tree over those that are left."""

from certpca.bounds.l0_level.features import much_larger
from certpca.bounds.pair_rows.columns import columns_of
from certpca.bounds.pair_rows.search import FIRST_ENTRIES, SCHEDULE, Found, rows_for
from certpca.bounds.pair_rows.search import search as search_pairs
from certpca.bounds.pair_rows.strongest import Strongest, among
from certpca.bounds.proof_search import ProofSearch
from certpca.runtime.limits import limits

ORDER = 35
KINDS = ("pair-rows",)
LARGEST_SUPPORT = 500  # beyond it most features matter to each other, and other bounds are tighter
LARGEST_FACTOR = 1 << 29  # numbers in memory, in single precision
MOST_SECONDS = 60.0  # for the proof
TIME = 1.8  # to begin with, as a multiple of that
FIRST_STAGES = 3  # after which it is clear what comes of it: they may take
SHARE = 0.2  # of the time that is left, or levels that are matrices go first


def applies(search: ProofSearch) -> bool:
    """Whether it is possible, and a look at what it gives takes little of the time."""
    return possible(search) and search.fits(first_stages(search) / SHARE)


def possible(search: ProofSearch, largest: int = LARGEST_SUPPORT) -> bool:
    """Whether every support is allowed, supports are small, features many, and all pairs of them soon looked at."""
    size, proof = search.operator.size, search.costs.pairs()
    few = size <= limits().few_features
    if search.constrained or not search.goal.over_supports or few or search.costs.depth * size > LARGEST_FACTOR:
        return False
    in_time = proof <= MOST_SECONDS and search.fits(TIME * proof)
    return 2 <= search.sparsity <= min(largest, size // 2) and in_time


def first_stages(search: ProofSearch) -> float:
    """Return the seconds until it is clear what comes of pairs."""
    rows = min(rows_for(search.sparsity), search.operator.size)
    return search.costs.pair_stage(rows, FIRST_ENTRIES, FIRST_STAGES * SCHEDULE[0][1])


def seconds(search: ProofSearch) -> float:
    """Return nothing: where time is short it does not apply, and other makers may."""
    del search
    return 0.0


def looked_at(search: ProofSearch) -> Strongest | None:
    """Look at all pairs of features; none where there is no time for that and for the proof."""
    proof, operator = search.costs.pairs(), search.incumbent.operator
    factor = operator.factor()
    columns = columns_of(factor, held=not much_larger(4 * factor.depth * factor.size, operator))
    return among(columns, search.sparsity - 1, lambda: search.progress.late(proof))


def make(search: ProofSearch) -> None:
    """Look at all pairs, tighten the point on the rows that matter, and prove what came of it."""
    search.pairs_tried = True
    pairs = looked_at(search)
    if pairs is None:
        return
    found = tightened(search, pairs)
    del pairs  # the proof needs the memory
    prove(search, found)


def tightened(search: ProofSearch, pairs: Strongest) -> Found:
    """Tighten the point on the rows that matter."""
    search.pairs_tried = True
    return search_pairs(pairs, search.sparsity, search.incumbent, search.goal, search.progress, search.costs.pairs())


def prove(search: ProofSearch, found: Found) -> None:
    """Prove what came of it."""
    if search.improves(found.bound):
        search.offer(search.proved_once("pairs-certificate", "pair-rows", found.evidence, found.tree))
    search.over = search.finished()
