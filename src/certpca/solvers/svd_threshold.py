"""Threshold the leading singular vectors: the paper's `spca-svd`.

Chowdhury, Drineas, Woodruff & Zhou, "Approximation Algorithms for Sparse Principal Component
Analysis", Algorithm 1, in two modes.

With `epsilon`: ℓ = ⌈1/ε⌉ singular vectors, the rows of U_ℓ with squared norm at least ε²/k, and the
top right singular vector of the selected columns of Σ_ℓ^½ U_ℓᵀ. Up to ⌈1/ε⌉k/ε² loadings are
nonzero, since the squared norms of all rows add up to ℓ. Vectors whose singular value is zero
are left out: they are not determined, and the theorem loses nothing without them. Where no row
is long enough the longest is taken, and the status says so: the algorithm has no answer then.

Without: the mode of the paper's experiments, ℓ = `components` given and the k longest rows.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from certpca.bounds.guarantees import svd_width
from certpca.operators.base import Operator
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.arrays import top_k
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.search.krylov import METHODS, Method, leading_eigenpairs
from certpca.solvers.base import register

NULL = 1e-12  # of the largest eigenvalue, times the order: what cannot be told from zero


@register
@dataclass(frozen=True, slots=True)
class SvdThreshold:
    """Keep the features with the longest rows in the leading eigenvectors (fast).

    Parameters
    ----------
    components
        Number ℓ of leading eigenvectors.
    epsilon
        Accuracy ε in (0, 1]: selects the mode with the theorem's guarantee and sets ℓ = ⌈1/ε⌉.
    method
        How eigenvectors are found: ``"krylov"``, ``"lanczos"`` or ``"exact"``.
    accuracy
        Residual of the eigenvectors relative to the largest eigenvalue; 1e-8 by
        default, 1e-5 where the data are single precision or integers.
    """

    components: int = 1
    epsilon: float | None = None
    method: Method = "krylov"
    accuracy: float | None = None
    name: ClassVar[str] = "svd-threshold"
    paper_name: ClassVar[str] = "spca-svd"
    runs_on_device: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.components < 1:
            msg = f"components must be at least 1, got {self.components}"
            raise InvalidProblemError(msg)
        if self.epsilon is not None and not 0 < self.epsilon <= 1:
            msg = f"epsilon must lie in (0, 1], got {self.epsilon}"
            raise InvalidProblemError(msg)
        if self.method not in METHODS:
            msg = f"method must be one of {', '.join(METHODS)}, got {self.method!r}"
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Compute the leading eigenvectors and threshold their rows."""
        count = self.components if self.epsilon is None else math.ceil(1 / self.epsilon)
        pairs = leading_eigenpairs(
            operator, count, method=self.method, accuracy=self.accuracy, rng=rng, late=progress.late
        )
        some = pairs.values > NULL * operator.size * max(float(pairs.values[0]), 0.0)
        some[0] = True
        values, vectors = pairs.values[some], pairs.vectors[:, some]
        lengths = np.einsum("ij,ij->i", vectors, vectors)
        status, details = Status.CONVERGED, {"components": float(values.size), "residual": pairs.residual}
        if self.epsilon is None:
            support = top_k(lengths, sparsity)
        else:
            support = np.flatnonzero(lengths >= self.epsilon**2 / sparsity)
            details |= {"selected": float(support.size), "most_selected": float(svd_width(sparsity, self.epsilon))}
            if support.size == 0:
                support, status = top_k(lengths, 1), Status.NOTHING_SELECTED
            if support.size > sparsity:
                status = Status.WIDER_SUPPORT
        selected = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors[support].T
        _, lengths, right = np.linalg.svd(selected, full_matrices=False)
        value, loadings = float(values[0]), right[0]
        progress.tick(float(lengths[0]) ** 2)  # what the leading part captures, at most what all of it does
        return Candidate(support, status, loadings, value, details)
