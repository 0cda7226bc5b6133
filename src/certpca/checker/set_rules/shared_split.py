"""Components on one choice of K features: some directions count for each by itself, for the rest it has a price.

In a frame of sample space let s_i be the squared length of what feature i has along the first v directions, and b_i
the rest of it. A sum of two semidefinite matrices has no larger a sum of r leading eigenvalues than both have together,
and that of the first part is at most its trace, so for at most K features

    Σ_{j≤r} λ_j(A_SS) ≤ Σ_{i∈S} s_i + Σ_{j≤r} λ_j(Σ_{i∈S} b_ib_iᵀ).

With prices w_i ≥ 0 and Y_i ⪰ 0, Y_i ⪰ b_ib_iᵀ − w_iI, a projection sees of b_ib_iᵀ at most w_i more than of Y_i, as
the difference has one positive eigenvalue at most:

    Σ_{j≤r} λ_j(A_SS) ≤ the sum of the K largest s_i + w_i, and of the r leading eigenvalues of Σ Y_i.

`split_points` says what Y_i is; `leading_sums` bounds the second sum.

Proof: docs/mathematics.md, 12.6.

Allowance. `split_points` and `leading_sums`; the s_i are sums of squares, and so many are added up.
"""

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.leading_sums import LIFTED, lifted_of, sum_of_leading
from certpca.checker.level_points import sum_of_duals
from certpca.checker.levels import prices_of
from certpca.checker.limits import LARGEST_FACTORED
from certpca.checker.numbers import Vector, array_of, gamma, largest_sum, require
from certpca.checker.set_rules import SetProved
from certpca.checker.split_points import frame_of, priced_vectors
from certpca.results.evidence_forms import Form, Forms, features, up_to
from certpca.results.set_certificate import SetCertificate

SENTENCE = "directions that count for each feature by itself, and prices of features for all others"
PROBLEMS = ("shared",)
_DEPTH = up_to(LARGEST_FACTORED)
EVIDENCE: Forms = {
    "frame": Form("f", (_DEPTH, _DEPTH)),
    "weights": Form("f", (_DEPTH,)),
    "roots": Form("f", (features,)),
    "priced": Form("i", (features,)),
    "prices": Form("f", (features,), degree=1.0),
    "lifted": LIFTED,
}


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Add up what features count for by themselves, and the sum of eigenvalues of the rest."""
    del objective
    count, sparsity = len(certificate.sparsities), max(certificate.sparsities)
    depth, size, evidence = prepared.depth, prepared.size, certificate.evidence
    require(depth <= LARGEST_FACTORED, f"a matrix of order {depth} is too large to be factored")
    weights, roots = array_of(evidence, "weights", 1), array_of(evidence, "roots", 1)
    require(0 < weights.size <= depth and bool((weights > 0).all()), "its weights are not positive, or too many")
    require(roots.size == size and bool((roots >= 0).all()), "its roots are not one for each feature")
    prepared.work.spend(3.0 * size * depth**2 + 8.0 * float(depth) ** 3)
    prices, apart = prices_of(prepared, evidence), depth - weights.size
    frame, lifted = frame_of(array_of(evidence, "frame", 2), depth), lifted_of(prepared, evidence, weights.size)
    marks = np.empty(size)

    def vectors(part: slice, block: Vector) -> tuple[Vector, float]:
        seen = frame.directions.T @ block
        marks[part] = (seen[:apart] ** 2).sum(axis=0)
        return priced_vectors(seen[apart:], weights, roots[part], prices[part])

    total, doubt = sum_of_duals(prepared, vectors, weights.size)
    chosen = float(largest_sum(marks + prices, min(sparsity, size))) * (1 + gamma(depth + size + 16))
    # Fewer features than components have fewer eigenvalues that count.
    bound = chosen + sum_of_leading([(total, doubt, min(count, sparsity))], lifted)
    require(bool(np.isfinite(bound)), "its numbers overflow")
    return SetProved(prepared.lift(frame.lift(bound * (1 + gamma(8)), prepared), count))
