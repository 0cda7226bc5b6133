"""R's PMA::SPC, the penalised matrix decomposition (Witten, Tibshirani & Hastie 2009)."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_tuned
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "R PMA `SPC`", "R: PMA", "a penalty"
FIT = "PMA::SPC(x, sumabsv = min(max(1 / penalty, 1), sqrt(ncol(x))), K = 1, center = FALSE, trace = FALSE)$v[, 1]"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    first = 1.2 * sparsity**-0.5
    return fit_tuned("PMA", FIT, problem, sparsity, first, effort)
