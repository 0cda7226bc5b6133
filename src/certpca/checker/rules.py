"""One rule for each kind of certificate: from evidence to a proved bound."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certpca.checker.data import Prepared
from certpca.checker.dual import point_of, screen
from certpca.checker.limits import DEEPEST_REGIONS, LARGEST_DENSE, MOST_NODES, ROW_BYTES
from certpca.checker.numbers import array_of, gamma, largest_eigenvalue, require
from certpca.checker.reduced import reduced_bound
from certpca.checker.search_tree import search_tree_bound
from certpca.checker.semidefinite import semidefinite_bound
from certpca.results.certificate import RANDOM, Certificate
from certpca.runtime.arrays import Vector

Mask = NDArray[np.bool_]


class Proved(NamedTuple):
    """A bound, the features in no optimal support, and those in every one.

    `again` is what a check with other random numbers confirms as well, where a rule draws some.
    """

    bound: float
    outside: Mask
    inside: Mask
    again: float | None = None


Rule = Callable[[Prepared, Certificate, float], Proved]


def _nobody(prepared: Prepared) -> tuple[Mask, Mask]:
    return np.zeros(prepared.size, dtype=bool), np.zeros(prepared.size, dtype=bool)


def _trace_rule(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """λ_max of a principal submatrix is at most its trace: the k largest diagonal entries."""
    del objective
    top = np.sort(prepared.diagonal())[-certificate.sparsity :]
    bound = prepared.lift(float(top.sum()) * (1 + gamma(prepared.depth + prepared.size + 8)))
    return Proved(bound, *_nobody(prepared))


def _eigenvalue_rule(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """No sparse vector captures more than the best dense one."""
    del certificate, objective
    require(prepared.depth <= LARGEST_DENSE, f"a matrix of order {prepared.depth} is too large to be factored")

    def bound() -> float:
        gram = np.zeros((prepared.depth, prepared.depth))
        for _, block in prepared.blocks():
            gram += block @ block.T
        return largest_eigenvalue((gram + gram.T) / 2, gamma(prepared.size + 8) * prepared.trace)

    return Proved(prepared.lift(prepared.once("largest-eigenvalue", bound)), *_nobody(prepared))


def _row_sum_rule(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """λ_max of a principal submatrix is at most its largest absolute row sum."""
    del objective
    k, worst = certificate.sparsity, 0.0
    prepared.work.spend(prepared.size**2 * (prepared.depth + 10.0))
    height = max(1, ROW_BYTES // (8 * prepared.size))
    for columns, block in prepared.blocks():
        for start in range(0, columns.stop - columns.start, height):
            left = block[:, start : start + height].T
            rows = np.empty((left.shape[0], prepared.size))
            for others, right in prepared.blocks():
                rows[:, others] = left @ right
            np.abs(rows, out=rows)
            rows.partition(prepared.size - k, axis=1)
            worst = max(worst, float(rows[:, prepared.size - k :].sum(axis=1).max()))
    # Entries of a product of F are off by γ_depth |a_i||a_j| at most, k of them in a row sum.
    doubt = gamma(prepared.depth + 4) * k * prepared.trace
    return Proved(prepared.lift(worst * (1 + gamma(k + 4)) + doubt), *_nobody(prepared))


def _dual_rule(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Evaluate one dual point: P and ρ."""
    kept, dropped = _screened(prepared, certificate, objective)
    point = point_of(kept, certificate.evidence, "")
    bound = certificate.sparsity * point.level + point.largest()
    outside, inside = screen(kept, point, certificate.sparsity, objective)
    everywhere, nowhere = dropped.copy(), np.zeros(prepared.size, dtype=bool)
    everywhere[~dropped], nowhere[~dropped] = outside, inside
    return Proved(max(point.lift(bound), _floor(dropped, objective)), everywhere, nowhere)


