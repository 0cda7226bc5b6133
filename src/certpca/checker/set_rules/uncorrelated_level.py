"""Components with uncorrelated scores: one level, and orthonormal directions of sample space.

For x_sᵀAx_t = 0 the directions u_t = Fx_t/|Fx_t| are orthonormal, and x_tᵀAx_t = (u_tᵀFx_t)² ≤ Σ_{i∈S_t} (a_iᵀu_t)². So
with R and Y_i as in `rules/l0_level`

    Σ_t x_tᵀAx_t ≤ Σ_t u_tᵀ(k_tR + Σ Y_i)u_t ≤ tr M + Σ_t max(0, λ_max(k_tR + Σ Y_i − M))   for every M ⪰ 0.

Components on one choice of features, the eigenvectors of A there, have uncorrelated scores, so it is a bound for these.

Proof: docs/mathematics.md, 12.3.

Allowance. `level_points` and `leading_sums`. With data, F is off by `error` in Frobenius norm, which moves the root of
Σ_t Σ_{S_t} (a_iᵀu_t)² by no more, whatever the u_t. Where F is a square root, A = FᵀF up to δ in norm, and the Fx_t are
orthogonal up to δ. Let μ > 0. Components with |Fx_t|² ≤ μ capture no more than μ + δ each; the u_t of the others have a
Gram matrix that is I up to η = (r − 1)δ/μ, so that Σ u_tu_tᵀ ⪯ (1 + η)I: together they capture at most 1 + η times the
bound, and with the former r(μ + δ) more.
"""

import math
from collections import Counter

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.leading_sums import LIFTED, lifted_of, sum_of_leading
from certpca.checker.level_points import level_point_of
from certpca.checker.numbers import gamma, require
from certpca.checker.rules import l0_level
from certpca.checker.set_rules import SetProved
from certpca.results.evidence_forms import Forms
from certpca.results.set_certificate import SetCertificate

SENTENCE = "a dual point whose level is a matrix, for orthogonal directions of the scores"
PROBLEMS = ("uncorrelated", "shared")
EVIDENCE: Forms = {**l0_level.EVIDENCE, "lifted": LIFTED}


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Evaluate one dual point for all components."""
    del objective
    require("prices" not in certificate.evidence, "features of uncorrelated components have no prices")
    count = len(certificate.sparsities)
    point, lifted = level_point_of(prepared, certificate.evidence), lifted_of(prepared, certificate.evidence)
    wanted = Counter(certificate.sparsities)
    prepared.work.spend(3.0 * len(wanted) * float(prepared.depth) ** 3)
    bound = sum_of_leading([(*point.matrix(k), times) for k, times in wanted.items()], lifted)
    distance = prepared.distance
    if distance > 0.0:
        least = max(math.sqrt(distance * bound), distance)
        bound = (bound * (1 + (count - 1) * distance / least) + count * (least + distance)) * (1 + gamma(16))
    require(bool(np.isfinite(bound)), "its numbers overflow")
    return SetProved(prepared.lift(bound, count))
