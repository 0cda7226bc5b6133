"""Levels that are matrices, in cells of supports that are told apart by how many features they have in some groups.

A group G is any set of features. Supports S are split into those with |S ∩ G| ≤ m and those with m + 1 or more; a cell
is what a path of such splits leaves, l_g ≤ |S ∩ G_g| ≤ u_g. Its evidence names groups G_1, …, G_p without a feature in
common, and G_0 holds all other features. With levels R_b ⪰ 0, Y_i ⪰ 0 and Y_i ⪰ a_ia_iᵀ − R_b for i in G_b,

    the supports of the cell have at most   max over the vertices n of its counts of λ_max(Σ_b n_b R_b + Σ_i Y_i).

*Why.* A support with fewer than k features captures no more than one with k that contains it, but that one may lie in
another cell; so every support is taken to have k, and the cells cover all of those. Where features are forced in, so
many of them as G_g has are its fewest: a cell that allows fewer has no support. If S has n_b features in G_b, then
for a unit ξ, as in `l0_level`, Σ_S (a_iᵀξ)² ≤ ξᵀ(Σ_i Y_i + Σ_b n_b R_b)ξ. The counts lie in the polytope

    l_b ≤ n_b ≤ min(u_b, |G_b|) for b > 0,   n_0 = k − Σ n_b,   0 ≤ n_0 ≤ |G_0|,

and λ_max is convex in them, so that it is largest at a vertex. At a vertex of a box between two parallel planes all
coordinates but one are at their ends, and the last one is too or lies on a plane. A cell without counts has no support.

Proof: docs/mathematics.md, 7.1 and 7.2; under constraints 17.2.

Allowance. That of `level_points` for each R_b ⪰ 0, each Y_i and their sum; Σ n_b R_b is formed with an error of at most
γ_{2m+p+8} Σ n_b ϱ_b in norm, and adding Σ Y_i rounds as there.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.large_eigenvalues import largest_of
from certpca.checker.level_factors import vectors_of_groups
from certpca.checker.level_points import sum_of_duals
from certpca.checker.levels import Level, level_of
from certpca.checker.limits import LARGEST_FACTORED
from certpca.checker.numbers import Indices, array_of, gamma, indices_of, require
from certpca.checker.proved import Proved, bound_alone
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Form, features, numbered, parts_of, triangle, up_to, within

SENTENCE = "dual points with matrices as levels, for cells of counts that together hold every support"
MOST_GROUPS = 6  # of a cell, whose vertices are up to 2⁶ and some
DEEPEST = 200  # splits on the way to a cell
_SIDE = up_to(LARGEST_FACTORED)
_LEVELS = up_to(MOST_GROUPS + 1)
EVIDENCE = {
    "directions": Form("f", (_SIDE, _SIDE)),
    **within(numbered("group"), {"features": Form("i", (features,))}),
    **within(
        numbered("cell"),
        {
            "groups": Form("i", (_LEVELS,)),
            "matrix": Form("f", (_LEVELS, triangle(LARGEST_FACTORED)), degree=1.0),
            "level": Form("f", (_LEVELS,), degree=1.0),
            "frame": Form("f", (_LEVELS, _SIDE, _SIDE), degree=-0.5),
            "weights": Form("f", (_LEVELS, lambda size: min(size, LARGEST_FACTORED) + 1)),
        },
    ),
}

Counts = dict[int, tuple[int, int]]  # the fewest and the most features of a group, by its number


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Take the worst cell of the tree."""
    del objective
    most = prepared.limits.largest_factored
    require(prepared.depth <= most, f"levels of order {prepared.depth} are too large to be factored")
    evidence, worst = certificate.evidence, 0.0
    parts = parts_of(evidence)

    @cache  # a group is read once, however many cells name it
    def members(group: int) -> Indices:
        return indices_of(parts.get(f"group{group}", {}), "features", prepared.size)

    included = np.array(certificate.constraints.include, dtype=np.intp)

    def with_forced(counts: Counts) -> Counts:
        """Raise the fewest features of each group to those that every support has."""
        forced = {group: int(np.isin(included, members(group)).sum()) for group in counts}
        return {group: (max(fewest, forced[group]), most) for group, (fewest, most) in counts.items()}

    seen: set[int] = set()
    for number, counts in _cells(certificate.tree, {}, seen):
        require(len(seen) <= prepared.limits.most_nodes, f"its tree has more than {prepared.limits.most_nodes:,} cells")
        cell = {"directions": evidence.get("directions"), **parts.get(f"cell{number}", {})}
        worst = max(worst, _bound(prepared, members, cell, with_forced(counts), certificate.sparsity))
    return bound_alone(prepared, worst)


