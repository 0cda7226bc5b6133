"""Split the directions into regions for as long as that helps, best first, each with a level of its own."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.direction_tree.regions import Cut, Split, Wedge, cut_of, signed
from certpca.bounds.l0_level.aim import Aim
from certpca.bounds.l0_level.descent import descended
from certpca.bounds.l0_level.evidence import level_evidence
from certpca.bounds.l0_level.model import Levels
from certpca.bounds.l0_level.search import LevelSearch
from certpca.bounds.l0_level.space import trimmed
from certpca.bounds.sets.regions.model import RegionModel, RegionValue, total_of
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Vector
from certpca.runtime.threads import at_most_threads, one_thread_each, threads_allowed

FIRST_STAGES = ((1e-2, 50), (3e-3, 40))  # smoothing relative to the bound, and steps of a descent
STAGES = ((3e-3, 40), (1e-3, 50))  # of a part, which begins where its parent is
MEMORY = 30
ENDED = 1e-3  # of the smoothing: decreases below that end a descent
FIRST_SIGMA = 0.3  # of a new wedge, as a share of what a component is worth
AGAIN, SURPRISE = 2, 2e-3  # descents again, where corrections take back more than that of the bound
CORRECTED = 6  # eigenvectors of each region that are multiplied by the whole matrix
PIECES = 6  # wedges of the first plane, which halves then
NARROW = math.radians(4.0)  # wedges up to which another plane is cut
MOST_KNOWN = 112  # directions: every evaluation costs their number squared
UNEVENNESS = 1.0  # of what is not known


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Pairs on the way to a region, its wedges, a level with weights for these, and what components are worth there.

    All is in the units of the space.
    """

    path: tuple[tuple[Cut, Cut], ...]
    wedges: tuple[Wedge, ...]
    level: Levels
    sigmas: Vector
    bounds: tuple[float, ...]
    again: int = 0  # times that a descent may be made again, where
    surprised: bool = False  # directions that were not known spoilt the last one


