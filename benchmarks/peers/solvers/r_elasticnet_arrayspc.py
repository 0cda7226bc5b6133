"""R's elasticnet::arrayspc, the variant of spca for many more columns than rows: soft thresholding."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_tuned
from benchmarks.peers.timing import Answer, Effort, soft_threshold

LABEL, PACKAGE, ASKS = "R elasticnet `arrayspc`", "R: elasticnet", "a penalty"
FIT = "elasticnet::arrayspc(x, K = 1, para = penalty)$loadings[, 1]"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    first = 2 * problem.leading()[0] ** 0.5 * soft_threshold(problem, sparsity)[1]
    return fit_tuned("elasticnet", FIT, problem, sparsity, first, effort)
