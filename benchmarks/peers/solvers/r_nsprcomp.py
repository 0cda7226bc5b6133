"""R's nsprcomp, expectation maximisation with k loadings kept (Sigg & Buhmann 2008)."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_directly
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "R nsprcomp", "R: nsprcomp", "k"
FIT = "nsprcomp::nsprcomp(x, ncomp = 1, k = sparsity, center = FALSE, scale. = FALSE)$rotation[, 1]"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return fit_directly("nsprcomp", FIT, problem, sparsity, effort)
