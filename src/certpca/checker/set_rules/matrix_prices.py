"""Orthogonal loadings: a matrix M ⪰ 0 of prices for directions, and search trees for the matrix that it leaves.

If the x_t are orthonormal then Σ_t x_tx_tᵀ ⪯ I, so for every M ⪰ 0

    Σ_t x_tᵀAx_t  ≤  tr M + Σ_t max over unit x with at most k_t nonzeros of xᵀ(A − M)x.

M = VVᵀ is semidefinite by its form. A − M need not be: trees are for A − M + cI, which adds c to every value, and use
no traces. The tree is a list of search trees (`checker/support_tree`), one for each k in the order in which they are
met; the arrays of tree s begin with `slot<s>_`.

Loadings with disjoint supports are orthogonal, as are those of components that share their features; so the bound
serves these problems too.

Proof: docs/mathematics.md, 11.3.

Allowance. V is what is stored, up to a factor that rounds, and M is exactly VVᵀ of that; the product and the
differences round by γ_m‖V‖² + γ(‖A‖ + ‖V‖² + c), and the trace of M by γ_nm.
"""

from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import array_of, gamma, require
from certpca.checker.set_rules import SetProved
from certpca.checker.support_tree import LARGEST_SEARCHED, TREE, SupportTree
from certpca.results.evidence_forms import Form, features, numbered, parts_of, up_to, within
from certpca.results.set_certificate import SetCertificate

SENTENCE = "prices of directions, and search trees that bound what each component is worth at these"
PROBLEMS = ("orthogonal", "disjoint", "shared")
MOST_DIRECTIONS = 512
EVIDENCE = {
    "directions": Form("f", (features, up_to(MOST_DIRECTIONS)), degree=0.5),
    "shift": Form("f", degree=1.0),
    **within(numbered("slot"), TREE),
}


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Add the trace of M to what components are worth at most."""
    del objective
    size, sparsities, trees = prepared.size, certificate.sparsities, certificate.tree
    require(size <= LARGEST_SEARCHED, f"search trees are for up to {LARGEST_SEARCHED} features")
    directions = array_of(certificate.evidence, "directions", 2) / np.sqrt(prepared.unit)
    shift = float(array_of(certificate.evidence, "shift", 0)) / prepared.unit
    require(directions.shape[0] == size and directions.shape[1] <= MOST_DIRECTIONS, "its directions have a wrong shape")
    require(shift >= 0, "its shift is negative")
    prepared.work.spend(float(size) ** 2 * (directions.shape[1] + 4))
    dense = _rest(prepared, directions, shift)
    slots = list(dict.fromkeys(sparsities))
    require(isinstance(trees, list) and len(trees) == len(slots), "it has not one tree for each sparsity")
    arrays = parts_of(certificate.evidence)
    total = float((directions**2).sum()) * (1 + gamma(directions.size + 8))
    largest = total
    for number, (sparsity, tree) in enumerate(zip(slots, trees, strict=True)):
        walked = SupportTree(prepared, arrays.get(f"slot{number}", {}), sparsity, dense=dense, of_data=False)
        walked.walk(tree)
        total += sparsities.count(sparsity) * (walked.bound - shift)
        largest += sparsities.count(sparsity) * (walked.bound + shift)
    return SetProved(max(total + gamma(4 * len(sparsities) + 16) * largest, 0.0))


def _rest(prepared: Prepared, directions: Any, shift: float) -> tuple[Any, float]:
    """Return A − M + cI and how far it is from the exact one in norm."""
    matrix, slack = prepared.dense(np.arange(prepared.size))
    weight = float((directions**2).sum()) * (1 + gamma(directions.size + 8))
    product = directions @ directions.T
    rest = matrix - (product + product.T) / 2
    rest[np.diag_indices_from(rest)] += shift
    sizes = float(np.linalg.norm(matrix)) * (1 + gamma(prepared.size**2 + 8)) + weight + shift
    doubt = gamma(directions.shape[1] + 8) * weight + gamma(16) * sizes
    require(bool(np.isfinite(rest).all()), "its numbers overflow")
    return rest, (slack + doubt) * (1 + gamma(8))
