"""Disjoint supports: prices of features, and search trees for what a component is worth at these.

For every w ≥ 0, if no feature is in two supports S_t with at most k_t features each,

    Σ_t λ_max(A_{S_t})  ≤  Σ_i w_i + Σ_t max over |S| ≤ k_t of [λ_max(A_SS) − Σ_{i∈S} w_i],

since Σ_t Σ_{i∈S_t} w_i ≤ Σ_i w_i. Where that leaves a gap, the problem is split by giving features away. In a part of
it each component has features I_t that it must have and others, R_t, that it may have; with R = ∪ R_t

    bound of the part  =  Σ_{i∈R} w_i + Σ_t max over I_t ⊂ S ⊂ I_t ∪ R_t, |S| ≤ k_t, of [λ_max(A_SS) − Σ_{i∈S∩R_t} w_i],

and the result is the largest bound of a part. A leaf may also have prices of directions, M ⪰ 0, as disjoint supports
are orthogonal: then A − M takes the place of A, and tr M is added. The tree is a list of parts, the first of which is
the whole:

    {"split": i, "none": m, "into": [[t, n], …]}   Feature i is free. It goes to no component (part m), or to component
                                                   t (part n). Components with the same k, I and R are alike, so one of
                                                   them is enough; full ones, and those that may not have i, take none.
    {"split": i, "twins": […], "none": m, "into": [[t, n]]}
                                                   Each R_s has all of i and its twins, or none, and R_t has them. Where
                                                   a component like t has one of these, it may be t that has i (part n),
                                                   by an exchange; else no component like t has any (part m).
    {"leaf": j, "slots": […]}                      Prices are in the evidence, `leaf<j>_prices`; for every kind of
                                                   component, in the order in which they are met, there is a search tree
                                                   (`checker/support_tree`), whose arrays begin with `leaf<j>_slot<s>_`.
                                                   With `leaf<j>_directions` and `leaf<j>_shift` they are for
                                                   A − M + cI (`checker/priced_directions`), which adds c to all.

Proof: docs/mathematics.md, 11.2, 11.3 and 11.5.

Allowance. That of the search trees and of `priced_directions`; sums of prices and bounds round by γ. Twins need not be
equal: exchanging i and j changes what two components capture by at most ‖A − PAP‖ ≤ |A_ii − A_jj| + 2Σ_l |A_il − A_jl|,
l ≠ i, j, each. That is added to the bounds of part n and of all its parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import Vector, array_of, gamma, require
from certpca.checker.priced_directions import DIRECTIONS, Remaining, remaining
from certpca.checker.set_rules import SetProved
from certpca.checker.support_tree import LARGEST_SEARCHED, TREE, SupportTree
from certpca.results.evidence_forms import Form, features, numbered, parts_of, within
from certpca.results.set_certificate import SetCertificate

SENTENCE = "prices of features, and search trees that bound what each component is worth at these"
PROBLEMS = ("disjoint",)
EVIDENCE = within(
    numbered("leaf"),
    {"prices": Form("f", (features,), degree=1.0), **DIRECTIONS, **within(numbered("slot"), TREE)},
)

Kind = tuple[int, frozenset[int], frozenset[int]]
Dense = tuple[Vector, float]


@dataclass(frozen=True, slots=True)
class _Part:
    number: Any
    kinds: tuple[Kind, ...]  # of each component: how many features it may have, which it has, which others it may have
    exchanged: float = 0.0  # what exchanges of twins have changed

    @property
    def free(self) -> frozenset[int]:
        return frozenset[int]().union(*(may for _, _, may in self.kinds))

    def without(self, features: frozenset[int]) -> "_Part":
        return replace(self, kinds=tuple((k, has, may - features) for k, has, may in self.kinds))

    def given(self, feature: int, component: int) -> "_Part":
        kinds = list(self.without(frozenset({feature})).kinds)
        k, has, may = kinds[component]
        kinds[component] = k, has | {feature}, may
        return replace(self, kinds=tuple(kinds))


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Take the worst part."""
    del objective
    require(prepared.size <= LARGEST_SEARCHED, f"search trees are for up to {LARGEST_SEARCHED} features")
    tree, sparsities = certificate.tree, certificate.sparsities
    require(isinstance(tree, list) and 0 < len(tree) <= prepared.limits.most_nodes, "its tree is malformed")
    prepared.work.spend(float(prepared.size) ** 2 * (prepared.depth + 4))
    dense = prepared.dense(np.arange(prepared.size))
    evidence = parts_of(certificate.evidence)
    worst, used = 0.0, set[int]()
    everything = frozenset(range(prepared.size))
    stack = [_Part(0, tuple((k, frozenset[int](), everything) for k in sparsities))]
    while stack:
        part = stack.pop()
        require(type(part.number) is int and 0 <= part.number < len(tree), "its tree names a part that is not there")
        require(part.number not in used, "its tree uses a part twice")  # else the walk might never end
        used.add(part.number)
        record = tree[part.number]
        require(isinstance(record, Mapping), "its tree is malformed")
        if "split" in record:
            stack.extend(_exchanged(prepared, dense, part, record) if "twins" in record else _split(part, record))
            continue
        number = record["leaf"]
        require(type(number) is int, "a leaf of its tree is malformed")
        bound = _leaf(prepared, dense, part, evidence.get(f"leaf{number}", {}), record["slots"])
        require(bound >= 0, "a bound in its tree is not a number")  # max would pass over NaN
        worst = max(worst, bound)
    return SetProved(worst)


