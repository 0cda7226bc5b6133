"""The trace: λ_max of a positive semidefinite matrix is at most the sum of its diagonal.

    Z* = max over |S| ≤ k of λ_max(A_SS) ≤ the sum of the k largest A_ii = |a_i|².

Proof: docs/mathematics.md, 2.1.

Allowance. Squared lengths are inner products of length depth, and at most size of them are added: a relative
γ_{depth + size}.
"""

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import gamma
from certpca.checker.proved import Proved, bound_alone
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Forms

SENTENCE = "closed form: the sum of the largest variances"
EVIDENCE: Forms = {}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Add up the k largest diagonal entries."""
    del objective
    top = np.sort(prepared.diagonal())[-certificate.sparsity :]
    return bound_alone(prepared, prepared.lift(float(top.sum()) * (1 + gamma(prepared.depth + prepared.size + 8))))
