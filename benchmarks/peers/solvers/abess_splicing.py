"""abess' SparsePCA, best subset selection by splicing.

With fewer rows than columns abess returns a vector of ones without a word; rows of zeros change
no direction and no comparison, so they are added. It forms the n × n matrix.
"""

import numpy as np
from benchmarks.peers.problem import Problem
from benchmarks.peers.timing import Answer, Effort, timed

LABEL, PACKAGE, ASKS = "abess", "abess", "k"


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    from abess.decomposition import SparsePCA

    data = problem.dense()
    rows, size = data.shape
    padded = data if rows > size else np.vstack([data, np.zeros((size + 1 - rows, size), dtype=data.dtype)])
    return timed(lambda: np.asarray(SparsePCA(support_size=sparsity).fit(padded).coef_).ravel(), effort)
