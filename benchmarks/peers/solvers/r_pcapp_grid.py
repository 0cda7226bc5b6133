"""R's pcaPP::sPCAgrid, projection pursuit on a grid with an l1 penalty (Croux, Filzmoser & Fritz 2013).

The number of nonzeros is no smooth function of its penalty, and often no penalty gives k.
"""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_tuned
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "R pcaPP `sPCAgrid`", "R: pcaPP", "a penalty"
FIT = "pcaPP::sPCAgrid(x, k = 1, method = 'sd', lambda = penalty, center = rep(0, ncol(x)))$loadings[, 1]"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    first = 3 * (problem.leading()[0] / problem.rows) ** 0.5
    return fit_tuned("pcaPP", FIT, problem, sparsity, first, effort)
