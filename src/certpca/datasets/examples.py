"""Embedded data and generators: nothing to download."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certpca.intake import from_matrix
from certpca.operators import Operator
from certpca.runtime.arrays import Vector
from certpca.runtime.errors import InvalidProblemError

PITPROPS_NAMES = (
    "topdiam",
    "length",
    "moist",
    "testsg",
    "ovensg",
    "ringtop",
    "ringbut",
    "bowmax",
    "bowdist",
    "whorls",
    "clear",
    "knots",
    "diaknot",
)

# Correlations below the diagonal, row by row (Jeffers, "Two case studies in the application of
# principal component analysis", Applied Statistics 16, 1967; 180 pit props of Corsican pine).
_PITPROPS = """
    0.954
    0.364 0.297
    0.342 0.284 0.882
    -0.129 -0.118 -0.148 0.220
    0.313 0.291 0.153 0.381 0.364
    0.496 0.503 -0.029 0.174 0.296 0.813
    0.424 0.419 -0.054 -0.059 0.004 0.090 0.372
    0.592 0.648 0.125 0.137 -0.039 0.211 0.465 0.482
    0.545 0.569 -0.081 -0.014 0.037 0.274 0.679 0.557 0.526
    0.084 0.076 0.162 0.097 -0.091 -0.036 -0.113 0.061 0.085 -0.319
    -0.019 -0.036 0.220 0.169 -0.145 0.024 -0.232 -0.357 -0.127 -0.368 0.029
    0.134 0.144 0.126 0.015 -0.208 -0.329 -0.424 -0.202 -0.076 -0.291 0.007 0.184
"""


def pitprops_matrix() -> Vector:
    """Return the 13 x 13 correlation matrix of the pit props."""
    size = len(PITPROPS_NAMES)
    matrix = np.eye(size)
    matrix[np.tril_indices(size, -1)] = np.array(_PITPROPS.split(), dtype=np.float64)
    return matrix + np.tril(matrix, -1).T


def pitprops() -> Operator:
    """Return the pit props correlation matrix with its names, ready to solve.

    Returns
    -------
    Operator
        13 x 13.

    See Also
    --------
    balding_nichols, rotated_hadamard : Larger data, made by a generator.

    Examples
    --------
    >>> import certpca
    >>> certpca.pitprops().size
    13
    """
    return from_matrix(pitprops_matrix(), names=PITPROPS_NAMES)


@dataclass(frozen=True, slots=True, eq=False)
class RotatedHadamard:
    """Synthetic data and the vectors behind them.

    Parameters
    ----------
    data : ndarray
        Samples x features.
    component : ndarray
        The leading right singular vector before noise, a column of V.
    unrotated : ndarray
        The same column of Ṽ.

    See Also
    --------
    rotated_hadamard : What returns it.

    Examples
    --------
    >>> import certpca
    >>> certpca.rotated_hadamard(3, 5).component.shape
    (32,)
    """

    data: Vector
    component: Vector
    unrotated: Vector


def rotated_hadamard(
    log_samples: int = 7,
    log_features: int = 12,
    *,
    noise: float = 1e-3,
    angle: float = 0.27 * np.pi,
    rng: int | np.random.Generator = 0,
) -> RotatedHadamard:
    """Make the paper's synthetic data: X = UΣVᵀ + noise with Hadamard U and rotated Hadamard V.

    U is a normalised Hadamard matrix of order m = 2^log_samples, Σ has 100 and e^(-i) for
    i = 2..m on its diagonal, and V = G(θ)Ṽ with Ṽ a normalised Hadamard matrix of order
    n = 2^log_features and G a product of n/4 Givens rotations of neighbouring rows
    in the lower half (Chowdhury et al., appendix, after Fountoulakis et al. 2017). The leading left
    singular vector is constant, so the data must be used uncentred (``center=False``):
    centring would erase the component.

    Parameters
    ----------
    log_samples : int
        The number of samples is two to this.
    log_features : int
        The number of features is two to this.
    noise : float
        Standard deviation of what is added to each entry.
    angle : float
        The angle θ of the rotations.
    rng : int or numpy.random.Generator
        Seed or generator of the noise.

    Returns
    -------
    RotatedHadamard
        The data, and the vectors behind them.

    Raises
    ------
    InvalidProblemError
        Where there are no such matrices.

    See Also
    --------
    balding_nichols : Simulated genotypes.

    Examples
    --------
    >>> import certpca
    >>> certpca.rotated_hadamard(4, 6).data.shape
    (16, 64)
    """
    if not 1 <= log_samples <= log_features or log_features < 2:
        msg = f"need 1 <= log_samples <= log_features and log_features >= 2, got {log_samples} and {log_features}"
        raise InvalidProblemError(msg)
    samples, features = 1 << log_samples, 1 << log_features
    left = _hadamard_columns(samples, samples) / np.sqrt(samples)
    unrotated = _hadamard_columns(features, samples) / np.sqrt(features)
    first = features // 2 + 2 * np.arange(features // 4)  # rows i, i + 1 of the rotations, from 0
    cosine, sine = np.cos(angle), np.sin(angle)
    right = unrotated.copy()
    right[first] = cosine * unrotated[first] - sine * unrotated[first + 1]
    right[first + 1] = sine * unrotated[first] + cosine * unrotated[first + 1]
    values = np.exp(-np.arange(1.0, samples + 1.0))
    values[0] = 100.0
    generator = np.random.default_rng(rng)
    data = (left * values) @ right.T + noise * generator.standard_normal((samples, features))
    return RotatedHadamard(data, right[:, 0].copy(), unrotated[:, 0].copy())


def _hadamard_columns(order: int, count: int) -> Vector:
    """Return the first columns of the Sylvester-Hadamard matrix: entry (i, j) is (-1)^popcount(i & j)."""
    bits = np.arange(order)[:, None] & np.arange(count)[None, :]
    return np.asarray(1.0 - 2.0 * (np.bitwise_count(bits) % 2))


@dataclass(frozen=True, slots=True, eq=False)
class Genotypes:
    """Simulated genotypes.

    Parameters
    ----------
    data : ndarray of int8
        Minor-allele counts, samples x variants; -9 where missing.
    population : ndarray of int
        Of each sample.

    See Also
    --------
    balding_nichols : What returns it.

    Examples
    --------
    >>> import certpca
    >>> certpca.balding_nichols(6, 4, populations=2).population.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    data: NDArray[np.int8]
    population: NDArray[np.intp]


