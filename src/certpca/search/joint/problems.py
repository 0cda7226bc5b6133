"""What several components are asked to be together, and what that leaves to each of them."""

from collections.abc import Sequence

import numpy as np

from certpca.runtime.arrays import Mask, Vector
from certpca.search.joint.component import Member

DISJOINT, ORTHOGONAL, UNCORRELATED, SHARED = "disjoint", "orthogonal", "uncorrelated", "shared"
JOINT_PROBLEMS = (DISJOINT, ORTHOGONAL, UNCORRELATED, SHARED)
DEPENDENT = 1e-12  # share of the largest below which a normal adds no direction to the others


def allowed_features(problem: str, size: int, others: Sequence[Member]) -> Mask:
    """Say which features a component may have beside others."""
    allowed = np.ones(size, dtype=bool)
    if problem == DISJOINT:
        for other in others:
            allowed[other.support] = False
    return allowed


def normals_of(problem: str, matrix: Vector, others: Sequence[Member]) -> Vector | None:
    """Return orthonormal vectors that a component must be orthogonal to beside others, or None."""
    if problem == DISJOINT or not others:
        return None
    if problem == ORTHOGONAL:
        return as_columns(matrix.shape[0], others)
    images = np.stack([matrix[:, other.support] @ other.loadings for other in others], axis=1)
    left, values, _ = np.linalg.svd(images, full_matrices=False)
    return np.asarray(left[:, values > DEPENDENT * max(float(values[0]), np.finfo(float).tiny)])


def as_columns(size: int, members: Sequence[Member]) -> Vector:
    """Write components as columns over all features."""
    columns = np.zeros((size, len(members)))
    for column, member in zip(columns.T, members, strict=True):
        column[member.support] = member.loadings
    return columns
