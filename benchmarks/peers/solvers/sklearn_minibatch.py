"""scikit-learn's MiniBatchSparsePCA.

Batches of 100: with the default of 3 the genotypes end with one nonzero loading or with thousands.
"""

import numpy as np
from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import Answer, Effort, soft_threshold, tuned

LABEL, PACKAGE, ASKS = "scikit-learn `MiniBatchSparsePCA`", "scikit-learn", "a penalty"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    from sklearn.decomposition import MiniBatchSparsePCA

    data = problem.dense()

    def fit(penalty: float) -> Matrix:
        model = MiniBatchSparsePCA(1, alpha=penalty, method="cd", batch_size=100, random_state=0)
        return np.asarray(model.fit(data).components_[0])

    return tuned(fit, soft_threshold(problem, sparsity)[1], sparsity, effort)
