"""Row sums: λ_max of a symmetric matrix is at most its largest absolute row sum.

    Z* ≤ max over i of the sum of the k largest |A_ij|, j = 1, …, size.

Proof: docs/mathematics.md, 2.2.

Allowance. Entries of FᵀF are off by γ_depth |a_i||a_j| ≤ γ_depth tr A, k of them in a row; the sum of a row rounds by
a relative γ_k.
"""

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import gamma
from certpca.checker.proved import Proved, bound_alone
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Forms

SENTENCE = "closed form: the largest sum of entries in a row"
EVIDENCE: Forms = {}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Form the matrix by rows and add up the k largest entries of each."""
    del objective
    k, worst = certificate.sparsity, 0.0
    prepared.work.spend(prepared.size**2 * (prepared.depth + 10.0))
    height = max(1, prepared.limits.row_bytes // (8 * prepared.size))
    for columns, block in prepared.blocks():
        for start in range(0, columns.stop - columns.start, height):
            left = block[:, start : start + height].T
            rows = np.empty((left.shape[0], prepared.size))
            for others, right in prepared.blocks():
                rows[:, others] = left @ right
            np.abs(rows, out=rows)
            rows.partition(prepared.size - k, axis=1)
            worst = max(worst, float(rows[:, prepared.size - k :].sum(axis=1).max()))
    doubt = gamma(prepared.depth + 4) * k * prepared.trace
    return bound_alone(prepared, prepared.lift(worst * (1 + gamma(k + 4)) + doubt))
