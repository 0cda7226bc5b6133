"""A dual point of the sparse problem whose level is a matrix.

Z* = max over unit ξ of the k largest (a_iᵀξ)². For a matrix R ⪰ 0 and B_i = a_ia_iᵀ − R,

    Z* ≤ λ_max(kR + Σ Y_i)   for any Y_i ⪰ 0 with Y_i ⪰ B_i,

for then Σ_S (a_iᵀξ)² = Σ_S ξᵀB_iξ + |S| ξᵀRξ ≤ ξᵀ(Σ Y_i)ξ + k ξᵀRξ. R = ρI gives `l0_dual`. B_i has at most one
positive eigenvalue, since R ⪰ 0. For any c with q = cᵀB_ic > 0, Y_i = (B_ic)(B_ic)ᵀ/q' will do for every 0 < q' ≤ q; so
will (1 − 1/κ)₊ a_ia_iᵀ for any κ ≥ a_iᵀR⁻¹a_i, and a_ia_iᵀ. The evidence is R = rI + WSWᵀ; a frame and weights on W
only suggest c.

Proof: docs/mathematics.md, 3.1 to 3.5.

Allowance. `level_points`: that R ⪰ 0, each Y_i, their sum, kR; λ_max by a Cholesky factorisation.
"""

from certpca.checker.data import Prepared
from certpca.checker.level_points import level_point_of
from certpca.checker.level_screening import screen_levels
from certpca.checker.limits import LARGEST_FACTORED, LARGEST_LEVEL_ORDER
from certpca.checker.proved import Proved
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Form, Forms, triangle, up_to

SENTENCE = "a dual point of the sparse problem whose level is a matrix"
EVIDENCE: Forms = {
    "directions": Form("f", (up_to(LARGEST_LEVEL_ORDER), up_to(LARGEST_FACTORED))),
    "matrix": Form("f", (triangle(LARGEST_FACTORED),), degree=1.0),
    "level": Form("f", degree=1.0),
    "frame": Form("f", (up_to(LARGEST_FACTORED), up_to(LARGEST_FACTORED)), degree=-0.5),
    "weights": Form("f", (lambda size: min(size, LARGEST_FACTORED) + 1,)),
}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Evaluate one dual point: R, with what suggests the Y_i."""
    point = level_point_of(prepared, certificate.evidence)
    bound = prepared.lift(point.bound(certificate.sparsity))
    outside, inside = screen_levels(prepared, point, certificate.sparsity, objective)
    return Proved(bound, outside, inside)
