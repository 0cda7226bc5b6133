"""Bounds that need no evidence: the trace, row sums, and on small problems the largest eigenvalue.

With a limit on time the one by the trace, which costs next to nothing, is in hand from the start.
"""

import numpy as np

from certpca.bounds.l0_dual.features import dual_depth
from certpca.bounds.proof_search import ProofSearch
from certpca.checker.limits import LARGEST_DENSE
from certpca.operators import Operator
from certpca.runtime.arrays import to_vector
from certpca.runtime.lateness import Late
from certpca.search.krylov import leading_on_support

ORDER = 10
KINDS = ("trace", "row-sums", "largest-eigenvalue")
ROW_SUMS_UP_TO = 4096  # features up to which every pair of columns is multiplied
EIGENVALUE_UP_TO = 512
COLUMNS = 512  # at a time


def applies(search: ProofSearch) -> bool:
    """Say yes: there is always such a bound."""
    del search
    return True


def seconds(search: ProofSearch) -> float:
    """Return nothing: one is made in any case."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Estimate all; prove the best where that is enough, or all there is time for."""
    progress, operator = search.progress, search.incumbent.operator
    if progress.timed:
        for kind in ("trace", *({"largest-eigenvalue"} & search.costs.known)):
            search.offer(search.proved(kind, {}))
    search.suggest("trace", float(np.sort(to_vector(operator.diagonal()))[-search.sparsity :][::-1].sum()))
    if operator.size <= ROW_SUMS_UP_TO and not progress.late():
        search.suggest("row-sums", _largest_row(operator, search.sparsity))
    all_of_it = search.sparsity == operator.size and dual_depth(operator) <= LARGEST_DENSE
    if operator.size <= EIGENVALUE_UP_TO or (all_of_it and not progress.late()):
        search.suggest("largest-eigenvalue", _largest_eigenvalue(operator, progress.late))
    assert search.estimate is not None
    progress.tick(search.incumbent.objective, search.estimate.bound)
    search.over = search.near_enough(search.estimate.bound) or progress.exhausted


def _largest_eigenvalue(operator: Operator, late: Late) -> float:
    return leading_on_support(operator, np.arange(operator.size), late=late)[0]


def _largest_row(operator: Operator, sparsity: int) -> float:
    """Return the largest sum of as many entries of a row as there may be loadings."""
    worst, size = 0.0, operator.size
    for start in range(0, size, COLUMNS):
        part = np.abs(to_vector(operator.columns(np.arange(start, min(start + COLUMNS, size)))))
        ordered = np.partition(part, size - sparsity, axis=0)[size - sparsity :]
        worst = max(worst, float(ordered.sum(axis=0).max()))
    return worst
