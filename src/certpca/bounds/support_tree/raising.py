"""Which entries of a matrix to raise where no loading may be negative: xᵀAx ≤ xᵀ(A + N)x for x ≥ 0 and any N ≥ 0.

Negative entries become zero, which separates features that oppose each other. On the features T of the best loadings x
known nothing is raised, so that the bound can come down to what these capture. Where T has fewer features than there
may be, others must not help: if (Ax)_j ≤ 0, row j is raised on T by a multiple of x that makes ((A + N)x)_j zero, which
is what optimality asks for.
"""

import numpy as np

from certpca.runtime.arrays import Indices, Vector


def raised_for(matrix: Vector, support: Indices, loadings: Vector, sparsity: int) -> Vector:
    """Return N in single precision, as it is stored."""
    raised = np.maximum(-matrix, 0.0)
    np.fill_diagonal(raised, 0.0)
    used = support[loadings > 0]
    if 0 < used.size < sparsity:
        x = loadings[loadings > 0] / np.linalg.norm(loadings)
        missing = -(matrix[:, used] @ x)
        rows = np.setdiff1d(np.flatnonzero(missing > 0), used)
        raised[np.ix_(rows, used)] = np.outer(missing[rows], x)
        raised[np.ix_(used, rows)] = raised[np.ix_(rows, used)].T
    raised[np.ix_(used, used)] = 0.0
    return np.asarray(raised.astype(np.float32), dtype=np.float64)
