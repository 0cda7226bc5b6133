"""certpca's `sdp-threshold`: the paper's spca-sdp, with the proved value of the relaxation as its bound."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.proved import solve_with_proof
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "certpca `sdp-threshold`", "certpca", "k"
WARM_FEATURES = 40  # enough to reach, and to compile, the search


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return solve_with_proof(problem, sparsity, "sdp-threshold", effort)
