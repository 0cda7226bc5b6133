"""A tree of regions of directions that grows split by split, from a dual point for all directions."""

import heapq
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace

import numpy as np

from certpca.bounds.direction_tree.parts import Parting, Parts
from certpca.bounds.direction_tree.regions import Cover, Cutting, Region, Split, cutting, leading_plane
from certpca.bounds.evidence import cover_evidence, tree_of
from certpca.bounds.l0_dual.problem import DualPoint, DualProblem
from certpca.bounds.proof_search import ProofSearch
from certpca.distributed.executors import Here
from certpca.runtime.arrays import Vector, is_host
from certpca.runtime.lateness import OutOfTimeError
from certpca.runtime.resumable import resumable
from certpca.runtime.threads import at_most_threads, one_thread_each, threads_allowed

MORE_LEAVES = 2  # that a split of a region adds at most
BURST = 8  # steps that each of several splits makes before they are stored


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """Where the splits of several regions stand."""

    parts: tuple[Parts, ...]


class RegionGrowth:
    """Regions for the features that are left."""

    name = "cover"

    def __init__(self, search: ProofSearch, prepare: Callable[[], None] = lambda: None) -> None:
        self._search, self._prepare = search, prepare

    def ready(self) -> bool:
        """Find a dual point for all directions, unless there is one."""
        if self._search.dual is None:
            self._prepare()
        return self._search.dual is not None

    def start(self) -> Cover:
        """Return all directions as one region."""
        _, point = self._dual
        whole = Region((), (), point, np.zeros(0), point, point)
        return Cover((whole,), {}, (), ((-point.bound, 0),), self._search.incumbent.best)

    def step(self, cover: Cover) -> Cover:
        """Cut the regions with the largest bounds, as many as there are threads, and solve the dual of each part.

        Splits under way when there is no more time are given up.
        """
        with self._search.progress.setting_aside(self.proof(cover)):
            return self._split(cover)

    def _split(self, cover: Cover) -> Cover:
        search, (problem, _) = self._search, self._dual
        known, workers = cover.known, self._workers(cover)
        enough = known.objective / (1 - search.goal.target_gap)
        worst = heapq.nsmallest(workers, cover.waiting)
        chosen = [number for bound, number in worst if -bound > enough] or [worst[0][1]]
        cuts, rays = list[Cutting](), cover.rays
        for number in chosen:
            region = cover.regions[number]
            known = search.incumbent.improved(known, [self._spread(way) for way in leading_plane(region)])
            cuts.append(cutting(region, rays))
            rays = cuts[-1].rays
        search.incumbent.best = known  # whatever becomes of the splits
        enough = known.objective / (1 - search.goal.target_gap)
        regions = [cover.regions[number] for number in chosen]
        solved = self._solved([Parting(problem, *each, enough) for each in zip(regions, cuts, strict=True)], cover)
        return _grown(replace(cover, known=known), chosen, cuts, solved)

    def _workers(self, cover: Cover) -> int:
        """Return how many regions are split at a time: one where all threads, or others, share the work on each."""
        rows = self._dual[0].rows
        here = isinstance(rows.place, Here) and is_host(rows.parts[0])
        return min(threads_allowed(), len(cover.waiting)) if here else 1

    def _solved(self, partings: list[Parting], cover: Cover) -> list[tuple[Region, ...]]:
        """Solve all parts, a few steps of several partings at a time."""
        search, workers = self._search, len(partings)
        order = self._dual[0].depth

        def advanced(parting: Parting, parts: Parts) -> Parts:
            with at_most_threads(max(1, threads_allowed() // workers)):
                for _ in range(BURST if workers > 1 else 1):
                    if parting.done(parts) or search.progress.late():
                        break
                    parts = parting.step(parts)
            return parts

        def step(several: Several) -> Several:
            if workers == 1:
                return Several((advanced(partings[0], several.parts[0]),))
            with ThreadPoolExecutor(workers) as pool:
                given = zip(partings, several.parts, strict=True)
                jobs = [pool.submit(copy_context().run, advanced, parting, parts) for parting, parts in given]
                return Several(tuple(job.result() for job in jobs))

        def done(several: Several) -> bool:
            return all(parting.done(parts) for parting, parts in zip(partings, several.parts, strict=True))

        with one_thread_each(workers, float(self._search.left.features.size) * order**2):
            several = resumable(
                step,
                lambda: step(Several((Parts(),) * workers)),
                search.progress,
                "splits",
                Several,
                enough=done,
                late=lambda _: search.progress.late(),
                about=[len(cover.regions), workers],  # a later split is of no use without the regions before it
                adopt=self._dual[0].adopt,
                keep_last=False,
            )
        if not done(several):
            raise OutOfTimeError
        return [parts.solved for parts in several.parts]

    def stuck(self, cover: Cover) -> bool:
        """Say that every region can be cut."""
        del cover
        return False

    def proof(self, cover: Cover) -> float:
        """Return the seconds to prove the regions, and those that a split may add."""
        left = self._search.left
        leaf = self._search.costs.dual(left.features.size, roots=self._roots)
        return left.seconds + (len(cover.leaves()) + MORE_LEAVES * threads_allowed()) * leaf

    def note(self, cover: Cover) -> str:
        """Count the regions."""
        return f"{len(cover.leaves())} regions"

    def offer(self, cover: Cover) -> None:
        """Prove the regions, if they bound more tightly than what is proved."""
        search = self._search
        if search.improves(cover.bound) and cover.splits and self.ready():
            evidence = {**search.left.evidence, **cover_evidence(cover, roots=self._roots)}
            search.offer(search.proved("l0-tree", evidence, tree_of(cover)))

    @property
    def _dual(self) -> tuple[DualProblem, DualPoint]:
        assert self._search.dual is not None
        return self._search.dual

    @property
    def _roots(self) -> bool:
        return self._search.screening is None

    def _spread(self, direction: Vector) -> Vector:
        image = np.zeros(self._search.operator.size)
        image[self._search.left.features] = self._dual[0].image(direction[:, None])[:, 0]
        return image


def _grown(cover: Cover, chosen: list[int], cuts: list[Cutting], solved: list[tuple[Region, ...]]) -> Cover:
    """Return the cover with some regions split."""
    regions, splits = list(cover.regions), dict(cover.splits)
    waiting = [entry for entry in cover.waiting if entry[1] not in chosen]
    heapq.heapify(waiting)
    for number, cut, parts in zip(chosen, cuts, solved, strict=True):
        numbers = tuple(range(len(regions), len(regions) + len(parts)))
        regions.extend(parts)
        for made, part in zip(numbers, parts, strict=True):
            heapq.heappush(waiting, (-part.point.bound, made))
        splits[number] = Split(cut.cuts, numbers)
    return Cover(tuple(regions), splits, cuts[-1].rays, tuple(waiting), cover.known)
