"""The Python package sparsepca: alternating manifold proximal gradient (Chen, Ma, Xue & Zou 2020), with λ₂ = ∞.

Started at the leading singular vector: left alone it starts at the first column of Vᵀ where the first of V is meant.
It computes a full singular value decomposition, n × n vectors included, before the first step. Its tolerance
is absolute, so data are scaled to λ₁ = 1.
"""

import numpy as np
from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import Answer, Effort, soft_threshold, tuned

LABEL, PACKAGE, ASKS = "sparsepca (AManPG)", "sparsepca", "a penalty"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    from sparsepca import spca

    largest, threshold = soft_threshold(problem, sparsity)
    data = problem.dense() / np.float32(np.sqrt(largest))
    start = (problem.leading()[1] / np.sqrt(largest)).reshape(-1, 1)

    def fit(penalty: float) -> Matrix:
        weights = np.full((1, 1), penalty)
        found = spca(data, weights, np.inf, x0=start, y0=start, k=1, normalize=False)
        return np.asarray(found["loadings"]).ravel()

    # Its step halves the penalty, and XᵀXv is Xᵀu where λ₁ = 1.
    return tuned(fit, 2 * threshold / np.sqrt(largest), sparsity, effort)
