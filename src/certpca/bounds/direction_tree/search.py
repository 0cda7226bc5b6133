"""Split one region after the other for as long as that helps."""

import heapq

import numpy as np

from certpca.bounds.direction_tree.parts import Parting, Parts
from certpca.bounds.direction_tree.regions import Cover, Region, Split, cutting, leading_plane
from certpca.bounds.goals import Goal, Incumbent
from certpca.bounds.l0_dual.problem import DualPoint, DualProblem
from certpca.bounds.stalling import Stall
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.budget import Progress
from certpca.runtime.lateness import OutOfTimeError
from certpca.runtime.resumable import resumable

MORE_LEAVES = 2  # that a split of a region adds at most


def split_regions(
    problem: DualProblem,
    point: DualPoint,
    features: Indices,
    incumbent: Incumbent,
    goal: Goal,
    progress: Progress,
    leaf_seconds: float,
) -> Cover | None:
    """Split regions for as long as that helps and what comes of it can be proved, one leaf after the other.

    A split under way when there is no more time is given up; the cover before it is then the last.
    """

    def late(cover: Cover) -> bool:
        return progress.exhausted or progress.late((len(cover.leaves()) + MORE_LEAVES) * leaf_seconds)

    def spread(direction: Vector) -> Vector:
        image = np.zeros(incumbent.operator.size)
        image[features] = problem.image(direction[:, None])[:, 0]
        return image

    def split(cover: Cover) -> Cover:
        """Cut the region with the largest bound in two or three and solve the dual of each part."""
        number = cover.waiting[0][1]
        region = cover.regions[number]
        known = incumbent.improved(cover.known, [spread(direction) for direction in leading_plane(region)])
        incumbent.best = known  # whatever becomes of the split
        cut = cutting(region, cover.rays)
        parting = Parting(problem, region, cut, known.objective / (1 - goal.target_gap))
        parts = resumable(
            parting.step,
            lambda: parting.step(Parts()),
            progress,
            "split",
            Parts,
            enough=parting.done,
            late=lambda _: late(cover),
            about=len(cover.regions),  # a later split is of no use without the regions before it
            adopt=problem.adopt,
            keep_last=False,
        )
        if not parting.done(parts):
            raise OutOfTimeError
        numbers = tuple(range(len(cover.regions), len(cover.regions) + len(parts.solved)))
        waiting = list(cover.waiting)
        heapq.heappop(waiting)
        for made, part in zip(numbers, parts.solved, strict=True):
            heapq.heappush(waiting, (-part.point.bound, made))
        splits = {**cover.splits, number: Split(cut.cuts, numbers)}
        return Cover((*cover.regions, *parts.solved), splits, cut.rays, tuple(waiting), known)

    def enough(cover: Cover) -> bool:
        objective = cover.known.objective
        return goal.reached(objective, cover.bound) or stall.over(objective, cover.bound)

    whole = Region((), (), point, np.zeros(0), point, point)
    first = Cover((whole,), {}, (), ((-point.bound, 0),), incumbent.best)
    stall = Stall(progress)
    try:
        found = resumable(
            split,
            lambda: split(first),
            progress,
            "cover",
            Cover,
            enough=enough,
            tell=lambda cover: (cover.known.objective, cover.bound, ""),
            late=late,
            kept=Region,
            adopt=problem.adopt,
        )
    except OutOfTimeError:
        return None
    if found.known.objective > incumbent.objective:
        incumbent.best = found.known
    return found
