"""Components on one choice of K features: a level that all of them pay for once.

The largest Σ_t x_tᵀAx_t of orthonormal x_t on features S is that of Σ_{i∈S} ⟨Q, a_ia_iᵀ⟩ over projections Q of rank r.
For a matrix R ⪰ 0 let Y_i ⪰ 0 with Y_i ⪰ a_ia_iᵀ − R_i for some R_i ⪯ R of rank one. Then ⟨Q, R_i⟩ ≤ λ_max(R_i) ≤
λ_max(R), and with at most K features

    Σ_{j≤r} λ_j(A_SS) ≤ K λ_max(R) + the sum of the r leading eigenvalues of Σ Y_i.

The Y_i of `level_points` are such; `leading_sums` bounds the sum. r = 1 and R = ρI give `l0_dual`.

Proof: docs/mathematics.md, 12.1 and 12.2.

Allowance. `level_points` and `leading_sums`; R is formed with an error of at most γ_{2m+4}ϱ; `Prepared.lift` for sums.
"""

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.large_eigenvalues import largest_of
from certpca.checker.leading_sums import LIFTED, lifted_of, sum_of_leading
from certpca.checker.level_points import level_point_of
from certpca.checker.numbers import gamma, require
from certpca.checker.rules import l0_level
from certpca.checker.set_rules import SetProved
from certpca.results.evidence_forms import Forms
from certpca.results.set_certificate import SetCertificate

SENTENCE = "a dual point whose level is a matrix, which components on the same features pay for once"
PROBLEMS = ("shared",)
EVIDENCE: Forms = {**l0_level.EVIDENCE, "lifted": LIFTED}


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Evaluate one dual point for all components."""
    del objective
    require("prices" not in certificate.evidence, "features on one support have no prices")
    count, sparsity = len(certificate.sparsities), max(certificate.sparsities)
    point, lifted = level_point_of(prepared, certificate.evidence), lifted_of(prepared, certificate.evidence)
    prepared.work.spend(4.0 * float(prepared.depth) ** 3)
    level, width = point.level, point.level.matrix.shape[0]
    highest = max(0.0, largest_of(level.formed(), gamma(2 * width + 16) * level.size))
    # Fewer features than components have fewer eigenvalues that count.
    leading = sum_of_leading([(*point.matrix(0), min(count, sparsity))], lifted)
    bound = (sparsity * highest + leading) * (1 + gamma(8))
    require(bool(np.isfinite(bound)), "its numbers overflow")
    return SetProved(prepared.lift(bound, count))
