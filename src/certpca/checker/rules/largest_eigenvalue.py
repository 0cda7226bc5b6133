"""The largest eigenvalue: no sparse vector captures more than the best dense one.

    Z* ≤ λ_max(FᵀF) = λ_max(FFᵀ).

Proof: docs/mathematics.md, 2.3.

Allowance. Entries of FFᵀ are inner products of length size: γ_size tr A in norm. λ_max is proved by a Cholesky
factorisation (`largest_eigenvalue`).
"""

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import gamma, largest_eigenvalue, require
from certpca.checker.proved import Proved, bound_alone
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Forms

SENTENCE = "closed form: the largest eigenvalue, which bounds every sparsity"
EVIDENCE: Forms = {}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Bound the largest eigenvalue, once for all sparsities."""
    del certificate, objective
    most = prepared.limits.largest_dense
    require(prepared.depth <= most, f"a matrix of order {prepared.depth} is too large to be factored")

    def bound() -> float:
        gram = np.zeros((prepared.depth, prepared.depth))
        for _, block in prepared.blocks():
            gram += block @ block.T
        return largest_eigenvalue((gram + gram.T) / 2, gamma(prepared.size + 8) * prepared.trace)

    return bound_alone(prepared, prepared.lift(prepared.once("largest-eigenvalue", bound)))
