"""As `l0_level`, with λ_max bounded but for a stated probability, where there are many samples.

    Z* ≤ λ,   with λ ≥ λ_max(kR + Σ Y_i) but for probability `FAILURE`.

The evidence is that of `l0_level`, and directions that lead in kR + Σ Y_i. Along these and those of the level the
matrix is multiplied; chance only bounds the eigenvalues of what is left, which may be far from sharp.

Proof: docs/mathematics.md, 3.3 and 10.

Allowance. `level_points`: that R ⪰ 0; `level_factors`: each Y_i and products with their sum; `random_levels`: λ_max.
"""

import math

from certpca.checker.data import Prepared
from certpca.checker.proved import Proved, bound_alone
from certpca.checker.random_levels import WIDEST, random_level_point_of
from certpca.checker.rules import l0_level
from certpca.results.certificate import FAILURE, Certificate
from certpca.results.evidence_forms import Form, Forms, features, triangle, up_to

SENTENCE = f"{l0_level.SENTENCE}, which holds unless the checker's random numbers mislead (probability {FAILURE:g})"
EVIDENCE: Forms = {
    "directions": Form("f", (features, up_to(WIDEST))),
    "leading": Form("f", (features, up_to(WIDEST))),
    "matrix": Form("f", (triangle(WIDEST),), degree=1.0),
    "level": Form("f", degree=1.0),
    "frame": Form("f", (up_to(WIDEST), up_to(WIDEST)), degree=-0.5),
    "weights": Form("f", (lambda size: min(size, WIDEST) + 1,)),
}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Evaluate one dual point without forming its matrix, as proved now and as other random numbers will confirm it."""
    claim = certificate.upper_bound
    claimed = isinstance(claim, float) and math.isfinite(claim)

    def confirms(bound: float) -> bool:
        return prepared.lift(bound) * prepared.unit <= claim

    point = random_level_point_of(prepared, certificate.evidence)
    bound, again = point.bounds(certificate.sparsity, objective, confirms if claimed else None)
    return bound_alone(prepared, prepared.lift(bound), prepared.lift(again))
