"""The variance that stored loadings capture, rounded down."""

from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import Indices, Vector, gamma, require


def captured(prepared: Prepared, support: Any, loadings: Any, sparsity: int) -> float:
    """Variance captured by loadings after dividing by their length, rounded down."""
    support, loadings = np.asarray(support), np.asarray(loadings, dtype=np.float64)
    if support.size == 0:
        require(support.shape == loadings.shape, "its loadings do not match its support")
        # Nothing captures nothing; where that exceeds every single feature, it is no component.
        single = (prepared.form(np.array([feature]), np.ones(1))[0] for feature in range(prepared.size))
        require(prepared.never_negative or any(value >= 0 for value in single), "it has no loadings")
        return 0.0
    support, loadings = loadings_of(support, loadings, sparsity, prepared.size)
    value, doubt = prepared.form(support, loadings)
    share = (value - doubt) / float(loadings @ loadings)
    share -= gamma(support.size + 16) * abs(share)
    # What data capture is never negative. A matrix that is given need not be semidefinite: there it is what it is.
    return max(0.0, share) if prepared.never_negative else share


def loadings_of(support: Any, loadings: Any, sparsity: int, size: int) -> tuple[Indices, Vector]:
    """Return a support and loadings, the largest of which is one, or refuse what is no such thing."""
    support, loadings = np.asarray(support), np.asarray(loadings, dtype=np.float64)
    require(support.ndim == 1 and support.shape == loadings.shape, "its loadings do not match its support")
    require(support.dtype.kind in "iu" and support.size > 0, "its support is not a list of indices")
    require(support.size <= sparsity, "its support is wider than its sparsity")
    require(bool((support[1:] > support[:-1]).all()), "its support is not sorted")  # differences of uint wrap around
    require(bool(support[0] >= 0 and support[-1] < size), "its support is out of range")
    require(bool(np.isfinite(loadings).all()) and bool(loadings.any()), "its loadings are not numbers")
    return support.astype(np.intp), loadings / np.abs(loadings).max()
