"""A dual point of the sparse problem itself.

Z* = max over unit ξ of the k largest (a_iᵀξ)². For ρ ≥ 0 and B_i = a_ia_iᵀ − ρI,

    Z* ≤ kρ + λ_max(Σ Y_i)   for any Y_i ⪰ 0 with Y_i ⪰ B_i,

for then Σ_S (a_iᵀξ)² = kρ + Σ_S ξᵀB_iξ ≤ kρ + ξᵀ(Σ Y_i)ξ. B_i has at most one positive eigenvalue. Where |a_i|² ≤ ρ it
has none and Y_i = 0 will do. For any c with q = cᵀB_ic > 0, Y_i = (B_ic)(B_ic)ᵀ/q' will do for every 0 < q' ≤ q; and
Y_i = a_ia_iᵀ always will. The evidence, a density matrix P and ρ, only suggests c.

A first point may leave features out that it proves to be in no optimal support (`screening`).

Proof: docs/mathematics.md, 3.1 to 3.3.

Allowance. `dual_points`: rotation into the eigenvectors of P, each Y_i, their sum; λ_max by a Cholesky factorisation.
"""

from certpca.checker.data import Prepared
from certpca.checker.dual_points import POINT, point_of
from certpca.checker.proved import Proved
from certpca.checker.screening import SCREEN, screen, screened
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import within

SENTENCE = "a dual point of the sparse problem itself"
EVIDENCE = {**POINT, **within(SCREEN, POINT)}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Evaluate one dual point: P and ρ."""
    left = screened(prepared, certificate, objective)
    point = point_of(left.kept, certificate.evidence)
    bound = certificate.sparsity * point.level + point.largest()
    outside, inside = screen(left.kept, point, certificate.sparsity, objective, left.constraints)
    return left.proved(point.lift(bound), outside, inside)
