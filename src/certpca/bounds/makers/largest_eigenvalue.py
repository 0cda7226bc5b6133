"""The largest eigenvalue, where there was no time for a dual point."""

import math

from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.proof_search import ProofSearch
from certpca.search.krylov import leading_eigenpairs

ORDER = 45
KINDS = ("largest-eigenvalue",)
ACCURACY = 1e-3


def applies(search: ProofSearch) -> bool:
    """Whether there is no dual point, which would have come with it."""
    return search.dual is None and not too_deep(search.operator, search.goal.depth)


def seconds(search: ProofSearch) -> float:
    """Return nothing: the estimate is cut short where it gets late."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Estimate it; it is proved at the end if it is the best there is."""
    if not math.isnan(search.goal.largest):
        search.suggest("largest-eigenvalue", search.goal.largest)
        return
    pairs = leading_eigenpairs(search.incumbent.operator, 1, accuracy=ACCURACY, late=search.progress.late)
    search.suggest("largest-eigenvalue", float(pairs.values[0]))
