"""Several components: one after the other, each from what the earlier ones leave of the matrix, or all together."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.operators.deflations import deflation_named, semidefinite_ones
from certpca.results.component_set import GREEDY, TOGETHER
from certpca.results.constraints import FREE, Constraints
from certpca.results.solution import Solution, ending
from certpca.results.status import Status
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import Checkpoint, opened
from certpca.runtime.errors import InvalidProblemError
from certpca.search.joint.stages import Budgets
from certpca.solvers import Solver
from certpca.verbs.components import Components, remaining_problem, with_variances
from certpca.verbs.constraints import Features, Groups, checked_constraints
from certpca.verbs.counts import checked_counts, require_rank
from certpca.verbs.joint import found_together
from certpca.verbs.run_facts import described, run_facts
from certpca.verbs.solve import solved
from certpca.verbs.validation import (
    checked_choice,
    checked_folder,
    checked_limits,
    checked_proof,
    checked_solver,
    generator,
    named_arguments,
    refuse_without_effect,
    seeds,
)

DEFLATION = "schur"
SOLVER = "auto"
NOTHING_LEFT = 1e-10  # share of the trace that is rounding once the rest is explained


@named_arguments
def decompose(
    data: Any,
    n_components: int,
    sparsity: int | Sequence[int] | None = None,
    solver: str | Solver | None = None,
    *,
    include: Features | None = None,
    exclude: Features | None = None,
    groups: Groups | None = None,
    nonnegative: bool = False,
    total: int | None = None,
    together: str = GREEDY,
    deflation: str | None = None,
    certify: bool = False,
    target_gap: float | None = None,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Components:
    """Find several sparse components: one after the other, or together, so that the sum of their variances is largest.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        As in `solve`.
    n_components : int
        How many. One after the other, fewer are returned where nothing is left to explain, and after Ctrl-C; where a
        limit is reached, the later ones are found by cheaper steps.
    sparsity : int or sequence of int, optional
        Largest allowed number of nonzero loadings: one for all, or one for each component. With ``together="shared"``
        it is one number, that of the features that all components share.
    solver : str or Solver, optional
        What finds each greedy component: a name (see `available_solvers`) or a solver object with settings of its own;
        by default ``"auto"``. Components chosen together have a search of their own.
    include, exclude : feature or sequence of features, optional
        Features, by name or index, that every greedy component has, or none has.
    groups : sequence or mapping of features, optional
        Groups of which every greedy component has all features or none.
    nonnegative : bool
        Whether no loading of a greedy component may be negative. See `solve` for these four.
    total : int, optional
        In place of `sparsity`, for components chosen together: the largest number of nonzero loadings of all of them,
        which the search splits.
    together : {"greedy", "disjoint", "orthogonal", "uncorrelated", "shared"}
        What the components are together. ``"greedy"``: each is the best for what the earlier ones leave of the matrix,
        which need not be the best set. The others maximise the sum of the variances vᵀAv over all sets in which
        no feature is in two components (``"disjoint"``), loadings are orthogonal (``"orthogonal"``), scores are
        uncorrelated (``"uncorrelated"``), or loadings are orthogonal on one choice of features (``"shared"``).
    deflation : str, optional
        How a greedy component is taken out of the matrix A. ``"schur"``, the default: everything its scores explain by
        regression, so that objectives are adjusted variances. ``"projection"``: its direction. ``"hotelling"`` and
        ``"orthogonal-hotelling"``: its variance along its direction, or along the part of it that is orthogonal to
        the earlier components; what is left can have negative eigenvalues, so these two give no certificates.
    certify : bool
        Also prove how far from the optimum the set can be; of greedy components each, for the matrix it was found on.
    target_gap : float, optional
        A proof ends when the set, or the component, is within this share of the optimum; by default 0.01.
    rng : int or numpy.random.Generator
        Seed or generator. The same seed gives the same answer.
    time_limit : float, optional
        Seconds for the whole call, proofs included, of which greedy components get equal shares; by default ten minutes
        where there are proofs and no checkpoint, else none. The first Ctrl-C ends the run with the best so far.
    budget : Budget, optional
        Limits steps of each greedy component too, in place of `time_limit`; ``Budget()`` has no limits.
    listener : callable, optional
        Called with a `Step` after each step; returning False ends the run.
    checkpoint : path_like, optional
        A folder, new or left by the same call: components that were found are not searched for again, and a proof goes
        on where it was. Limits are for each run by itself.
    **options : DataOptions
        How data become a matrix, as in `solve`.

    Returns
    -------
    Components
        The components in the order in which they were found, and the variance they explain.

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
    SparsePCA : The same for scikit-learn, with scores.
    solve : One component.

    Examples
    --------
    >>> import certpca
    >>> found = certpca.decompose(certpca.pitprops(), 3, sparsity=[7, 4, 4])
    >>> [component.support.size for component in found.components]
    [7, 4, 4]
    >>> found.adjusted_variance_ratio.round(3).tolist()
    [0.307, 0.153, 0.125]
    >>> found = certpca.decompose(certpca.pitprops(), 3, [5, 4, 4], together="disjoint", certify=True)
    >>> round(found.objective, 4), found.upper_bound < 8.5
    (7.5866, True)
    >>> certpca.decompose(certpca.pitprops(), 3, total=10, together="disjoint").sparsities
    (5, 3, 2)
    """
    checked_choice(together, "together", TOGETHER)
    if together == GREEDY:
        refuse_without_effect("only components chosen together split a total; give sparsity", total=total)
    else:
        reason = f"components that are {together} are searched for together"
        refuse_without_effect(reason, solver=solver, deflation=deflation)
        reason = "constraints are for components found one after the other, together='greedy'"
        given = {"include": include, "exclude": exclude, "groups": groups, "nonnegative": nonnegative or None}
        refuse_without_effect(reason, **given)
    method = checked_solver(SOLVER if solver is None else solver)
    gap = checked_proof(certify, target_gap)
    proving = gap is not None and checked_folder(checkpoint) is None
    progress = checked_limits(time_limit, budget, listener, proving=proving)
    deflation = DEFLATION if deflation is None and together == GREEDY else deflation
    if deflation is not None:
        way = deflation_named(deflation)
    seeded = generator(rng)
    operator = as_operator(data, **options)
    counts = checked_counts(n_components, sparsity, total, operator.size, together)
    restrictions = {"include": include, "exclude": exclude, "groups": groups, "nonnegative": nonnegative}
    allowed = FREE
    for count in counts if together == GREEDY else ():
        allowed = checked_constraints(operator, count, method, **restrictions)
    if certify and len(counts) > 1 and deflation is not None and not way.semidefinite:
        msg = (
            f"{deflation} deflation can leave a matrix with negative eigenvalues, for which there are no certificates; "
            f"use deflation={' or '.join(map(repr, semidefinite_ones()))}"
        )
        raise InvalidProblemError(msg)

    def facts() -> dict[str, Any]:
        asked: dict[str, Any] = {
            "sparsities": list(counts),
            "total": total,
            "together": together,
            "deflation": deflation,
        }
        asked |= {"constraints": allowed.to_dict()} if allowed else {}
        return {**run_facts("decompose", operator, rng), **asked, "solver": described(method), "target_gap": gap}

    with opened(checkpoint, facts) as states, progress.until_interrupted():
        if together != GREEDY:
            require_rank(operator, len(counts), together)
            return found_together(operator, together, Budgets(counts, total), seeded, progress, gap, states)
        assert deflation is not None
        seeded_each = seeds(rng, len(counts))
        return _one_after_the_other(operator, counts, method, deflation, seeded_each, progress, gap, states, allowed)


def _one_after_the_other(
    operator: Operator,
    counts: Sequence[int],
    method: Solver,
    deflation: str,
    seeded: Sequence[Any],
    progress: Progress,
    gap: float | None,
    states: Checkpoint | None,
    allowed: Constraints,
) -> Components:
    """Search for each component on what the earlier ones leave of the matrix."""
    trace = operator.trace()
    found: list[Solution] = []
    for number, (count, seed) in enumerate(zip(counts, seeded, strict=True)):
        problem = remaining_problem(operator, found, deflation)
        if found and not problem.trace() > NOTHING_LEFT * trace:
            break
        # A proof may take all the time it is given, so what is left is shared by the components to come. Where
        # nothing is left, a solver still takes its cheapest step: every component that is asked for exists.
        share = progress.part(1 / (len(counts) - number))
        part = None if states is None else states.part(f"component-{number}")
        # Features without variance left, whose starts solvers scale up, may overflow: they are then passed over.
        with np.errstate(over="ignore"):
            solution = solved(problem, count, method, generator(seed), share, gap, part, constraints=allowed)
        if found and not solution.objective > 0:
            break
        found.append(replace(solution, size=operator.size))
        if progress.interrupted:
            break
    status = ending(progress, Status.CONVERGED)
    return with_variances(operator, found, deflation=deflation, status=status, seconds=progress.seconds)
