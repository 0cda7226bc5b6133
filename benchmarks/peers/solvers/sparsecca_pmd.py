"""sparsecca's pmd: the penalised matrix decomposition of Witten, Tibshirani & Hastie (R's PMA) in Python.

Only the right vector is penalised, which is their sparse PCA. It computes a full singular value
decomposition, n × n vectors included, before the first step.
"""

import numpy as np
from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import Answer, Effort, tuned

LABEL, PACKAGE, ASKS = "sparsecca `pmd`", "sparsecca", "a penalty"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    from sparsecca import pmd

    data = problem.dense()
    least = problem.size**-0.5

    def fit(penalty: float) -> Matrix:
        share = float(np.clip(1 / penalty, least, 1.0))  # of √n, the largest sum of absolute loadings
        return np.asarray(pmd(data, penaltyu=1.0, penaltyv=share, K=1, standardize=False)[1]).ravel()

    return tuned(fit, 1.2 * (problem.size / sparsity) ** 0.5, sparsity, effort)
