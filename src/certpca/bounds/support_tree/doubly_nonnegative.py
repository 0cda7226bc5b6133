"""Entries to raise so that the largest eigenvalue becomes small: the dual of a doubly non-negative relaxation.

    min over N ≥ 0 of λ_max(A + N) = max of ⟨A, X⟩ over X ⪰ 0, X ≥ 0 entrywise, tr X = 1,

which is max xᵀAx over unit x ≥ 0 wherever X has rank one, and always for up to four features. The alternating direction
method of multipliers projects X onto each of the two sets in turn; its multipliers are N, nowhere negative at any step.
"""

import numpy as np

from certpca.runtime.arrays import Vector

STEPS = 400
LOOK = 10  # steps between two looks at the bound
PENALTY = 0.5  # of the two sets being apart, in units of the largest eigenvalue
STALLED = 1e-7  # relative: looks that gain less end it,
PATIENCE = 6  # so many in a row


def raised_least(matrix: Vector, enough: float) -> tuple[float, Vector]:
    """Return about the smallest λ_max(A + N) and its N, in single precision; less than `enough` is not sought."""
    size = matrix.shape[0]
    unit = max(float(np.linalg.eigvalsh(matrix)[-1]), np.finfo(float).tiny)
    scaled = matrix / unit
    best, entries = np.inf, np.zeros_like(matrix)
    apart, other, idle = np.zeros((size, size)), np.eye(size) / size, 0
    for step in range(STEPS):
        together = _spectraplex(other - apart + scaled / PENALTY)
        other = np.maximum(together + apart, 0.0)
        apart = np.minimum(together + apart, 0.0)
        if step % LOOK:
            continue
        raised = np.asarray((-PENALTY * unit * apart).astype(np.float32), dtype=np.float64)
        bound = float(np.linalg.eigvalsh(matrix + raised)[-1])
        idle = 0 if bound < best * (1 - STALLED) else idle + 1
        if bound < best:
            best, entries = bound, raised
        if best <= enough or idle >= PATIENCE:
            break
    return best, entries


def _spectraplex(matrix: Vector) -> Vector:
    """Project onto the positive semidefinite matrices of trace one."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    ordered = values[::-1]
    levels = (np.cumsum(ordered) - 1.0) / np.arange(1, values.size + 1)
    level = levels[np.flatnonzero(ordered > levels)[-1]]
    return np.asarray((vectors * np.maximum(values - level, 0.0)) @ vectors.T)
