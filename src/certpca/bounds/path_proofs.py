"""Proofs for several sparsities of one matrix.

Without a limit on time they are made upwards, each to its end and each going on from its neighbour's: the dual point
of a sparsity is nearly right for a slightly larger one, and far from it for a smaller one.

With a limit, every sparsity has a bound in closed form first. Then the one with the largest gap is looked at, with its
share of the time that is left, and the point that is found for it serves all others too, since a point proves something
for every sparsity and the checker remembers its sum. So bounds are coarse and then fine, and none is left without. What
time remains goes to those whose gaps are still too large.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certpca.bounds.goals import Goal, Known, Shared
from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.l0_level.search import LevelSearch, OnLevels
from certpca.bounds.makers import l0_level
from certpca.bounds.pipeline import find_certificate
from certpca.bounds.proving import Prover
from certpca.operators import Operator
from certpca.results.certificate import Certificate, share_lost
from certpca.results.solution import ending
from certpca.results.status import Status
from certpca.runtime.arrays import to_vector
from certpca.runtime.budget import Progress
from certpca.runtime.limits import limits

FIRST = 2  # time for the first proof, which starts from nothing, relative to the others
SECURING = 0.5  # share of the time that is left that a bound for all sparsities may take
ROOM = 1.2  # of the time that a level is predicted to need, that is given for one
NEAR = (0.4, 4.0)  # ratios of sparsities at which levels are worth going on from
WORTH = 1e-3  # of a bound, that another point must promise to take off it


def path_certificates(
    operator: Operator,
    sparsities: Sequence[int],
    known: Sequence[Known],
    largest: float,
    target_gap: float,
    progress: Progress,
) -> list[Certificate]:
    """Prove a bound for each sparsity; a certificate may hold better loadings than those that are known."""
    if progress.timed:
        return _Shares(operator, sparsities, known, largest, target_gap, progress).found()
    found: list[Certificate] = []
    shared = Shared(operator)
    for sparsity, best in zip(sparsities, known, strict=True):
        goal = Goal(target_gap, warm=found[-1] if found else None, largest=largest, shared=shared)
        states = None if progress.checkpoint is None else progress.checkpoint.part(f"k{sparsity}")
        part = progress.part(1.0, states)
        found.append(find_certificate(operator, sparsity, best, goal, part))
        progress.earlier += part.earlier
    return found


class _Shares:
    """Proofs that share a limited time."""

    def __init__(
        self,
        operator: Operator,
        sparsities: Sequence[int],
        known: Sequence[Known],
        largest: float,
        target_gap: float,
        progress: Progress,
    ) -> None:
        self._operator, self._sparsities, self._known = operator, sparsities, list(known)
        self._progress, self._shared = progress, Shared(operator)
        self._goal = Goal(target_gap, largest=largest, shared=self._shared)
        self._small = operator.size <= limits().always_optimal  # there the optimum itself is sought
        self._levels: dict[int, tuple[LevelSearch, OnLevels]] = {}  # where searches ended, by position
        self._visited: set[int] = set()
        self._found = self._closed_forms()

    def found(self) -> list[Certificate]:
        """Look at all sparsities, those with large gaps first: for points alone, then for whatever closes gaps."""
        everywhere = range(len(self._sparsities))
        levels = self._operator.size > limits().few_features and not too_deep(self._operator)
        for levels_only in (True, False) if levels else (False,):
            waiting = set(everywhere)
            while waiting := {j for j in waiting if not self._near_enough(j)}:
                if self._progress.exhausted:
                    break
                j = max(waiting, key=lambda j: (self._gap(j), -j))
                waiting.remove(j)
                self._look_at(j, len(waiting), levels_only=levels_only)
        return [self._told(j) for j in everywhere]

    def _closed_forms(self) -> list[Certificate]:
        """Prove what costs next to nothing, and where there is time the largest eigenvalue, which bounds them all."""
        shared, progress = self._shared, self._progress
        diagonal, largest = np.sort(to_vector(self._operator.diagonal()))[::-1], self._goal.largest
        traces = np.cumsum(diagonal)[np.asarray(self._sparsities) - 1]
        cost = shared.costs.preparing() + shared.costs.closed_form("largest-eigenvalue")
        secured = bool((largest < traces).any()) and cost < SECURING * progress.remaining
        found = []
        for j, trace in enumerate(traces):
            kind = "largest-eigenvalue" if secured and largest < trace else "trace"
            found.append(self._proved(j, kind, {}))
        return found

    def _look_at(self, j: int, others: int, *, levels_only: bool) -> None:
        """Search for a certificate with a share of the time, and let others profit from its point."""
        progress, shared, before = self._progress, self._shared, self._found[j]
        first = FIRST if not self._visited else 1
        share = first / (first + others)
        if levels_only:  # half a level is none
            needed = ROOM * shared.costs.level(l0_level.DIRECTIONS, l0_level.WALKS)
            share = min(max(share, needed / max(progress.remaining, 1e-9)), 1.0)
        self._visited.add(j)
        shared.levels = self._nearest_levels(j)
        given = None if self._small else before
        goal = replace(self._goal, warm=self._nearest_point(j), known=given, levels_only=levels_only)
        states = None
        if progress.checkpoint is not None:
            states = progress.checkpoint.part(f"k{self._sparsities[j]}{'levels' if levels_only else ''}")
        part = progress.part(share, states)
        made = find_certificate(self._operator, self._sparsities[j], self._known[j], goal, part)
        progress.earlier += part.earlier
        self._take(j, made)
        if shared.levels is not None and shared.levels[0].aim.sparsity == self._sparsities[j]:
            self._levels[j] = shared.levels
        if self._found[j] is made and made.upper_bound < before.upper_bound:
            self._spread(j)

    def _nearest_levels(self, j: int) -> tuple[LevelSearch, OnLevels] | None:
        """Return where a search for this sparsity, or for one that is close, ended."""
        ratios = {other: self._sparsities[j] / self._sparsities[other] for other in self._levels}
        close = [other for other, ratio in ratios.items() if NEAR[0] <= ratio <= NEAR[1]]
        return self._levels[min(close, key=lambda other: abs(np.log(ratios[other])))] if close else None

    def _nearest_point(self, j: int) -> Certificate | None:
        """Return the point with a number as level for the nearest sparsity."""
        points = [made for made in self._found if made.kind == "l0-dual"]
        return min(points, key=lambda made: abs(np.log(self._sparsities[j] / made.sparsity)), default=None)

    def _spread(self, j: int) -> None:
        """Prove for other sparsities what the point of one says about them, which the checker remembers."""
        made, levels = self._found[j], self._levels.get(j)
        if made.kind != "l0-level" or levels is None:
            return
        for i, k in enumerate(self._sparsities):
            if i == j or self._near_enough(i) or self._progress.late(self._shared.costs.level_again()):
                continue
            if levels[0].bound_at(levels[1], k) < (1 - WORTH) * self._found[i].upper_bound:
                self._take(i, self._proved(i, made.kind, dict(made.evidence)))

    def _proved(self, j: int, kind: str, evidence: dict[str, Any]) -> Certificate:
        shared, best = self._shared, self._known[j]
        prover = Prover(self._operator, self._sparsities[j], shared.examiner, shared.costs)
        return prover.prove(kind, evidence, best.support, best.loadings, seconds=self._progress.seconds)

    def _take(self, j: int, made: Certificate) -> None:
        if made.objective > self._known[j].objective:
            self._known[j] = Known(made.support, made.loadings, made.objective)
        have = self._found[j]
        better = made.upper_bound < have.upper_bound
        if better or (made.upper_bound == have.upper_bound and made.objective > have.objective):
            self._found[j] = made
        elif made.status is not None:  # nothing new, but why it ended
            self._found[j] = replace(have, status=made.status)

    def _gap(self, j: int) -> float:
        return share_lost(self._known[j].objective, self._found[j].upper_bound)

    def _near_enough(self, j: int) -> bool:
        if self._small:
            return j in self._visited
        return self._goal.reached(self._known[j].objective, self._found[j].upper_bound)

    def _told(self, j: int) -> Certificate:
        """Say how the proof ended, which one that was made for another sparsity does not know."""
        made, reached = self._found[j], self._goal.reached(self._known[j].objective, self._found[j].upper_bound)
        if reached or made.status is Status.STALLED:
            return replace(made, status=Status.CONVERGED if reached else Status.STALLED)
        return replace(made, status=ending(self._progress, made.status or Status.OUT_OF_BUDGET))
