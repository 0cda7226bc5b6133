"""R's sparsepca::rspca, the randomised variant of its spca."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_tuned
from benchmarks.peers.timing import Answer, Effort, soft_threshold

LABEL, PACKAGE, ASKS = "R sparsepca `rspca`", "R: sparsepca", "a penalty"
FIT = """
sparsepca::rspca(x, k = 1, alpha = penalty, beta = 0, center = FALSE, scale = FALSE, verbose = FALSE)$loadings[, 1]
"""


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    first = soft_threshold(problem, sparsity)[1] / problem.leading()[0] ** 0.5
    return fit_tuned("sparsepca", FIT, problem, sparsity, first, effort)
