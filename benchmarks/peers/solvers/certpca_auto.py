"""certpca's default, `auto`: many starts, thresholding, swaps."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.timing import Answer, Effort, timed

import certpca

LABEL, PACKAGE, ASKS = "certpca `auto`", "certpca", "k"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    budget = certpca.Budget(seconds=effort.patience)
    return timed(lambda: certpca.solve(problem.values, sparsity, budget=budget).component, effort)
