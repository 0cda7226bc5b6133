"""Largest eigenvalues and norms of the dual's dense matrices, on whatever device holds them."""

from typing import Any

import numpy as np

from certpca.runtime.arrays import Array, device_of
from certpca.search.krylov import ends_of_spectrum

SMALL_DEPTH = 300  # up to here eigenvalues cost less than the calls that would avoid them


def diagonal_matrix(xp: Any, entries: Array) -> Array:
    """Put entries on a diagonal."""
    return xp.eye(entries.shape[0], dtype=entries.dtype, device=device_of(entries)) * entries[None, :]


def spectral_norm(xp: Any, matrix: Array, steps: int = 15) -> float:
    """Estimate the norm of a symmetric matrix in a Krylov space."""
    low, high = ends_of_spectrum(xp, matrix, steps)
    return max(-low, high)


def largest_eigenvalue(xp: Any, matrix: Array, relative: float = 1e-6) -> float:
    """Return λ_max, or slightly more: a Ritz value raised until a Cholesky factorisation succeeds."""
    depth = matrix.shape[0]
    if depth <= SMALL_DEPTH:
        return float(xp.linalg.eigvalsh(matrix)[-1])
    top = ends_of_spectrum(xp, matrix, 25)[1]
    size = abs(top) + 1e-300
    one = xp.eye(depth, dtype=matrix.dtype, device=device_of(matrix))
    while not _is_positive_definite(xp, (top + relative * size) * one - matrix):
        relative *= 3
    return top + relative * size


def _is_positive_definite(xp: Any, matrix: Array) -> bool:
    if isinstance(matrix, np.ndarray):
        from scipy.linalg.lapack import dpotrf

        return bool(dpotrf(matrix, lower=1, overwrite_a=1, clean=0)[1] == 0)
    try:
        factor = xp.linalg.cholesky(matrix)
    except (RuntimeError, ValueError, np.linalg.LinAlgError):  # libraries differ in what they raise
        return False
    return bool(xp.all(xp.isfinite(xp.linalg.diagonal(factor))))
