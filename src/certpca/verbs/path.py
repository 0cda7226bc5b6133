"""The best component for every sparsity of a list, each found and proved with the help of its neighbours.

Two facts make the path monotone whatever was found: a support may be padded to a larger sparsity, and a bound for a
larger sparsity holds for a smaller one.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from certpca.bounds.goals import Known
from certpca.bounds.near_one import solution_in_data_units
from certpca.bounds.path_proofs import path_certificates
from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.results.certificate import Certificate
from certpca.results.path import Path
from certpca.results.solution import Candidate, Solution, ending
from certpca.results.status import Status
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import opened
from certpca.solvers.base import Solver
from certpca.solvers.sparsity_path import PathSearch, Searched
from certpca.verbs.judge import answer, judged
from certpca.verbs.run_facts import described, run_facts
from certpca.verbs.solve import require_narrow, solved_near_one
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
from certpca.verbs.walks import Walks

SEARCHING = 0.9  # share of a limit for the search,
SEARCHING_BEFORE_PROOFS = 0.35  # and where proofs are to follow


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
        whole, walks = progress.part(checkpoint=states), Walks(near)
        whole.power += units
        search = PathSearch(near, wanted, whole)
        seed_of = {} if solver == "auto" else dict(zip(wanted, seeds(rng, len(wanted)), strict=True))

        def one(sparsity: int, part: Progress) -> Searched:
            folder = states.part(f"search{sparsity}") if states is not None and sparsity in seed_of else None
            drawn = generator(seed_of.get(sparsity, rng))
            found = solved_near_one(near, sparsity, method, True, drawn, part, None, folder)
            require_narrow(found.support, sparsity, method)
            largest = found.objective / found.relative_objective if found.objective > 0 else 0.0
            return Known(found.support, found.loadings, found.objective), largest

        share = (1 - SEARCHING_BEFORE_PROOFS if certify else 1 - SEARCHING) * whole.remaining
        with whole.setting_aside(share if whole.timed else 0.0):
            if solver == "auto":
                search.together(one, rng)
            else:
                search.apart(one)
        status = ending(whole, Status.CONVERGED)
        walks.done("search")
        certificates: list[Certificate] = []
        if gap is not None:
            certificates = path_certificates(near, wanted, search.known, search.largest, gap, whole)
        for j, made in enumerate(certificates):
            search.take(j, Known(made.support, made.loadings, made.objective))
        walks.done("proof")
        search.pad()
        walks.done("search")
    name = "path" if solver == "auto" else method.name
    solutions = _judged(near, wanted, search, certificates or [None] * len(wanted), status, name)
    walks.done("judge")
    solutions = [replace(solution, details={**solution.details, **walks.told()}) for solution in solutions]
    return Path(tuple(solution_in_data_units(solution, units) for solution in solutions), whole.seconds)


def _judged(
    operator: Operator,
    sparsities: list[int],
    search: PathSearch,
    certificates: Sequence[Certificate | None],
    status: Status,
    name: str,
) -> list[Solution]:
    """Judge what was found for each sparsity, like any other proposal."""
    solutions: list[Solution] = []
    progress = Progress()
    for sparsity, known, certificate in zip(sparsities, search.known, certificates, strict=True):
        proved = None if certificate is None or status is not Status.CONVERGED else certificate.status
        found = Candidate(known.support, proved or status, known.loadings, search.largest, fitted=True)
        seen = judged(operator, found, progress)
        if solutions and seen.objective < solutions[-1].objective:  # rounding, where padding gained nothing
            again = replace(found, support=solutions[-1].support, loadings=solutions[-1].loadings)
            seen = judged(operator, again, progress)
        solutions.append(answer(operator, sparsity, name, seen, found.status, progress, certificate))
    return solutions
