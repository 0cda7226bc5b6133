"""The public verbs: the only place that orchestrates."""

import json
import math
import os
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Unpack

import numpy as np

from certpca.arguments import (
    checked_budget,
    checked_depth,
    checked_flag,
    checked_folder,
    checked_gap,
    checked_listener,
    checked_memory,
    checked_solution,
    checked_sparsity,
    checked_warm,
    generator,
)
from certpca.arrays import Indices, Vector, fix_sign
from certpca.budget import Budget, Listener, Progress, begun
from certpca.certificates.checker import Examiner, Expected, Proof, check
from certpca.certificates.goals import Goal
from certpca.certificates.near_one import examiner_of, in_data_units, solution_in_data_units
from certpca.certificates.proof_costs import ProofCosts
from certpca.certificates.search import find_certificate, verified
from certpca.checkpoint import Checkpoint, opened
from certpca.errors import CertificateError, InvalidProblemError
from certpca.linalg.eigen import ROUGH, leading_eigenpairs, leading_on_support
from certpca.operators import DataOptions, Operator, as_operator, on_host
from certpca.operators.inputs import values_and_names
from certpca.plain_results import candidate_from_state, candidate_state, certificate_to_dict
from certpca.relaxation.sdp import Relaxation, solve_relaxation
from certpca.result import PROVED_OPTIMAL, Candidate, Certificate, Solution, Source, Status, ending
from certpca.solvers import Solver, solver_named

SEARCHING = 0.9  # share of a limit for the search itself
SEARCHING_BEFORE_A_PROOF = 0.35  # share of what the checker leaves of it, once it has looked at the data
LEAST_SEARCHING = 0.15


