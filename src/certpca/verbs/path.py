"""The best component for every sparsity of a list, each found and proved with the help of its neighbours.

The middle sparsity is searched as `auto` does. All others start from its image Ax and from a few shared starts,
thresholded together in panels that hold every sparsity at once, since products with the data are what a search costs;
after each round only the better half goes on. The best support of each sparsity is improved by swaps. Then supports
travel: the images of all solutions are thresholded to the sizes of their neighbours, until that helps nobody.

Two facts make the path monotone whatever was found: a support may be padded to a larger sparsity, and a bound for a
larger sparsity holds for a smaller one.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np

from certpca.bounds.goals import Goal, Shared
from certpca.bounds.near_one import solution_in_data_units
from certpca.bounds.pipeline import find_certificate
from certpca.bounds.proving import Prover
from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator, on_host
from certpca.results.certificate import Certificate
from certpca.results.path import Path
from certpca.results.solution import Candidate, Solution, ending
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import opened
from certpca.search.krylov import leading_eigenpairs, leading_on_support
from certpca.search.swaps import SwapSearch
from certpca.solvers.auto import EVERY_COLUMN, PANEL, Auto
from certpca.solvers.base import Solver
from certpca.verbs.run_facts import described, run_facts
from certpca.verbs.solve import require_narrow, solve, solved_near_one
from certpca.verbs.validation import (
    checked_folder,
    checked_limits,
    checked_proof,
    checked_solver,
    checked_sparsities,
    generator,
    named_arguments,
    seeds,
)

BETTER = 1 + 1e-9  # ratio of objectives from which a support is worth taking over


RACE = Auto(starts=48)  # the starts that all sparsities share


SEARCHING = 0.9  # share of a limit for the search,


SEARCHING_BEFORE_PROOFS = 0.35  # and where proofs are to follow


MIDDLE = 0.4  # share of that for the sparsity that is searched thoroughly


FIRST = 3  # time for the first proof, relative to the others


SECURING = 0.25  # share of the time that is left that a bound for all sparsities may take


FINALISTS = 1  # supports of each sparsity that are improved by swaps, on large problems


@named_arguments
def path(
    data: Any,
    sparsities: Iterable[int],
    solver: str | Solver = "auto",
    *,
    certify: bool = False,
    target_gap: float | None = None,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Path:
    """Find the sparse components of several sparsities together, for less than the sum of their costs.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        As in `solve`.
    sparsities : iterable of int
        Whole numbers in any order; each is solved once.
    solver : str or Solver
        ``"auto"`` searches all sparsities together; any other solver searches each by itself.
    certify : bool
        Also prove how far from the optimum each can be, each proof starting from its neighbour's.
    target_gap : float, optional
        Each proof ends when its component is within this share of the optimum; by default 0.01.
    rng : int or numpy.random.Generator
        Seed or generator. The same seed gives the same path.
    time_limit : float, optional
        Seconds for all sparsities together, proofs included. The best path so far is returned then, and after the first
        Ctrl-C. By default a path with proofs ends after ten minutes, unless it has a checkpoint; ``math.inf`` is no
        limit.
    budget : Budget, optional
        Limits steps of each part of the work too, in place of `time_limit`; ``Budget()`` has no limits.
    listener : callable, optional
        Called with a `Step` after each step, whatever sparsity it is about; returning False ends the run.
    checkpoint : path_like, optional
        A folder, new or left by the same call: a run that was killed or ended early goes on where it was, with the
        same result as if nothing had happened. Limits are for each run by itself.
    **options : DataOptions
        How data become a matrix, as in `solve`.

    Returns
    -------
    Path
        A solution for each sparsity, in increasing order.

    Raises
    ------
    InvalidProblemError
        Where an argument has no meaning for these data, or would have no effect.
    InvalidDataError
        Where the data cannot be used as they are.
    UnknownArgumentError
        Where an argument has no such name.

    See Also
    --------
    choose_sparsity : Which of the sparsities.
    solve : One sparsity.
    save_path : Write a path to a file.

    Examples
    --------
    >>> import certpca
    >>> found = certpca.path(certpca.pitprops(), [3, 5, 7])
    >>> found.objectives.round(3).tolist()
    [2.475, 3.406, 3.996]
    >>> found.entering(1).tolist(), found.nested
    ([6, 9], 1.0)
    """
    method = checked_solver(solver)
    gap = checked_proof(certify, target_gap)
    proving = gap is not None and checked_folder(checkpoint) is None
    progress = checked_limits(time_limit, budget, listener, proving=proving)
    generator(rng)
    operator = as_operator(data, **options)
    wanted = checked_sparsities(sparsities, operator.size)

    def facts() -> dict[str, Any]:
        asked = {"sparsities": wanted, "certify": certify, **({} if gap is None else {"target_gap": gap})}
        return {
            **run_facts("path", operator, rng),
            **asked,
            **({} if solver == "auto" else {"solver": described(method)}),
        }

    near = operator.near_one()
    units = near.power - operator.power
    with opened(checkpoint, facts) as states, progress.until_interrupted():
        whole = progress.part(checkpoint=states)
        whole.power += units
        search = _Search(near, wanted, whole)
        share = (1 - SEARCHING_BEFORE_PROOFS if certify else 1 - SEARCHING) * whole.remaining
        with whole.setting_aside(share if whole.timed else 0.0):
            search.run(rng) if solver == "auto" else search.run_each(method, rng)
        status = ending(whole, Status.CONVERGED)
        certificates = search.certificates(gap) if gap is not None else [None] * len(wanted)
        search.pad()
    solutions: list[Solution] = []
    for sparsity, support, loadings, certificate in zip(
        wanted, search.supports, search.loadings, certificates, strict=True
    ):
        proved = None if certificate is None or status is not Status.CONVERGED else certificate.status
        found = _Found(support, loadings, proved or status, search.largest, certificate)
        solution = solve(near, sparsity, found)
        if solutions and solution.objective < solutions[-1].objective:  # rounding, where padding gained nothing
            solution = solve(
                near, sparsity, replace(found, support=solutions[-1].support, loadings=solutions[-1].loadings)
            )
        solutions.append(solution)
    return Path(tuple(solution_in_data_units(solution, units) for solution in solutions), whole.seconds)


@dataclass(frozen=True, slots=True)
class _Found:
    """Proposes what is known already, so that `solve` judges it like any other proposal."""

    support: Indices
    loadings: Vector | None
    status: Status
    largest_eigenvalue: float
    certificate: Certificate | None
    name: ClassVar[str] = "path"
    paper_name: ClassVar[str] = ""
    runs_on_device: ClassVar[bool] = True

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Return the support."""
        del operator, sparsity, progress, rng
        return Candidate(
            self.support,
            self.status,
            self.loadings,
            largest_eigenvalue=self.largest_eigenvalue,
            certificate=self.certificate,
            fitted=True,
        )


