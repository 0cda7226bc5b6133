"""A matrix M = VVᵀ of prices for directions of loadings, and what it leaves of a matrix: A − M + cI.

If the x_t are orthonormal then Σ_t x_tx_tᵀ ⪯ I, so Σ_t x_tᵀMx_t ≤ tr M. M is semidefinite by its form; A − M need not
be, and c is added so that values that count are positive.

Allowance. V is what is stored, up to a factor that rounds, and M is exactly VVᵀ of that; the product and the
differences round by γ_m‖V‖² + γ(‖A‖ + ‖V‖² + c), and the trace of M by γ_nm.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import Vector, array_of, gamma, require
from certpca.results.evidence_forms import Form, features, up_to

MOST_DIRECTIONS = 512
DIRECTIONS = {
    "directions": Form("f", (features, up_to(MOST_DIRECTIONS)), degree=0.5),
    "shift": Form("f", degree=1.0),
}


class Remaining(NamedTuple):
    """A − M + cI and how far it is from the exact one in norm, at least tr M, and c."""

    dense: tuple[Vector, float]
    paid: float
    shift: float


def remaining(prepared: Prepared, evidence: Mapping[str, Any], dense: tuple[Vector, float]) -> Remaining:
    """Take the directions of evidence off a matrix that is so far from the exact one in norm."""
    directions = array_of(evidence, "directions", 2) / np.sqrt(prepared.unit)
    shift = float(array_of(evidence, "shift", 0)) / prepared.unit
    expected = directions.shape[0] == prepared.size and directions.shape[1] <= MOST_DIRECTIONS
    require(expected, "its directions have a wrong shape")
    require(shift >= 0, "its shift is negative")
    prepared.work.spend(float(prepared.size) ** 2 * (directions.shape[1] + 4))
    matrix, slack = dense
    paid = float((directions**2).sum()) * (1 + gamma(directions.size + 8))
    product = directions @ directions.T
    rest = matrix - (product + product.T) / 2
    rest[np.diag_indices_from(rest)] += shift
    sizes = float(np.linalg.norm(matrix)) * (1 + gamma(prepared.size**2 + 8)) + paid + shift
    doubt = gamma(directions.shape[1] + 8) * paid + gamma(16) * sizes
    require(bool(np.isfinite(rest).all()), "its numbers overflow")
    return Remaining((rest, (slack + doubt) * (1 + gamma(8))), paid, shift)
