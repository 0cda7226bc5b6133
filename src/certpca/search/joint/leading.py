"""The leading eigenvectors of a matrix in memory."""

import numpy as np

from certpca.runtime.arrays import Vector

TINY = 64  # order up to which all eigenvectors cost no more than a few
FEW, LARGE = 20, 128  # times as many rows as eigenvectors, and rows, from which a Krylov method is quicker


def leading_pairs(matrix: Vector, count: int) -> tuple[Vector, Vector]:
    """Return the largest eigenvalues, the largest first, and their vectors; fewer where the matrix has no more."""
    size = matrix.shape[0]
    count = min(count, size)
    values: Vector = np.empty(0)
    if size >= max(LARGE, FEW * count):
        values, vectors = _by_arpack(matrix, count)
    elif size > TINY:
        from scipy.linalg import eigh

        values, vectors = eigh(matrix, subset_by_index=[size - count, size - 1])
    if values.size < count:  # neither finds all of several equal eigenvalues every time
        values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:count].copy(), vectors[:, ::-1][:, :count].copy()


def _by_arpack(matrix: Vector, count: int) -> tuple[Vector, Vector]:
    """Return the pairs, ascending, or none where the method fails."""
    from scipy.sparse.linalg import ArpackError, eigsh

    # Not a vector of ones, to which that of the largest eigenvalue can be orthogonal.
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    try:
        values, vectors = eigsh(matrix, k=count, v0=start)
    except ArpackError:
        return np.empty(0), np.empty((0, 0))
    return values, vectors
