"""R's elasticnet::spca (Zou, Hastie & Tibshirani 2006), asked for a number of variables."""

from benchmarks.peers.problem import Problem
from benchmarks.peers.r_process import fit_directly
from benchmarks.peers.timing import Answer, Effort

LABEL, PACKAGE, ASKS = "R elasticnet `spca`", "R: elasticnet", "k"
FIT = "elasticnet::spca(x, K = 1, para = sparsity, type = 'predictor', sparse = 'varnum')$loadings[, 1]"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    return fit_directly("elasticnet", FIT, problem, sparsity, effort)
