"""The largest eigenvalue of a matrix that is larger than those of supports, up to a doubt."""

import math
from typing import NamedTuple

import numpy as np

from certpca.checker.numbers import Vector, largest_eigenvalue

EXACT_UP_TO = 400  # order up to which all eigenvalues are computed to suggest the largest
LANCZOS_STEPS = 120
EXHAUSTED = 1e-13  # of an image: what is left of it after orthogonalisation is no new direction
CLOSE = 1e-8  # relative residual at which the suggestion of an eigenvalue is good enough


class Leading(NamedTuple):
    """What Lanczos's method suggests: a value a little above λ₁, one that λ₂ exceeds, and a vector near the first.

    `residual` is what that vector misses of an eigenvector. No proof may rest on any of them.
    """

    largest: float
    second: float
    vector: Vector
    residual: float


def largest_of(matrix: Vector, doubt: float) -> float:
    """Bound λ_max of a matrix up to a doubt; Lanczos's method suggests it where all eigenvalues would take long."""
    if matrix.shape[0] <= EXACT_UP_TO:
        return largest_eigenvalue(matrix, doubt)
    return largest_eigenvalue(matrix, doubt, suggestion=about_largest(matrix).largest)


def about_largest(matrix: Vector) -> Leading:
    """Look for the largest eigenvalue by Lanczos's method."""
    size = matrix.shape[0]
    most = min(LANCZOS_STEPS, size)
    basis = np.zeros((most + 1, size))
    first = np.random.default_rng(0).standard_normal(size)
    basis[0] = first / np.linalg.norm(first)
    diagonal, beside = np.zeros(most), np.zeros(most)
    top, second, residual, vector = 0.0, -math.inf, 0.0, basis[0]
    for step in range(most):
        image = matrix @ basis[step]
        diagonal[step], whole = basis[step] @ image, float(np.linalg.norm(image))
        for _ in range(2):
            image = image - basis[: step + 1].T @ (basis[: step + 1] @ image)
        length = float(np.linalg.norm(image))
        length = beside[step] = (
            length if length > EXHAUSTED * whole else 0.0
        )  # else rounding errors would be a direction
        if step % 10 == 9 or step + 1 == most or length == 0.0:
            off = beside[:step]
            values, vectors = np.linalg.eigh(np.diag(diagonal[: step + 1]) + np.diag(off, 1) + np.diag(off, -1))
            top, residual = float(values[-1]), length * abs(float(vectors[-1, -1]))
            second = float(values[-2]) if step else -math.inf
            vector = vectors[:, -1] @ basis[: step + 1]
            if residual <= CLOSE * abs(top) or length == 0.0:
                break
        basis[step + 1] = image / length
    return Leading(top + residual, second, vector, residual)
