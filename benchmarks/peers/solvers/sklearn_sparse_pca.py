"""scikit-learn's SparsePCA by coordinate descent, several times faster here than its default `lars`."""

import numpy as np
from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import Answer, Effort, soft_threshold, tuned

LABEL, PACKAGE, ASKS = "scikit-learn `SparsePCA`", "scikit-learn", "a penalty"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    from sklearn.decomposition import SparsePCA

    data = problem.dense()

    def fit(penalty: float) -> Matrix:
        return np.asarray(SparsePCA(1, alpha=penalty, method="cd", random_state=0).fit(data).components_[0])

    return tuned(fit, soft_threshold(problem, sparsity)[1], sparsity, effort)
