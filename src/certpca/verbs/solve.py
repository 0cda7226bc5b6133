"""Find a component: let a solver propose, judge what it proposes, and prove how good that is."""

import math
import os
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from certpca.bounds.goals import Goal, Known
from certpca.bounds.near_one import examiner_of, solution_in_data_units, solution_of_whole
from certpca.bounds.pipeline import find_certificate, verified
from certpca.bounds.proof_costs import ProofCosts
from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator, on_host
from certpca.operators.within import allowed_part
from certpca.results.constraints import FREE, Constraints
from certpca.results.solution import Candidate, Solution, ending
from certpca.results.status import Status
from certpca.runtime.arrays import Indices
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import Checkpoint, opened
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.threads import threads_for
from certpca.search.krylov import ROUGH, leading_eigenpairs
from certpca.solvers import Solver
from certpca.verbs.constraints import Features, Groups, checked_constraints
from certpca.verbs.judge import answer, judged
from certpca.verbs.run_facts import described, run_facts
from certpca.verbs.validation import (
    checked_flag,
    checked_folder,
    checked_limits,
    checked_proof,
    checked_solver,
    checked_sparsity,
    generator,
    named_arguments,
)
from certpca.verbs.walks import Walks

SEARCHING = 0.9  # share of a limit for the search itself
SEARCHING_BEFORE_A_PROOF = 0.35  # share of what the checker leaves of it, once it has looked at the data
LEAST_SEARCHING = 0.15
SEARCHED_BY_THREADS = 3e7  # numbers of data from which a search, whose products are thin, gains by threads of BLAS


