"""Dual points for regions that cover all directions.

On the ξ with (r·ξ)(s·ξ) ≤ 0, adding σM with M = −(rsᵀ + srᵀ)/2 and σ ≥ 0 keeps the bound of `l0_dual`, since
ξᵀMξ ≥ 0 there. So with weights σ_j for the pairs that describe a region,

    Z* ≤ max over regions of kρ + λ_max(Σ Y_i + Σ σ_jM_j),   each region with a dual point and weights of its own.

Vectors r_0, …, r_m with r_m = −r_0 give pairs (r_j, r_j+1) whose regions cover every ξ: the sign of r_j·ξ changes
somewhere between its first value and its opposite. For the same reason (r, t_1), (t_1, t_2), …, (t_m, s) cover the
region of (r, s), whatever the t_j are. So covering is a matter of indices, and the vectors need not be trusted.

Proof: docs/mathematics.md, 5.1 and 5.2.

Allowance. That of a dual point, and for each pair 4√d γ_d σ|r||s| for turning r and s into its basis and
γ‖Σ Y_i + Σ σ_jM_j‖ for the sums.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.dual_points import POINT, point_of
from certpca.checker.limits import LARGEST_FACTORED, MOST_NODES
from certpca.checker.numbers import Vector, array_of, gamma, largest_eigenvalue, require
from certpca.checker.proved import Proved
from certpca.checker.screening import SCREEN, screened
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Form, listed, numbered, parts_of, up_to, within

SENTENCE = "dual points for regions that cover all directions"
EVIDENCE = {
    "rays": Form("f", (listed, up_to(LARGEST_FACTORED))),
    **within(SCREEN, POINT),
    **within(numbered("leaf"), {**POINT, "weights": Form("f", (listed,), degree=1.0)}),
}
DEEPEST = 200  # splits on the way to a leaf


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Take the worst leaf of a tree of regions."""
    evidence, tree = certificate.evidence, certificate.tree
    left = screened(prepared, certificate, objective)
    rays = array_of(evidence, "rays", 2)
    require(rays.shape[1] == prepared.depth, "its rays have the wrong length")
    # Products of very short rays would vanish, and weights could make their roundings large.
    sizes = np.abs(rays).max(axis=1)
    require(bool(((sizes > 1e-3) & (sizes < 1e3)).all()), "its rays are too short or too long")
    leaves: dict[int, list[tuple[int, int]]] = {}
    _collect_leaves(tree, [], rays.shape[0], leaves)
    depth, size = float(prepared.depth), float(prepared.size)
    prepared.work.spend(len(leaves) * (2 * depth**2 * size + 20 * depth**3))
    worst, parts = 0.0, parts_of(evidence)
    for leaf, pairs in leaves.items():
        own = parts.get(f"leaf{leaf}", {})
        point = point_of(left.kept, own)
        weights = array_of(own, "weights", 1) / prepared.unit
        require(weights.shape[0] == len(pairs), "a leaf has the wrong number of weights")
        require(bool((weights >= 0).all()), "a leaf has a negative weight")
        total, doubt = point.total, point.doubt
        for weight, (first, second) in zip(weights, pairs, strict=True):
            if weight == 0.0:
                continue
            r, s = _ray(rays, first) @ point.basis, _ray(rays, second) @ point.basis
            total = total - (weight / 2) * (np.outer(r, s) + np.outer(s, r))
            # Rotating r and s rounds them, and so do the products and sums.
            lengths = weight * float(np.linalg.norm(_ray(rays, first)) * np.linalg.norm(_ray(rays, second)))
            doubt += 4 * math.sqrt(prepared.depth) * gamma(prepared.depth + 16) * lengths
            doubt += gamma(4) * float(np.linalg.norm(total))
        bound = certificate.sparsity * point.level + largest_eigenvalue((total + total.T) / 2, doubt)
        lifted = point.lift(bound)
        require(math.isfinite(lifted), "a leaf proves nothing")  # max would pass over NaN
        worst = max(worst, lifted)
    nobody = np.zeros(left.kept.size, dtype=bool)
    return left.proved(worst, nobody, nobody)


def _collect_leaves(
    node: Any, path: list[tuple[int, int]], rays: int, leaves: dict[int, list[tuple[int, int]]], depth: int = 0
) -> None:
    """Walk a tree of regions, refusing splits that do not cover their parent.

    A node is {"leaf": number} or {"cuts": [r_0, …, r_m], "children": […]}; a cut ±j means ± the ray j − 1.
    """
    require(isinstance(node, Mapping) and depth <= DEEPEST, "its tree is malformed")
    require(len(leaves) < MOST_NODES, f"its tree has more than {MOST_NODES:,} leaves")
    if "leaf" in node:
        number = node["leaf"]
        require(
            type(number) is int and 0 <= number < MOST_NODES and number not in leaves,
            "a leaf is malformed or used twice",
        )
        leaves[number] = path
        return
    cuts, children = node.get("cuts"), node.get("children")
    require(isinstance(cuts, list) and isinstance(children, list), "its tree is malformed")
    require(all(type(cut) is int and 1 <= abs(cut) <= rays for cut in cuts), "a split names a ray that is not there")
    require(len(cuts) >= 2 and len(children) == len(cuts) - 1, "a split has the wrong number of children")
    whole, refined = cuts[-1] == -cuts[0], (cuts[0], cuts[-1]) in path
    require(whole or refined, "the leaves do not cover all directions")
    for first, second, child in zip(cuts[:-1], cuts[1:], children, strict=True):
        _collect_leaves(child, [*path, (first, second)], rays, leaves, depth + 1)


def _ray(rays: Vector, cut: int) -> Vector:
    return np.asarray(math.copysign(1.0, cut) * rays[abs(cut) - 1])
