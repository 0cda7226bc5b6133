"""Dual points for regions of directions that together are all of sample space."""

from certpca.bounds.direction_tree.search import split_regions
from certpca.bounds.evidence import cover_evidence, tree_of
from certpca.bounds.proof_search import ProofSearch

ORDER = 80
KINDS = ("l0-tree",)


def applies(search: ProofSearch) -> bool:
    """Whether there is a dual point to go on from, and something to gain."""
    return bool(search.goal.branching) and search.dual is not None and not search.finished()


def seconds(search: ProofSearch) -> float:
    """Return nothing: regions are split while there is time to prove all of them."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Split the directions of sample space."""
    assert search.dual is not None
    progress, left, roots = search.progress, search.left, search.screening is None
    leaf = search.costs.dual(left.features.size, roots=roots)
    with progress.setting_aside(left.seconds):
        found = split_regions(*search.dual, left.features, search.incumbent, search.goal, progress, leaf)
    if found is not None and search.improves(found.bound):
        evidence = {**left.evidence, **cover_evidence(found, roots=roots)}
        search.offer(search.proved("l0-tree", evidence, tree_of(found)))
