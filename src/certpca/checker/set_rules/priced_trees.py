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
                                                   t (part n). Components with the same k, I, R and counts are alike,
                                                   so one of them is enough; full ones, and those that may not have i,
                                                   take none.
    {"split": i, "twins": […], "none": m, "into": [[t, n]]}
                                                   Each R_s has all of i and its twins, or none, and R_t has them. Where
                                                   a component like t has one of these, it may be t that has i (part n),
                                                   by an exchange; else no component like t has any (part m).
    {"block": b, "of": t, "above": a, "into": [n_0, n_1, …]}
                                                   In part n_j, j of the components like t have more than a features
                                                   of block b (`block<b>_features`; no two blocks have one in common),
                                                   and the others at most a.
    {"leaf": j, "slots": […]}                      Prices are in the evidence, `leaf<j>_prices`; for every kind of
                                                   component, in the order in which they are met, there is a search tree
                                                   (`checker/support_tree`), whose arrays begin with `leaf<j>_slot<s>_`,
                                                   and whose sums of pairs are over supports with as many of each block
                                                   as components of that kind have. With `leaf<j>_directions`
                                                   and `leaf<j>_shift` they are for A − M + cI
                                                   (`checker/priced_directions`), which adds c to all.

Proof: docs/mathematics.md, 8.6, 11.2, 11.3, 11.5 and 11.6.

Allowance. That of the search trees and of `priced_directions`; sums of prices and bounds round by γ. Twins need not be
equal: exchanging i and j changes what two components capture by at most ‖A − PAP‖ ≤ |A_ii − A_jj| + 2Σ_l |A_il − A_jl|,
l ≠ i, j, each. That is added to the bounds of part n and of all its parts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from certpca.checker.component_parts import Block, Kind, Part, blocks_of, counted, exchanged, given_away, whole
from certpca.checker.counted_sums import Counts
from certpca.checker.data import Prepared
from certpca.checker.numbers import Vector, array_of, gamma, require
from certpca.checker.priced_directions import DIRECTIONS, Remaining, remaining
from certpca.checker.set_rules import SetProved
from certpca.checker.support_tree import LARGEST_SEARCHED, TREE, SupportTree
from certpca.results.evidence_forms import Form, features, numbered, parts_of, within
from certpca.results.set_certificate import SetCertificate

SENTENCE = "prices of features, and search trees that bound what each component is worth at these"
PROBLEMS = ("disjoint",)
EVIDENCE = {
    **within(
        numbered("leaf"),
        {"prices": Form("f", (features,), degree=1.0), **DIRECTIONS, **within(numbered("slot"), TREE)},
    ),
    **within(numbered("block"), {"features": Form("i", (features,))}),
}


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Take the worst part."""
    del objective
    require(prepared.size <= LARGEST_SEARCHED, f"search trees are for up to {LARGEST_SEARCHED} features")
    tree, sparsities = certificate.tree, certificate.sparsities
    require(isinstance(tree, list) and 0 < len(tree) <= prepared.limits.most_nodes, "its tree is malformed")
    prepared.work.spend(float(prepared.size) ** 2 * (prepared.depth + 4))
    dense = prepared.dense(np.arange(prepared.size))
    evidence = parts_of(certificate.evidence)
    blocks = blocks_of(evidence, prepared.size)
    worst, used = 0.0, set[int]()
    stack = [whole(sparsities, prepared.size, len(blocks))]
    while stack:
        part = stack.pop()
        require(type(part.number) is int and 0 <= part.number < len(tree), "its tree names a part that is not there")
        require(part.number not in used, "its tree uses a part twice")  # else the walk might never end
        used.add(part.number)
        record = tree[part.number]
        require(isinstance(record, Mapping), "its tree is malformed")
        if "block" in record:
            prepared.work.spend(100.0 * len(part.kinds) * (len(part.kinds) + len(blocks)))
            stack.extend(counted(part, record, blocks))
            continue
        if "twins" in record:
            prepared.work.spend(4.0 * prepared.size * len(record["twins"]))
            stack.extend(exchanged(dense, part, record))
            continue
        if "split" in record:
            stack.extend(given_away(part, record))
            continue
        number = record["leaf"]
        require(type(number) is int, "a leaf of its tree is malformed")
        prepared.work.spend(100.0 * len(part.kinds) * (len(blocks) + 1))
        if not part.possible(blocks):
            continue  # there are no such components
        bound = _leaf(prepared, dense, part, blocks, evidence.get(f"leaf{number}", {}), record["slots"])
        require(bound >= 0, "a bound in its tree is not a number")  # max would pass over NaN
        worst = max(worst, bound)
    return SetProved(worst)


def _leaf(
    prepared: Prepared,
    dense: tuple[Vector, float],
    part: Part,
    blocks: Sequence[Block],
    evidence: Mapping[str, Any],
    trees: Any,
) -> float:
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
    needed = part.needed(blocks)
    for number, (kind, tree) in enumerate(zip(slots, trees, strict=True)):
        slot = arrays.get(f"slot{number}", {})
        counts = _counts(kind, needed, blocks, prepared.size)
        walked = SupportTree(prepared, slot, kind.sparsity, prices, own.dense, of_data=not priced, counts=counts)
        walked.walk(tree, np.array(sorted(kind.has), dtype=np.intp), np.array(sorted(kind.may), dtype=np.intp))
        total += part.kinds.count(kind) * (walked.bound - own.shift)
        largest += part.kinds.count(kind) * (walked.bound + own.shift)
    bound = total + gamma(prepared.size + 4 * len(part.kinds) + 16) * largest
    require(bool(np.isfinite(bound)), "its numbers overflow")
    return max(bound, 0.0)  # no components capture less


def _counts(kind: Kind, needed: Sequence[int], blocks: Sequence[Block], size: int) -> Counts | None:
    """Say how many features of each block a component has, where others must have theirs, and of those in none."""
    if not blocks:
        return None
    labels = np.full(size, len(blocks))
    for number, block in enumerate(blocks):
        labels[list(block)] = number
    limits = kind.limits(needed, blocks)
    places = kind.sparsity - sum(low for low, _ in limits)  # for features of no block
    least, most = np.array([*limits, (0, places)]).T
    return Counts(labels, least, most)
