"""Eigenvalues of many small matrices at a time, and features found among sorted ones."""

import itertools
from collections.abc import Iterator

import numpy as np

from certpca.checker.numbers import Indices, Vector, gamma, largest_eigenvalue, require


def places_in(own: Indices, features: Indices) -> Indices:
    """Return where features are among sorted ones."""
    place = np.searchsorted(own, features)
    there = bool((place < own.size).all()) and bool((own[np.minimum(place, own.size - 1)] == features).all())
    require(there, "numbers for a node do not cover its features")
    return place


def batches_of(supports: Iterator[tuple[int, ...]], width: int) -> Iterator[list[tuple[int, ...]]]:
    """Cut a long list into short ones."""
    while batch := list(itertools.islice(supports, width)):
        yield batch


def largest_of_many(matrices: Vector) -> float:
    """Bound the largest eigenvalue of many matrices, by Cholesky factorisations as `largest_eigenvalue` does."""
    size = matrices.shape[1]
    require(bool(np.isfinite(matrices).all()), "its numbers overflow")
    if not matrices.any():
        return 0.0
    values = np.linalg.eigvalsh(matrices)
    level = float(values[:, -1].max())
    span = max(float(np.abs(values).max()), float(np.finfo(float).tiny))
    level += 16 * gamma(size + 8) * span
    shifted = -matrices
    shifted[:, np.arange(size), np.arange(size)] += level
    try:
        finished = bool(np.isfinite(np.linalg.cholesky(shifted)).all())
    except np.linalg.LinAlgError:
        finished = False
    if not finished:
        return max(largest_eigenvalue(matrix) for matrix in matrices)
    diagonals = np.abs(shifted[:, np.arange(size), np.arange(size)]).sum(axis=1)
    return level + gamma(size + 8) * 2 * float(diagonals.max()) + gamma(2) * (abs(level) + span)
