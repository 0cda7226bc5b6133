"""From evidence to a certificate: the claim is what the independent checker derives, rounded up."""

from dataclasses import replace
from typing import Any

import numpy as np

from certpca.bounds.near_one import AnyExaminer, examiner_of
from certpca.bounds.proof_costs import ProofCosts
from certpca.operators.base import Operator
from certpca.results.certificate import Certificate
from certpca.results.proof import Proof
from certpca.runtime import budget
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.threads import threads_beside_readers

ROUNDED_UP = 1e-8  # relative; what another machine's roundings may add to the checker's bound


class Prover:
    """Makes certificates for one operator and one sparsity, in the units of the operator.

    `costs` predicts how long that takes, and learns.
    """

    def __init__(
        self,
        operator: Operator,
        sparsity: int,
        examiner: AnyExaminer | None = None,
        costs: ProofCosts | None = None,
    ) -> None:
        self.examiner = examiner_of(operator) if examiner is None else examiner
        self.costs = ProofCosts(operator) if costs is None else costs
        self._operator, self._sparsity = operator, sparsity
        self._latest: tuple[Certificate, Proof] | None = None

    @property
    def fingerprint(self) -> str:
        """The hash of the data."""
        return self.examiner.fingerprint

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
        with threads_beside_readers(self._operator.numbers):
            return self._proved(kind, evidence, support, loadings, tree, seconds)

    def _proved(
        self, kind: str, evidence: dict[str, Any], support: Indices, loadings: Vector, tree: Any, seconds: float
    ) -> Certificate:
        self.examiner.prepare()
        draft = Certificate(
            kind=kind,
            size=self._operator.size,
            sparsity=self._sparsity,
            upper_bound=np.inf,
            matrix=self._operator.description,
            normalisation=self._operator.source().normalisation(),
            fingerprint=self.fingerprint,
            support=support,
            loadings=loadings,
            evidence=evidence,
            tree=tree,
            reading=dict(self._operator.reading),
        )
        begin = budget.clock()
        proof = self.examiner.examine(draft)
        self.costs.learn(self.costs.of(kind, evidence), budget.clock() - begin)
        if kind == "largest-eigenvalue":
            self.costs.known.add(kind)
        made = replace(
            draft,
            upper_bound=proof.claimable * (1 + ROUNDED_UP),
            objective=proof.objective,
            outside=int(proof.outside.size),
            inside=int(proof.inside.size),
            seconds=seconds,
        )
        self._latest = made, proof
        return made

    def examine(self, certificate: Certificate) -> Proof:
        """Return what the evidence proves about the operator's data."""
        if self._latest is not None and self._latest[0] is certificate:
            return self._latest[1]
        return self.examiner.examine(certificate)
