"""R's ADMM::admm.spca: the penalised semidefinite relaxation (Ma 2013), bisected to k.

Its matrix does not keep to trace one, so its value is no bound and is not shown. It leaves rounding where
there are no loadings, so that what is below a millionth of the largest is taken for none.
"""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_tuned
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "R ADMM `admm.spca`", "R: ADMM", "a penalty"
FIT = """
basis <- ADMM::admm.spca(crossprod(x), numpc = 1, rho = penalty)$basis[, 1]
basis * (abs(basis) > 1e-6 * max(abs(basis)))
"""
MOST_FEATURES, BEYOND = 500, "n² variables: not tried above 500 features"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    first = problem.leading()[0] / (10 * sparsity)
    return fit_tuned("ADMM", FIT, problem, sparsity, first, effort)
