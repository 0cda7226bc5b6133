"""Grow sets of components from small budgets to the one asked for, on a matrix in memory.

Each stage begins with what the one before it found, with more features, and ends with at least as much; what a stage
does depends on its own budget alone, not on the last one. So on the same matrix a larger budget never captures less:
the stages of the smaller one are among its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from certpca.runtime.arrays import Vector, top_k
from certpca.runtime.lateness import Late, never
from certpca.search.joint.component import Member, filled
from certpca.search.joint.problems import DISJOINT, SHARED, UNCORRELATED
from certpca.search.joint.set_search import Members, SetSearch, total
from certpca.search.joint.shared import SharedSearch, SharedSet

EVERY = 64  # budgets up to which each has a stage of its own; beyond, each is larger by a share
SHARE = 0.1
EFFORTS = ((64, 16), (256, 6))  # features up to which so many starts and kicks are made in each stage
LEAST_EFFORT = 3
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


def effort(size: int) -> int:
    """Say how many starts and kicks a stage makes."""
    return next((tries for most, tries in EFFORTS if size <= most), LEAST_EFFORT)


def searched(
    matrix: Vector,
    problem: str,
    budgets: Budgets,
    seed: int = 0,
    late: Late = never,
    tell: Tell = lambda value: None,
    beginning: Members = (),
) -> Members:
    """Return the best set found, each component with as many features as it may have.

    Where a set is given to begin with, the stages below its budget are left out: it is where they would have led.
    """
    width = len(budgets.counts)
    vectors = np.linalg.eigh(matrix)[1][:, ::-1][:, : 2 * width + 2]
    stages = list(budgets.stages(problem))
    if beginning:
        stages = stages[-1:]
    if problem == SHARED:
        return _shared(matrix, width, [max(stage) for stage in stages if not isinstance(stage, int)], vectors, seed, late, tell, beginning)
    search = SetSearch(matrix, problem, vectors, movable=budgets.total is not None, late=late)
    helper = SetSearch(matrix, DISJOINT, vectors, movable=search.movable, late=late)
    found, apart = beginning, ()
    for stage in stages:
        if found and late():
            return _cut_short(search, found, budgets)
        rng = np.random.default_rng([seed, _number(stage)])
        if problem != DISJOINT:
            apart = _stage(helper, _fitting(stage, width, matrix.shape[0]), apart, (), rng)
        found = _stage(search, stage, found, apart, rng)
        tell(total(found))
    return found


def _number(stage: tuple[int, ...] | int) -> int:
    return stage if isinstance(stage, int) else sum(stage)


def _fitting(stage: tuple[int, ...] | int, width: int, size: int) -> tuple[int, ...] | int:
    """Return the budgets of disjoint components that come nearest."""
    if isinstance(stage, int):
        return min(stage, size)
    counts = list(stage)
    while sum(counts) > size:
        counts[int(np.argmax(counts))] -= 1
    return tuple(counts)


def _stage(
    search: SetSearch,
    stage: tuple[int, ...] | int,
    before: Members,
    apart: Members,
    rng: np.random.Generator,
) -> Members:
    """Find a set within a budget: from the one before it, from components found apart, and from many starts."""
    best: Members = ()

    def consider(start: Members | None, counts: Sequence[int]) -> None:
        nonlocal best
        if start is not None and not (best and search.late()):
            found = search.climbed(start, counts)
            if not best or total(found) > total(best):
                best = found

    tries = effort(search.matrix.shape[0])
    counts = _counts(search, stage, before)
    if before:
        consider(_grown(search, before, counts), counts)
    if apart:
        consider(search.from_supports([member.support for member in apart], counts), counts)
        if search.problem != UNCORRELATED:  # components with no feature in common are orthogonal as they are
            consider(tuple(_grown(search, apart, counts)), counts)
    orders = [range(len(counts)), range(len(counts))[::-1]] if len(set(counts)) > 1 else [range(len(counts))]
    for order in orders:
        if not (best and search.late()):
            consider(search.greedy(counts, order), counts)
    for _ in range(tries):
        if best and search.late():
            break
        consider(search.rotated(counts, rng), counts)
        if search.problem != DISJOINT and search.matrix.shape[0] <= PENALISED:
            consider(search.penalised(counts, rng), counts)
    for _ in range(tries):
        if search.late() or not best:
            break
        sizes = [member.support.size for member in best] if search.movable else counts
        consider(search.kicked(best, sizes, rng), sizes)
    return best


def _counts(search: SetSearch, stage: tuple[int, ...] | int, before: Members) -> tuple[int, ...]:
    """Return how many features each component may have; of a total, each gets one more where it helps most."""
    if not isinstance(stage, int):
        return stage
    width = search.vectors.shape[1] // 2 - 1
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
    return tuple(member.support.size for member in members)


def _grown(search: SetSearch, members: Members, counts: Sequence[int]) -> Members:
    """Give each component as many features as it may have."""
    for t, count in enumerate(counts):
        allowed, normals = search.place(members, t)
        more = filled(search.matrix, members[t], count, allowed, normals)
        members = (*members[:t], more, *members[t + 1 :])
    return members


def _cut_short(search: SetSearch, members: Members, budgets: Budgets) -> Members:
    """Fill up what there is when time is over."""
    counts = budgets.counts if budgets.total is None else _counts(search, budgets.total, members)
    return _grown(search, members, counts)


def _shared(
    matrix: Vector,
    width: int,
    stages: Sequence[int],
    vectors: Vector,
    seed: int,
    late: Late,
    tell: Tell,
    beginning: Members,
) -> Members:
    """Grow one support for all."""
    search = SharedSearch(matrix, width, late)
    best: SharedSet | None = search.fitted(beginning[0].support) if beginning else None
    for sparsity in stages:
        rng = np.random.default_rng([seed, sparsity])
        best = None if best is None else search.climbed(best, sparsity)
        for turn in range(effort(matrix.shape[0]) + 1):
            if best is not None and late():
                break
            chosen = np.arange(width) if turn == 0 else rng.permutation(vectors.shape[1])[:width]
            images = matrix @ vectors[:, chosen]
            found = search.climbed(search.fitted(top_k((images**2).sum(axis=1), sparsity)), sparsity)
            best = found if best is None or found.value > best.value else best
        assert best is not None
        for _ in range(effort(matrix.shape[0])):
            if late():
                break
            found = search.climbed(search.kicked(best, rng), sparsity)
            best = found if found.value > best.value else best
        tell(best.value)
    assert best is not None
    return tuple(
        Member(best.support, loadings, float(value)) for loadings, value in zip(best.loadings.T, best.values, strict=True)
    )
