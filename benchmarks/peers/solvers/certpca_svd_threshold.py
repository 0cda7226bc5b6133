"""certpca's `svd-threshold`: the paper's spca-svd."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.timing import Answer, Effort, timed

import certpca

LABEL, PACKAGE, ASKS = "certpca `svd-threshold`", "certpca", "k"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return timed(lambda: certpca.solve(problem.values, sparsity, "svd-threshold").component, effort)