def _screened(prepared: Prepared, certificate: Certificate, objective: float) -> tuple[Prepared, Mask]:
    """Leave out features that a first dual point proves to be in no optimal support."""
    nobody = np.zeros(prepared.size, dtype=bool)
    if "screen_level" not in certificate.evidence:
        return prepared, nobody
    point = point_of(prepared, certificate.evidence, "screen_")
    outside, _ = screen(prepared, point, certificate.sparsity, objective)
    require(prepared.size - int(outside.sum()) >= certificate.sparsity, "it leaves too few features")
    return prepared.keep(~outside), outside


def _floor(dropped: Mask, objective: float) -> float:
    # Supports with dropped features stay below the objective, so they never raise the bound above it.
    return objective if dropped.any() else 0.0


def _tree_rule(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Take the worst leaf of a tree of regions that cover all directions, each with a dual point of its own."""
    evidence, tree = certificate.evidence, certificate.tree
    kept, dropped = _screened(prepared, certificate, objective)
    rays = array_of(evidence, "rays", 2)
    require(rays.shape[1] == prepared.depth, "its rays have the wrong length")
    # Products of very short rays would vanish, and weights could make their roundings large.
    sizes = np.abs(rays).max(axis=1)
    require(bool(((sizes > 1e-3) & (sizes < 1e3)).all()), "its rays are too short or too long")
    leaves: dict[int, list[tuple[int, int]]] = {}
    _collect_leaves(tree, [], rays.shape[0], leaves)
    depth, size = float(prepared.depth), float(prepared.size)
    prepared.work.spend(len(leaves) * (2 * depth**2 * size + 20 * depth**3))
    worst = 0.0
    for leaf, pairs in leaves.items():
        point = point_of(kept, evidence, f"leaf{leaf}_")
        weights = array_of(evidence, f"leaf{leaf}_weights", 1) / prepared.unit
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
    return Proved(max(worst, _floor(dropped, objective)), dropped, np.zeros(prepared.size, dtype=bool))


def _collect_leaves(
    node: Any, path: list[tuple[int, int]], rays: int, leaves: dict[int, list[tuple[int, int]]], depth: int = 0
) -> None:
    """Walk a tree of regions, refusing splits that do not cover their parent.

    A node is {"leaf": number} or {"cuts": [r_0, …, r_m], "children": […]}; a cut ±j means ± the ray j − 1.
    """
    require(isinstance(node, Mapping) and depth <= DEEPEST_REGIONS, "its tree is malformed")
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


def _semidefinite_rule(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Evaluate one dual matrix of the semidefinite relaxation."""
    del objective
    bound = semidefinite_bound(prepared, certificate.evidence, certificate.sparsity)
    return Proved(bound, *_nobody(prepared))


def _search_tree_rule(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Take the worst leaf of a tree over the features that a first dual point leaves."""
    kept, dropped = _screened(prepared, certificate, objective)
    proved = search_tree_bound(kept, certificate.evidence, certificate.tree, certificate.sparsity, objective)
    everywhere, nowhere = dropped.copy(), np.zeros(prepared.size, dtype=bool)
    everywhere[~dropped], nowhere[~dropped] = proved[1], proved[2]
    return Proved(max(proved[0], _floor(dropped, objective)), everywhere, nowhere)


def _reduced_rule(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Evaluate a dual point in a few directions and bound the others."""
    del objective
    bound, again = reduced_bound(prepared, certificate, random=certificate.kind.endswith(RANDOM))
    return Proved(bound, *_nobody(prepared), again)


RULES: dict[str, Rule] = {
    "trace": _trace_rule,
    "largest-eigenvalue": _eigenvalue_rule,
    "row-sums": _row_sum_rule,
    "l0-dual": _dual_rule,
    "l0-tree": _tree_rule,
    "sdp-dual": _semidefinite_rule,
    "search-tree": _search_tree_rule,
    "l0-reduced": _reduced_rule,
    f"l0-reduced{RANDOM}": _reduced_rule,
}
