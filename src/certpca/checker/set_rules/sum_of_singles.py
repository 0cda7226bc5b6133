"""The sum of single bounds: components that are chosen together capture no more than each could by itself.

    Σ_t x_tᵀAx_t ≤ Σ_t Z*(k_t).

The tree is {"parts": […], "serves": […]}: certificates of one component (`checker/single_parts`), and for each
component the number of the one that serves it, whose sparsity must be no smaller than its own. Parts whose check draws
random numbers belong to `sum-of-singles-random`, which says so.

Proof: docs/mathematics.md, 11.1.

Allowance. Each bound has its own; their sum rounds by γ_r.
"""

from collections.abc import Mapping

from certpca.checker.data import Prepared
from certpca.checker.numbers import gamma, require
from certpca.checker.set_rules import SetProved
from certpca.checker.single_parts import MOST_PARTS, forms_of_parts, prove_part
from certpca.results.certificate import RANDOM
from certpca.results.evidence_forms import parts_of
from certpca.results.set_certificate import SetCertificate

SENTENCE = "a certificate for each component by itself, whose bounds are added up"
PROBLEMS = ("disjoint", "orthogonal", "uncorrelated", "shared")
EVIDENCE = forms_of_parts()


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Add up what single certificates prove."""
    del objective
    return added(prepared, certificate, random=False)


def added(prepared: Prepared, certificate: SetCertificate, *, random: bool) -> SetProved:
    """Add up what single certificates prove, among them such as draw random numbers where that is allowed."""
    tree = certificate.tree
    require(isinstance(tree, Mapping), "its tree is malformed")
    parts, serves = tree["parts"], tree["serves"]
    require(isinstance(parts, list) and 0 < len(parts) <= MOST_PARTS, "its parts are malformed")
    require(
        isinstance(serves, list)
        and len(serves) == len(certificate.sparsities)
        and all(type(number) is int and 0 <= number < len(parts) for number in serves),
        "it does not say which part serves which component",
    )
    require(
        random or not any(str(part["kind"]).endswith(RANDOM) for part in parts),
        "a part of it draws random numbers, which its kind does not say",
    )
    arrays = parts_of(certificate.evidence)
    proved = [prove_part(prepared, arrays, number, entry) for number, entry in enumerate(parts)]
    for number, sparsity in zip(serves, certificate.sparsities, strict=True):
        require(parts[number]["sparsity"] >= sparsity, "a part is for fewer loadings than the component it serves")
    bound, again = (sum(max(proved[number][which], 0.0) for number in serves) for which in (0, 1))
    return SetProved(bound * (1 + gamma(len(serves) + 4)), again * (1 + gamma(len(serves) + 4)))
