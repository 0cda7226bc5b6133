"""A rank-one candidate: maximise uᵀAu over ‖u‖₂ ≤ 1, ‖u‖₁ ≤ √k by power iteration with soft thresholding.

If the relaxation has a solution uuᵀ, then on the support of u, with signs s, Au = λu + μ‖u‖₁s, and |(Au)_j| ≤ μ‖u‖₁
elsewhere; λ + kμ is then the value of the relaxation. (On such power iterations: Luss & Teboulle, SIAM Review, 2013.)
"""

from dataclasses import dataclass

import numpy as np

from certpca.operators.base import Operator
from certpca.operators.views import Precise
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.search.krylov import Eigenpairs

LARGE_VARIANCE = 8  # starts at single features
TOGETHER = 12  # rounds in which all starts are followed
ROUNDS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A unit vector u with ‖u‖₁² ≤ k, its image Au, and the multipliers of its two constraints, in units of `scale`."""

    vector: Vector
    image: Vector
    value: float
    eigenvalue: float
    level: float
    scale: float

    @property
    def support(self) -> Indices:
        """Indices of the nonzero entries."""
        return np.flatnonzero(self.vector)


def sparse_direction(
    operator: Operator, sparsity: int, pairs: Eigenpairs, progress: Progress, warm: Vector | None = None
) -> Direction:
    """Follow several starts together, then the best one to its end."""
    scale = float(pairs.values[0])
    starts = [*pairs.vectors.T] if warm is None else [warm, *pairs.vectors.T]
    diagonal = to_vector(operator.diagonal())
    large = np.argsort(-diagonal, kind="stable")[: min(LARGE_VARIANCE, operator.size)]
    lone = np.zeros((operator.size, large.size))
    lone[large, np.arange(large.size)] = 1.0
    panel = np.column_stack([*starts, lone])
    panel = _shrunk(panel, sparsity)
    for _ in range(TOGETHER):
        image = to_vector(operator.matmat(operator.adopt(panel))) / scale
        values = np.einsum("ij,ij->j", panel, image)
        if not progress.tick(0.0):
            break
        panel = _shrunk(image, sparsity)
    best = int(np.argmax(values))
    vector = panel[:, best]
    tolerance = 1e-9 if operator.xp.finfo(operator.dtype).bits == 64 else 1e-6
    for _ in range(ROUNDS):
        if progress.exhausted:
            break
        image = to_vector(operator.matmat(operator.adopt(vector[:, None])))[:, 0] / scale
        fresh = _shrunk(image[:, None], sparsity)[:, 0]
        moved, vector = float(np.linalg.norm(fresh - vector)), fresh
        if moved <= tolerance:
            break
    precise = Precise(operator)
    image = to_vector(precise.matmat(precise.adopt(vector[:, None])))[:, 0] / scale
    return _with_multipliers(vector, image, sparsity, scale)


def _with_multipliers(vector: Vector, image: Vector, sparsity: int, scale: float) -> Direction:
    value = float(vector @ image)
    total = float(np.abs(vector).sum())
    if total**2 < sparsity * (1 - 1e-9):  # the sparsity is no constraint
        return Direction(vector, image, value, value, 0.0, scale)
    support = np.flatnonzero(vector)
    basis = np.column_stack([vector[support], total * np.sign(vector[support])])
    (eigenvalue, _), *_ = np.linalg.lstsq(basis, image[support], rcond=1e-10)
    eigenvalue = min(max(float(eigenvalue), 0.0), value)
    return Direction(vector, image, value, eigenvalue, max(value - eigenvalue, 0.0) / total**2, scale)


def _shrunk(panel: Vector, sparsity: int) -> Vector:
    """Turn each column into the unit vector with ‖u‖₁² ≤ k that has the largest product with it."""
    result = np.empty_like(panel)
    for column in range(panel.shape[1]):
        entries = panel[:, column]
        largest = float(np.abs(entries).max())
        entries = entries / largest if largest > 0 else np.ones_like(entries)
        kept = np.sign(entries) * _above_level(np.abs(entries), sparsity)
        result[:, column] = kept / np.linalg.norm(kept)
    return result


def _above_level(magnitudes: Vector, sparsity: int) -> Vector:
    """Subtract the threshold after which ‖·‖₁ = √k ‖·‖₂; nothing where the entries are spread less than that."""
    ordered = np.sort(magnitudes)[::-1]
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)

    def too_wide(level: float) -> bool:
        count = int(np.searchsorted(-ordered, -level))
        first = sums[count - 1] - count * level
        second = squares[count - 1] - 2 * level * sums[count - 1] + count * level**2
        return bool(first**2 > sparsity * second * (1 + 1e-12))

    if sums[-1] ** 2 <= sparsity * squares[-1]:
        return magnitudes
    low, high = 0.0, 1 - 1e-6  # the largest magnitude is one
    if int(np.searchsorted(-ordered, -high)) > sparsity:  # more entries are equal than may stay
        tied = np.zeros_like(magnitudes)
        tied[top_k(magnitudes, sparsity)] = 1.0
        return tied
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if too_wide(middle) else (low, middle)
    return np.maximum(magnitudes - high, 0.0)
