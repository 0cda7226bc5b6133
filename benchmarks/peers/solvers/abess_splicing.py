"""abess' SparsePCA.

With fewer rows than columns abess returns a vector of ones without a word; rows of zeros change
no direction and no comparison, so they are added.
"""

import numpy as np
from benchmarks.peers.objective import Matrix
from benchmarks.peers.timing import Answer, timed


def solve(data: Matrix, sparsity: int, _patience: float) -> Answer:
    from abess.decomposition import SparsePCA

    rows, size = data.shape
    padded = data if rows > size else np.vstack([data, np.zeros((size + 1 - rows, size), dtype=data.dtype)])
    return timed(lambda: np.asarray(SparsePCA(support_size=sparsity).fit(padded).coef_).ravel())
