"""Tighten the dual bound by splitting the directions of sample space.

Where the relaxation is loose, its best density mixes two or three competing directions. A plane through the two
leading eigenvectors v, w of the density is cut into double wedges, the sets of ξ with (r·ξ)(s·ξ) ≤ 0 for two rays
r, s of it; on each the dual has one more multiplier. Best first: the region with the largest bound is split next.
Where the plane nearly coincides with one that was cut before, that wedge is halved instead: stacking new planes
leaves nearly empty regions whose duals are hard to solve.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.bounds.l0_dual.central_path import CentralPath, improve
from certpca.bounds.l0_dual.problem import DualPoint, DualProblem
from certpca.runtime.arrays import Vector, to_vector
from certpca.runtime.budget import Late, OutOfTimeError, never
from certpca.runtime.checkpoint import Checkpoint

SAME_PLANE = 0.8  # smallest squared cosine between two planes that count as one
NODE_STEPS = 25
Cut = int  # ± (number of a ray, from 1)
Found = tuple[DualPoint, DualPoint, DualPoint]  # the best point, one well inside, the last


@dataclass(frozen=True, slots=True, eq=False)
class Wedge:
    """The angles lo..hi of the plane (v, w), between the rays of two cuts."""

    v: Vector
    w: Vector
    lo: float
    hi: float
    cuts: tuple[Cut, Cut]
    position: int  # in the list of all pairs on the way to the region


@dataclass(slots=True, eq=False)
class Region:
    """A node of the tree: what it is made of, the best dual point for it, and how it was split."""

    path: list[tuple[Cut, Cut]]
    wedges: list[Wedge]
    point: DualPoint
    weights: Vector  # one for each pair of the path
    start: DualPoint
    last: DualPoint
    number: int = 0  # in the order in which regions were made
    cuts: list[Cut] = field(default_factory=list)
    children: list["Region"] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        """Return what the region is made of, but not how it was split."""
        return {
            "path": self.path,
            "wedges": [[wedge.v, wedge.w, wedge.lo, wedge.hi, wedge.cuts, wedge.position] for wedge in self.wedges],
            "weights": self.weights,
            "points": [point.state() for point in (self.point, self.start, self.last)],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Regions that cover all directions; the largest of their bounds holds for the matrix."""

    root: Region
    rays: list[Vector]
    bound: float

    def leaves(self) -> list[Region]:
        """Return the regions that were not split, from left to right."""
        found, waiting = [], [self.root]
        while waiting:
            region = waiting.pop()
            waiting.extend(reversed(region.children))
            if not region.children:
                found.append(region)
        return found


