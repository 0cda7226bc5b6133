"""Dual points for regions that cover all directions.

On a region (`direction_regions`) terms σM with ξᵀMξ ≥ 0 may be added to the bound of `l0_dual`. So with weights σ_j for
the pairs that describe a region,

    Z* ≤ max over regions of kρ + λ_max(Σ Y_i + Σ σ_jM_j),   each region with a dual point and weights of its own.

Proof: docs/mathematics.md, 5.1 and 5.2.

Allowance. That of a dual point, and for each pair 4√d γ_d σ|r||s| for turning r and s into its basis and
γ‖Σ Y_i + Σ σ_jM_j‖ for the sums.
"""

import math

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.direction_regions import RAYS, SIGMAS, leaves_of, ray, rays_of, sigmas_of
from certpca.checker.dual_points import POINT, point_of
from certpca.checker.numbers import gamma, largest_eigenvalue, require
from certpca.checker.proved import Proved
from certpca.checker.screening import SCREEN, screened
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import numbered, parts_of, within

SENTENCE = "dual points for regions that cover all directions"
EVIDENCE = {
    "rays": RAYS,
    **within(SCREEN, POINT),
    **within(numbered("leaf"), {**POINT, "weights": SIGMAS}),
}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Take the worst leaf of a tree of regions."""
    evidence, tree = certificate.evidence, certificate.tree
    left = screened(prepared, certificate, objective)
    rays = rays_of(prepared, evidence)
    leaves = leaves_of(tree, rays.shape[0])
    depth, size = float(prepared.depth), float(prepared.size)
    prepared.work.spend(len(leaves) * (2 * depth**2 * size + 20 * depth**3))
    worst, parts = 0.0, parts_of(evidence)
    for leaf, pairs in leaves.items():
        own = parts.get(f"leaf{leaf}", {})
        point = point_of(left.kept, own)
        weights = sigmas_of(prepared, own, "weights", pairs)
        total, doubt = point.total, point.doubt
        for weight, (first, second) in zip(weights, pairs, strict=True):
            if weight == 0.0:
                continue
            r, s = ray(rays, first) @ point.basis, ray(rays, second) @ point.basis
            total = total - (weight / 2) * (np.outer(r, s) + np.outer(s, r))
            # Rotating r and s rounds them, and so do the products and sums.
            lengths = weight * float(np.linalg.norm(ray(rays, first)) * np.linalg.norm(ray(rays, second)))
            doubt += 4 * math.sqrt(prepared.depth) * gamma(prepared.depth + 16) * lengths
            doubt += gamma(4) * float(np.linalg.norm(total))
        bound = certificate.sparsity * point.level + largest_eigenvalue((total + total.T) / 2, doubt)
        lifted = point.lift(bound)
        require(math.isfinite(lifted), "a leaf proves nothing")  # max would pass over NaN
        worst = max(worst, lifted)
    nobody = np.zeros(left.kept.size, dtype=bool)
    return left.proved(worst, nobody, nobody)