class RegionSearch:
    """Regions for components of some sparsities, at given prices.

    `rounds` knows the features along some directions, `levels` are those to begin with, `directions` have a column for
    each component.
    """

    def __init__(
        self,
        rounds: LevelSearch,
        levels: Levels,
        aim: Aim,
        prices: Vector,
        directions: Vector,
        late: Callable[[int], bool],
    ) -> None:
        self.space, self._aim, self._prices = rounds.space, aim, prices
        self.space.most = min(self.space.most, max(MOST_KNOWN, self.space.known))
        self._directions = directions / np.maximum(np.linalg.norm(directions, axis=0), np.finfo(float).tiny)
        self._late = late  # whether there is no more time, if so many regions are to be proved
        self.regions = [Region((), (), levels, np.zeros(0), (math.inf,) * len(aim.parts))]
        self.splits: dict[int, Split] = {}
        self.rays: tuple[Vector, ...] = ()

    def start(self) -> None:
        """Find a level for all directions."""
        with one_thread_each(threads_allowed(), self.space.work):
            for stage in FIRST_STAGES:
                self.regions[0] = self._corrected([self._descended(self.regions[0], (stage,))])[0]

    @property
    def bound(self) -> float:
        """What all components capture at most, as far as known directions tell, in the units of the matrix."""
        leaves = [self.regions[number].bounds for number in self.leaves()]
        worst = [max(bounds) for bounds in zip(*leaves, strict=True)]
        return float(self._prices.sum()) + self.space.scale * total_of(self._aim, worst)

    def leaves(self) -> list[int]:
        """Return the numbers of the regions that were not split."""
        return [number for number in range(len(self.regions)) if number not in self.splits]

    def step(self) -> None:
        """Take the region where components are worth most: descend again where that helps, or cut it."""
        number = max(self.leaves(), key=lambda leaf: total_of(self._aim, self.regions[leaf].bounds))
        region = self.regions[number]
        if region.again and region.surprised:
            with one_thread_each(threads_allowed(), self.space.work):
                better = self._descended(replace(region, again=region.again - 1), STAGES[-1:])
                better, before = self._corrected([better, replace(region, again=0)])
            self.regions[number] = min(better, before, key=lambda one: sum(one.bounds))
        else:
            self._split(number, region)
        for leaf in self.leaves():  # what was not known when they were solved may be now
            self.regions[leaf] = self._bounded(self.regions[leaf])

    def _split(self, number: int, region: Region) -> None:
        """Cut a region, and solve its parts."""
        plane, ratio = self._plane(region)
        cut = cut_of(region.wedges, len(region.path), plane, ratio, self.rays, PIECES if not region.wedges else 3)
        self.rays = cut.rays
        known = {wedge.position: sigma for wedge, sigma in zip(region.wedges, region.sigmas, strict=True)}
        first = FIRST_SIGMA * max(region.bounds)
        if cut.refined is not None:
            first = known[cut.refined.position]
        kept = tuple(wedge for wedge in region.wedges if wedge is not cut.refined)
        sigmas = np.array([*(known[wedge.position] for wedge in kept), first])
        parts = [
            replace(region, path=(*region.path, wedge.cuts), wedges=(*kept, wedge), sigmas=sigmas, again=AGAIN)
            for wedge in cut.wedges
        ]
        with one_thread_each(threads_allowed(), self.space.work):
            with ThreadPoolExecutor(min(threads_allowed(), len(parts))) as pool:
                contexts = [copy_context() for _ in parts]
                jobs = [
                    pool.submit(own.run, self._descended, part, STAGES)
                    for own, part in zip(contexts, parts, strict=True)
                ]
                solved = [job.result() for job in jobs]
            solved = self._corrected(solved)
        numbers = tuple(range(len(self.regions), len(self.regions) + len(parts)))
        self.regions += [_no_worse(region, part) for part in solved]
        self.splits[number] = Split(cut.cuts, numbers)

    def _plane(self, region: Region) -> tuple[tuple[Vector, Vector], float]:
        """Return two directions, and how much of the second there is for each of the first.

        First those of the components, whose mixture is what good prices leave; where wedges of that plane are narrow,
        those that the bound of the region leans on.
        """
        wide = [wedge for wedge in region.wedges if wedge.hi - wedge.lo > NARROW]
        if wide:
            return (wide[0].v, wide[0].w), 1.0
        if not region.wedges:
            left, sizes, _ = np.linalg.svd(self._directions, full_matrices=False)
            return (left[:, 0], left[:, 1]), float((sizes[1] / sizes[0]) ** 2)
        plane, ratio = self._model(region).plane(region.level, region.sigmas)
        v, w = (self.space.basis @ plane).T
        return (v, w), ratio

    def certificate(self) -> tuple[Any, dict[str, Any]]:
        """Return the tree in plain lists and numbers, and its evidence but for the prices."""
        scale, leaves = self.space.scale, self.leaves()
        width = self.regions[0].level.width
        basis = self.space.basis[:, :width]
        depth = basis.shape[0]
        evidence: dict[str, Any] = {"rays": np.array(self.rays).reshape(-1, depth)}
        for number in leaves:
            region = self.regions[number]
            own = level_evidence(basis, region.level.times(scale))
            evidence["directions"] = own.pop("directions")
            sigmas = np.zeros(len(region.path))
            sigmas[[wedge.position for wedge in region.wedges]] = region.sigmas * scale
            evidence |= within(f"leaf{number}", {**own, "sigmas": sigmas})
        return self._tree(0), evidence

    def _tree(self, number: int) -> Any:
        split = self.splits.get(number)
        if split is None:
            return {"leaf": number}
        return {"cuts": list(split.cuts), "children": [self._tree(part) for part in split.parts]}

    def _model(self, region: Region) -> RegionModel:
        pairs = [(signed(self.rays, wedge.cuts[0]), signed(self.rays, wedge.cuts[1])) for wedge in region.wedges]
        return RegionModel(self.space, UNEVENNESS, self._prices, self._aim, pairs)

    def _descended(self, region: Region, stages: Sequence[tuple[float, int]]) -> Region:
        """Minimise the smoothed bound of a region."""
        model = self._model(region)
        for smoothing, steps in stages:
            base, sigmas = region.level, region.sigmas
            worth = max(region.bounds)
            if not math.isfinite(worth):
                worth = max(model.leading(base, sigmas, 1)[0])

            def evaluate(
                step: Vector, at: Levels = base, weights: Vector = sigmas, smooth: float = smoothing * worth
            ) -> RegionValue:
                return model.evaluate(at, weights, step, smooth)

            with at_most_threads(1):
                found = descended(
                    evaluate,
                    model.steps(base),
                    steps=steps,
                    tolerance=ENDED * smoothing * worth,
                    late=lambda: self._late(len(self.leaves())),
                    memory=MEMORY,
                )
            if found.best is None:
                break
            level, sigmas = model.moved(base, sigmas, found.step)
            region = replace(region, level=level, sigmas=sigmas, bounds=found.best.bounds, surprised=False)
        return region

    def _corrected(self, regions: list[Region]) -> list[Region]:
        """Know what leading eigenvectors are multiplied into, which takes two walks, and bound regions with that."""
        space = self.space
        if not space.whole:
            panels = [self._model(region).leading(region.level, region.sigmas, CORRECTED)[2] for region in regions]
            root = self.regions[0].level
            trimmed(space, root, space.model(UNEVENNESS), sum(panel.shape[1] for panel in panels))
            space.add(space.combined(space.there(np.concatenate(panels, axis=1))))
        return [self._bounded(region) for region in regions]

    def _bounded(self, region: Region) -> Region:
        bounds = self._model(region).leading(region.level, region.sigmas, 1)[0]
        surprised = region.surprised or sum(bounds) > (1 + SURPRISE) * sum(region.bounds)
        return replace(region, bounds=bounds, surprised=surprised)


def _no_worse(parent: Region, part: Region) -> Region:
    """Return a part, with the level of its parent where that is better: it holds on every part."""
    if sum(part.bounds) <= sum(parent.bounds):
        return part
    # Wedges keep their places on the way; the last pair of the part then has no weight.
    return replace(part, level=parent.level, wedges=parent.wedges, sigmas=parent.sigmas, bounds=parent.bounds)
