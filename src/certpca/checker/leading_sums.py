"""Sums of leading eigenvalues, and of forms in orthonormal directions.

For every M ⪰ 0 and orthonormal u_1, …, u_r

    Σ_t u_tᵀG_tu_t ≤ tr M + Σ_t max(0, λ_max(G_t − M)),

as Σ u_tu_tᵀ ⪯ I; with fewer than r vectors too. With one G for all it is at least the sum of its r leading eigenvalues,
and equal to that where M holds what the r − 1 leading ones have above the last. Here M = VVᵀ for any stored V.

Proof: docs/mathematics.md, 11.4.

Allowance. VVᵀ is formed with an error of at most γ_m|V|² in norm, for m columns and the Frobenius norm |V|; the
difference from G rounds each entry once, by at most γ_1(tr G + |V|²) in norm where G ⪰ 0. tr M = |V|² is a sum of dm
squares.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.large_eigenvalues import largest_of
from certpca.checker.limits import LARGEST_FACTORED
from certpca.checker.numbers import Vector, array_of, gamma, require
from certpca.results.evidence_forms import Form, up_to

LARGEST_LIFTED = 2.0**50
LIFTED = Form("f", (up_to(LARGEST_FACTORED), up_to(LARGEST_FACTORED)), degree=0.5)


def lifted_of(prepared: Prepared, evidence: Mapping[str, Any], order: int | None = None) -> Vector:
    """Read V, in units in which the data are near one; the matrices have the order of all directions by default."""
    lifted = array_of(evidence, "lifted", 2) / math.sqrt(prepared.unit)
    depth, width = lifted.shape
    fits = depth == (prepared.depth if order is None else order) and width <= depth
    require(fits, "what is lifted out of the sum has the wrong form")
    require(float(np.abs(lifted).max(initial=0.0)) <= LARGEST_LIFTED, "what is lifted out of the sum is too large")
    return lifted


def sum_of_leading(matrices: list[tuple[Vector, float, int]], lifted: Vector) -> float:
    """Bound the sum, for matrices G ⪰ 0 with their doubts, and how many of the vectors each is for."""
    square = float((lifted**2).sum())
    own = gamma(lifted.shape[1] + 8) * square
    removed = lifted @ lifted.T
    total = square * (1 + gamma(lifted.size + 8))
    count = 0
    for matrix, doubt, times in matrices:
        rest = matrix - removed
        off = own + gamma(4) * (float(np.trace(matrix)) * (1 + gamma(matrix.shape[0])) + doubt + square)
        total += times * max(0.0, largest_of((rest + rest.T) / 2, doubt + off * (1 + gamma(8))))
        count += times
    return total * (1 + gamma(count + len(matrices) + 8))
