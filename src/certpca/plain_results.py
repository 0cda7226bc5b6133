"""Solutions and certificates as plain JSON values, and back; what can be large, the evidence, stays apart."""

import math
from typing import Any

import numpy as np

from certpca.budget import Step
from certpca.result import Candidate, Certificate, Solution, Status

FORMAT = "certpca solution 1"
CERTIFICATE_FORMAT = "certpca certificate 1"


def solution_to_dict(solution: Solution) -> dict[str, Any]:
    """Return the fields of a solution as plain JSON values; what is not finite becomes null."""
    return {
        "format": FORMAT,
        "support": solution.support.tolist(),
        "names": None if solution.names is None else list(solution.names),
        "loadings": solution.loadings.tolist(),
        "objective": solution.objective,
        "explained_variance_ratio": solution.explained_variance_ratio,
        "relative_objective": _finite(solution.relative_objective),
        "upper_bound": _finite(solution.upper_bound),
        "gap": _finite(solution.gap),
        "size": solution.size,
        "sparsity": solution.sparsity,
        "matrix": solution.matrix,
        "solver": solution.solver,
        "status": solution.status.name,
        "message": solution.status.value,
        "seconds": solution.seconds,
        "refitted": solution.refitted,
        "history": [[step.seconds, step.objective, _finite(step.upper_bound)] for step in solution.history],
        "details": {name: float(value) for name, value in solution.details.items()},
        "reading": dict(solution.reading),
    }


def solution_from_dict(fields: dict[str, Any], certificate: Certificate | None = None) -> Solution:
    """Make a solution from what `solution_to_dict` gave; a bound without its certificate is not believed."""
    names = fields["names"]
    support = np.array(fields["support"], dtype=np.intp)
    loadings = np.array(fields["loadings"], dtype=np.float64)
    if support.ndim != 1 or support.shape != loadings.shape:
        msg = f"support and loadings must be lists of one length, got shapes {support.shape} and {loadings.shape}"
        raise ValueError(msg)
    size = int(fields["size"])
    if support.size and not (support.min() >= 0 and support.max() < size):
        msg = f"support must lie in 0..{size - 1}, got {support.min()}..{support.max()}"
        raise ValueError(msg)
    if names is not None and len(names) != support.size:
        msg = f"there must be one name for each of {support.size} loadings, got {len(names)}"
        raise ValueError(msg)
    return Solution(
        support=support,
        names=None if names is None else tuple(str(name) for name in names),
        loadings=loadings,
        objective=float(fields["objective"]),
        explained_variance_ratio=float(fields["explained_variance_ratio"]),
        relative_objective=math.nan if fields["relative_objective"] is None else float(fields["relative_objective"]),
        size=size,
        sparsity=int(fields["sparsity"]),
        matrix=fields["matrix"],
        solver=fields["solver"],
        status=Status[fields["status"]],
        seconds=float(fields["seconds"]),
        refitted=fields["refitted"],
        history=tuple(Step(step[0], step[1], _number(step[2])) for step in fields["history"]),
        details=dict(fields["details"]),
        certificate=certificate,
        reading=dict(fields.get("reading", {})),
    )


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """Return everything but the evidence as plain JSON values."""
    return {
        "format": CERTIFICATE_FORMAT,
        "kind": certificate.kind,
        "sparsity": certificate.sparsity,
        "upper_bound": certificate.upper_bound,
        "objective": certificate.objective,
        "gap": _finite(certificate.gap),
        "features_in_no_optimum": certificate.outside,
        "features_in_every_optimum": certificate.inside,
        "matrix": certificate.matrix,
        "size": certificate.size,
        "normalisation": dict(certificate.normalisation),
        "fingerprint": certificate.fingerprint,
        "support": certificate.support.tolist(),
        "loadings": certificate.loadings.tolist(),
        "tree": certificate.tree,
        "seconds": certificate.seconds,
        "reading": dict(certificate.reading),
    }


def certificate_from_dict(fields: dict[str, Any], evidence: dict[str, Any]) -> Certificate:
    """Make a certificate from what `certificate_to_dict` gave and its evidence. That proves nothing: checking does."""
    return Certificate(
        kind=fields["kind"],
        size=fields["size"],
        sparsity=fields["sparsity"],
        upper_bound=float(fields["upper_bound"]),
        matrix=fields["matrix"],
        normalisation=dict(fields["normalisation"]),
        fingerprint=fields["fingerprint"],
        support=np.array(fields["support"], dtype=np.intp),
        loadings=np.array(fields["loadings"], dtype=np.float64),
        evidence=evidence,
        tree=fields["tree"],
        objective=float(fields["objective"]),
        outside=int(fields["features_in_no_optimum"]),
        inside=int(fields["features_in_every_optimum"]),
        seconds=float(fields["seconds"]),
        reading=dict(fields.get("reading", {})),
    )


def certificate_state(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as a state of a checkpoint, evidence included."""
    evidence = {name: np.asarray(value) for name, value in certificate.evidence.items()}
    return {"fields": certificate_to_dict(certificate), "evidence": evidence}


def certificate_from_state(state: dict[str, Any]) -> Certificate:
    """Make a certificate from what `certificate_state` gave."""
    return certificate_from_dict(state["fields"], state["evidence"])


def candidate_state(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as a state of a checkpoint."""
    certificate = candidate.certificate
    return {
        "support": candidate.support,
        "status": candidate.status.name,
        "loadings": candidate.loadings,
        "largest_eigenvalue": candidate.largest_eigenvalue,
        "details": dict(candidate.details),
        "certificate": None if certificate is None else certificate_state(certificate),
        "constrained": candidate.constrained,
    }


def candidate_from_state(state: dict[str, Any]) -> Candidate:
    """Make a candidate from what `candidate_state` gave."""
    certificate = state["certificate"]
    own = {
        "status": Status[state["status"]],
        "certificate": None if certificate is None else certificate_from_state(certificate),
    }
    return Candidate(**{**state, **own})


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.inf if value is None else float(value)
