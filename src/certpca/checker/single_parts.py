"""Certificates of one component as parts of one for several.

Such a part is an entry of the tree, {"kind", "sparsity", "support", "loadings", "tree"}, and arrays that are named
after its kind and its number: those of part 2, of kind ``search-tree``, begin with ``searchtree2_``. So each is held
against the forms of its own kind. Its loadings bound the optimum of the single problem from below, by which rules leave
features out; they need have nothing to do with the components that are chosen together.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.checker.captured import captured
from certpca.checker.data import Prepared
from certpca.checker.numbers import require
from certpca.checker.rules import rules
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Forms, numbered, within

MOST_PARTS = 10_000


def part_name(kind: str, number: int) -> str:
    """Name the part by which its arrays are known."""
    return f"{kind.replace('-', '')}{number}"


def forms_of_parts() -> Forms:
    """Return the forms of the arrays of all parts."""
    forms: dict[str, Any] = {}
    for kind, rule in rules().items():
        forms |= within(numbered(kind.replace("-", "")), rule.EVIDENCE)
    return forms


def prove_part(
    prepared: Prepared, arrays: Mapping[str, Mapping[str, Any]], number: int, entry: Any
) -> tuple[float, float]:
    """Return a bound for one component, and what a check with other random numbers confirms.

    `arrays` are those of all parts, by the names of these.
    """
    require(isinstance(entry, Mapping), "a part of it is malformed")
    kind, sparsity = entry["kind"], entry["sparsity"]
    known = rules()
    require(isinstance(kind, str) and kind in known, f"a part has the unknown kind {kind!r}")
    require(type(sparsity) is int and 1 <= sparsity <= prepared.size, "the sparsity of a part is out of range")
    part = Certificate(
        kind=kind,
        size=prepared.size,
        sparsity=sparsity,
        upper_bound=np.inf,
        matrix="",
        normalisation={},
        fingerprint="",
        support=np.asarray(entry["support"]),  # as it is: numbers that are not whole are refused
        loadings=np.asarray(entry["loadings"], dtype=np.float64),
        evidence=arrays.get(part_name(kind, number), {}),
        tree=entry["tree"],
    )
    objective = captured(prepared, part.support, part.loadings, sparsity)
    proved = known[kind].prove(prepared, part, objective)
    again = proved.bound if proved.again is None else proved.again
    return max(proved.bound, objective), max(again, proved.bound, objective)