@named_arguments
def solve(
    data: Any,
    sparsity: int,
    solver: str | Solver = "auto",
    *,
    include: Features | None = None,
    exclude: Features | None = None,
    groups: Groups | None = None,
    nonnegative: bool = False,
    refit: bool = True,
    certify: bool = False,
    target_gap: float | None = None,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Solution:
    """Find a unit vector with at most `sparsity` nonzero loadings that captures much variance.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        Samples x features (NumPy, scipy.sparse, pandas, polars, or another array library), a reader of a file, or an
        operator from `from_data`, `from_matrix` or `from_kernel`.
    sparsity : int
        Largest allowed number of nonzero loadings.
    solver : str or Solver
        A name (see `available_solvers`) or a solver object with settings of its own.
    include : feature or sequence of features, optional
        Features, by name or index, that are in the support whatever they add.
    exclude : feature or sequence of features, optional
        Features that are in no support.
    groups : sequence or mapping of features, optional
        Groups of which the support has all features or none; no feature may be in two.
    nonnegative : bool
        Whether no loading may be negative. With these four, bound and gap are about the components they allow.
    refit : bool
        Replace the algorithm's own loadings by the best ones on its support.
    certify : bool
        Also prove how far from the optimum the answer can be.
    target_gap : float, optional
        The proof ends when the answer is within this share of the optimum; by default 0.01.
    rng : int or numpy.random.Generator
        Seed or generator. The same seed gives the same answer.
    time_limit : float, optional
        Seconds for the whole call, proof included; the best answer so far is returned then, and after the first Ctrl-C.
        By default a call with `certify` ends after ten minutes, unless it has a checkpoint; ``math.inf`` is no limit.
    budget : Budget, optional
        Limits steps too, in place of `time_limit`; ``Budget()`` has no limits.
    listener : callable, optional
        Called with a `Step` after each step; returning False ends the run.
    checkpoint : path_like, optional
        A folder, new or left by the same call: a run that was killed or ended early goes on where it was. That holds
        for ``"branch-and-bound"`` and for certificates; other solvers begin again unless they had finished.
    **options : DataOptions
        How data become a matrix: ``covariance=True`` where they are the matrix already, else
        ``center``, ``scale``, ``missing``, ``ddof``, ``device``, ``client`` and ``names`` as in `from_data`.

    Returns
    -------
    Solution
        The component, what it captures, and its certificate where one was asked for.

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
    certify : Prove a bound for a component, with all settings of a proof.
    path : Several sparsities at once.
    decompose : Several components.
    choose_sparsity : Which sparsity.

    Examples
    --------
    >>> import certpca
    >>> solution = certpca.solve(certpca.pitprops(), 7)
    >>> round(solution.objective, 4)
    3.9962
    >>> solution.names[:2]
    ('topdiam', 'length')
    >>> certpca.solve(certpca.pitprops(), 7, certify=True, time_limit=60).gap <= 0.01
    True
    >>> certpca.solve(certpca.pitprops(), 3, include="clear", exclude=["length"]).names
    ('moist', 'testsg', 'clear')
    """
    method = checked_solver(solver)
    gap = checked_proof(certify, target_gap)
    proving = gap is not None and checked_folder(checkpoint) is None
    progress = checked_limits(time_limit, budget, listener, proving=proving)
    seeded = generator(rng)
    checked_flag(refit, "refit")
    operator = as_operator(data, **options)
    count = checked_sparsity(sparsity, operator.size)
    asked = checked_constraints(
        operator, count, method, include=include, exclude=exclude, groups=groups, nonnegative=nonnegative
    )

    def facts() -> dict[str, Any]:
        wanted = {"sparsity": count, "solver": described(method), "refit": refit, "certify": certify}
        wanted |= {} if gap is None else {"target_gap": gap}
        return {**run_facts("solve", operator, rng), **wanted, **({"constraints": asked.to_dict()} if asked else {})}

    with opened(checkpoint, facts) as states, progress.until_interrupted():
        return solved(operator, count, method, seeded, progress, gap, states, refit=refit, constraints=asked)


def solved(
    operator: Operator,
    count: int,
    method: Solver,
    rng: np.random.Generator,
    progress: Progress,
    target_gap: float | None,
    states: Checkpoint | None,
    *,
    refit: bool = True,
    constraints: Constraints = FREE,
) -> Solution:
    """Solve for the allowed part of the matrix near one, and give the answer for all of it in the units of the data."""
    near = allowed_part(operator, constraints)
    units = near.power - operator.power
    progress.power += units
    found = solved_near_one(near, count, method, refit, rng, progress, target_gap, states)
    within, found = near.within, solution_in_data_units(found, units)
    if within is None or within.kept.size == operator.size:
        return solution_of_whole(found, within)
    return replace(solution_of_whole(found, within), relative_objective=_relative(operator, found.objective, progress))


def _relative(operator: Operator, objective: float, progress: Progress) -> float:
    """Return the objective as a share of the largest eigenvalue; NaN where there is no time for that."""
    near = operator.near_one()
    pairs = leading_eigenpairs(near, 1, rng=0, late=progress.late)
    largest = math.ldexp(float(pairs.values[0]), near.power - operator.power)
    return objective / max(largest, objective) if pairs.residual <= ROUGH and largest > 0 else math.nan


def solved_near_one(
    operator: Operator,
    count: int,
    method: Solver,
    refit: bool,
    rng: np.random.Generator,
    progress: Progress,
    target_gap: float | None,
    states: Checkpoint | None,
) -> Solution:
    """Let a solver propose, judge what it proposes, and prove how good that is where a gap is asked for."""
    proof_states = None if states is None else states.part("proof")
    search = progress.part(
        share_of_the_search(operator, progress, proving=target_gap is not None),
        None if states is None else states.part("search"),
        after=progress,
    )
    walks = Walks(operator)
    with threads_for(operator.numbers, SEARCHED_BY_THREADS):
        candidate = _proposed(operator, count, method, search, rng)
        walks.done("search")
        found = judged(operator, candidate, progress, refit=refit)
        walks.done("judge")
    status = ending(progress, candidate.status)
    certificate = candidate.certificate
    progress = progress.part(checkpoint=proof_states, after=search)
    if target_gap is not None:
        if getattr(method, "epsilon", None) is None:
            require_narrow(found.support, count, method)
        width = max(count, found.support.size)  # an accuracy mode may keep more: the proof is about as many then
        if certificate is None and _nothing_can_be_proved(operator, progress):
            progress.run_out()
        else:
            known = Known(found.support, found.loadings, found.objective)
            goal = Goal(target_gap, known=certificate, largest=found.largest)
            certificate = find_certificate(operator, width, known, goal, progress)
        status = ending(progress, status)
        if certificate is not None and certificate.status is Status.STALLED:
            status = Status.STALLED
        if certificate is not None and certificate.objective > found.objective * (1 + 1e-9) and found.refitted:
            # The dual found a better component on its way.
            better = Candidate(
                certificate.support, status, certificate.loadings, largest_eigenvalue=found.largest, fitted=True
            )
            found = judged(operator, better, progress)
    walks.done("proof")
    details = {**candidate.details, **walks.told()}
    return answer(operator, count, method.name, found, status, progress, certificate, details)


def require_narrow(support: Indices, count: int, method: Solver) -> None:
    """Refuse more loadings than a certificate, or a path, is about."""
    if support.size > count:
        msg = f"at most {count} loadings are asked for, but {method.name} returned {support.size}; leave epsilon unset"
        raise InvalidProblemError(msg)


def share_of_the_search(operator: Operator, progress: Progress, *, proving: bool) -> float:
    """Return the share of the time that a search may take: what it finds is judged after it, and perhaps proved."""
    if not progress.timed:
        return 1.0
    if not proving:
        return SEARCHING
    left = max(progress.remaining, 1e-9)
    return max(SEARCHING_BEFORE_A_PROOF * (1 - ProofCosts(operator).preparing() / left), LEAST_SEARCHING)


def _nothing_can_be_proved(operator: Operator, progress: Progress) -> bool:
    """Whether the checker could not even look at the data in the time that is left and a little more."""
    if not progress.timed:
        return False
    return ProofCosts(operator).preparing() > max(progress.remaining, 0.0) + max(1.0, progress.allowed / 8)


def _proposed(
    operator: Operator, count: int, method: Solver, progress: Progress, rng: np.random.Generator
) -> Candidate:
    known: Candidate | None = progress.load("candidate", Candidate)
    if known is not None:
        if known.certificate is not None:
            verified(known.certificate, examiner_of(operator))
        return known
    seen = operator if method.runs_on_device else on_host(operator)
    candidate = method.propose(seen, count, progress, rng)
    progress.finish("candidate", candidate)
    return candidate
