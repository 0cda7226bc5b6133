"""What theorems say about three algorithms before any of them has run.

Chowdhury, Drineas, Woodruff & Zhou, "Approximation Algorithms for Sparse Principal Component Analysis", have one for
each of their algorithms, and Papailiopoulos, Dimakis & Korokythakis (ICML 2013) one for low-rank approximation. Each
says that the objective is at least the optimum Z* less a loss. Z* is not known, but every statement grows with it: at
an objective that was reached it holds, and at a proved upper bound it says the most that the theorem can promise.

None of these is a certificate: they are about what an algorithm of exact arithmetic would return.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from certpca.operators.base import Operator
from certpca.runtime.arrays import to_vector
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.lateness import Late, never

ROW_BLOCK = 64  # columns of the matrix looked at together
ROWS_EXAMINED = 512  # rows whose length is computed before the others are bounded


def svd_guarantee(optimum: float, trace: float, epsilon: float) -> float:
    """Bound the objective of `spca-svd` from below: Z* − 3ε tr A, with up to `svd_width` loadings.

    Examples
    --------
    >>> svd_guarantee(4.0, 13.0, 0.1) > 0
    True
    """
    _check_epsilon(epsilon)
    return optimum - 3 * epsilon * trace


def svd_width(sparsity: int, epsilon: float) -> int:
    """Return how many nonzero loadings the theorem of `spca-svd` is about: ⌈1/ε⌉k/ε², which is k/ε³ where 1/ε is whole.

    Rows of ℓ orthonormal columns have squared norms that add up to ℓ = ⌈1/ε⌉, and each that is kept has ε²/k of it.

    Examples
    --------
    >>> svd_width(7, 0.9)
    17
    """
    _check_epsilon(epsilon)
    return math.floor(math.ceil(1 / epsilon) * sparsity / epsilon**2 * (1 + 1e-12))


def svd_guarantee_by_spectrum(optimum: float, spectrum: ArrayLike, epsilon: float) -> float:
    """Bound the objective of `spca-svd` by what its proof uses: Z* − σ_{ℓ+1} − (2ε + ε²) σ₁, ℓ = ⌈1/ε⌉.

    Never below `svd_guarantee`: since σ₁ + ℓσ_{ℓ+1} ≤ tr A, the loss is at most ε tr A + (ε + ε²)σ₁ ≤ 3ε tr A.

    Parameters
    ----------
    spectrum
        At least ℓ + 1 eigenvalues of the matrix (or all of them), largest first.
    """
    _check_epsilon(epsilon)
    count = math.ceil(1 / epsilon)
    values = np.asarray(spectrum, dtype=np.float64)
    if values.size == 0:
        msg = f"the guarantee needs the leading {count + 1} eigenvalues, got none"
        raise InvalidProblemError(msg)
    left_over = float(values[count]) if values.size > count else 0.0
    return optimum - left_over - (2 * epsilon + epsilon**2) * float(values[0])


def sdp_width(sparsity: int, beta: float, epsilon: float) -> int:
    """Return how many nonzero loadings the theorem of `spca-sdp` is about: ⌈9k²β²/ε²⌉.

    Examples
    --------
    >>> sdp_width(7, 1.0, 0.9)
    545
    """
    _check_epsilon(epsilon)
    return math.ceil(9 * (sparsity * beta / epsilon) ** 2)


def sdp_guarantee(optimum: float, alpha: float, epsilon: float, longest_row: float) -> float:
    """Bound the objective of `spca-sdp` from below: Z*/α − ε · (longest row of the matrix).

    The theorem takes rows of unit length; its proof gives this for any others. It is about `sdp_width` loadings, which
    is more than the sparsity; `sdp_guarantee_at` is about a number of loadings that is given.
    """
    _check_epsilon(epsilon)
    _check_alpha(alpha)
    return optimum / alpha - epsilon * longest_row


def sdp_guarantee_at(
    optimum: float, alpha: float, beta: float, sparsity: int, width: int, size: int, longest_row: float
) -> float:
    """Bound the objective of `spca-sdp` with `width` loadings kept: Z*/α − 3kβ/√width · (longest row).

    The proof's inequality with ε solved for; nothing is lost where every loading is kept.
    """
    _check_alpha(alpha)
    loss = 0.0 if width >= size else 3 * sparsity * beta / math.sqrt(width) * longest_row
    return optimum / alpha - loss


def low_rank_constant(spectrum: ArrayLike, rank: int, size: int, sparsity: int, largest_variance: float) -> float:
    """Return ε_d = min(n/k · λ_{d+1}/λ₁, λ_{d+1}/max A_ii) of the low-rank method."""
    values = np.asarray(spectrum, dtype=np.float64)
    left_over = float(values[rank]) if values.size > rank else 0.0
    if left_over <= 0:
        return 0.0
    return min(size / sparsity * left_over / float(values[0]), left_over / largest_variance)


def low_rank_guarantee(
    optimum: float, spectrum: ArrayLike, rank: int, size: int, sparsity: int, largest_variance: float
) -> float:
    """Bound the objective of `spca-lowrank` from below: (1 − ε_d) Z*, see `low_rank_constant`."""
    return (1 - low_rank_constant(spectrum, rank, size, sparsity, largest_variance)) * optimum


def low_rank_guarantee_by_spectrum(optimum: float, spectrum: ArrayLike, rank: int) -> float:
    """Bound the objective of `spca-lowrank` by what its proof uses: Z* − λ_{d+1}."""
    values = np.asarray(spectrum, dtype=np.float64)
    return optimum - (float(values[rank]) if values.size > rank else 0.0)


def longest_row(
    operator: Operator, largest_eigenvalue: float, *, examined: int = ROWS_EXAMINED, late: Late = never
) -> float:
    """Bound the Euclidean length of every row of a matrix, tightly where few rows can be the longest.

    Row i is no longer than √(A_ii λ₁), since A² ⪯ λ₁A. Rows are measured in the order of that bound until the
    longest so far exceeds what is left, until so many were `examined`, or until it is late.
    """
    reach = np.sqrt(np.maximum(to_vector(operator.diagonal()), 0.0) * largest_eigenvalue)
    order = np.argsort(-reach, kind="stable")
    longest, seen = 0.0, 0
    while seen < order.size and longest < reach[order[seen]]:
        if seen >= examined or late():
            return max(longest, float(reach[order[seen]]))
        columns = to_vector(operator.columns(order[seen : seen + ROW_BLOCK]))
        longest, seen = max(longest, float(np.linalg.norm(columns, axis=0).max())), seen + ROW_BLOCK
    return longest


def _check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon <= 1:
        msg = f"epsilon must lie in (0, 1], got {epsilon}"
        raise InvalidProblemError(msg)


def _check_alpha(alpha: float) -> None:
    if not alpha >= 1:
        msg = f"alpha is at least one (it compares a relaxation with a part of it), got {alpha}"
        raise InvalidProblemError(msg)
