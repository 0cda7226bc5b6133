"""Several components, one after the other, each from what the earlier ones leave of the matrix."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from certpca.intake import DataOptions, as_operator
from certpca.operators.deflations import deflation_named, semidefinite_ones
from certpca.results.solution import Solution
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import opened
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import Solver
from certpca.verbs.components import Components, as_columns, joint_variance, left_over, remaining_problem
from certpca.verbs.run_facts import described, run_facts
from certpca.verbs.solve import solved
from certpca.verbs.validation import (
    checked_counts,
    checked_flag,
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
NOTHING_LEFT = 1e-10  # share of the trace that is rounding once the rest is explained


@named_arguments
def decompose(
    data: Any,
    n_components: int,
    sparsity: int | Sequence[int],
    solver: str | Solver = "auto",
    *,
    deflation: str | None = None,
    disjoint: bool = False,
    certify: bool = False,
    target_gap: float | None = None,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Components:
    """Find several sparse components, each from what the earlier ones leave of the matrix.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        As in `solve`.
    n_components : int
        How many. Fewer are returned where nothing is left to explain, and after Ctrl-C; where a limit is reached, the
        later ones are found by cheaper steps.
    sparsity : int or sequence of int
        Largest allowed number of nonzero loadings: one for all, or one for each component.
    solver : str or Solver
        A name (see `available_solvers`) or a solver object with settings of its own.
    deflation : str, optional
        How a component is taken out of the matrix A. ``"schur"``, the default: everything its scores explain by
        regression, so that objectives are adjusted variances. ``"projection"``: its direction. ``"hotelling"`` and
        ``"orthogonal-hotelling"``: its variance along its direction, or along the part of it that is orthogonal to
        the earlier components; what is left can have negative eigenvalues, so these two give no certificates.
    disjoint : bool
        Let no feature be in two components: leave out the features of the earlier ones instead of deflating.
    certify : bool
        Also prove how far from the optimum each component can be, for the matrix it was found on.
    target_gap : float, optional
        Each proof ends when its component is within this share of the optimum; by default 0.01.
    rng : int or numpy.random.Generator
        Seed or generator. The same seed gives the same answer.
    time_limit : float, optional
        Seconds for all components together, in equal shares, proofs included; by default ten minutes where there are
        proofs and no checkpoint, else none. The first Ctrl-C ends the run with the components found so far.
    budget : Budget, optional
        Limits steps of each component too, in place of `time_limit`; ``Budget()`` has no limits.
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
    """
    method = checked_solver(solver)
    gap = checked_proof(certify, target_gap)
    proving = gap is not None and checked_folder(checkpoint) is None
    progress = checked_limits(time_limit, budget, listener, proving=proving)
    if checked_flag(disjoint, "disjoint"):
        refuse_without_effect("with disjoint=True features are left out instead", deflation=deflation)
    deflation = DEFLATION if deflation is None else deflation
    way = deflation_named(deflation)
    operator = as_operator(data, **options)
    counts = checked_counts(n_components, sparsity, operator.size, disjoint=disjoint)
    if certify and len(counts) > 1 and not disjoint and not way.semidefinite:
        msg = (
            f"{deflation} deflation can leave a matrix with negative eigenvalues, for which there are no certificates; "
            f"use deflation={' or '.join(map(repr, semidefinite_ones()))}"
        )
        raise InvalidProblemError(msg)

    def facts() -> dict[str, Any]:
        asked = {"sparsities": counts, "solver": described(method), "deflation": deflation, "disjoint": disjoint}
        return {**run_facts("decompose", operator, rng), **asked, "target_gap": gap}

    trace = operator.trace()
    found: list[Solution] = []
    with opened(checkpoint, facts) as states, progress.until_interrupted():
        for number, (count, seed) in enumerate(zip(counts, seeds(rng, len(counts)), strict=True)):
            problem = remaining_problem(operator, found, deflation, disjoint=disjoint)
            if found and not problem.trace() > NOTHING_LEFT * trace:
                break
            # A proof may take all the time it is given, so what is left is shared by the components to come. Where
            # nothing is left, a solver still takes its cheapest step: every component that is asked for exists.
            share = progress.part(1 / (len(counts) - number))
            part = None if states is None else states.part(f"component-{number}")
            # Features without variance left, whose starts solvers scale up, may overflow: they are then passed over.
            with np.errstate(over="ignore"):
                solution = solved(problem, count, method, generator(seed), share, gap, part)
            if found and not solution.objective > 0:
                break
            support = left_over(operator.size, found)[solution.support] if disjoint else solution.support
            found.append(replace(solution, support=support, size=operator.size))
            if progress.interrupted:
                break
    near = operator.near_one()
    units = near.power - operator.power
    adjusted, total = joint_variance(near, as_columns(operator.size, found))
    own = np.array([near.quadratic_form(component.support, component.loadings) for component in found])
    own, adjusted, total = np.ldexp(own, units), np.ldexp(adjusted, units), math.ldexp(total, units)
    return Components(tuple(found), own, adjusted, total, trace, deflation, disjoint, operator)
