"""Non-negative loadings on a few features that capture much: exact where the best ones of any sign have one sign.

For x ≥ 0 the step x ← max(Ax, 0), to unit length, maximises the linear function ⟨Ax, ·⟩ over the allowed vectors, so
that with A positive semidefinite the objective never falls (Sigg & Buhmann, ICML 2008). Where it ends with x > 0 on
some features T, x is the leading eigenvector of A_TT: a local maximum of a quadratic form on a sphere is a global one.
"""

import numpy as np

from certpca.runtime.arrays import Vector

STEPS = 500
STARTS = 4  # leading eigenvectors, each with both signs, and as many single features
SETTLED = 1e-13
TINY = 1e-9  # of the largest loading: smaller ones are taken for zero


def best_nonnegative(matrix: Vector) -> tuple[float, Vector]:
    """Return what the best non-negative loadings found capture, and these."""
    size = matrix.shape[0]
    if size == 1:
        return float(matrix[0, 0]), np.ones(1)
    values, vectors = np.linalg.eigh(matrix)
    lifted = matrix - min(float(values[0]), 0.0) * np.eye(size)
    axes = vectors[:, ::-1][:, :STARTS]
    singles = np.eye(size)[:, np.argsort(-np.diagonal(matrix), kind="stable")[:STARTS]]
    starts = np.concatenate([axes, -axes, singles, np.full((size, 1), 1.0)], axis=1)
    panel = _unit(np.maximum(starts, 0.0))
    panel = panel[:, panel.any(axis=0)]
    before = -np.inf
    for _ in range(STEPS):
        panel = _unit(np.maximum(lifted @ panel, 0.0))
        total = float(np.einsum("ij,ij->", panel, lifted @ panel))
        if total <= before * (1 + SETTLED):
            break
        before = total
    found = [_settled(matrix, column) for column in panel.T if column.any()]
    return max(found, key=lambda item: item[0], default=(float(matrix[0, 0]), np.eye(size)[0]))


def _unit(panel: Vector) -> Vector:
    lengths = np.linalg.norm(panel, axis=0)
    return np.asarray(panel / np.where(lengths > 0, lengths, 1.0))


def _settled(matrix: Vector, loadings: Vector) -> tuple[float, Vector]:
    """Return the leading eigenvector on the features that are used, where it has one sign; else the loadings."""
    used = np.flatnonzero(loadings > TINY * loadings.max())
    vector = np.linalg.eigh(matrix[np.ix_(used, used)])[1][:, -1]
    vector = vector * np.sign(vector.sum())
    if (vector > 0).all():
        loadings = np.zeros_like(loadings)
        loadings[used] = vector
    loadings = loadings / np.linalg.norm(loadings)
    return float(loadings @ matrix @ loadings), loadings
