"""cvxpy with SCS for the semidefinite relaxation, rounded as in the paper; settings are cvxpy's.

Its tolerance lets the matrix it calls optimal break the constraints, so its value is no bound; notes say by how much.
"""

from benchmarks.peers.problem import Problem
from benchmarks.peers.semidefinite import solve_relaxation
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "cvxpy + SCS (SDP)", "scs", "k"
MOST_FEATURES, BEYOND = 500, "n² variables: not tried above 500 features"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return solve_relaxation(problem, sparsity, "SCS", effort)