def solve(
    data: Any,
    sparsity: int,
    solver: str | Solver = "auto",
    *,
    refit: bool = True,
    rng: int | np.random.Generator = 0,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    certify: bool = False,
    target_gap: float = 0.01,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Solution:
    """Find a unit vector with at most `sparsity` nonzero loadings that captures much variance.

    Parameters
    ----------
    data
        Samples x features (NumPy, scipy.sparse, pandas, polars, or another array library), or an
        operator from `from_data`, `from_matrix` or `from_kernel`.
    sparsity
        Largest allowed number of nonzero loadings.
    solver
        A name (see `available_solvers`) or a solver object with settings of its own.
    refit
        Replace the algorithm's own loadings by the best ones on its support.
    rng
        Seed or generator. The same seed gives the same answer.
    budget
        Limits on time and steps, for the whole call, proof included; the best answer so far is returned when they are
        reached, and after the first Ctrl-C. Without a budget a call with `certify` ends after ten minutes, unless it
        has a checkpoint; ``Budget()`` has no limits.
    listener
        Called with a `Step` after each step; returning False ends the run.
    certify, target_gap
        Also prove how far from the optimum the answer can be, stopping at that gap; see `certify`.
    checkpoint
        A folder, new or left by the same call: a run that was killed or ended early goes on where it was. That holds
        for ``"branch-and-bound"`` and for certificates; other solvers begin again unless they had finished.
    **options
        How data become a matrix: ``covariance=True`` where they are the matrix already, else
        ``center``, ``scale``, ``missing``, ``ddof`` and ``names`` as in `from_data`.

    Examples
    --------
    >>> import certpca
    >>> solution = certpca.solve(certpca.pitprops(), 7)
    >>> round(solution.objective, 4)
    3.9962
    >>> solution.names[:2]
    ('topdiam', 'length')
    """
    method = solver_named(solver) if isinstance(solver, str) else solver
    if not hasattr(method, "propose"):
        msg = f"solver must be a name (see available_solvers) or a solver object, got {solver!r}"
        raise InvalidProblemError(msg)
    gap = checked_gap(target_gap) if checked_flag(certify, "certify") else None
    proving = gap is not None and checked_folder(checkpoint) is None
    progress = begun(checked_budget(budget), checked_listener(listener), proving=proving)
    seeded = generator(rng)
    operator = as_operator(data, **options)
    near = operator.near_one()
    units = near.power - operator.power
    progress.power += units
    count = checked_sparsity(sparsity, operator.size)
    checked_flag(refit, "refit")

    def facts() -> dict[str, Any]:
        asked = {"sparsity": count, "solver": _described(method), "refit": refit, "certify": certify}
        return {**run_facts("solve", operator, rng), **asked, **({"target_gap": target_gap} if certify else {})}

    with opened(checkpoint, facts) as states, progress.until_interrupted():
        return solution_in_data_units(_solved(near, count, method, refit, seeded, progress, gap, states), units)


def _solved(
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
        _share_of_the_search(operator, progress, proving=target_gap is not None),
        None if states is None else states.part("search"),
        after=progress,
    )
    candidate = _proposed(operator, count, method, search, rng)
    support, loadings, objective, refitted = _evaluate(operator, candidate, progress, refit=refit)
    trace = operator.trace()
    largest = candidate.largest_eigenvalue
    if largest is None:
        pairs = leading_eigenpairs(operator, 1, rng=0, late=progress.late)
        largest = float(pairs.values[0]) if pairs.residual <= ROUGH else math.nan
    # The objective is itself a lower bound of the largest eigenvalue.
    largest = largest if math.isnan(largest) else max(largest, objective)
    status = ending(progress, candidate.status)
    certificate = candidate.certificate
    progress = progress.part(checkpoint=proof_states, after=search)
    if target_gap is not None:
        if support.size > count:
            msg = (
                f"a certificate is about at most {count} loadings, but {method.name} returned {support.size}; "
                "leave epsilon unset, or call certify apart"
            )
            raise InvalidProblemError(msg)
        if certificate is None and _nothing_can_be_proved(operator, progress):
            progress.run_out()
        else:
            goal = Goal(target_gap, known=certificate)
            certificate = find_certificate(operator, count, support, loadings, goal, progress)
        status = ending(progress, status)
        if certificate is not None and certificate.status is Status.STALLED:
            status = Status.STALLED
        if certificate is not None and certificate.objective > objective * (1 + 1e-9) and refitted:
            # The dual found a better component on its way.
            support, loadings = certificate.support, fix_sign(certificate.loadings)
            objective = operator.quadratic_form(support, loadings)
    if certificate is not None and refitted and objective >= certificate.upper_bound * (1 - PROVED_OPTIMAL):
        status = Status.OPTIMAL
    return Solution(
        support=support,
        names=operator.names_of(support),
        loadings=loadings,
        objective=objective,
        explained_variance_ratio=objective / trace if trace > 0 else 0.0,
        relative_objective=objective / largest if largest > 0 or math.isnan(largest) else 0.0,
        size=operator.size,
        sparsity=count,
        matrix=operator.description,
        solver=method.name,
        status=status,
        seconds=progress.seconds,
        refitted=refitted,
        history=progress.history,
        details=dict(candidate.details),
        certificate=certificate,
        reading=dict(operator.reading),
    )


def _share_of_the_search(operator: Operator, progress: Progress, *, proving: bool) -> float:
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
    state = progress.load("candidate")
    if state is not None:
        known = candidate_from_state(state)
        if known.certificate is not None:
            verified(known.certificate, examiner_of(operator))
        return known
    seen = operator if method.runs_on_device else on_host(operator)
    candidate = method.propose(seen, count, progress, rng)
    progress.finish("candidate", lambda: candidate_state(candidate))
    return candidate


def certify(
    data: Any,
    sparsity: int,
    *,
    solution: Solution | None = None,
    target_gap: float = 0.01,
    branching: bool = True,
    warm: Certificate | None = None,
    semidefinite: bool = False,
    depth: int | None = None,
    rng: int | np.random.Generator = 0,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Certificate:
    """Prove an upper bound on the variance that any component of that sparsity captures.

    Parameters
    ----------
    data, options
        As in `solve`. The bound is for the matrix they stand for, in its own units.
    sparsity
        Largest allowed number of nonzero loadings.
    solution
        A component to compare with; by default one is searched for.
    target_gap
        Stop when the component is proved to be within this share of the optimum.
    branching
        Where the plain bound is not enough, search over supports if few features are left to decide, and split
        the directions of sample space otherwise.
    warm
        An earlier certificate of the same data, for this or a neighbouring sparsity.
    semidefinite
        Also solve the semidefinite relaxation, which can be the tighter one, and keep the smaller bound.
    depth
        Work with this many directions of sample space and add a bound for the others: faster, and looser. Data with
        more than 8,192 samples and features are always treated so, with 256 directions, and then the bound for
        the others holds with a stated probability: the certificate is of kind ``l0-reduced-random``.
    budget
        Limits for the whole call: the time that the checker needs is set aside, and a valid certificate is returned
        when they are reached, and after the first Ctrl-C. The cheapest one is made in any case. Without a budget, and
        without a checkpoint, ten minutes; ``Budget()`` has no limits. `status` of the certificate says how it ended.
    checkpoint
        A folder, new or left by the same call: a run that was killed or ended early goes on where it was, with the
        same result as if nothing had happened. Limits are for each run by itself.

    Examples
    --------
    >>> import certpca
    >>> certificate = certpca.certify(certpca.pitprops(), 7, target_gap=1e-6)
    >>> certificate.gap < 1e-6
    True
    """
    goal = Goal(
        checked_gap(target_gap),
        checked_flag(branching, "branching"),
        checked_warm(warm),
        checked_flag(semidefinite, "semidefinite"),
        depth=checked_depth(depth),
    )
    proving = checked_folder(checkpoint) is None
    progress = begun(checked_budget(budget), checked_listener(listener), proving=proving)
    seeded = generator(rng)
    operator = as_operator(data, **options)
    near = operator.near_one()
    units = near.power - operator.power
    progress.power += units
    count = checked_sparsity(sparsity, operator.size)
    checked_solution(solution, operator.size, count)

    def facts() -> dict[str, Any]:
        asked = {"sparsity": count, "target_gap": target_gap, "branching": branching, "semidefinite": semidefinite}
        given = {
            "depth": depth,
            "solution": None if solution is None else _digest(solution.support, solution.loadings),
            "warm": None if warm is None else _digest(json.dumps(certificate_to_dict(warm)).encode()),
        }
        return {**run_facts("certify", operator, rng), **asked, **given}

    with opened(checkpoint, facts) as states, progress.until_interrupted():
        if solution is None:
            search = progress.part(_share_of_the_search(near, progress, proving=True), after=progress)
            solution = _solved(near, count, solver_named("auto"), True, seeded, search, None, states)
        proof = progress.part(checkpoint=None if states is None else states.part("proof"), after=progress)
        goal = replace(goal, warm=None if goal.warm is None else in_data_units(goal.warm, -units))
        return in_data_units(find_certificate(near, count, solution.support, solution.loadings, goal, proof), units)


def solve_sdp(
    data: Any,
    sparsity: int,
    *,
    gap: float = 1e-4,
    memory: float = 16.0,
    warm: Relaxation | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> Relaxation:
    """Solve the semidefinite relaxation max ⟨A, Z⟩, Z ⪰ 0, tr Z ≤ 1, Σ|Z_ij| ≤ sparsity, with its dual.

    The solver ``"sdp-threshold"`` does this too, rounds the result and proves the dual value.

    Parameters
    ----------
    data, options
        As in `solve`.
    gap
        Relative duality gap at which to stop.
    memory
        GiB that dense steps may take, where there is no rank-one solution.
    warm
        The solution for a neighbouring sparsity.

    Examples
    --------
    >>> import certpca
    >>> relaxation = certpca.solve_sdp(certpca.pitprops(), 5)
    >>> round(relaxation.upper, 3)
    3.458
    """
    checked_gap(gap, "gap", positive=True)
    allowed = checked_memory(memory) * 2**30
    if warm is not None and not isinstance(warm, Relaxation):
        msg = f"warm must be a relaxation, as solve_sdp returns it, got {warm!r}"
        raise InvalidProblemError(msg)
    progress = begun(checked_budget(budget), checked_listener(listener))
    operator = as_operator(data, **options)
    near = operator.near_one()
    units = near.power - operator.power
    progress.power += units
    count = checked_sparsity(sparsity, operator.size)
    known = None if warm is None else warm.times_two_to(-units)
    with progress.until_interrupted():
        found = solve_relaxation(near, count, progress, gap=gap, memory=allowed, warm=known)
    return replace(found.times_two_to(units), status=ending(progress, found.status))


def verify(certificate: Certificate, data: Any, **expected: Unpack[Expected]) -> Proof:
    """Check a certificate against data with the independent checker.

    Parameters
    ----------
    certificate
        From `certify` or `load_certificate`.
    data
        The data or the matrix it was made for, or the operator. How data become a matrix, the certificate says, and
        the proof repeats in words of its own (`Proof.matrix`).
    **expected
        What you expect the certificate to be about, each refused where it is about something else: ``covariance``,
        ``center``, ``scale``, ``ddof``, ``missing="error"`` (no values filled in) as in `solve`; ``sparsity``; and
        ``max_gap``, the largest gap you accept.

    Returns
    -------
    Proof
        What was recomputed from the data; nothing in it is repeated from the certificate.

    Raises
    ------
    CertificateError
        Where the claim does not hold for these data, or is not the one expected.

    Examples
    --------
    >>> import certpca
    >>> certificate = certpca.certify(certpca.pitprops(), 7)
    >>> certpca.verify(certificate, certpca.pitprops()).upper_bound <= certificate.upper_bound
    True
    """
    unknown = sorted(set(expected) - set(Expected.__annotations__))
    if unknown:
        msg = f"verify can be told to expect {', '.join(Expected.__annotations__)}; got {', '.join(unknown)}"
        raise InvalidProblemError(msg)
    if isinstance(data, Operator):
        return check(certificate, data.source(), expected)
    values, _ = values_and_names(data)
    try:
        source = Source(values=values, **certificate.normalisation)
    except TypeError as error:
        msg = f"the certificate is refused: its normalisation is malformed ({error})"
        raise CertificateError(msg) from error
    return check(certificate, source, expected)


def run_facts(command: str, operator: Operator, rng: Any) -> dict[str, Any]:
    """Return what every checkpoint says about the run it belongs to; a command adds what was asked of it."""
    seed = rng
    if not isinstance(rng, int):
        state = generator(rng).bit_generator.state
        seed = _digest(json.dumps(state, default=lambda part: part.tolist()).encode())
    return {"command": command, "data": Examiner(operator.source()).fingerprint, "seed": seed}


def _described(method: Solver) -> str:
    """Name a solver with its settings, where it shows them."""
    shown = repr(method)
    return method.name if shown.startswith("<") else shown


def _digest(*parts: Any) -> str:
    digest = blake2b(digest_size=20)
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else part)
    return digest.hexdigest()


def _evaluate(
    operator: Operator, candidate: Candidate, progress: Progress, *, refit: bool
) -> tuple[Indices, Vector, float, bool]:
    """Recompute loadings and objective in float64: the judge is never the solver."""
    support, raw = candidate.support, candidate.loadings
    keep_own = raw is not None and not candidate.fitted and (candidate.constrained or not refit)
    if raw is not None and (keep_own or candidate.fitted):
        loadings = np.asarray(raw, dtype=np.float64)
        loadings = loadings / np.linalg.norm(loadings)
    else:
        loadings = leading_on_support(operator, support, start=raw, late=progress.late)[1]
    loadings = fix_sign(loadings)
    objective = operator.quadratic_form(support, loadings)
    kept = loadings != 0.0
    return support[kept], loadings[kept], max(objective, 0.0), not keep_own