def _cells(node: Any, counts: Counts, seen: set[int], depth: int = 0) -> Iterator[tuple[int, Counts]]:
    """Walk a tree: {"cell": number} or {"group": g, "most": m, "children": [with m or fewer, with more]}."""
    require(isinstance(node, Mapping) and depth <= DEEPEST, "its tree is malformed")
    if "cell" in node:
        number = node["cell"]
        require(type(number) is int and number not in seen, "a cell is named twice or wrongly")
        seen.add(number)
        yield number, counts
        return
    group, most, children = node.get("group"), node.get("most"), node.get("children")
    require(type(group) is int and type(most) is int and 0 <= most < 2**62, "a split is malformed")
    require(isinstance(children, list) and len(children) == 2, "a split does not have two sides")
    fewest, highest = counts.get(group, (0, 2**62))
    yield from _cells(children[0], {**counts, group: (fewest, min(highest, most))}, seen, depth + 1)
    yield from _cells(children[1], {**counts, group: (max(fewest, most + 1), highest)}, seen, depth + 1)


def _bound(
    prepared: Prepared, members: Callable[[int], Indices], cell: Mapping[str, Any], counts: Counts, k: int
) -> float:
    """Bound what the supports of a cell capture: nothing where there are none."""
    size, depth = prepared.size, prepared.depth
    prepared.work.spend(float(size))
    if any(members(group).size < fewest or fewest > most for group, (fewest, most) in counts.items()):
        return 0.0
    require("groups" in cell, "a cell does not name its groups")
    named = np.asarray(cell["groups"])
    require(named.dtype.kind in "iu" and named.ndim == 1 and named.size <= MOST_GROUPS, "a cell has too many groups")
    numbers = [int(group) for group in named]
    labels, box = np.zeros(size, dtype=np.int8), []
    for label, group in enumerate(numbers, 1):
        mine = members(group)
        require(not labels[mine].any(), "the groups of a cell have features in common")
        labels[mine] = label
        fewest, most = counts.get(group, (0, size))
        box.append((fewest, min(most, mine.size, k)))
    found = vertices(box, k, int((labels == 0).sum()))
    if not found:
        return 0.0
    levels = _levels(prepared, cell, len(numbers) + 1)
    width = levels[0].matrix.shape[0]
    cubes = len(found) + 4.0 * len(levels)
    prepared.work.spend(float(size) * depth * (depth + 8.0 * width) + cubes * depth**3)
    total, doubt = sum_of_duals(prepared, lambda part, block: vectors_of_groups(block, levels, labels[part]))
    trace = float(np.trace(total)) * (1 + gamma(depth))
    formed, worst = [level.formed() for level in levels], 0.0
    for vertex in found:
        together = total + sum(count * matrix for count, matrix in zip(vertex, formed, strict=True))
        sizes = sum(count * level.size for count, level in zip(vertex, levels, strict=True))
        off = doubt + gamma(2 * width + len(levels) + 24) * (sizes + trace) * (1 + gamma(8))
        require(bool(np.isfinite(together).all()) and math.isfinite(off), "its numbers overflow")
        bound = prepared.lift(largest_of((together + together.T) / 2, off))
        require(math.isfinite(bound), "a cell proves nothing")  # max would pass over NaN
        worst = max(worst, bound)
    return worst


def _levels(prepared: Prepared, cell: Mapping[str, Any], count: int) -> list[Level]:
    """Read a level for each group, on the same directions."""
    stacked = {name: array_of(cell, name, axes) for name, axes in (("matrix", 2), ("level", 1), ("frame", 3))}
    stacked["weights"] = array_of(cell, "weights", 2)
    require(all(len(values) == count for values in stacked.values()), "a cell does not have a level for each group")
    shared = {"directions": array_of(cell, "directions", 2)}
    return [
        level_of(prepared, {**shared, **{name: np.asarray(values[at]) for name, values in stacked.items()}})
        for at in range(count)
    ]


def vertices(box: list[tuple[int, int]], k: int, others: int) -> list[tuple[int, ...]]:
    """Return the vertices (n_0, n_1, …) of the counts in a box that leave 0 to `others` of k for the other features.

    Examples
    --------
    >>> sorted(vertices([(1, 3)], 4, 10))
    [(1, 3), (3, 1)]
    >>> vertices([(3, 2)], 4, 10)
    []
    """
    if any(fewest > most for fewest, most in box):
        return []
    fewest, found = max(k - others, 0), set()
    for corner in itertools.product(*box):
        if fewest <= sum(corner) <= k:
            found.add(corner)
    for free, (low, high) in enumerate(box):
        for rest in itertools.product(*box[:free], *box[free + 1 :]):
            for plane in (fewest, k):
                last = plane - sum(rest)
                if low <= last <= high:
                    found.add((*rest[:free], last, *rest[free:]))
    return [(k - sum(counts), *counts) for counts in sorted(found)]
