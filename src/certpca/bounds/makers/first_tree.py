"""Branch and bound over supports before other bounds, where features are few: often one node proves the optimum."""

from certpca.bounds.makers.search_tree import visit
from certpca.bounds.proof_search import ProofSearch
from certpca.runtime.limits import limits

ORDER = 33
KINDS = ("search-tree",)
SHARE = 0.6  # of the time there is, so that other bounds can be tried where a tree grows and grows


def applies(search: ProofSearch) -> bool:
    """Whether features are few, but too many for a dual point that takes no time, and supports may be searched."""
    most = min(limits().few_features, limits().searched_supports)
    most = limits().constrained_supports if search.constrained else most
    few = limits().always_optimal < search.operator.size <= most
    return few and search.goal.over_supports and search.sparsity < search.operator.size and not search.finished()


def seconds(search: ProofSearch) -> float:
    """Return nothing: nodes are visited while there is time to prove what they gave."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Visit nodes; where that proves as much as is wanted, nothing else is needed."""
    progress = search.progress
    with progress.setting_aside((1 - SHARE) * progress.remaining if progress.timed else 0.0):
        visit(search, "first-tree")
    search.over = search.best is not None and search.near_enough(search.best.upper_bound)
