"""Components with disjoint supports: prices for features, and a level for what is left.

For prices w ≥ 0, as no feature is paid for twice,

    Σ_t λ_max(A_{S_t}) ≤ Σ_i w_i + Σ_t P_t,   P_t = max over |S| ≤ k_t of λ_max(A_SS) − Σ_{i∈S} w_i.

For R ⪰ 0 and Y_i ⪰ 0 with Y_i ⪰ a_ia_iᵀ − R − w_iI, P_t ≤ λ_max(k_tR + Σ Y_i): for unit ξ,
Σ_S [(a_iᵀξ)² − w_i] ≤ ξᵀ(|S|R + Σ_S Y_i)ξ.

Proof: docs/mathematics.md, 12.4.

Allowance. `level_points`. With F off by `error`, λ_max(A_SS) ≤ (√(λ + w(S)) + error)² + excess where λ + w(S) bounds it
for the F at hand; w(S) is at most the sum W of the k_t largest prices, so P_t grows by at most
2 error √(λ + W) + error² + excess. Sums round by γ_n.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.level_points import level_point_of
from certpca.checker.levels import prices_of
from certpca.checker.numbers import gamma, largest_sum, require
from certpca.checker.rules import l0_level
from certpca.checker.set_rules import SetProved
from certpca.results.evidence_forms import Form, Forms, features
from certpca.results.set_certificate import SetCertificate

SENTENCE = "a price for features, and a dual point whose level is a matrix for what is left"
PROBLEMS = ("disjoint",)
EVIDENCE: Forms = {
    **l0_level.EVIDENCE,
    "priced": Form("i", (features,)),
    "prices": Form("f", (features,), degree=1.0),
}


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Evaluate one dual point for all components, and add the prices."""
    del objective
    point = level_point_of(prepared, certificate.evidence)
    wanted = sorted(set(certificate.sparsities))
    prepared.work.spend(3.0 * len(wanted) * float(prepared.depth) ** 3)
    bounds = {k: max(point.bound(k), 0.0) for k in wanted}
    return with_prices(prepared, certificate.evidence, certificate.sparsities, bounds)


def with_prices(
    prepared: Prepared, evidence: Mapping[str, Any], sparsities: tuple[int, ...], bounds: Mapping[int, float]
) -> SetProved:
    """Add all prices to bounds of P_t for the F at hand, by their sparsities."""
    prices, small = prices_of(prepared, evidence), gamma(prepared.size + 16)
    total = float(prices.sum()) * (1 + small)
    for k, times in Counter(sparsities).items():
        value = bounds[k]
        paid = float(largest_sum(prices, min(k, prepared.size))) * (1 + small)
        moved = 2 * prepared.error * math.sqrt(value + paid) + prepared.error**2 + prepared.excess + prepared.vanished
        total += times * (value + moved * (1 + gamma(16)))
    total *= 1 + gamma(len(sparsities) + 16)
    require(bool(np.isfinite(total)), "its numbers overflow")
    return SetProved(total)
