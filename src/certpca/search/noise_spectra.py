"""Eigenvalues that noise alone would have.

With m ≤ n the two sides of a table of independent noise of variance σ², the m eigenvalues of its second moment, divided
by n, are spread between σ²(1 − √β)² and σ²(1 + √β)², β = m / n, by the law of Marchenko & Pastur (1967).
"""

import math
from typing import Any

import numpy as np

from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Vector

ANGLES = 20_001  # points of an integral
RARE = 0.9793  # what the Tracy-Widom law of order 1 exceeds with a probability of 5 %


def median_of_noise(ratio: float) -> float:
    """Return the median of the law of Marchenko & Pastur for unit variance and a ratio of sides in (0, 1].

    Examples
    --------
    >>> round(median_of_noise(1.0), 3), round(median_of_noise(1e-6), 3)
    (0.653, 1.0)
    """
    angle = np.linspace(0.0, math.pi, ANGLES)
    reach = 2 * math.sqrt(ratio)
    value = 1 + ratio - reach * np.cos(angle)
    with np.errstate(divide="ignore", invalid="ignore"):
        density = (reach * np.sin(angle)) ** 2 / (2 * math.pi * ratio * value)
    density = np.where(value > 0, density, reach * (1 + np.cos(angle)) / (2 * math.pi * ratio))
    share = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return float(np.interp(0.5, share / share[-1], value))


def edge_of_noise(small: int, large: int) -> float:
    """Return what the largest eigenvalue of unit noise exceeds with a probability of about 5 %.

    The upper end of the law, and room for the fluctuation about it (Johnstone, Annals of Statistics 29, 2001).

    Examples
    --------
    >>> round(edge_of_noise(100, 100) / 4, 2)  # the end of the law is 4
    1.02
    """
    other = math.sqrt(max(large - 1, 1))
    sides = other + math.sqrt(small)
    spread = sides * (1 / other + 1 / math.sqrt(small)) ** (1 / 3)
    return float((sides**2 + RARE * spread) / large)


def threshold_of_singular_values(ratio: float) -> float:
    """Return the best hard threshold for singular values, in units of the median one.

    For unknown noise, by Gavish & Donoho (IEEE Transactions on Information Theory 60, 2014).

    Examples
    --------
    >>> round(threshold_of_singular_values(1.0), 3)
    2.858
    """
    known = math.sqrt(2 * (ratio + 1) + 8 * ratio / (ratio + 1 + math.sqrt(ratio**2 + 14 * ratio + 1)))
    return known / math.sqrt(median_of_noise(ratio))


def permuted(values: Any, rng: np.random.Generator) -> Any:
    """Put the values of every column in an order of its own: all that is left of correlation is chance."""
    if not is_sparse(values):
        return rng.permuted(np.asarray(values), axis=0)
    mixed = values.tocsc(copy=True)
    for start, end in zip(mixed.indptr[:-1], mixed.indptr[1:], strict=True):
        mixed.indices[start:end] = np.sort(rng.choice(mixed.shape[0], end - start, replace=False))
    return mixed


def noise_with_variances(rows: int, variances: Vector, rng: np.random.Generator) -> Vector:
    """Return normal noise whose columns are centred and have just these variances."""
    noise = rng.standard_normal((rows, variances.size))
    noise -= noise.mean(axis=0)
    return np.asarray(noise * np.sqrt(variances / noise.var(axis=0, ddof=1)))
