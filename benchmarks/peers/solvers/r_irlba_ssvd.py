"""R's irlba::ssvd, sparse singular vectors by soft thresholding (Shen & Huang 2008).

The one peer that keeps sparse data sparse.
"""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_directly
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "R irlba `ssvd`", "R: irlba", "k"
FIT = "irlba::ssvd(x, k = 1, n = sparsity, center = centre)$v[, 1]"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return fit_directly("irlba", FIT, problem, sparsity, effort, keeps_sparse=True)
