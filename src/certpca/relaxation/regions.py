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

from certpca.arrays import Vector, to_vector
from certpca.relaxation.l0_dual import DualPoint, DualProblem, improve

SAME_PLANE = 0.8  # smallest squared cosine between two planes that count as one
NODE_STEPS = 25
Cut = int  # ± (number of a ray, from 1)


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
    cuts: list[Cut] = field(default_factory=list)
    children: list["Region"] = field(default_factory=list)


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


def cover(
    problem: DualProblem,
    point: DualPoint,
    objective: float,
    target: float,
    search: Callable[[Sequence[Vector]], float],
) -> Iterator[Cover]:
    """Split regions for as long as the caller wants, yielding the cover after every split.

    Parameters
    ----------
    point
        The best dual point for all directions.
    objective, target
        Best objective known, and the gap below which a region needs no more work.
    search
        Tries directions as starts of a local search and returns the best objective known then.
    """
    best = objective
    root = Region([], [], point, np.empty(0), point, point)
    rays: list[Vector] = []
    heap: list[tuple[float, int, Region]] = [(-point.bound, 0, root)]
    serial = 0
    while heap:
        _, _, region = heapq.heappop(heap)
        basis = to_vector(region.last.basis[:, -2:])
        best = max(best, search([basis[:, 1], basis[:, 0]]))
        for child in _split(problem, region, rays, best / (1 - target)):
            serial += 1
            heapq.heappush(heap, (-child.point.bound, serial, child))
        yield Cover(root, rays, -heap[0][0])


def _split(problem: DualProblem, region: Region, rays: list[Vector], enough: float) -> list[Region]:
    """Cut a region in two or three and solve the dual of each part."""
    basis, weights = to_vector(region.last.basis[:, -2:]), to_vector(region.last.weights[-2:])
    v, w = basis[:, 1], basis[:, 0]
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
    region.cuts = cuts
    others = [wedge for wedge in region.wedges if wedge is not refined]
    for lo, hi, first, second in zip(angles[:-1], angles[1:], cuts[:-1], cuts[1:], strict=True):
        wedge = Wedge(v, w, lo, hi, (first, second), len(region.path))
        old = refined.position if refined is not None else None
        region.children.append(_solved(problem, region, [*others, wedge], old, rays, enough))
    return region.children


def _solved(
    problem: DualProblem, parent: Region, wedges: list[Wedge], replaced: int | None, rays: list[Vector], enough: float
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
    best: tuple[DualPoint, DualPoint, DualPoint] | None = None
    for density, weights, steps in tries:
        problem.warm_start(parent.start.level, parent.start.theta)
        found = _run(problem, density, pairs, weights, steps, enough)
        if best is None or found[0].bound < best[0].bound:
            best = found
        if best[0].bound <= limit * (1 - 1e-4):
            break
    assert best is not None
    point, start, last = best
    path = [*parent.path, newest.cuts]
    weights = np.zeros(len(path))
    if point.bound > limit:
        # The parent's evidence holds on every part of it.
        point, weights[: len(parent.path)] = parent.point, parent.weights
    else:
        weights[[wedge.position for wedge in wedges]] = point.region_weights
    return Region(path, wedges, point, weights, start, last)


def _run(
    problem: DualProblem,
    density: Any,
    pairs: list[tuple[Vector, Vector]],
    sigma: Vector,
    steps: int,
    enough: float,
) -> tuple[DualPoint, DualPoint, DualPoint]:
    """Return the best point, one well inside for the children to start from, and the last."""
    best = start = None
    stalled = 0
    for step, point in enumerate(improve(problem, density, pairs, sigma)):
        stalled = 0 if best is None or point.bound < best.bound * (1 - 2e-4) else stalled + 1
        best = point if best is None or point.bound < best.bound else best
        if start is None or start.bound - start.value > 1e-2 * point.bound:
            start = point
        close = step >= 4 and point.bound - point.value <= 0.15 * abs(point.value - enough)
        if best.bound <= enough or step >= steps - 1 or close or (step >= 8 and stalled >= 4):
            return best, start, point
    raise AssertionError


def _overlap(wedge: Wedge, v: Vector, w: Vector) -> float:
    inner = np.array([[wedge.v @ v, wedge.v @ w], [wedge.w @ v, wedge.w @ w]])
    return float(np.linalg.svd(inner, compute_uv=False)[-1]) ** 2


def _ray(v: Vector, w: Vector, angle: float) -> Vector:
    return np.asarray(-math.sin(angle) * v + math.cos(angle) * w)


def _signed(rays: list[Vector], cut: Cut) -> Vector:
    return rays[abs(cut) - 1] if cut > 0 else -rays[abs(cut) - 1]
