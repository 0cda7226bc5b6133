"""Grow sets of components from small budgets to the one asked for, on a matrix in memory.

Each stage begins with what the one before it found, with more features, and ends with at least as much; what a stage
does depends on its own budget alone, not on the last one. So on the same matrix a larger budget never captures less:
the stages of the smaller one are among its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from certpca.runtime.arrays import Indices, Vector, top_k
from certpca.runtime.lateness import Late, never
from certpca.runtime.threads import one_thread_each
from certpca.search.joint.climbing import ROUGHLY, alternated, climbed
from certpca.search.joint.component import GAIN, Member, filled
from certpca.search.joint.kicks import kicked
from certpca.search.joint.problems import DISJOINT, SHARED, UNCORRELATED
from certpca.search.joint.set_problem import Members, SetProblem, total
from certpca.search.joint.shared import SharedSearch, SharedSet
from certpca.search.joint.starts import from_supports, greedy, penalised, rotated

EVERY = 64  # budgets up to which each has a stage of its own; beyond, each is larger by a share
SHARE = 0.1
EFFORTS = ((64, 16), (256, 6))  # features up to which so many starts and kicks are made in each stage
LEAST_EFFORT = 3
DEAR = 300_000  # features times those that are asked for, beyond which starts are left to walks over the data
PROMISING = 0.98  # share of the best from which a set is looked at by pairs,
FEW = 6  # where it has so few components: pairs are many otherwise
MOST_KICKS = 3  # times as many as may fail, whatever they give
PENALISED = 1024  # features up to which matrices with prices are formed

Tell = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Budgets:
    """How many features components may have: each its own number, or a total that is split for them."""

    counts: tuple[int, ...]
    total: int | None = None

    def stages(self, problem: str) -> Iterator[tuple[int, ...] | int]:
        """Give the budgets from the smallest that has a solution to the last."""
        width = len(self.counts)
        if self.total is not None:
            yield from rungs(least_total(problem, width), self.total)
            return
        least = width if problem in (UNCORRELATED, SHARED) else 1
        for most in rungs(min(least, max(self.counts)), max(self.counts)):
            yield tuple(min(count, most) for count in self.counts)


def least_total(problem: str, width: int) -> int:
    """Return how many features so many components need in all."""
    return width * (width + 1) // 2 if problem == UNCORRELATED else width


def rungs(first: int, last: int, every: int = EVERY) -> Iterator[int]:
    """Give numbers from the first to the last, all the small ones."""
    number = first
    while number < last:
        yield number
        number = number + 1 if number < every else int(number * (1 + SHARE))
    yield last


def effort(size: int, features: int) -> int:
    """Say how many starts and kicks a stage makes."""
    if size * features > DEAR:
        return 0
    return next((tries for most, tries in EFFORTS if size <= most), LEAST_EFFORT)


def searched(
    matrix: Vector, problem: str, budgets: Budgets, seed: int = 0, late: Late = never, tell: Tell = lambda _: None
) -> Members:
    """Return the best set found, each component with as many features as it may have."""
    width = len(budgets.counts)
    vectors = np.linalg.eigh(matrix)[1][:, ::-1][:, : 2 * width + 2]
    search = _Both(matrix, problem, vectors, width, budgets.total is not None, late)
    found: Members = ()
    apart: Members = ()
    for stage in budgets.stages(problem):
        if found and late():
            return search.cut_short(found, budgets)
        found, apart = search.stage(stage, found, apart, (), np.random.default_rng([seed, _number(stage)]))
        tell(total(found))
    return found


def searched_from(
    matrix: Vector,
    problem: str,
    budgets: Budgets,
    before: Members,
    seeds: Sequence[Sequence[Indices]],
    vectors: Vector,
    rng: np.random.Generator,
    late: Late = never,
) -> Members:
    """Return the best set found in one stage, from a set with fewer features and from given supports."""
    search = _Both(matrix, problem, vectors, len(budgets.counts), budgets.total is not None, late)
    stage = budgets.counts if budgets.total is None else budgets.total
    return search.stage(stage, before, (), seeds, rng)[0]


@dataclass(frozen=True, slots=True, eq=False)
class _Both:
    """The search for a set, and beside it the one for components apart, which are a start for the others."""

    matrix: Vector
    problem: str
    vectors: Vector
    width: int
    movable: bool
    late: Late

    def _search(self, problem: str) -> SetProblem:
        return SetProblem(self.matrix, problem, self.vectors, movable=self.movable, late=self.late)

    @one_thread_each(1, 0.0)  # products with a few vectors: threads would mostly wait for each other
    def stage(
        self,
        stage: tuple[int, ...] | int,
        before: Members,
        apart: Members,
        seeds: Sequence[Sequence[Indices]],
        rng: np.random.Generator,
    ) -> tuple[Members, Members]:
        """Return the best set within a budget, and the best of components with no feature in common."""
        if self.problem == SHARED:
            assert not isinstance(stage, int)
            return _shared_stage(self, max(stage), before, seeds, rng), ()
        if self.problem != DISJOINT:
            apart = _stage(
                self._search(DISJOINT), self.width, _fitting(stage, self.matrix.shape[0]), apart, (), seeds, rng
            )
        return _stage(self._search(self.problem), self.width, stage, before, apart, seeds, rng), apart

    def cut_short(self, members: Members, budgets: Budgets) -> Members:
        """Fill up what there is when time is over."""
        if self.problem == SHARED:
            return _shared_stage(self, max(budgets.counts), members, (), np.random.default_rng(0))
        search = self._search(self.problem)
        counts = budgets.counts if budgets.total is None else _counts(search, self.width, budgets.total, members)
        return _grown(search, members, counts)


def _number(stage: tuple[int, ...] | int) -> int:
    return stage if isinstance(stage, int) else sum(stage)


def _fitting(stage: tuple[int, ...] | int, size: int) -> tuple[int, ...] | int:
    """Return the budgets of disjoint components that come nearest."""
    if isinstance(stage, int):
        return min(stage, size)
    counts = list(stage)
    while sum(counts) > size:
        counts[int(np.argmax(counts))] -= 1
    return tuple(counts)


def _stage(
    search: SetProblem,
    width: int,
    stage: tuple[int, ...] | int,
    before: Members,
    apart: Members,
    seeds: Sequence[Sequence[Indices]],
    rng: np.random.Generator,
) -> Members:
    """Find a set within a budget: from the one before it, from components found apart, and from many starts."""
    best: Members = ()

    def consider(start: Members | None, counts: Sequence[int]) -> None:
        nonlocal best
        if start is not None and not (best and search.late()):
            found = climbed(search, start, counts)
            near = bool(best) and total(found) > total(best) * PROMISING
            if near and search.problem != DISJOINT and len(counts) <= FEW:
                found = climbed(search, found, _sizes(found) if search.movable else counts, pairs=True)
            if not best or total(found) > total(best):
                best = found

    counts = _counts(search, width, stage, before)
    tries = effort(search.matrix.shape[0], sum(counts))
    for supports in seeds:
        consider(from_supports(search, supports, counts), counts)
    if before:
        consider(_grown(search, before, counts), counts)
    if apart:
        own = _counts(search, width, stage, apart)  # of a total they may have split otherwise
        consider(from_supports(search, [member.support for member in apart], own), own)
        if search.problem != UNCORRELATED:  # components with no feature in common are orthogonal as they are
            consider(_grown(search, apart, own), own)
    orders = [range(len(counts)), range(len(counts))[::-1]] if len(set(counts)) > 1 else [range(len(counts))]
    for order in orders:
        if not (best and search.late()):
            consider(greedy(search, counts, order), counts)
    for _ in range(tries):
        if best and search.late():
            break
        consider(rotated(search, counts, rng), counts)
        if search.problem != DISJOINT and search.matrix.shape[0] <= PENALISED:
            consider(penalised(search, counts, rng), counts)
    patience = tries if search.problem == DISJOINT else 2 * tries
    for _ in range(MOST_KICKS * patience):
        if patience == 0 or not best or search.late():
            break
        sizes = _sizes(best) if search.movable else counts
        value = total(best)
        consider(kicked(search, best, sizes, rng), sizes)
        if total(best) <= value * (1 + ROUGHLY):  # what only settles further is no success
            patience -= 1
    return alternated(search, best, _sizes(best) if search.movable else counts, GAIN)


def _sizes(members: Members) -> list[int]:
    return [member.support.size for member in members]


def _counts(search: SetProblem, width: int, stage: tuple[int, ...] | int, before: Members) -> tuple[int, ...]:
    """Return how many features each component may have; of a total, each gets one more where it helps most."""
    if not isinstance(stage, int):
        return stage
    if not before:
        return tuple(range(1, width + 1)) if search.problem == UNCORRELATED else (1,) * width
    members = before
    while sum(member.support.size for member in members) < stage:
        offers = []
        for t in range(len(members)):
            allowed, normals = search.place(members, t)
            more = filled(search.matrix, members[t], members[t].support.size + 1, allowed, normals)
            if more.support.size > members[t].support.size:
                offers.append((more.value - members[t].value, -t, more))
        if not offers:
            break
        _, place, more = max(offers, key=lambda offer: offer[:2])
        members = tuple(more if t == -place else member for t, member in enumerate(members))
    return tuple(_sizes(members))


def _grown(search: SetProblem, members: Members, counts: Sequence[int]) -> Members:
    """Give each component as many features as it may have."""
    for t, count in enumerate(counts):
        allowed, normals = search.place(members, t)
        more = filled(search.matrix, members[t], count, allowed, normals)
        members = (*members[:t], more, *members[t + 1 :])
    return members


def _shared_stage(
    both: _Both, sparsity: int, before: Members, seeds: Sequence[Sequence[Indices]], rng: np.random.Generator
) -> Members:
    """Find one support for all components: from the one before it, from given ones, and from many starts."""
    search = SharedSearch(both.matrix, both.width, both.late)
    best: SharedSet | None = None

    def consider(start: SharedSet) -> None:
        nonlocal best
        found = search.climbed(start, sparsity)
        best = found if best is None or found.value > best.value else best

    if before:
        consider(search.fitted(before[0].support))
    for supports in seeds:
        if best is None or not both.late():
            consider(search.fitted(supports[0]))
    tries = effort(both.matrix.shape[0], sparsity)
    for turn in range(tries + 1):
        if best is not None and both.late():
            break
        leading = np.arange(min(both.width, both.vectors.shape[1]))
        chosen = leading if turn == 0 else rng.permutation(both.vectors.shape[1])[: both.width]
        consider(search.fitted(top_k(((both.matrix @ both.vectors[:, chosen]) ** 2).sum(axis=1), sparsity)))
    for _ in range(tries):
        if best is None or both.late():
            break
        consider(search.kicked(best, rng))
    assert best is not None
    pairs = zip(best.loadings.T, best.values, strict=True)
    return tuple(Member(best.support, loadings, float(value)) for loadings, value in pairs)
