"""Disjoint supports: prices of features, and search trees for what a component is worth at these.

For every w ≥ 0, if no feature is in two supports S_t with at most k_t features each,

    Σ_t λ_max(A_{S_t})  ≤  Σ_i w_i + Σ_t max over |S| ≤ k_t of [λ_max(A_SS) − Σ_{i∈S} w_i],

since Σ_t Σ_{i∈S_t} w_i ≤ Σ_i w_i. Where that leaves a gap, the problem is split by giving features away. In a part of
it each component has features I_t that it must have, some features have no component, and the others, R, are free:

    bound of the part  =  Σ_{i∈R} w_i + Σ_t max over I_t ⊂ S ⊂ I_t ∪ R, |S| ≤ k_t, of [λ_max(A_SS) − Σ_{i∈S∩R} w_i],

and the result is the largest bound of a part. The tree is a list of parts, the first of which is the whole:

    {"split": i, "none": m, "into": [[t, n], …]}   Feature i is free. It goes to no component (part m), or to component
                                                   t (part n). Components with the same k and the same I are alike, so
                                                   one of them is enough, and full ones take none.
    {"leaf": j, "slots": […]}                      Prices are in the evidence, `leaf<j>_prices`; for every kind of
                                                   component, in the order in which they are met, there is a search tree
                                                   (`checker/support_tree`), whose arrays begin with `leaf<j>_slot<s>_`.

Proof: docs/mathematics.md, 11.2.

Allowance. That of the search trees; sums of prices and bounds round by γ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import array_of, gamma, require
from certpca.checker.set_rules import SetProved
from certpca.checker.support_tree import LARGEST_SEARCHED, TREE, SupportTree
from certpca.results.evidence_forms import Form, features, numbered, parts_of, within
from certpca.results.set_certificate import SetCertificate

SENTENCE = "prices of features, and search trees that bound what each component is worth at these"
PROBLEMS = ("disjoint",)
EVIDENCE = within(numbered("leaf"), {"prices": Form("f", (features,), degree=1.0), **within(numbered("slot"), TREE)})

Inside = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Part:
    number: Any
    inside: Inside  # features of each component
    free: frozenset[int]


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
    stack = [_Part(0, tuple(() for _ in sparsities), frozenset(range(prepared.size)))]
    while stack:
        part = stack.pop()
        require(type(part.number) is int and 0 <= part.number < len(tree), "its tree names a part that is not there")
        require(part.number not in used, "its tree uses a part twice")  # else the walk might never end
        used.add(part.number)
        record = tree[part.number]
        require(isinstance(record, Mapping), "its tree is malformed")
        if "split" in record:
            stack.extend(_split(part, record, sparsities))
            continue
        number = record["leaf"]
        require(type(number) is int, "a leaf of its tree is malformed")
        bound = _leaf(prepared, dense, part, evidence.get(f"leaf{number}", {}), record["slots"], sparsities)
        require(bound >= 0, "a bound in its tree is not a number")  # max would pass over NaN
        worst = max(worst, bound)
    return SetProved(worst)


def _split(part: _Part, record: Mapping[str, Any], sparsities: tuple[int, ...]) -> list[_Part]:
    """Give a feature to none, and to a component of each kind."""
    feature, into = record["split"], record["into"]
    require(type(feature) is int and feature in part.free, "a split is not on a free feature")
    require(isinstance(into, list), "a split is malformed")
    free = part.free - {feature}
    parts = [replace(part, number=record["none"], free=free)]
    needed = {kind for kind in zip(sparsities, part.inside, strict=True) if len(kind[1]) < kind[0]}
    for entry in into:
        require(isinstance(entry, list) and len(entry) == 2, "a split is malformed")
        component, number = entry
        require(type(component) is int and 0 <= component < len(sparsities), "a split names no component")
        inside = list(part.inside)
        needed.discard((sparsities[component], inside[component]))
        inside[component] = tuple(sorted((*inside[component], feature)))
        parts.append(_Part(number, tuple(inside), free))
    require(not needed, "a split leaves out a component")
    return parts


def _leaf(
    prepared: Prepared,
    dense: Any,
    part: _Part,
    evidence: Mapping[str, Any],
    trees: Any,
    sparsities: tuple[int, ...],
) -> float:
    """Add up prices of free features and what components are worth at most."""
    stored = array_of(evidence, "prices", 1)
    require(stored.shape == (prepared.size,) and bool((stored >= 0).all()), "its prices are not one for each feature")
    free = np.array(sorted(part.free), dtype=np.intp)
    prices = np.zeros(prepared.size)
    prices[free] = stored[free] / prepared.unit
    kinds = list(zip(sparsities, part.inside, strict=True))
    slots = list(dict.fromkeys(kinds))
    require(isinstance(trees, list) and len(trees) == len(slots), "a leaf has not one tree for each kind of component")
    arrays = parts_of(evidence)
    total = float(prices.sum())
    for number, ((sparsity, inside), tree) in enumerate(zip(slots, trees, strict=True)):
        if len(inside) > sparsity:
            return 0.0  # there are no such components
        walked = SupportTree(prepared, arrays.get(f"slot{number}", {}), sparsity, prices, dense)
        walked.walk(tree, np.array(inside, dtype=np.intp), free)
        total += kinds.count((sparsity, inside)) * walked.bound
    return total * (1 + gamma(prepared.size + len(kinds) + 8))
