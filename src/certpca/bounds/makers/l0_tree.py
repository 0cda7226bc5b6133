"""Dual points for regions of directions that together are all of sample space."""

from certpca.bounds.direction_tree.growth import RegionGrowth
from certpca.bounds.proof_search import ProofSearch
from certpca.bounds.rival_trees.growth import grow

ORDER = 80
KINDS = ("l0-tree",)


def applies(search: ProofSearch) -> bool:
    """Whether there is a dual point to go on from, something to gain, and no such tree that had its turns."""
    possible = bool(search.goal.branching) and search.dual is not None
    return possible and RegionGrowth.name not in search.grown and not search.finished()


def seconds(search: ProofSearch) -> float:
    """Return nothing: regions are split while there is time to prove all of them."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Split the directions of sample space."""
    grow(search, [RegionGrowth(search)], "regions")
