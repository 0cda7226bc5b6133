"""Components with disjoint supports: prices for features, and a level in each of some regions of directions.

For prices w ≥ 0, as no feature is paid for twice,

    Σ_t λ_max(A_{S_t}) ≤ Σ_i w_i + Σ_t P_t,   P_t = max over unit ξ and |S| ≤ k_t of Σ_{i∈S} [(a_iᵀξ)² − w_i].

At good prices many directions are worth nearly the same, and no level is tight for all of them. So the directions are
split into regions (`direction_regions`), on which terms σM with ξᵀMξ ≥ 0 may be added. For R ⪰ 0 and Y_i ⪰ 0 with
Y_i ⪰ a_ia_iᵀ − R − w_iI, as in `priced_level`, and weights σ_j ≥ 0 of a region's pairs,

    P_t ≤ max(0, max over regions of λ_max(k_tR + Σ Y_i + Σ σ_jM_j)),   each region with R and σ of its own.

The prices are those of all regions; the directions W, on which levels differ from a number, are shared as well.

Proof: docs/mathematics.md, 5.1, 5.2 and 12.5.

Allowance. `level_points`, and for each pair γ_8 σ|r||s| for its products and γ_4‖·‖_F for the sum. With F off by
`error`, P_t grows as in `priced_level`, whatever ξ it is taken at.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.direction_regions import RAYS, SIGMAS, Pair, leaves_of, ray, rays_of, sigmas_of
from certpca.checker.large_eigenvalues import largest_of
from certpca.checker.level_points import level_point_of
from certpca.checker.numbers import Vector, gamma, require
from certpca.checker.set_rules import SetProved
from certpca.checker.set_rules.priced_level import EVIDENCE as LEVEL
from certpca.checker.set_rules.priced_level import with_prices
from certpca.results.evidence_forms import Forms, numbered, parts_of, within
from certpca.results.set_certificate import SetCertificate

SENTENCE = "a price for features, and dual points whose levels are matrices for regions that cover all directions"
PROBLEMS = ("disjoint",)
SHARED = ("directions", "priced", "prices")
EVIDENCE: Forms = {
    **{name: form for name, form in LEVEL.items() if name in SHARED},
    "rays": RAYS,
    **within(
        numbered("leaf"), {**{name: form for name, form in LEVEL.items() if name not in SHARED}, "sigmas": SIGMAS}
    ),
}


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Take the worst region for each sparsity, and add the prices."""
    del objective
    evidence = certificate.evidence
    rays = rays_of(prepared, evidence)
    leaves = leaves_of(certificate.tree, rays.shape[0])
    shared, parts = {name: evidence[name] for name in SHARED if name in evidence}, parts_of(evidence)
    worst = dict.fromkeys(certificate.sparsities, 0.0)
    for leaf, pairs in leaves.items():
        own = {**parts.get(f"leaf{leaf}", {}), **shared}
        for k, bound in _bounds(prepared, own, rays, pairs, worst).items():
            require(math.isfinite(bound), "a leaf proves nothing")  # max would pass over NaN
            worst[k] = max(worst[k], bound)
    return with_prices(prepared, evidence, certificate.sparsities, worst)


def _bounds(
    prepared: Prepared, evidence: Mapping[str, Any], rays: Vector, pairs: list[Pair], sparsities: Mapping[int, float]
) -> dict[int, float]:
    """Bound what components are worth on one region, by their sparsities."""
    sigmas = sigmas_of(prepared, evidence, "sigmas", pairs)
    point = level_point_of(prepared, evidence)
    prepared.work.spend(3.0 * len(sparsities) * float(prepared.depth) ** 3)
    found = {}
    for k in sparsities:
        total, doubt = point.matrix(k)
        for sigma, (first, second) in zip(sigmas, pairs, strict=True):
            r, s = ray(rays, first), ray(rays, second)
            outer = np.outer(r, s)
            total = total - (sigma / 2) * (outer + outer.T)
            doubt += gamma(8) * sigma * float(np.linalg.norm(r) * np.linalg.norm(s)) * (1 + gamma(2 * r.size))
            doubt += gamma(4) * float(np.linalg.norm(total)) * (1 + gamma(total.size))
        require(bool(np.isfinite(total).all()) and math.isfinite(doubt), "its numbers overflow")
        found[k] = largest_of((total + total.T) / 2, doubt * (1 + gamma(8)))
    return found
