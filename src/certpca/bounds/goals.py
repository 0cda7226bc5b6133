"""What the search for a certificate starts from and aims at: the best loadings known, and when to stop."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from certpca.bounds.l0_dual.problem import DualProblem
from certpca.bounds.l0_level.features import Features, features_of
from certpca.bounds.l0_level.search import LevelSearch, OnLevels
from certpca.bounds.near_one import AnyExaminer, examiner_of
from certpca.bounds.proof_costs import ProofCosts
from certpca.bounds.proving import ROUNDED_UP
from certpca.checker.screening import SCREEN
from certpca.operators import Operator
from certpca.operators.within import asked_of
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import parts_of
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.lateness import Late, never
from certpca.search.constrained import ConstrainedSearch, fitted_on
from certpca.search.swaps import SwapSearch

ROUNDS_FROM_FILES = 5  # of a local search that walks over a file each time


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Loadings, and what they capture."""

    support: Indices
    loadings: Vector
    objective: float


@dataclass(slots=True)
class Incumbent:
    """The best loadings known, improved from directions of sample space that the dual suggests."""

    operator: Operator
    best: Known
    late: Late = never
    sparsity: int = 0  # that supports may have, where constraints say more about them

    @property
    def objective(self) -> float:
        """What the best loadings capture."""
        return self.best.objective

    @property
    def _most_rounds(self) -> float:
        return ROUNDS_FROM_FILES if self.operator.cost.dear else math.inf

    def refitted(self, support: Indices) -> Known:
        """Return the best loadings on a support."""
        found = fitted_on(self.operator, support)
        return Known(support, found.loadings, found.objective)

    def improved(self, best: Known, images: Sequence[Vector]) -> Known:
        """Start a local search from the largest entries of each image; return what is better than all before."""
        if asked_of(self.operator):
            return self._improved_within(best, images)
        diagonal = to_vector(self.operator.diagonal())
        for image in images:
            if self.late():
                break
            search = SwapSearch(self.operator, top_k(np.abs(image), best.support.size), diagonal, self.late)
            # Every round walks over the data: where that is dear, only what is better already is followed.
            rounds = 1 if search.objective > best.objective or not self.operator.cost.dear else self._most_rounds
            while rounds < self._most_rounds and search.threshold():
                rounds += 1
            if search.objective > best.objective * (1 + 1e-9):
                best = self.refitted(search.support)
        return best

    def _improved_within(self, best: Known, images: Sequence[Vector]) -> Known:
        """Search among the supports that constraints allow."""
        search = ConstrainedSearch(self.operator, max(self.sparsity, best.support.size), self.late)
        for image in images:
            if self.late():
                break
            found = search.climbed(fitted_on(self.operator, search.chosen(image), self.late))
            if found.objective > best.objective * (1 + 1e-9):
                best = Known(found.support, found.loadings, found.objective)
        return best


class Shared:
    """What proofs for several sparsities of one operator have in common, made when it is first needed."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.levels: tuple[LevelSearch, OnLevels] | None = None  # a search with a matrix as level, and where it ended

    @cached_property
    def dual(self) -> DualProblem:
        """The dual problem; `at` gives that of a sparsity."""
        return DualProblem(self._operator, 1)

    @cached_property
    def features(self) -> Features:
        """Products with all features."""
        return features_of(self._operator)

    @property
    def posed(self) -> bool:
        """Whether the dual problem is there."""
        return "dual" in self.__dict__

    @cached_property
    def examiner(self) -> AnyExaminer:
        """The checker, with the data prepared."""
        return examiner_of(self._operator)

    @cached_property
    def costs(self) -> ProofCosts:
        """How long proofs take."""
        return ProofCosts(self._operator)


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop, and with what to begin."""

    target_gap: float
    branching: bool | str = True  # or "directions", which leaves supports alone
    warm: Certificate | None = None
    semidefinite: bool = False
    known: Certificate | None = None
    depth: int | None = None
    largest: float = math.nan  # eigenvalue of the whole matrix, as whoever judged the component found it
    shared: Shared | None = None
    levels_only: bool = False  # try bounds in closed form and a matrix as level, and nothing else

    @property
    def over_supports(self) -> bool:
        """Whether to search among supports as well."""
        return self.branching is True

    def reached(self, objective: float, bound: float) -> bool:
        """Whether the gap is as small as asked for."""
        # A certificate claims a little more than it proves, so no gap is smaller than that.
        return bound <= 0 or 1 - objective / bound <= max(self.target_gap, 2 * ROUNDED_UP)

    def usable_warm(self, fingerprint: str) -> Certificate | None:
        """Return the earlier certificate if it holds one dual point for all features of the same data."""
        warm = self.warm
        other = warm is None or warm.kind != "l0-dual" or warm.fingerprint != fingerprint
        if warm is None or other or SCREEN in parts_of(warm.evidence):
            return None
        return warm
