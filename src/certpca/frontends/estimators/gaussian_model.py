"""The normal distribution that components stand for: free in the space they span, and equal noise everywhere else.

With Q an orthonormal basis of that space and S = QᵀAQ, the covariance of standardised samples is QSQᵀ + σ²(I − QQᵀ),
and σ² is the mean variance in all other directions: the most likely one of this form. Where components are eigenvectors
it is that of probabilistic PCA (Tipping & Bishop, Journal of the Royal Statistical Society B 61, 1999).
"""

import math
from dataclasses import dataclass

import numpy as np

from certpca.operators import Operator
from certpca.runtime.arrays import Vector, to_vector
from certpca.runtime.errors import InvalidProblemError

DEPENDENT = 1e-10  # share of the largest singular value below which components span nothing more


@dataclass(frozen=True, slots=True, eq=False)
class GaussianModel:
    """A normal distribution of standardised samples.

    Parameters
    ----------
    basis
        Q, over all features.
    inner
        S.
    noise
        σ².
    """

    basis: Vector
    inner: Vector
    noise: float

    def covariance(self, scale: Vector) -> Vector:
        """Return the covariance of samples in the units of the data."""
        size = self.basis.shape[0]
        rest = self.inner - self.noise * np.eye(self.inner.shape[0])
        matrix = self.basis @ rest @ self.basis.T + self.noise * np.eye(size)
        return np.asarray(matrix * scale[:, None] * scale)

    def log_density(self, standardised: Vector, scale: Vector) -> Vector:
        """Return the logarithm of the density of samples, given as they are standardised."""
        size, rank = self.basis.shape
        values, vectors = np.linalg.eigh(self.inner)
        flat = values[0] <= DEPENDENT * values[-1] or (size > rank and self.noise <= DEPENDENT * values[-1])
        if flat:
            msg = "the components explain all of the variance, or some of them nothing: there is no density to score"
            raise InvalidProblemError(msg)
        inside = standardised @ self.basis
        squares = ((inside @ vectors) ** 2 / values).sum(axis=1)
        volume = float(np.log(values).sum()) + 2 * float(np.log(scale).sum())
        if size > rank:
            beyond = standardised - inside @ self.basis.T
            squares = squares + (beyond**2).sum(axis=1) / self.noise
            volume += (size - rank) * math.log(self.noise)
        return np.asarray(-0.5 * (squares + volume + size * math.log(2 * math.pi)))


def gaussian_model(operator: Operator, components: Vector) -> tuple[GaussianModel, Vector]:
    """Return the model of components as rows, and the covariance of their scores.

    Parameters
    ----------
    operator
        The matrix A.
    components
        A row for each.
    """
    vectors, lengths, _ = np.linalg.svd(components.T, full_matrices=False)
    basis = vectors[:, lengths > DEPENDENT * lengths[0]]
    both = np.concatenate([basis, components.T], axis=1)
    panel = operator.xp.asarray(both, dtype=operator.xp.float64, device=operator.device)
    images = to_vector(operator.matmat(panel))
    rank = basis.shape[1]
    inner, scores = basis.T @ images[:, :rank], components @ images[:, rank:]
    size = basis.shape[0]
    noise = max(operator.trace() - float(np.trace(inner)), 0.0) / (size - rank) if size > rank else 0.0
    return GaussianModel(basis, (inner + inner.T) / 2, noise), (scores + scores.T) / 2


def root(matrix: Vector, power: float) -> Vector:
    """Return a power of a symmetric matrix on the space where it is not zero."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > DEPENDENT * values[-1]
    return np.asarray((vectors[:, kept] * values[kept] ** power) @ vectors[:, kept].T)
