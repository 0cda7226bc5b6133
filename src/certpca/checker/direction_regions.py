"""Regions that cover all directions ξ, each the intersection of double wedges (r·ξ)(s·ξ) ≤ 0.

Vectors r_0, …, r_m with r_m = −r_0 give pairs (r_j, r_j+1) whose regions cover every ξ: the sign of r_j·ξ changes
somewhere between its first value and its opposite. For the same reason (r, t_1), (t_1, t_2), …, (t_m, s) cover the
region of (r, s), whatever the t_j are. So covering is a matter of indices, and the vectors need not be trusted.

On a region σM with M = −(rsᵀ + srᵀ)/2 and σ ≥ 0 may be added to any matrix whose forms ξᵀGξ are to be bounded, since
ξᵀMξ ≥ 0 there.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.limits import LARGEST_FACTORED, MOST_NODES
from certpca.checker.numbers import Vector, array_of, require
from certpca.results.evidence_forms import Form, listed, up_to

RAYS = Form("f", (listed, up_to(LARGEST_FACTORED)))
SIGMAS = Form("f", (listed,), degree=1.0)
DEEPEST = 200  # splits on the way to a leaf
Pair = tuple[int, int]


def rays_of(prepared: Prepared, evidence: Mapping[str, Any]) -> Vector:
    """Read the rays, refusing those whose products could vanish or make roundings large."""
    rays = array_of(evidence, "rays", 2)
    require(rays.shape[1] == prepared.depth, "its rays have the wrong length")
    sizes = np.abs(rays).max(axis=1)
    require(bool(((sizes > 1e-3) & (sizes < 1e3)).all()), "its rays are too short or too long")
    return rays


def sigmas_of(prepared: Prepared, evidence: Mapping[str, Any], name: str, pairs: list[Pair]) -> Vector:
    """Read a weight for each pair on the way to a leaf."""
    sigmas = array_of(evidence, name, 1) / prepared.unit
    require(sigmas.shape[0] == len(pairs), "a leaf has the wrong number of weights")
    require(bool((sigmas >= 0).all()), "a leaf has a negative weight")
    return sigmas


def ray(rays: Vector, cut: int) -> Vector:
    """Return the ray of a cut, which ±j names as ± the ray j − 1."""
    return np.asarray(math.copysign(1.0, cut) * rays[abs(cut) - 1])


def leaves_of(tree: Any, rays: int) -> dict[int, list[Pair]]:
    """Return the pairs on the way to each leaf of a tree, refusing splits that do not cover their parent.

    A node is {"leaf": number} or {"cuts": [r_0, …, r_m], "children": […]}; a cut ±j means ± the ray j − 1.
    """
    leaves: dict[int, list[Pair]] = {}
    _collect(tree, [], rays, leaves)
    return leaves


def _collect(node: Any, path: list[Pair], rays: int, leaves: dict[int, list[Pair]], depth: int = 0) -> None:
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
        _collect(child, [*path, (first, second)], rays, leaves, depth + 1)
