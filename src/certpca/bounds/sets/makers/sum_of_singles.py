"""A certificate of each component by itself, whose bounds add up: always there, whatever the problem."""

from typing import Any

import numpy as np

from certpca.bounds.goals import Goal, Incumbent, Known
from certpca.bounds.pipeline import find_certificate
from certpca.bounds.sets.search import SetSearch
from certpca.checker.single_parts import part_name
from certpca.operators import on_host
from certpca.results.certificate import RANDOM, Certificate
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.search.krylov import leading_eigenpairs

ORDER = 10
KINDS = ("sum-of-singles", "sum-of-singles-random")
SHARE = 0.3  # of the time, where other makers may follow


def applies(search: SetSearch) -> bool:
    """Say yes: there is always such a bound."""
    del search
    return True


def make(search: SetSearch) -> None:
    """Prove a bound for each sparsity that occurs, and add them up."""
    wanted = sorted(set(search.sparsities))
    begin = search.progress.part(SHARE, quiet=True)
    for number, sparsity in enumerate(wanted):
        if sparsity not in search.singles:
            share = begin.part(1 / (len(wanted) - number), quiet=True)
            search.singles[sparsity] = single(search, sparsity, share)
    parts = [part_entry(search.singles[sparsity]) for sparsity in wanted]
    evidence: dict[str, Any] = {}
    for number, sparsity in enumerate(wanted):
        evidence |= part_evidence(search.singles[sparsity], number)
    serves = [wanted.index(sparsity) for sparsity in search.sparsities]
    kind = KINDS[any(entry["kind"].endswith(RANDOM) for entry in parts)]
    search.offer(search.proved(kind, evidence, {"parts": parts, "serves": serves}))


def single(search: SetSearch, sparsity: int, progress: Progress) -> Certificate:
    """Return a certificate of one component by itself."""
    operator, shared = search.operator, search.shared
    host = on_host(operator)
    first = max(search.components, key=lambda component: component.objective)
    start = first.support[top_k(np.abs(first.loadings), min(sparsity, first.support.size))]
    incumbent = Incumbent(host, Known(start, np.empty(0), -np.inf), progress.late)
    begin = incumbent.refitted(_filled(start, to_vector(host.diagonal()), sparsity))
    direction = to_vector(leading_eigenpairs(host, 1, rng=0, late=progress.late).vectors)[:, 0]
    known = incumbent.improved(begin, [direction])
    return find_certificate(operator, sparsity, known, Goal(search.goal.target_gap, shared=shared), progress)


def part_entry(certificate: Certificate) -> dict[str, Any]:
    """Describe a certificate as a part of one for several components."""
    return {
        "kind": certificate.kind,
        "sparsity": certificate.sparsity,
        "support": certificate.support.tolist(),
        "loadings": certificate.loadings.tolist(),
        "tree": certificate.tree,
    }


def part_evidence(certificate: Certificate, number: int) -> dict[str, Any]:
    """Name the arrays of such a part."""
    return within(part_name(certificate.kind, number), certificate.evidence)


def _filled(support: np.ndarray[Any, Any], diagonal: np.ndarray[Any, Any], sparsity: int) -> np.ndarray[Any, Any]:
    """Add the features of largest variance until there are enough."""
    others = np.setdiff1d(np.argsort(-diagonal, kind="stable"), support, assume_unique=True)
    return np.sort(np.concatenate([support, others[: sparsity - support.size]])).astype(np.intp)
