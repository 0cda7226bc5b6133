"""Solve the dual on each part of a region that is cut."""

from dataclasses import dataclass, replace

import numpy as np

from certpca.bounds.direction_tree.regions import Cutting, Region, Wedge, signed
from certpca.bounds.l0_dual.central_path import CentralPath, OnPath
from certpca.bounds.l0_dual.problem import DualPoint, DualProblem
from certpca.runtime.arrays import Array, Vector

STEPS = (25, 50)  # of the first try, and of the second
HELPED = 1 - 1e-4  # ratio to the bound of the whole region up to which there is no second try
FIRST_WEIGHT, SECOND_WEIGHT = 0.02, 0.05  # of a new wedge, for the scaled problem


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best point of a try, one well inside, and the last."""

    point: DualPoint
    start: DualPoint
    last: DualPoint


@dataclass(frozen=True, slots=True, eq=False)
class Try:
    """Where the steps for a part stand."""

    place: OnPath
    found: Found
    stalled: int = 0
    steps: int = 0

    def then(self, place: OnPath) -> "Try":
        """Return where they stand one step later."""
        point, best, start = place.point, self.found.point, self.found.start
        stalled = 0 if point.bound < best.bound * (1 - 2e-4) else self.stalled + 1
        inside = point if start.bound - start.value > 1e-2 * point.bound else start
        found = Found(point if point.bound < best.bound else best, inside, point)
        return Try(place, found, stalled, self.steps + 1)

    def over(self, enough: float, steps: int) -> bool:
        """Whether more steps would not help: to get below `enough`, or at all."""
        last, number = self.found.last, self.steps
        close = number >= 4 and last.bound - last.value <= 0.15 * abs(last.value - enough)
        return self.found.point.bound <= enough or number >= steps - 1 or close or (number >= 8 and self.stalled >= 4)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The parts that are solved, and how far the next one is."""

    solved: tuple[Region, ...] = ()
    before: Found | None = None  # what the first try gave, where there is a second
    under_way: Try | None = None


class Parting:
    """Solves a part from its parent's density pushed to the middle of the wedge; once more, cold, if that fails."""

    def __init__(self, problem: DualProblem, parent: Region, cut: Cutting, enough: float) -> None:
        self._problem, self._parent, self._cut, self._enough = problem, parent, cut, enough
        self._others = tuple(wedge for wedge in parent.wedges if wedge is not cut.refined)

    def done(self, parts: Parts) -> bool:
        """Whether all parts are solved."""
        return len(parts.solved) == len(self._cut.wedges)

    def step(self, parts: Parts) -> Parts:
        """Make one step along the central path of the part that is next."""
        wedges = (*self._others, self._cut.wedges[len(parts.solved)])
        rays = self._cut.rays
        pairs = [(signed(rays, wedge.cuts[0]), signed(rays, wedge.cuts[1])) for wedge in wedges]
        path = CentralPath(self._problem, pairs)
        second = parts.before is not None
        if parts.under_way is None:
            place = self._start(path, wedges, second=second)
            now = Try(place, Found(place.point, place.point, place.point))
        else:
            now = parts.under_way.then(path.step(parts.under_way.place))
        if not now.over(self._enough, STEPS[second]):
            return replace(parts, under_way=now)
        found, limit = now.found, self._parent.point.bound
        if parts.before is not None and not found.point.bound < parts.before.point.bound:
            found = parts.before
        if found.point.bound <= limit * HELPED or second:
            return Parts((*parts.solved, self._region(wedges, found)))
        return Parts(parts.solved, found)

    def _start(self, path: CentralPath, wedges: tuple[Wedge, ...], *, second: bool) -> OnPath:
        problem, xp, inside = self._problem, self._problem.xp, self._parent.start
        middle = problem.adopt(wedges[-1].middle)
        push, tail = middle[:, None] * middle[None, :], problem.tail()
        warm = (inside.basis * inside.weights[None, :]) @ xp.matrix_transpose(inside.basis)
        guess = problem.guess(inside.level, inside.theta)
        if second:
            cold: Array = 0.4 * push + 0.3 * warm + 0.3 * tail
            return path.start(cold, np.full(len(wedges), SECOND_WEIGHT), guess)
        return path.start(0.85 * (0.7 * warm + 0.3 * push) + 0.15 * tail, self._inherited(wedges), guess)

    def _inherited(self, wedges: tuple[Wedge, ...]) -> Vector:
        """Return the weights of the parent's wedges; the newest has that of the one it refines."""
        parent, unit = self._parent, self._problem.scale
        known = dict(zip((wedge.position for wedge in parent.wedges), parent.start.region_weights, strict=True))
        first = FIRST_WEIGHT * unit
        if self._cut.refined is not None:
            first = known.get(self._cut.refined.position, first)
        return np.array([known.get(wedge.position, first) for wedge in wedges]) / unit

    def _region(self, wedges: tuple[Wedge, ...], found: Found) -> Region:
        parent, point = self._parent, found.point
        path = (*parent.path, wedges[-1].cuts)
        weights = np.zeros(len(path))
        if point.bound > parent.point.bound:
            # The parent's evidence holds on every part of it.
            point, weights[: len(parent.path)] = parent.point, parent.weights
        else:
            weights[[wedge.position for wedge in wedges]] = point.region_weights
        return Region(path, wedges, point, weights, found.start, found.last)