class Splitting:
    """Splits one region after another for as long as the caller wants, yielding the cover after every split.

    Parameters
    ----------
    point
        The best dual point for all directions.
    objective, target
        Best objective known, and the gap below which a region needs no more work.
    search
        Tries directions as starts of a local search and returns the best objective known then.
    checkpoint
        Keeps regions that were solved, and the steps of the split under way.
    late
        Says when a split under way must be given up; the cover before it is then the last.
    """

    def __init__(
        self,
        problem: DualProblem,
        point: DualPoint,
        objective: float,
        target: float,
        search: Callable[[Sequence[Vector]], float],
        checkpoint: Checkpoint | None = None,
        late: Late = never,
    ) -> None:
        self._problem, self._target, self._search, self._checkpoint = problem, target, search, checkpoint
        self._late = late
        self._best = objective
        self._regions = [Region([], [], point, np.empty(0), point, point)]
        self._rays: list[Vector] = []
        self._heap = [(-point.bound, 0)]
        self._kept = 1  # regions that are stored; the first is given
        self._restored = False
        self._left_by_another = checkpoint  # where a split under way may be left by an earlier process

    def __iter__(self) -> Iterator[Cover]:
        return self

    def __next__(self) -> Cover:
        if not self._restored:
            try:
                self._split_next()
            except OutOfTimeError:
                raise StopIteration from None
        self._restored = False  # what was stored comes first: the caller decides whether to go on from it
        return Cover(self._regions[0], self._rays, -self._heap[0][0])

    def state(self) -> dict[str, Any]:
        """Return where the splitting stands, once all regions are stored."""
        assert self._checkpoint is not None
        for region in self._regions[self._kept :]:
            self._checkpoint.store(f"region-{region.number}", region.state, now=True)
        self._kept = len(self._regions)
        return {
            "best": self._best,
            "rays": self._rays,
            "heap": self._heap,
            "cuts": [region.cuts for region in self._regions],
            "children": [[child.number for child in region.children] for region in self._regions],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        assert self._checkpoint is not None
        self._best, self._rays = state["best"], state["rays"]
        self._heap = [(priority, number) for priority, number in state["heap"]]
        for number in range(1, len(state["cuts"])):
            self._regions.append(self._region(self._checkpoint.require(f"region-{number}"), number))
        for region, cuts, children in zip(self._regions, state["cuts"], state["children"], strict=True):
            region.cuts, region.children = cuts, [self._regions[number] for number in children]
        self._kept = len(self._regions)
        self._restored = True

    def _region(self, state: dict[str, Any], number: int) -> Region:
        wedges = [Wedge(v, w, lo, hi, (cuts[0], cuts[1]), position) for v, w, lo, hi, cuts, position in state["wedges"]]
        path = [(first, second) for first, second in state["path"]]
        point, start, last = (self._problem.point(fields) for fields in state["points"])
        return Region(path, wedges, point, state["weights"], start, last, number)

    def _split_next(self) -> None:
        """Cut the region with the largest bound in two or three and solve the dual of each part."""
        region = self._regions[self._heap[0][1]]
        basis, weights = to_vector(region.last.basis[:, -2:]), to_vector(region.last.weights[-2:])
        v, w = basis[:, 1], basis[:, 0]
        self._best = max(self._best, self._search([v, w]))
        rays = list(self._rays)
        refined = next((wedge for wedge in region.wedges if _overlap(wedge, v, w) > SAME_PLANE), None)
        if refined is not None:
            v, w = refined.v, refined.w
            angles = [refined.lo, (refined.lo + refined.hi) / 2, refined.hi]
            rays.append(_ray(v, w, angles[1]))
            cuts = [refined.cuts[0], len(rays), refined.cuts[1]]
        else:
            half = math.atan(math.sqrt(min(1.0, 0.5 * float(weights[0] / weights[1]))))
            angles = [-half, half, math.pi / 2, math.pi - half]
            rays.extend(_ray(v, w, angle) for angle in angles[:3])
            cuts = [len(rays) - 2, len(rays) - 1, len(rays), -(len(rays) - 2)]
        others = [wedge for wedge in region.wedges if wedge is not refined]
        under_way = _UnderWay(self._checkpoint, len(self._regions), self._left_by_another)
        self._left_by_another = None
        children: list[Region] = []
        for lo, hi, first, second in zip(angles[:-1], angles[1:], cuts[:-1], cuts[1:], strict=True):
            number = len(self._regions) + len(children)
            solved = under_way.solved(number)
            if solved is None:
                wedge = Wedge(v, w, lo, hi, (first, second), len(region.path))
                old = refined.position if refined is not None else None
                child = _solved(self._problem, region, [*others, wedge], old, rays, self._enough, under_way, self._late)
                child.number = number
            else:
                child = self._region(solved, number)
            under_way.done(child)
            children.append(child)
        # Not before all parts are solved: a split that is given up leaves nothing behind.
        heapq.heappop(self._heap)
        self._rays, region.cuts, region.children = rays, cuts, children
        self._regions += children
        for child in children:
            heapq.heappush(self._heap, (-child.point.bound, child.number))

    @property
    def _enough(self) -> float:
        return self._best / (1 - self._target)


class _UnderWay:
    """The split under way: its parts that are solved, and the steps of the one that is not."""

    def __init__(self, checkpoint: Checkpoint | None, first: int, earlier: Checkpoint | None) -> None:
        self._checkpoint, self._first = checkpoint, first
        state = None if earlier is None else earlier.load("split")
        if state is None or state["first"] != first:  # of a later split: of no use without the regions before it
            state = {"solved": [], "steps": None}
        self._solved: list[dict[str, Any]] = state["solved"]
        self._steps: dict[str, Any] | None = state["steps"]

    def solved(self, number: int) -> dict[str, Any] | None:
        """Return a part that was solved before."""
        place = number - self._first
        return self._solved[place] if place < len(self._solved) else None

    def done(self, region: Region) -> None:
        """Note that a part is solved."""
        if self._checkpoint is not None and self.solved(region.number) is None:
            self._solved.append(region.state())

    def steps(self) -> dict[str, Any] | None:
        """Return the steps of the part that was not solved, once."""
        steps, self._steps = self._steps, None
        return steps

    def store(self, steps: Callable[[], dict[str, Any]], *, now: bool) -> None:
        """Store the steps of a part, with the parts solved before it."""
        if self._checkpoint is not None:
            self._checkpoint.store(
                "split", lambda: {"first": self._first, "solved": self._solved, "steps": steps()}, now=now
            )


def _solved(
    problem: DualProblem,
    parent: Region,
    wedges: list[Wedge],
    replaced: int | None,
    rays: list[Vector],
    enough: float,
    under_way: _UnderWay,
    late: Late,
) -> Region:
    """Solve a child from its parent's density pushed to the middle of the wedge; once more, cold, if that fails."""
    xp = problem.xp
    newest = wedges[-1]
    pairs = [(_signed(rays, wedge.cuts[0]), _signed(rays, wedge.cuts[1])) for wedge in wedges]
    middle = (newest.lo + newest.hi) / 2
    centre = math.cos(middle) * newest.v + math.sin(middle) * newest.w
    there = xp.asarray(centre, dtype=xp.float64, device=problem.device)
    push, tail = there[:, None] * there[None, :], problem.tail()
    warm = (parent.start.basis * parent.start.weights[None, :]) @ xp.matrix_transpose(parent.start.basis)
    inherited = dict(zip((wedge.position for wedge in parent.wedges), parent.start.region_weights, strict=True))
    first_weight = inherited.get(replaced, 0.02 * problem.scale) if replaced is not None else 0.02 * problem.scale
    sigma = np.array([inherited.get(wedge.position, first_weight) for wedge in wedges]) / problem.scale
    limit = parent.point.bound
    tries: list[tuple[Any, Vector, int]] = [
        (0.85 * (0.7 * warm + 0.3 * push) + 0.15 * tail, sigma, NODE_STEPS),
        (0.4 * push + 0.3 * warm + 0.3 * tail, np.full(len(pairs), 0.05), 2 * NODE_STEPS),
    ]
    best: Found | None = None
    resumed = under_way.steps()
    if resumed is not None and resumed["before"] is not None:  # the first try was over
        best = _points(problem, resumed["before"])
        del tries[0]
    for density, weights, steps in tries:
        problem.warm_start(parent.start.level, parent.start.theta)
        path = improve(problem, density, pairs, weights)
        found = _run(problem, path, steps, enough, under_way, best, resumed, late)
        resumed = None
        if best is None or found[0].bound < best[0].bound:
            best = found
        if best[0].bound <= limit * (1 - 1e-4):
            break
    assert best is not None
    point, start, last = best
    path_here = [*parent.path, newest.cuts]
    weights = np.zeros(len(path_here))
    if point.bound > limit:
        # The parent's evidence holds on every part of it.
        point, weights[: len(parent.path)] = parent.point, parent.weights
    else:
        weights[[wedge.position for wedge in wedges]] = point.region_weights
    return Region(path_here, wedges, point, weights, start, last)


def _run(
    problem: DualProblem,
    path: CentralPath,
    steps: int,
    enough: float,
    under_way: _UnderWay,
    before: Found | None,
    resumed: dict[str, Any] | None,
    late: Late,
) -> Found:
    """Return the best point, one well inside for the children to start from, and the last."""
    best = start = None
    stalled = first = 0
    if resumed is not None:
        best, start = _points(problem, resumed["points"])
        stalled, first = resumed["stalled"], resumed["step"] + 1
        path.restore(resumed["path"])

    def state() -> dict[str, Any]:
        assert best is not None
        assert start is not None
        return {
            "before": None if before is None else [found.state() for found in before],
            "points": [best.state(), start.state()],
            "stalled": stalled,
            "step": step,
            "path": path.state(),
        }

    for step, point in enumerate(path, first):
        stalled = 0 if best is None or point.bound < best.bound * (1 - 2e-4) else stalled + 1
        best = point if best is None or point.bound < best.bound else best
        if start is None or start.bound - start.value > 1e-2 * point.bound:
            start = point
        close = step >= 4 and point.bound - point.value <= 0.15 * abs(point.value - enough)
        if best.bound <= enough or step >= steps - 1 or close or (step >= 8 and stalled >= 4):
            return best, start, point
        over = late()
        under_way.store(state, now=over)
        if over:
            raise OutOfTimeError
    raise AssertionError


def _points(problem: DualProblem, states: list[dict[str, Any]]) -> Any:
    return tuple(problem.point(state) for state in states)


def _overlap(wedge: Wedge, v: Vector, w: Vector) -> float:
    inner = np.array([[wedge.v @ v, wedge.v @ w], [wedge.w @ v, wedge.w @ w]])
    return float(np.linalg.svd(inner, compute_uv=False)[-1]) ** 2


def _ray(v: Vector, w: Vector, angle: float) -> Vector:
    return np.asarray(-math.sin(angle) * v + math.cos(angle) * w)


def _signed(rays: list[Vector], cut: Cut) -> Vector:
    return rays[abs(cut) - 1] if cut > 0 else -rays[abs(cut) - 1]
