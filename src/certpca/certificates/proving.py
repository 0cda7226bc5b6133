"""From evidence to a certificate: the claim is what the independent checker derives, rounded up."""

from dataclasses import replace
from typing import Any

import numpy as np

from certpca.arrays import Indices, Vector
from certpca.certificates.checker import Examiner
from certpca.certificates.checker.check import Proof
from certpca.certificates.near_one import NearExaminer, examiner_of
from certpca.operators.base import Operator
from certpca.result import Certificate

ROUNDED_UP = 1e-8  # relative; what another machine's roundings may add to the checker's bound


class Prover:
    """Makes certificates for one operator and one sparsity, in the units of the operator."""

    def __init__(self, operator: Operator, sparsity: int, examiner: Examiner | NearExaminer | None = None) -> None:
        self._examiner = examiner_of(operator) if examiner is None else examiner
        self._blank = Certificate(
            kind="",
            size=operator.size,
            sparsity=sparsity,
            upper_bound=np.inf,
            matrix=operator.description,
            normalisation=operator.source().normalisation(),
            fingerprint=self._examiner.fingerprint,
            support=np.zeros(0, dtype=np.intp),
            loadings=np.zeros(0),
        )

    @property
    def fingerprint(self) -> str:
        """The hash of the data."""
        return self._examiner.fingerprint

    def prove(
        self,
        kind: str,
        evidence: dict[str, Any],
        support: Indices,
        loadings: Vector,
        *,
        tree: Any = None,
        seconds: float = 0.0,
    ) -> Certificate:
        """Let the checker derive a bound, and claim that."""
        draft = replace(self._blank, kind=kind, evidence=evidence, tree=tree, support=support, loadings=loadings)
        proof = self.examine(draft)
        return replace(
            draft,
            upper_bound=proof.upper_bound * (1 + ROUNDED_UP),
            objective=proof.objective,
            outside=int(proof.outside.size),
            inside=int(proof.inside.size),
            seconds=seconds,
        )

    def examine(self, certificate: Certificate) -> Proof:
        """Return what the evidence proves about the operator's data."""
        return self._examiner.examine(certificate)
