"""What the makers of certificates for several components share: what is asked, what is known, and the best so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from certpca.bounds.goals import Goal, Shared
from certpca.bounds.near_one import PartExaminer
from certpca.bounds.proving import ROUNDED_UP
from certpca.operators import Operator
from certpca.results.certificate import Certificate
from certpca.results.set_certificate import SetCertificate
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.budget import Progress
from certpca.search.krylov import leading_on_support


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Loadings of one of the components, and what they capture."""

    support: Indices
    loadings: Vector
    objective: float


@dataclass(slots=True, eq=False)
class SetSearch:
    """The search for one certificate of several components, in the units of the operator, whose entries are near one.

    `components` are the best known, in the order of `sparsities`; a maker that finds better ones puts them there.
    `singles` are certificates of one component by their sparsities.
    """

    operator: Operator
    problem: str
    sparsities: tuple[int, ...]
    components: tuple[Component, ...]
    goal: Goal
    progress: Progress
    shared: Shared
    best: SetCertificate | None = None
    singles: dict[int, Certificate] = field(default_factory=dict)

    @property
    def objective(self) -> float:
        """What the best components capture together."""
        return sum(component.objective for component in self.components)

    def component(self, support: Indices, loadings: Vector) -> Component:
        """Return loadings with what they capture, without those that are zero."""
        kept = loadings != 0.0
        support, loadings = support[kept], loadings[kept]
        return Component(support, loadings, self.operator.quadratic_form(support, loadings))

    def refitted(self, support: Indices) -> Component:
        """Return the best loadings on a support."""
        objective, loadings = leading_on_support(self.operator, support)
        return Component(support, loadings, objective)

    def components_of(self, columns: Vector | Sequence[Vector]) -> tuple[Component, ...]:
        """Return the components whose loadings over all features are these columns."""
        rows = np.asarray(columns, dtype=np.float64).T
        return tuple(self.component(np.flatnonzero(row), row[row != 0.0]) for row in rows)

    def proved(self, kind: str, evidence: dict[str, Any], tree: Any = None) -> SetCertificate:
        """Let the checker derive a bound, and claim that."""
        examiner, operator = self.shared.examiner, self.operator
        draft = SetCertificate(
            kind=kind,
            problem=self.problem,
            size=operator.size,
            sparsities=self.sparsities,
            upper_bound=np.inf,
            matrix=operator.description,
            normalisation=operator.source().normalisation(),
            fingerprint=examiner.fingerprint,
            supports=tuple(component.support for component in self.components),
            loadings=tuple(component.loadings for component in self.components),
            evidence=evidence,
            tree=tree,
            reading=dict(operator.reading),
        )
        assert not isinstance(examiner, PartExaminer)  # components together have no constraints
        proof = examiner.examine(draft)
        return replace(
            draft,
            upper_bound=proof.claimable * (1 + ROUNDED_UP),
            objective=proof.objective,
            seconds=self.progress.seconds,
        )

    def offer(self, certificate: SetCertificate) -> None:
        """Keep a certificate if it is the best so far, and tell whoever watches."""
        if self.best is None or certificate.upper_bound < self.best.upper_bound:
            self.best = certificate
        self.progress.tick(self.objective, self.best.upper_bound)

    def improves(self, bound: float) -> bool:
        """Whether a bound is better than what is proved."""
        return self.best is None or bound < self.best.upper_bound

    def finished(self) -> bool:
        """Whether the gap is as small as asked for, or time is over."""
        bound = np.inf if self.best is None else self.best.upper_bound
        return self.goal.reached(self.objective, bound) or self.progress.exhausted
