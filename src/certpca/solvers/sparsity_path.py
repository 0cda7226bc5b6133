"""The best component for every sparsity of a list, each found with the help of its neighbours.

One sparsity, in the middle, is searched by itself. All others start from its image Ax and from a few shared starts,
thresholded together in panels that hold every sparsity at once, since products with the data are what a search costs;
after each round only the better half goes on. The best support of each sparsity is improved by swaps. Then supports
travel: the images of all solutions are thresholded to the sizes of their neighbours, until that helps nobody.

A support may be padded to a larger sparsity, which makes objectives monotone whatever was found.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

import numpy as np

from certpca.bounds.goals import Known
from certpca.operators import Operator, on_host
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.runtime.resumable import resumable
from certpca.search.krylov import leading_eigenpairs, leading_on_support
from certpca.search.starts import EVERY_COLUMN, PANEL, starting_images
from certpca.search.swaps import SwapSearch, polished

BETTER = 1 + 1e-9  # ratio of objectives from which a support is worth taking over
EIGENVECTORS, STARTS, ROUNDS = 8, 48, 12  # of the race that all sparsities share
MIDDLE = 0.4  # share of the time for the sparsity that is searched thoroughly
FINALISTS, FINALISTS_OF_SMALL = 1, 6  # supports of each sparsity that are improved by swaps

Searched = tuple[Known, float]  # a component, and the largest eigenvalue of the whole matrix
SearchOne = Callable[[int, Progress], Searched]


class _Runner(NamedTuple):
    """Sparse unit loadings for the sparsity at position `owner`; `value` is what they captured a round ago."""

    owner: int
    support: Indices
    loadings: Vector
    value: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Offer:
    """A support for the sparsity at position `owner`, to be improved in any case or only where it looks better."""

    owner: int
    support: Indices
    always: bool = False


@dataclass(slots=True, eq=False)
class _Standing:
    """Where the search stands: what is known for each sparsity, and which supports are still to be improved."""

    known: list[Known | None]
    seen: list[set[int]]  # supports of each sparsity that were looked at
    largest: float
    waiting: list[_Offer]
    raced: bool = False
    helped: bool = True  # whether supports travelled to good effect; they do so at least once


class PathSearch:
    """The best support known for each sparsity, and how supports travel between neighbours."""

    def __init__(self, operator: Operator, sparsities: list[int], progress: Progress) -> None:
        self._host, self._sparsities, self._progress = on_host(operator), sparsities, progress
        self._diagonal = to_vector(operator.diagonal())
        self._middle = (len(sparsities) - 1) // 2
        self._finalists = FINALISTS_OF_SMALL if operator.size <= EVERY_COLUMN else FINALISTS
        self._at = _Standing([None] * len(sparsities), [set() for _ in sparsities], 0.0, [])

    @property
    def known(self) -> list[Known]:
        """What was found for each sparsity."""
        return [best for best in self._at.known if best is not None]

    @property
    def largest(self) -> float:
        """The largest eigenvalue of the whole matrix; NaN where there was no time for it."""
        return self._at.largest

    def together(self, search_one: SearchOne, rng: int | np.random.Generator) -> None:
        """Search the middle thoroughly, race the others from shared starts, and let supports travel."""

        def start() -> _Standing:
            share = 1.0 if len(self._sparsities) == 1 else MIDDLE
            best, self._at.largest = search_one(self._sparsities[self._middle], self._progress.part(share))
            self.take(self._middle, best)
            if self.largest == 0.0:  # every support is as good as any other
                for j, sparsity in enumerate(self._sparsities):
                    self._keep(j, top_k(self._diagonal, sparsity))
            return self._at

        def step(at: _Standing) -> _Standing:
            self._at = at
            self._step(rng)
            return at

        def enough(at: _Standing) -> bool:
            alone = len(self._sparsities) == 1 or at.largest == 0.0
            return alone or (at.raced and not at.waiting and not at.helped)

        self._at = resumable(
            step, start, self._progress, "search", _Standing, enough=enough, late=lambda _: False, only_whole=True
        )
        if not self._at.raced and not enough(self._at):
            self._threshold_once()
        for offer in self._at.waiting:  # where time ran out, sparsities without an answer get the first one
            self._offer(offer)

    def apart(self, search_one: SearchOne) -> None:
        """Search each sparsity by itself."""
        for j, sparsity in enumerate(self._sparsities):
            best, self._at.largest = search_one(sparsity, self._progress.part(1 / (len(self._sparsities) - j)))
            self.take(j, best)

    def take(self, j: int, best: Known) -> None:
        """Take over a component for the sparsity at position j where it is better."""
        known = self._at.known[j]
        if known is None or best.objective > known.objective * BETTER:
            self._at.known[j] = best
            self._at.seen[j].add(_key(best.support))

    def pad(self) -> None:
        """Let a support that beats the one for a larger sparsity grow into it."""
        for j in range(1, len(self._sparsities)):
            if self._objective(j) < self._objective(j - 1):
                image = np.abs(self._images([self._runner(j - 1)])[:, 0])
                image[self._best(j - 1).support] = np.inf
                self._offer(_Offer(j, top_k(image, self._sparsities[j])))

    def _step(self, rng: int | np.random.Generator) -> None:
        """Improve the next support that waits; where none does, let others start."""
        at = self._at
        if not at.raced:
            arrived = self._race(self._starts(np.random.default_rng(rng)))
            at.waiting = [_Offer(runner.owner, runner.support, True) for runner in arrived]
            # The features of largest variance are the best answer there is for one feature.
            at.waiting += [_Offer(j, top_k(self._diagonal, count)) for j, count in enumerate(self._sparsities)]
            at.raced = True
        elif at.waiting:
            at.helped = self._offer(at.waiting.pop(0)) or at.helped
        else:
            better = [runner for runner in self._race(self._travellers()) if self._is_better(runner)]
            at.waiting = [_Offer(runner.owner, runner.support) for runner in better]
            at.helped = False

    def _best(self, j: int) -> Known:
        best = self._at.known[j]
        assert best is not None
        return best

    def _objective(self, j: int) -> float:
        best = self._at.known[j]
        return -np.inf if best is None else best.objective

    def _threshold_once(self) -> None:
        """Give every sparsity the largest entries of the middle's image, where there is no time for more."""
        image = self._images([self._runner(self._middle)])[:, 0]
        for j, sparsity in enumerate(self._sparsities):
            if j != self._middle:
                support = top_k(np.abs(image), sparsity)
                self._keep(j, support, image[support])

    def _is_better(self, runner: _Runner) -> bool:
        return bool(runner.value > self._objective(runner.owner) * BETTER)

    def _keep(self, j: int, support: Indices, start: Vector | None = None) -> None:
        objective, loadings = leading_on_support(self._host, support, start=start, late=self._progress.late)
        self._at.known[j] = Known(support, loadings, objective)
        self._at.seen[j].add(_key(support))

    def _offer(self, offer: _Offer) -> bool:
        """Threshold from a support; swap features too, always or where that is already better than what is known."""
        j, known = offer.owner, self._objective(offer.owner)
        if np.isfinite(known) and (self._progress.exhausted or np.array_equal(offer.support, self._best(j).support)):
            return False
        progress = self._progress.part()
        search = SwapSearch(self._host, offer.support, self._diagonal, progress.late)
        while progress.tick(search.objective) and search.threshold():
            pass
        if offer.always or not search.objective <= known * BETTER:
            search = polished(search, progress)
        if search.objective <= known * BETTER:
            return False
        self._keep(j, search.support, search.loadings)
        return True

    def _starts(self, rng: np.random.Generator) -> Iterator[_Runner]:
        """Threshold the middle's image, eigenvectors, their mixtures and single columns to every other size."""
        late = self._progress.late
        pairs = leading_eigenpairs(self._host, EIGENVECTORS, accuracy=1e-4, rng=rng, late=late)
        others = [j for j in range(len(self._sparsities)) if j != self._middle]
        panels = starting_images(self._host, pairs, self._diagonal, STARTS, rng)
        for images in chain([self._images([self._runner(self._middle)])], panels):
            yield from (self._thresholded(image, j) for image in images.T for j in others)

    def _travellers(self) -> Iterator[_Runner]:
        """Threshold the image of every solution to the sizes of its neighbours."""
        images = self._images([self._runner(j) for j in range(len(self._sparsities))])
        for j in range(1, len(self._sparsities)):
            yield self._thresholded(images[:, j - 1], j)
            yield self._thresholded(images[:, j], j - 1)

    def _race(self, runners: Iterable[_Runner]) -> list[_Runner]:
        """Multiply and keep the largest entries, all sparsities in one panel; return the best few of each sparsity.

        After a round the better half goes on. Runners on a support that was seen before stop.
        """
        progress, best = self._progress.part(), dict[int, list[_Runner]]()
        for _ in range(ROUNDS):
            fresh: dict[tuple[int, int], _Runner] = {}
            for runner in runners:
                if fresh and progress.late():
                    break
                key = _key(runner.support)
                if key not in self._at.seen[runner.owner]:
                    self._at.seen[runner.owner].add(key)
                    fresh[runner.owner, key] = runner
            if not fresh or progress.exhausted:
                break
            moved, current = dict[int, list[_Runner]](), list(fresh.values())
            for first in range(0, len(current), PANEL):
                if moved and progress.late():
                    break
                part = current[first : first + PANEL]
                for runner, image in zip(part, self._images(part).T, strict=True):
                    value = float(runner.loadings @ image[runner.support])
                    best.setdefault(runner.owner, []).append(runner._replace(value=value))
                    moved.setdefault(runner.owner, []).append(self._thresholded(image, runner.owner, value))
            best = {owner: _largest(found, self._finalists) for owner, found in best.items()}
            halves = [_largest(group, max(self._finalists, len(group) // 2)) for group in moved.values()]
            runners = [runner for half in halves for runner in half]
            progress.tick(max(runner.value for runner in runners))
        return [runner for found in best.values() for runner in found]

    def _runner(self, j: int) -> _Runner:
        return _Runner(j, self._best(j).support, self._best(j).loadings)

    def _images(self, runners: list[_Runner]) -> Vector:
        panel = np.zeros((self._host.size, len(runners)))
        for column, runner in enumerate(runners):
            panel[runner.support, column] = runner.loadings
        return to_vector(self._host.matmat(self._host.adopt(panel)))

    def _thresholded(self, image: Vector, owner: int, value: float = 0.0) -> _Runner:
        support = top_k(np.abs(image), self._sparsities[owner])
        part = image[support]
        return _Runner(owner, support, part / max(float(np.linalg.norm(part)), np.finfo(float).tiny), value)


def _key(support: Indices) -> int:
    """Hash a support so that every process gets the same."""
    return int.from_bytes(blake2b(support.tobytes(), digest_size=8).digest())


def _largest(runners: list[_Runner], count: int) -> list[_Runner]:
    return sorted(runners, key=lambda runner: -runner.value)[:count]
