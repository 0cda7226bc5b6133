"""Orthogonal loadings: a matrix M ⪰ 0 of prices for directions, and search trees for the matrix that it leaves.

If the x_t are orthonormal then Σ_t x_tx_tᵀ ⪯ I, so for every M ⪰ 0

    Σ_t x_tᵀAx_t  ≤  tr M + Σ_t max over unit x with at most k_t nonzeros of xᵀ(A − M)x.

M = VVᵀ is semidefinite by its form. A − M need not be: trees are for A − M + cI, which adds c to every value, and use
no traces. The tree is a list of search trees (`checker/support_tree`), one for each k in the order in which they are
met; the arrays of tree s begin with `slot<s>_`.

Loadings with disjoint supports are orthogonal, as are those of components that share their features; so the bound
serves these problems too.

Proof: docs/mathematics.md, 11.3.

Allowance. That of `priced_directions`; sums of bounds round by γ.
"""

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import gamma, require
from certpca.checker.priced_directions import DIRECTIONS, remaining
from certpca.checker.set_rules import SetProved
from certpca.checker.support_tree import LARGEST_SEARCHED, TREE, SupportTree
from certpca.results.evidence_forms import numbered, parts_of, within
from certpca.results.set_certificate import SetCertificate

SENTENCE = "prices of directions, and search trees that bound what each component is worth at these"
PROBLEMS = ("orthogonal", "disjoint", "shared")
EVIDENCE = {**DIRECTIONS, **within(numbered("slot"), TREE)}


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Add the trace of M to what components are worth at most."""
    del objective
    size, sparsities, trees = prepared.size, certificate.sparsities, certificate.tree
    require(size <= LARGEST_SEARCHED, f"search trees are for up to {LARGEST_SEARCHED} features")
    dense, paid, shift = remaining(prepared, certificate.evidence, prepared.dense(np.arange(size)))
    slots = list(dict.fromkeys(sparsities))
    require(isinstance(trees, list) and len(trees) == len(slots), "it has not one tree for each sparsity")
    arrays = parts_of(certificate.evidence)
    total = largest = paid
    for number, (sparsity, tree) in enumerate(zip(slots, trees, strict=True)):
        walked = SupportTree(prepared, arrays.get(f"slot{number}", {}), sparsity, dense=dense, of_data=False)
        walked.walk(tree)
        total += sparsities.count(sparsity) * (walked.bound - shift)
        largest += sparsities.count(sparsity) * (walked.bound + shift)
    return SetProved(max(total + gamma(4 * len(sparsities) + 16) * largest, 0.0))
