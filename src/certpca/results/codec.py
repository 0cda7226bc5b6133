"""Solutions and certificates as plain JSON values, and back; what can be large, the evidence, stays apart."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.results.certificate import Certificate
from certpca.results.constraints import Constraints
from certpca.results.field_checks import shown
from certpca.results.proof import Proof
from certpca.results.schema import (
    CERTIFICATE_FORMAT,
    CONSTRAINED_CERTIFICATE_FORMAT,
    CONSTRAINED_SOLUTION_FORMAT,
    SOLUTION_FORMAT,
    check_certificate,
    check_solution,
)
from certpca.results.solution import Solution
from certpca.results.status import Status
from certpca.runtime.arrays import Vector
from certpca.runtime.budget import Step
from certpca.runtime.errors import InvalidDataError


def solution_to_dict(solution: Solution) -> dict[str, Any]:
    """Return the fields of a solution as plain JSON values; what is not finite becomes null."""
    return {
        "format": CONSTRAINED_SOLUTION_FORMAT if solution.constraints else SOLUTION_FORMAT,
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
        "history": [[step.seconds, _finite(step.objective), _finite(step.upper_bound)] for step in solution.history],
        "details": {name: _finite(float(value)) for name, value in solution.details.items()},
        "reading": dict(solution.reading),
        "mean": None if solution.mean is None else solution.mean.tolist(),
        "scale": None if solution.scale is None else solution.scale.tolist(),
        **_stated(solution.constraints),
    }


def solution_from_dict(fields: dict[str, Any], certificate: Certificate | None = None) -> Solution:
    """Make a solution from what `solution_to_dict` gave; a bound without its certificate is not believed."""
    check_solution(fields)
    names = fields["names"]
    return Solution(
        support=np.array(fields["support"], dtype=np.intp),
        names=None if names is None else tuple(names),
        loadings=np.array(fields["loadings"], dtype=np.float64),
        objective=float(fields["objective"]),
        explained_variance_ratio=float(fields["explained_variance_ratio"]),
        relative_objective=_number(fields["relative_objective"], math.nan),
        size=fields["size"],
        sparsity=fields["sparsity"],
        matrix=fields["matrix"],
        solver=fields["solver"],
        status=status_named(fields["status"]),
        seconds=float(fields["seconds"]),
        refitted=fields["refitted"],
        history=tuple(Step(at, _number(found, -math.inf), _number(bound)) for at, found, bound in fields["history"]),
        details={name: _number(value, math.nan) for name, value in fields["details"].items()},
        certificate=certificate,
        reading=dict(fields.get("reading", {})),
        mean=_vector(fields.get("mean")),
        scale=_vector(fields.get("scale")),
        constraints=Constraints.from_dict(fields.get("constraints", _NONE)),
    )


def _vector(values: list[float] | None) -> Vector | None:
    return None if values is None else np.array(values, dtype=np.float64)


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """Return everything but the evidence as plain JSON values."""
    return {
        "format": CONSTRAINED_CERTIFICATE_FORMAT if certificate.constraints else CERTIFICATE_FORMAT,
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
        **_stated(certificate.constraints),
        **_detailed(certificate.details),
    }


def certificate_from_dict(fields: dict[str, Any], evidence: dict[str, Any]) -> Certificate:
    """Make a certificate from what `certificate_to_dict` gave and its evidence. That proves nothing: checking does."""
    check_certificate(fields)
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
        outside=fields["features_in_no_optimum"],
        inside=fields["features_in_every_optimum"],
        seconds=float(fields["seconds"]),
        reading=dict(fields.get("reading", {})),
        constraints=Constraints.from_dict(fields.get("constraints", _NONE)),
        details={name: float(value) for name, value in fields.get("details", {}).items()},
    )


def proof_to_dict(proof: Proof, certificate: Certificate, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the checker established as plain JSON values, and how the file was read for it."""
    return {
        "proved": True,
        "kind": proof.kind,
        "sparsity": proof.sparsity,
        "upper_bound": proof.upper_bound,
        "claimed": certificate.upper_bound,
        "objective": proof.objective,
        "gap": proof.gap,
        "features_in_no_optimum": proof.outside.tolist(),
        "features_in_every_optimum": proof.inside.tolist(),
        "failure_probability": proof.failure_probability,
        "size": proof.size,
        "matrix": proof.matrix,
        "normalisation": dict(proof.normalisation),
        "reading": dict(reading),
        "arithmetic": proof.arithmetic,
        **_stated(proof.constraints),
        **_detailed(proof.details),
    }


_NONE = Constraints().to_dict()


def _stated(constraints: Constraints) -> dict[str, Any]:
    """Return constraints as a field, where there are some: readers who do not know them refuse the format."""
    return {"constraints": constraints.to_dict()} if constraints else {}


def _detailed(details: Mapping[str, float]) -> dict[str, Any]:
    """Return how often a file was read as a field, where one was."""
    return {"details": {name: float(value) for name, value in details.items()}} if details else {}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None, absent: float = math.inf) -> float:
    return absent if value is None else float(value)


def status_named(name: str) -> Status:
    """Return a status by its name in a file."""
    if name not in Status.__members__:
        msg = f"status must be one that this version knows ({', '.join(Status.__members__)}), got {shown(name)}"
        raise InvalidDataError(msg)
    return Status[name]
