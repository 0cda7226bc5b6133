"""Certificates of several components as plain JSON values, and back; what may stand in their files is declared here."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from certpca.results.field_checks import fields, list_of, number, one_of, refuse, whole
from certpca.results.proof import SetProof
from certpca.results.schema import CERTIFICATE_FIELDS, CERTIFICATE_OPTIONS, MOST_FEATURES
from certpca.results.set_certificate import PROBLEMS, SetCertificate

SET_FORMAT = "certpca set certificate 1"
MOST_COMPONENTS = 100_000

_OF_ONE = ("format", "sparsity", "features_in_no_optimum", "features_in_every_optimum", "support", "loadings")
SET_CERTIFICATE = fields(
    {
        **{name: check for name, check in CERTIFICATE_FIELDS.items() if name not in _OF_ONE},
        "format": one_of(SET_FORMAT),
        "problem": one_of(*PROBLEMS),
        "sparsities": list_of(whole(1, MOST_FEATURES), MOST_COMPONENTS, 1),
        "supports": list_of(list_of(whole(0, MOST_FEATURES), MOST_FEATURES), MOST_COMPONENTS, 1),
        "loadings": list_of(list_of(number(), MOST_FEATURES), MOST_COMPONENTS, 1),
    },
    CERTIFICATE_OPTIONS,
)


def check_set_certificate(values: Any) -> None:
    """Refuse fields of a certificate of several components that no such certificate has; see `check_solution`."""
    SET_CERTIFICATE(values, "")
    count, size = len(values["sparsities"]), values["size"]
    for name in ("supports", "loadings"):
        if len(values[name]) != count:
            refuse(name, f"one for each of {count} components", values[name])
    for place, (sparsity, support, loadings) in enumerate(
        zip(values["sparsities"], values["supports"], values["loadings"], strict=True)
    ):
        whole(1, size)(sparsity, f"sparsities[{place}]")
        if len(support) != len(loadings):
            refuse(f"loadings[{place}]", f"as many as there are indices in its support, {len(support)}", loadings)
        if any(left >= right for left, right in pairwise(support)) or (support and support[-1] >= size):
            refuse(f"supports[{place}]", f"increasing indices in 0..{size - 1}", support)


def set_certificate_to_dict(certificate: SetCertificate) -> dict[str, Any]:
    """Return everything but the evidence as plain JSON values."""
    return {
        "format": SET_FORMAT,
        "kind": certificate.kind,
        "problem": certificate.problem,
        "sparsities": list(certificate.sparsities),
        "upper_bound": certificate.upper_bound,
        "objective": certificate.objective,
        "gap": certificate.gap if math.isfinite(certificate.gap) else None,
        "matrix": certificate.matrix,
        "size": certificate.size,
        "normalisation": dict(certificate.normalisation),
        "fingerprint": certificate.fingerprint,
        "supports": [support.tolist() for support in certificate.supports],
        "loadings": [loadings.tolist() for loadings in certificate.loadings],
        "tree": certificate.tree,
        "seconds": certificate.seconds,
        "reading": dict(certificate.reading),
    }


def set_certificate_from_dict(values: dict[str, Any], evidence: dict[str, Any]) -> SetCertificate:
    """Make a certificate from what `set_certificate_to_dict` gave and its evidence; only checking proves something."""
    check_set_certificate(values)
    return SetCertificate(
        kind=values["kind"],
        problem=values["problem"],
        size=values["size"],
        sparsities=tuple(values["sparsities"]),
        upper_bound=float(values["upper_bound"]),
        matrix=values["matrix"],
        normalisation=dict(values["normalisation"]),
        fingerprint=values["fingerprint"],
        supports=tuple(np.array(support, dtype=np.intp) for support in values["supports"]),
        loadings=tuple(np.array(loadings, dtype=np.float64) for loadings in values["loadings"]),
        evidence=evidence,
        tree=values["tree"],
        objective=float(values["objective"]),
        seconds=float(values["seconds"]),
        reading=dict(values.get("reading", {})),
    )


def set_proof_to_dict(proof: SetProof, certificate: SetCertificate, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the checker established as plain JSON values, and how the file was read for it."""
    return {
        "proved": True,
        "kind": proof.kind,
        "problem": proof.problem,
        "sparsities": list(proof.sparsities),
        "upper_bound": proof.upper_bound,
        "claimed": certificate.upper_bound,
        "objective": proof.objective,
        "gap": proof.gap,
        "failure_probability": proof.failure_probability,
        "size": proof.size,
        "matrix": proof.matrix,
        "normalisation": dict(proof.normalisation),
        "reading": dict(reading),
        "arithmetic": proof.arithmetic,
    }
