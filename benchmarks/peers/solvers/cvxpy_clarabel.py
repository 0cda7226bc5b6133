"""cvxpy with Clarabel, an interior-point method, for the semidefinite relaxation, rounded as in the paper."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.semidefinite import solve_relaxation
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "cvxpy + Clarabel (SDP)", "clarabel", "k"
MOST_FEATURES, BEYOND = 500, "n² variables: not tried above 500 features"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return solve_relaxation(problem, sparsity, "CLARABEL", effort)
