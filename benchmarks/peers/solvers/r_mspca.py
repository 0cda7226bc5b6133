"""R's msPCA (Cory-Wright & Pauphilet), asked for one component: the truncated power method with restarts.

It takes the covariance matrix, which is formed within the time that counts.
"""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_directly
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "R msPCA", "R: msPCA", "k"
FIT = "msPCA::mspca(crossprod(x), 1, c(sparsity), verbose = FALSE)$x_best[, 1]"
MOST_FEATURES, BEYOND = 13_000, "n² numbers: not tried above 13,000 features"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return fit_directly("msPCA", FIT, problem, sparsity, effort)
