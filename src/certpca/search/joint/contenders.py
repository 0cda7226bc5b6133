"""Sets of components of large matrices: walks over the data choose contenders, and these are searched in memory.

At each of a few budgets, each twice the one before, sets are multiplied by the matrix and cut down to the features that
count most, many at a time. The features that come nearest to being chosen are the contenders; their submatrix is formed
and searched like a small one, and the images of what is found say whether others should have been among them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.lateness import Late, never
from certpca.search.joint.component import Member
from certpca.search.joint.problems import DISJOINT, SHARED
from certpca.search.joint.set_problem import Members, total
from certpca.search.joint.shared import SharedSearch, thresholded_rows
from certpca.search.joint.sharing_out import shared_out
from certpca.search.joint.stages import Budgets, Tell, searched_from
from certpca.search.krylov import leading_eigenpairs

FEWEST, MOST = 512, 4096  # contenders
TIMES = 3  # as many contenders as features that are asked for
STARTS = 4  # sets that are followed over the data at each budget
ROUNDS = 10  # of products
AGAIN = 3  # times that contenders are chosen
SETTLED = 1e-7  # relative gain of the last choice of contenders below which there is no other


@dataclass(frozen=True, slots=True, eq=False)
class _Walked:
    """A set by its supports, and the images of its components on all features."""

    supports: list[Indices]
    images: Vector
    value: float


def searched_by_contenders(
    operator: Operator,
    problem: str,
    budgets: Budgets,
    seed: int = 0,
    late: Late = never,
    tell: Tell = lambda _: None,
) -> Members:
    """Return the best set found; its supports are in the features of the operator."""
    width = len(budgets.counts)
    vectors = leading_eigenpairs(operator, 2 * width + 2, accuracy=1e-3, rng=0, late=late).vectors
    # Contenders are near what smaller budgets chose, which may be far from the best for all. A few walks at the whole
    # budget come first, so that no limit takes them away.
    early: Members = ()
    if problem == SHARED:
        early = _followed(operator, vectors[:, :width], budgets.counts, never)
        tell(total(early))
    found: Members = ()
    stages = list(doubling(budgets, problem))
    while stages:
        stage, stages = (stages[-1], []) if found and late() else (stages[0], stages[1:])
        rng = np.random.default_rng([seed, sum(stage.counts), stage.total or 0])
        found = _stage(operator, problem, stage, found, vectors, rng, late)
        tell(max(total(found), total(early)))
    if problem == SHARED:
        after = _followed(operator, _images(operator, found), budgets.counts, late)
        found = max((found, after, early), key=total)
        tell(total(found))
    return found


def _followed(operator: Operator, images: Vector, counts: tuple[int, ...], late: Late) -> Members:
    """Follow a shared set over all features, from the images of its components."""
    support = np.sort(_walks(operator, SHARED, [images], counts, late)[0].supports[0])
    again = SharedSearch(operator.submatrix(support), len(counts)).fitted(np.arange(support.size))
    pairs = zip(again.loadings.T, again.values, strict=True)
    return tuple(Member(support, loadings, float(value)) for loadings, value in pairs)


def doubling(budgets: Budgets, problem: str) -> Iterator[Budgets]:
    """Give budgets that grow by factors of two."""
    every = list(budgets.stages(problem))
    last = 0
    for number, stage in enumerate(every):
        largest = stage if isinstance(stage, int) else max(stage)
        power = largest.bit_length() - 1
        if number == len(every) - 1 or power > last or number == 0:
            last = power
            yield Budgets(budgets.counts, stage) if isinstance(stage, int) else Budgets(stage)


def _stage(
    operator: Operator,
    problem: str,
    stage: Budgets,
    before: Members,
    vectors: Vector,
    rng: np.random.Generator,
    late: Late,
) -> Members:
    """Choose contenders and search among them, again while that helps."""
    counts = _counts(stage, before)
    starts = [vectors[:, : len(counts)]] if not before else [_images(operator, before)]
    for _ in range(STARTS - 1):
        mixing = np.linalg.qr(rng.standard_normal((vectors.shape[1], vectors.shape[1])))[0][:, : len(counts)]
        starts.append(vectors @ mixing)
    walked = _walks(operator, problem, starts, counts, late)
    found = before
    for again in range(AGAIN):
        best = walked[0] if again == 0 else None
        images = [one.images for one in walked] if again == 0 else [_images(operator, found)]
        held = [member.support for member in found] + ([] if best is None else best.supports)
        near = _contenders(images, held, sum(counts), operator.size)
        matrix = operator.submatrix(near)
        inside = tuple(Member(np.searchsorted(near, member.support), member.loadings, member.value) for member in found)
        seeds = [] if best is None else [[np.searchsorted(near, support) for support in best.supports]]
        value = total(found)
        result = searched_from(matrix, problem, stage, inside, seeds, vectors[near], rng, late)
        if not result and found:
            break
        found = tuple(Member(near[member.support], member.loadings, member.value) for member in result)
        if late() or near.size == operator.size or total(found) <= value * (1 + SETTLED):
            break
    return found


def _counts(stage: Budgets, before: Members) -> tuple[int, ...]:
    """Return about how many features each component will have."""
    if stage.total is None:
        return stage.counts
    width = len(stage.counts)
    if not before:
        return (max(1, stage.total // width),) * width
    own = sum(member.support.size for member in before)
    return tuple(max(1, member.support.size * stage.total // own) for member in before)


def _images(operator: Operator, members: Members) -> Vector:
    panel = np.zeros((operator.size, len(members)))
    for column, member in zip(panel.T, members, strict=True):
        column[member.support] = member.loadings
    return to_vector(operator.matmat(operator.adopt(panel)))


def _walks(
    operator: Operator, problem: str, starts: Sequence[Vector], counts: Sequence[int], late: Late
) -> list[_Walked]:
    """Follow several sets at a time: multiply, and keep what counts most. The best comes first."""
    width = len(counts)
    images = [np.asarray(start) for start in starts]
    supports: list[list[Indices] | None] = [None] * len(images)
    best: list[_Walked | None] = [None] * len(images)
    active = list(range(len(images)))
    for _ in range(ROUNDS):
        panel = np.zeros((operator.size, width * len(active)))
        for place, one in enumerate(active):
            chosen = _chosen(problem, images[one], counts, supports[one])
            supports[one] = chosen
            columns = panel[:, place * width : (place + 1) * width]
            if problem == SHARED:
                left, _, right = np.linalg.svd(images[one][chosen[0]], full_matrices=False)
                columns[chosen[0]] = left @ right
            else:
                for t, support in enumerate(chosen):
                    part = images[one][support, t]
                    columns[support, t] = part / max(float(np.linalg.norm(part)), np.finfo(float).tiny)
        products = to_vector(operator.matmat(operator.adopt(panel)))
        moving = []
        for place, one in enumerate(active):
            span = slice(place * width, (place + 1) * width)
            images[one] = products[:, span]
            value = float((panel[:, span] * products[:, span]).sum())
            held, chosen_now = best[one], supports[one]
            assert chosen_now is not None
            if held is None or value > held.value * (1 + 1e-4):
                moving.append(one)
            if held is None or value > held.value:
                best[one] = _Walked(chosen_now, images[one], value)
        active = moving
        if late() or not active:
            break
    return sorted((one for one in best if one is not None), key=lambda one: -one.value)


def _chosen(problem: str, images: Vector, counts: Sequence[int], before: list[Indices] | None) -> list[Indices]:
    """Return the features that count most for each component."""
    if problem == SHARED:
        near = np.arange(images.shape[0]) if before is None else before[0]
        return [thresholded_rows(images, near, counts[0])] * len(counts)
    if problem != DISJOINT:
        return [top_k(np.abs(image), count) for image, count in zip(images.T, counts, strict=True)]
    captured = [
        max(float(np.linalg.norm(image[top_k(np.abs(image), count)])), np.finfo(float).tiny)
        for image, count in zip(images.T, counts, strict=True)
    ]
    return shared_out(images**2 / np.array(captured), counts)


def _contenders(images: Sequence[Vector], held: Sequence[Indices], wanted: int, size: int) -> Indices:
    """Return the features that come nearest to being chosen, and those that are."""
    nearest = np.zeros(size)
    for part in images:
        strength = np.abs(part)
        strength = strength / np.maximum(strength.max(axis=0), np.finfo(float).tiny)
        nearest = np.maximum(nearest, strength.max(axis=1))
    for support in held:
        nearest[support] = np.inf
    forced = int(np.isinf(nearest).sum())
    return top_k(nearest, min(size, max(forced, min(MOST, max(FEWEST, TIMES * wanted)))))
