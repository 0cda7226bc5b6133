"""certpca's `branch-and-bound`, which goes on until the optimum is proved or its time is over."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.proved import solve_with_proof
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "certpca `branch-and-bound`", "certpca", "k"
WARM_FEATURES = 40  # enough to reach, and to compile, the search
MOST_FEATURES, BEYOND = 1000, "a search tree is not tried above 1,000 features"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return solve_with_proof(problem, sparsity, "branch-and-bound", effort)
