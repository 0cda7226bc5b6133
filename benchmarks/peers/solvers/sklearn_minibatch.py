"""scikit-learn's MiniBatchSparsePCA.

Batches of 100: with the default of 3 the genotypes end with one nonzero loading or with thousands.
"""

import numpy as np
from benchmarks.peers.objective import Matrix
from benchmarks.peers.timing import Answer, tuned


def solve(data: Matrix, sparsity: int, patience: float) -> Answer:
    from sklearn.decomposition import MiniBatchSparsePCA

    def fit(penalty: float) -> Matrix:
        model = MiniBatchSparsePCA(1, alpha=penalty, method="cd", batch_size=100, random_state=0)
        return np.asarray(model.fit(data).components_[0])

    return tuned(fit, data, sparsity, patience)
