"""Roundings: how much to allow for them, and eigenvalues that are proved."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.results.errors import CertificateError

Vector = NDArray[np.float64]  # also matrices
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

UNIT = 2.0**-53
# What products too small for normal numbers lose, all together, relative to a largest entry between one half and one:
# see the docstring of `check`.
UNDERFLOW = 2.0**-500
SMALLEST_DIVISOR = 2.0**-800  # of anything whose error counts


def require(condition: bool, why: str) -> None:
    """Refuse the certificate unless a condition holds."""
    if not condition:
        msg = f"the certificate is refused: {why}"
        raise CertificateError(msg)


def gamma(count: float) -> float:
    """Bound the relative error of `count` roundings."""
    return count * UNIT / (1 - count * UNIT)


def array_of(evidence: Mapping[str, Any], name: str, axes: int) -> Vector:
    """Read an array of finite numbers from the evidence."""
    require(name in evidence, f"its evidence lacks {name!r}")
    values = np.asarray(evidence[name])
    require(values.dtype.kind == "f" and values.ndim == axes, f"{name!r} in its evidence has the wrong form")
    values = values.astype(np.float64)  # first: numbers of wider types can overflow here
    require(bool(np.isfinite(values).all()), f"{name!r} in its evidence is not finite")
    return values


def indices_of(evidence: Mapping[str, Any], name: str, size: int) -> Indices:
    """Read a sorted list of different indices below `size` from the evidence."""
    require(name in evidence, f"its evidence lacks {name!r}")
    values = np.asarray(evidence[name])
    require(values.dtype.kind in "iu" and values.ndim == 1 and values.size > 0, f"{name!r} is not a list of indices")
    require(bool((values[1:] > values[:-1]).all()), f"{name!r} is not sorted")  # differences of uint wrap around
    require(bool(values[0] >= 0 and values[-1] < size), f"{name!r} is out of range")
    return values.astype(np.intp)


def largest_sum(values: Vector, count: int) -> Vector:
    """Sum the largest entries along the last axis."""
    size = values.shape[-1]
    if count <= 0:
        return np.zeros(values.shape[:-1])
    if count >= size:
        return np.asarray(values.sum(axis=-1))
    return np.asarray(np.partition(values, size - count, axis=-1)[..., size - count :].sum(axis=-1))


def largest_eigenvalue(
    matrix: Vector, doubt: float = 0.0, suggestion: float | None = None, *, spare: bool = False
) -> float:
    """Bound λ_max of an exact symmetric matrix that differs from this one by at most `doubt` in norm.

    If the Cholesky factorisation of τI − G runs to its end in floating point, then τI − G + Δ is positive
    semidefinite with ‖Δ‖ ≤ γ_{d+1}/(1 − γ_{d+1}) tr(τI − G) (Higham, theorem 10.3; Rump, Verification of positive
    definiteness, BIT 46, 2006), so λ_max(G) ≤ τ + ‖Δ‖. An eigenvalue routine only suggests τ, and for large matrices
    a suggestion saves its time. A matrix to `spare` is not there any more afterwards, which saves the memory of one.
    """
    size = matrix.shape[0]
    require(bool(np.isfinite(matrix).all()), "its numbers overflow")
    if not matrix.any():
        return doubt
    span_only = suggestion is not None
    if suggestion is None:
        values = np.linalg.eigvalsh(matrix)
        require(bool(np.isfinite(values).all()), "its numbers overflow")
        suggestion, span = float(values[-1]), float(np.abs(values).max())
    else:
        span = max(abs(suggestion), float(np.abs(np.diagonal(matrix)).max()))
    span = max(span, float(np.finfo(float).tiny))
    margin = 4 * gamma(size + 8)
    shifted = np.negative(matrix, out=matrix if spare else None)
    own = np.diagonal(shifted).copy()
    for _ in range(60):
        level = suggestion + margin * span
        shifted[np.diag_indices(size)] = own + level
        try:
            finished = bool(np.isfinite(np.linalg.cholesky(shifted)).all())  # LAPACK may run on with NaN
        except np.linalg.LinAlgError:
            finished = False
        if not finished:
            margin *= 2
            continue
        rounding = gamma(size + 8) * 2 * float(np.abs(np.diagonal(shifted)).sum()) + gamma(2) * (abs(level) + span)
        return level + rounding + doubt
    if span_only:  # the suggestion was useless
        shifted[np.diag_indices(size)] = own
        return largest_eigenvalue(-shifted, doubt)
    require(False, "the largest eigenvalue could not be bounded")
    return math.inf