class _Runner(NamedTuple):
    """Sparse unit loadings for the sparsity at position `owner`; `value` is what they captured a round ago."""

    owner: int
    support: Indices
    loadings: Vector
    value: float = 0.0


class _Offer(NamedTuple):
    """A support for the sparsity at position `owner`, to be improved in any case or only where it looks better."""

    owner: int
    support: Indices
    always: bool = False


class _Search:
    """The best support known for each sparsity, and how supports and certificates travel between neighbours."""

    def __init__(self, operator: Operator, sparsities: list[int], progress: Progress) -> None:
        self._operator, self._host = operator, on_host(operator)
        self._sparsities = sparsities
        self._progress = progress
        self._diagonal = to_vector(operator.diagonal())
        self._middle = (len(sparsities) - 1) // 2
        self._objectives = np.full(len(sparsities), -np.inf)
        self.loadings = [np.zeros(0)] * len(sparsities)
        self._seen: list[set[int]] = [set() for _ in sparsities]
        self._finalists = RACE.finalists if operator.size <= EVERY_COLUMN else FINALISTS
        self.supports = [top_k(self._diagonal, sparsity) for sparsity in sparsities]
        self.largest = 0.0
        self._waiting: list[_Offer] = []  # supports that are still to be improved
        self._raced = False
        self._helped = True  # whether supports travelled to good effect; they do so at least once

    def run(self, rng: int | np.random.Generator) -> None:
        """Search the middle thoroughly, race the others from shared starts, and let supports travel."""
        whole = self._progress
        state = whole.load("search")
        if state is None:
            self._search_middle(rng)
            self._store()
        else:
            self._restore(state)
        if len(self._sparsities) == 1 or self.largest == 0.0:
            return
        if not self._raced and whole.late():
            self._threshold_once()
            return
        if not self._raced:
            arrived = self._race(self._starts(np.random.default_rng(rng)))
            self._waiting = [_Offer(runner.owner, runner.support, True) for runner in arrived]
            # The features of largest variance are the best answer there is for one feature.
            self._waiting += [_Offer(j, top_k(self._diagonal, count)) for j, count in enumerate(self._sparsities)]
            self._raced = True
        while True:
            while self._waiting:
                owner, support, always = self._waiting.pop(0)
                self._helped = self._offer(owner, support, always=always) or self._helped
                self._store()
            if not self._helped or whole.exhausted:
                break
            better = [runner for runner in self._race(self._travellers()) if self._is_better(runner)]
            self._waiting = [_Offer(runner.owner, runner.support) for runner in better]
            self._helped = False
        self._store(now=True)

    def run_each(self, method: Solver, rng: int | np.random.Generator) -> None:
        """Let a solver search each sparsity by itself."""
        count = len(self._sparsities)
        states = self._progress.checkpoint
        for j, (sparsity, seed) in enumerate(zip(self._sparsities, seeds(rng, count), strict=True)):
            part = None if states is None else states.part(f"search{sparsity}")
            share = self._progress.part(1 / (count - j))
            found = solved_near_one(self._operator, sparsity, method, True, generator(seed), share, None, part)
            require_narrow(found.support, sparsity, method)
            self._keep(j, found.support, found.loadings)
            self.largest = found.objective / found.relative_objective if found.objective > 0 else 0.0

    def _search_middle(self, rng: int | np.random.Generator) -> None:
        middle = self._middle
        share = 1.0 if len(self._sparsities) == 1 else MIDDLE
        first = solve(self._operator, self._sparsities[middle], rng=rng, budget=self._progress.part(share))
        self._keep(middle, first.support, first.loadings)
        self.largest = first.objective / first.relative_objective if first.objective > 0 else 0.0
        if self.largest == 0.0:  # every support is as good as any other
            for j, support in enumerate(self.supports):
                self._keep(j, support)

    def _threshold_once(self) -> None:
        """Give every sparsity the largest entries of the middle's image, where there is no time for more."""
        image = self._images([self._runner(self._middle)])[:, 0]
        for j, sparsity in enumerate(self._sparsities):
            if j != self._middle:
                support = top_k(np.abs(image), sparsity)
                self._keep(j, support, image[support])

    def _is_better(self, runner: _Runner) -> bool:
        return bool(runner.value > self._objectives[runner.owner] * BETTER)

    def _store(self, *, now: bool = False) -> None:
        """Store where the search stands, unless it was cut short since it was stored last."""
        if not self._progress.exhausted and not self._progress.cut_short:
            self._progress.store("search", self._state(), now=now)

    def _state(self) -> dict[str, Any]:
        return {
            "supports": self.supports,
            "loadings": self.loadings,
            "objectives": self._objectives,
            "seen": [sorted(keys) for keys in self._seen],
            "largest": self.largest,
            "waiting": self._waiting,
            "raced": self._raced,
            "helped": self._helped,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.supports, self.loadings, self._objectives = state["supports"], state["loadings"], state["objectives"]
        self._seen = [set(keys) for keys in state["seen"]]
        self.largest, self._raced, self._helped = state["largest"], state["raced"], state["helped"]
        self._waiting = [_Offer(*fields) for fields in state["waiting"]]

    def certificates(self, target_gap: float) -> list[Certificate | None]:
        """Prove a bound for each sparsity, upwards; better components found on the way are kept.

        The dual point of a sparsity is nearly right for a slightly larger one, and far from it for a smaller one.
        """
        found: list[Certificate | None] = []
        shared = Shared(self._operator)
        if self._progress.timed:
            self._secure(shared)
        for j, sparsity in enumerate(self._sparsities):
            goal = Goal(target_gap, warm=found[-1] if found else None, shared=shared)
            known = self.supports[j], self.loadings[j]
            # The first starts from nothing and takes several times as long as those that go on from a neighbour.
            weight, others = (1, len(self._sparsities) - 1 - j) if j else (FIRST, len(self._sparsities) - 1)
            states = self._progress.checkpoint
            progress = self._progress.part(
                weight / (weight + others), None if states is None else states.part(f"k{sparsity}")
            )
            made = find_certificate(self._operator, sparsity, *known, goal, progress)
            self._progress.earlier += progress.earlier
            if made.objective > self._objectives[j] * BETTER:
                self._keep(j, made.support, made.loadings)
            found.append(made)
        return found

    def _secure(self, shared: Shared) -> None:
        """Prove the largest eigenvalue first, where that is cheap: it bounds every sparsity, whatever comes next."""
        largest = float(np.sort(self._diagonal)[-self._sparsities[-1] :].sum())
        cost = shared.costs.preparing() + shared.costs.closed_form("largest-eigenvalue")
        if self.largest < largest and cost < SECURING * self._progress.remaining:
            prover = Prover(self._operator, self._sparsities[0], shared.examiner, shared.costs)
            prover.prove("largest-eigenvalue", {}, self.supports[0], self.loadings[0])

    def pad(self) -> None:
        """Let a support that beats the one for a larger sparsity grow into it."""
        for j in range(1, len(self._sparsities)):
            if self._objectives[j] < self._objectives[j - 1]:
                image = np.abs(self._images([self._runner(j - 1)])[:, 0])
                image[self.supports[j - 1]] = np.inf
                self._offer(j, top_k(image, self._sparsities[j]))

    def _keep(self, j: int, support: Indices, start: Vector | None = None) -> None:
        self.supports[j] = support
        self._objectives[j], self.loadings[j] = leading_on_support(
            self._host, support, start=start, late=self._progress.late
        )
        self._seen[j].add(_key(support))

    def _offer(self, j: int, support: Indices, *, always: bool = False) -> bool:
        """Threshold from a support; swap features too, always or where that is already better than what is known."""
        known = self._objectives[j]
        if np.isfinite(known) and (self._progress.exhausted or np.array_equal(support, self.supports[j])):
            return False
        progress = self._progress.part()
        search = SwapSearch(self._host, support, self._diagonal, progress.late)
        while progress.tick(search.objective) and search.threshold():
            pass
        if always or not search.objective <= known * BETTER:
            search = Auto.polish(search, progress)
        if search.objective <= known * BETTER:
            return False
        self._keep(j, search.support, search.loadings)
        return True

    def _starts(self, rng: np.random.Generator) -> Iterator[_Runner]:
        """Threshold the middle's image, eigenvectors, their mixtures and single columns to every other size."""
        late = self._progress.late
        pairs = leading_eigenpairs(self._host, RACE.eigenvectors, accuracy=1e-4, rng=rng, late=late)
        roots = np.sqrt(np.maximum(pairs.values, 0.0))
        others = [j for j in range(len(self._sparsities)) if j != self._middle]
        panels = RACE.starting_images(self._host, pairs.vectors, roots, self._diagonal, rng)
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
        for _ in range(RACE.rounds):
            fresh: dict[tuple[int, int], _Runner] = {}
            for runner in runners:
                if fresh and progress.late():
                    break
                key = _key(runner.support)
                if key not in self._seen[runner.owner]:
                    self._seen[runner.owner].add(key)
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
        return _Runner(j, self.supports[j], self.loadings[j])

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