def _split(part: _Part, record: Mapping[str, Any]) -> list[_Part]:
    """Give a feature to none, and to a component of each kind that may have it."""
    feature, into = record["split"], _into(part, record)
    require(type(feature) is int and feature in part.free, "a split is not on a free feature")
    needed = {kind for kind in part.kinds if len(kind[1]) < kind[0] and feature in kind[2]}
    needed -= {part.kinds[component] for component, _ in into}
    require(not needed, "a split leaves out a component")
    parts = [replace(part.without(frozenset({feature})), number=record["none"])]
    return parts + [replace(part.given(feature, component), number=number) for component, number in into]


def _exchanged(prepared: Prepared, dense: Dense, part: _Part, record: Mapping[str, Any]) -> list[_Part]:
    """Give one of some twins to a component, or none of them to any that is like that."""
    feature, twins, into = record["split"], record["twins"], _into(part, record)
    require(isinstance(twins, list) and all(type(one) is int for one in (feature, *twins)), "its twins are malformed")
    block = frozenset((feature, *twins))
    require(len(into) == 1, "a split of twins is not about one component")
    component, number = into[0]
    require(block <= part.kinds[component][2], "a split is not on free features")
    alike = all(block <= may or not block & may for _, _, may in part.kinds)
    require(alike, "some of its twins are free for a component, and others not")
    matrix, slack = dense
    prepared.work.spend(4.0 * prepared.size * len(twins))
    changed = max((_distance(matrix, feature, twin) for twin in twins), default=0.0) + 2 * slack
    cost = (part.exchanged + 2 * changed) * (1 + gamma(8))
    own, barred = part.kinds[component], part.without(block)
    kinds = tuple(less if kind == own else kind for kind, less in zip(part.kinds, barred.kinds, strict=True))
    given = part.given(feature, component)
    return [replace(part, number=record["none"], kinds=kinds), replace(given, number=number, exchanged=cost)]


def _distance(matrix: Vector, first: int, second: int) -> float:
    """Bound the norm of what exchanging two features changes of a symmetric matrix."""
    others = np.abs(matrix[first] - matrix[second])
    others[[first, second]] = 0.0
    own = abs(float(matrix[first, first] - matrix[second, second]))
    return (own + 2 * float(others.sum())) * (1 + gamma(matrix.shape[0] + 8))


def _into(part: _Part, record: Mapping[str, Any]) -> list[tuple[int, Any]]:
    into, found = record["into"], []
    require(isinstance(into, list), "a split is malformed")
    for entry in into:
        require(isinstance(entry, list) and len(entry) == 2, "a split is malformed")
        component, number = entry
        require(type(component) is int and 0 <= component < len(part.kinds), "a split names no component")
        found.append((component, number))
    return found


def _leaf(prepared: Prepared, dense: Dense, part: _Part, evidence: Mapping[str, Any], trees: Any) -> float:
    """Add up prices of free features and what components are worth at most."""
    stored = array_of(evidence, "prices", 1)
    require(stored.shape == (prepared.size,) and bool((stored >= 0).all()), "its prices are not one for each feature")
    free = np.array(sorted(part.free), dtype=np.intp)
    prices = np.zeros(prepared.size)
    prices[free] = stored[free] / prepared.unit
    slots = list(dict.fromkeys(part.kinds))
    require(isinstance(trees, list) and len(trees) == len(slots), "a leaf has not one tree for each kind of component")
    arrays, priced = parts_of(evidence), "directions" in evidence
    require(priced == ("shift" in evidence), "a leaf has directions, or a shift, and not both")
    own = remaining(prepared, evidence, dense) if priced else Remaining(dense, 0.0, 0.0)
    total = largest = float(prices.sum()) + part.exchanged + own.paid
    for number, (kind, tree) in enumerate(zip(slots, trees, strict=True)):
        sparsity, inside, may = kind
        if len(inside) > sparsity:
            return 0.0  # there are no such components
        slot = arrays.get(f"slot{number}", {})
        walked = SupportTree(prepared, slot, sparsity, prices, own.dense, of_data=not priced)
        walked.walk(tree, np.array(sorted(inside), dtype=np.intp), np.array(sorted(may), dtype=np.intp))
        total += part.kinds.count(kind) * (walked.bound - own.shift)
        largest += part.kinds.count(kind) * (walked.bound + own.shift)
    bound = total + gamma(prepared.size + 4 * len(part.kinds) + 16) * largest
    require(bool(np.isfinite(bound)), "its numbers overflow")
    return max(bound, 0.0)  # no components capture less
