"""What the makers of certificates share while they look for one: what is asked, what is known, and the best so far."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.bounds.goals import Goal, Incumbent, Shared
from certpca.bounds.l0_dual.problem import DualPoint, DualProblem
from certpca.bounds.proof_costs import ProofCosts
from certpca.bounds.proving import Prover
from certpca.operators import Operator
from certpca.operators.within import asked_of
from certpca.results.certificate import PROVED_OPTIMAL, Certificate
from certpca.runtime.arrays import Indices
from certpca.runtime.budget import Progress
from certpca.runtime.limits import limits
from certpca.runtime.resumable import once


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A bound that needs no evidence, as estimated; the checker proves it."""

    kind: str
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class Screening:
    """Features that may be in an optimal support, and the evidence that no others are."""

    features: Indices
    evidence: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0  # that the checker takes to leave the others out again


@dataclass(slots=True, eq=False)
class ProofSearch:
    """The search for one certificate."""

    operator: Operator
    sparsity: int
    incumbent: Incumbent
    goal: Goal
    progress: Progress
    prover: Prover
    shared: Shared
    best: Certificate | None = None
    kinds: set[str] = field(default_factory=set)  # that were proved, whatever came of it
    estimate: Estimate | None = None  # the best bound in closed form
    root: Certificate | None = None  # of the dual point for all features
    dual: tuple[DualProblem, DualPoint] | None = None
    screening: Screening | None = None
    pairs_tried: bool = False  # whatever came of it
    grown: set[str] = field(default_factory=set)  # kinds of trees that have grown, as far as they would
    rivals: Any = None  # trees that have grown for a while, and others may go on with
    over: bool = False  # no other maker need try

    @property
    def costs(self) -> ProofCosts:
        """How long proofs take."""
        return self.prover.costs

    @property
    def constrained(self) -> bool:
        """Whether not every support is allowed, or not every sign."""
        return bool(asked_of(self.operator))

    @property
    def small(self) -> bool:
        """Whether the optimum itself is sought."""
        return self.goal.over_supports and self.operator.size <= limits().always_optimal

    @property
    def left(self) -> Screening:
        """What is left of the features."""
        return Screening(np.arange(self.operator.size)) if self.screening is None else self.screening

    def proved(self, kind: str, evidence: dict[str, Any], tree: Any = None) -> Certificate:
        """Let the checker say what evidence is worth."""
        best = self.incumbent.best.support, self.incumbent.best.loadings
        return self.prover.prove(kind, evidence, *best, tree=tree, seconds=self.progress.seconds)

    def proved_once(self, name: str, kind: str, evidence: dict[str, Any], tree: Any = None) -> Certificate:
        """Return what the checker said, in this process or in one before it."""
        return once(lambda: self.proved(kind, evidence, tree), self.progress, name, Certificate)

    def offer(self, certificate: Certificate) -> None:
        """Keep a certificate if it is the best so far."""
        self.kinds.add(certificate.kind)
        if self.best is None or certificate.upper_bound < self.best.upper_bound:
            self.best = certificate

    def improves(self, bound: float) -> bool:
        """Whether a bound is better than what is proved."""
        return self.best is None or bound < self.best.upper_bound

    def fits(self, seconds: float) -> bool:
        """Whether there is time for something, beside what is set aside."""
        return self.progress.spare > seconds

    def near_enough(self, bound: float) -> bool:
        """Whether a bound needs no more work, on small problems to the optimum."""
        if self.small:
            return bound <= self.incumbent.objective * (1 + PROVED_OPTIMAL)
        return self.goal.reached(self.incumbent.objective, bound)

    def finished(self) -> bool:
        """Whether the gap is as small as asked for, or time is over."""
        bound = np.inf if self.best is None else self.best.upper_bound
        return self.goal.reached(self.incumbent.objective, bound) or self.progress.exhausted

    def suggest(self, kind: str, bound: float) -> None:
        """Keep an estimate if it is the best so far."""
        if self.estimate is None or bound < self.estimate.bound:
            self.estimate = Estimate(kind, bound)

    def prove_estimate(self) -> None:
        """Prove the best bound in closed form, unless what is proved is as good or there is no time."""
        estimate = self.estimate
        if estimate is None or estimate.kind in self.kinds or not self.improves(estimate.bound):
            return
        if self.best is not None and not self.fits(self.costs.closed_form(estimate.kind)):
            self.progress.run_out()
            return
        self.offer(self.proved(estimate.kind, {}))
