"""Search trees: every support is in some leaf, and each leaf has a bound that is recomputed (`checker/support_tree`).

    Z* ≤ max over leaves of a bound of λ_max(A_SS) for all supports S of the leaf.

A first dual point may leave out features before. What `support_tree` allows for roundings is all there is.

Proof: docs/mathematics.md, 8.1 to 8.4; under constraints 17.1 to 17.3.
"""

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.dual_points import POINT
from certpca.checker.numbers import gamma
from certpca.checker.proved import Proved
from certpca.checker.screening import SCREEN, screened
from certpca.checker.support_tree import LARGEST_SEARCHED, TREE, SupportTree
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Form, numbered, up_to, within

SENTENCE = "a search tree that covers every choice of features, with a bound for each leaf"
_SIDE = up_to(LARGEST_SEARCHED)
_RAISED = Form("f", (_SIDE, _SIDE), degree=1.0)
EVIDENCE = {
    **TREE,
    **within(SCREEN, POINT),
    "raised": _RAISED,
    **within(numbered("raise"), {"features": Form("i", (_SIDE,)), "entries": _RAISED}),
}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Take the worst leaf of a tree over the features that a first dual point leaves."""
    left = screened(prepared, certificate, objective)
    walked = SupportTree(left.kept, certificate.evidence, certificate.sparsity, constraints=left.constraints)
    walked.walk(certificate.tree)
    decided = []
    for kept in (walked.outside, walked.inside):
        mask = np.zeros(left.kept.size, dtype=bool)
        for features, bound in kept:
            mask[features] = (bound + walked.slack) * (1 + gamma(8)) < objective
        decided.append(mask)
    return left.proved(walked.bound, *decided)
