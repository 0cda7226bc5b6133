"""Matrices with entries raised, for loadings none of which is negative.

    xᵀAx ≤ xᵀ(A + N)x   for x ≥ 0 and N ≥ 0 entrywise.

Proof: docs/mathematics.md, 17.3.

Allowance. N counts as its symmetric part, and the sum rounds relative to its entries.
"""

import numpy as np

from certpca.checker.numbers import Vector, gamma, require


def raised_by(matrix: Vector, slack: float, raised: Vector) -> tuple[Vector, float]:
    """Return A + N, and its distance from the exact one in norm."""
    require(raised.shape == matrix.shape, "what it raises entries by has the wrong shape")
    require(bool((raised >= 0).all()), "it lowers an entry")
    total = matrix + (raised + raised.T) / 2
    require(bool(np.isfinite(total).all()), "its numbers overflow")
    sizes = float(np.linalg.norm(matrix) + 2 * np.linalg.norm(raised))
    return total, (slack + gamma(8) * sizes) * (1 + gamma(8))
