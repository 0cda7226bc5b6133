"""certpca's `auto` with a certificate: the time includes the proof, the bound is checked again by the checker."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.proved import solve_with_proof
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "certpca `auto`, certified", "certpca", "k"
WARM_FEATURES = 40  # enough to reach, and to compile, the search


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return solve_with_proof(problem, sparsity, "auto", effort, certify=True)