def balding_nichols(
    samples: int = 300,
    variants: int = 2000,
    *,
    populations: int = 3,
    fst: float = 0.1,
    missing: float = 0.0,
    rng: int | np.random.Generator = 0,
) -> Genotypes:
    """Draw genotypes from the Balding-Nichols model of diverged populations.

    Each variant has an ancestral frequency p uniform in (0.05, 0.5); in each population its
    frequency is Beta(p(1-F)/F, (1-p)(1-F)/F), and genotypes are binomial (0, 1, 2).

    Parameters
    ----------
    samples : int
        Number of samples, which are dealt to populations evenly.
    variants : int
        Number of variants.
    populations : int
        Number of populations.
    fst : float
        Divergence F in (0, 1).
    missing : float
        Share of genotypes replaced by -9.
    rng : int or numpy.random.Generator
        Seed or generator.

    Returns
    -------
    Genotypes
        The genotypes, and the population of each sample.

    Raises
    ------
    InvalidProblemError
        Where a number is out of its range.

    See Also
    --------
    write_plink : Write genotypes to PLINK files.
    rotated_hadamard : The paper's synthetic data.

    Examples
    --------
    >>> import certpca
    >>> certpca.balding_nichols(30, 50).data.dtype.name
    'int8'
    """
    if min(samples, variants, populations) < 1 or not 0 < fst < 1 or not 0 <= missing < 1:
        msg = "need positive counts, 0 < fst < 1 and 0 <= missing < 1"
        raise InvalidProblemError(msg)
    generator = np.random.default_rng(rng)
    ancestral = generator.uniform(0.05, 0.5, size=variants)
    spread = (1 - fst) / fst
    frequency = generator.beta(ancestral * spread, (1 - ancestral) * spread, size=(populations, variants))
    population = np.sort(np.arange(samples) % populations)
    data = np.empty((samples, variants), dtype=np.int8)
    for row, home in enumerate(population):
        data[row] = generator.binomial(2, frequency[home])
    if missing > 0:
        data[generator.random(data.shape) < missing] = -9
    return Genotypes(data, population)
