"""Prove an upper bound on what any component captures."""

import json
import os
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from certpca.bounds.goals import Goal, Known
from certpca.bounds.near_one import in_data_units, of_part, of_whole
from certpca.bounds.pipeline import find_certificate
from certpca.intake import DataOptions, as_operator
from certpca.operators.within import allowed_part
from certpca.results.certificate import Certificate
from certpca.results.codec import certificate_to_dict
from certpca.results.solution import Solution
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import opened
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import Solver
from certpca.verbs.constraints import Features, Groups, checked_constraints, require_allowed
from certpca.verbs.run_facts import described, digest, run_facts
from certpca.verbs.solve import require_narrow, share_of_the_search, solved_near_one
from certpca.verbs.validation import (
    TARGET_GAP,
    checked_branching,
    checked_depth,
    checked_flag,
    checked_folder,
    checked_gap,
    checked_limits,
    checked_solution,
    checked_solver,
    checked_sparsity,
    checked_warm,
    generator,
    named_arguments,
    refuse_without_effect,
)
from certpca.verbs.walks import Walks


@named_arguments
def certify(
    data: Any,
    sparsity: int,
    solver: str | Solver = "auto",
    *,
    include: Features | None = None,
    exclude: Features | None = None,
    groups: Groups | None = None,
    nonnegative: bool = False,
    solution: Solution | None = None,
    branching: bool | str = True,
    warm: Certificate | None = None,
    semidefinite: bool = False,
    depth: int | None = None,
    target_gap: float = TARGET_GAP,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Certificate:
    """Prove an upper bound on the variance that any component of that sparsity captures.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        As in `solve`. The bound is for the matrix that data and `options` stand for, in its own units.
    sparsity : int
        Largest allowed number of nonzero loadings.
    solver : str or Solver
        What searches for a component to compare with, where no `solution` is given.
    include : feature or sequence of features, optional
        Features, by name or index, that are in the support whatever they add.
    exclude : feature or sequence of features, optional
        Features that are in no support.
    groups : sequence or mapping of features, optional
        Groups of which the support has all features or none; no feature may be in two.
    nonnegative : bool
        Whether no loading may be negative. With these four, bound and gap are about the components they allow.
    solution : Solution, optional
        A component to compare with; by default one is searched for.
    branching : bool or "directions"
        Where the plain bound is not enough, search over supports if few features are left to decide, and split
        the directions of sample space otherwise; or split directions alone.
    warm : Certificate, optional
        An earlier certificate of the same data, for this or a neighbouring sparsity.
    semidefinite : bool
        Also solve the semidefinite relaxation, which can be the tighter one, and keep the smaller bound.
    depth : int, optional
        Work with this many directions of sample space and add a bound for the others: looser. By default all of them
        count. With more than 8,192 samples and features either holds but for a stated probability: the certificate is
        of kind ``l0-level-random``, or ``l0-reduced-random`` where a smaller depth is asked for. As many as there are
        samples, up to 16,384, ask for a proof without chance.
    target_gap : float
        Stop when the component is proved to be within this share of the optimum.
    rng : int or numpy.random.Generator
        Seed or generator of the search. The same seed gives the same answer.
    time_limit : float, optional
        Seconds for the whole call: the time that the checker needs is set aside, and a valid certificate is returned
        then, and after the first Ctrl-C. The cheapest one is made in any case. By default ten minutes, or no limit with
        a checkpoint; ``math.inf`` is no limit. `status` of the certificate says how it ended.
    budget : Budget, optional
        Limits steps too, in place of `time_limit`; ``Budget()`` has no limits.
    listener : callable, optional
        Called with a `Step` after each step; returning False ends the run.
    checkpoint : path_like, optional
        A folder, new or left by the same call: a run that was killed or ended early goes on where it was, with the
        same result as if nothing had happened. Limits are for each run by itself.
    **options : DataOptions
        How data become a matrix, as in `solve`.

    Returns
    -------
    Certificate
        The bound with the evidence that proves it, and the best component known.

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
    verify : Check a certificate against data.
    solve : With ``certify=True``, find a component and prove how good it is.
    save_certificate : Write it to files that anyone can check.

    Examples
    --------
    >>> import certpca
    >>> certificate = certpca.certify(certpca.pitprops(), 7, target_gap=1e-6)
    >>> certificate.gap < 1e-6
    True
    """
    goal = Goal(
        checked_gap(target_gap),
        checked_branching(branching),
        checked_warm(warm, Certificate, "certify"),
        checked_flag(semidefinite, "semidefinite"),
        depth=checked_depth(depth),
    )
    method = checked_solver(solver)
    if solution is not None:
        refuse_without_effect("a solution is given", solver=None if solver == "auto" else solver)
    proving = checked_folder(checkpoint) is None
    progress = checked_limits(time_limit, budget, listener, proving=proving)
    seeded = generator(rng)
    operator = as_operator(data, **options)
    count = checked_sparsity(sparsity, operator.size)
    asked = checked_constraints(
        operator, count, method, include=include, exclude=exclude, groups=groups, nonnegative=nonnegative
    )
    near = allowed_part(operator, asked)
    within, units = near.within, near.power - operator.power
    progress.power += units
    checked_solution(solution, operator.size, count)
    require_allowed(solution, asked, count)
    if warm is not None and warm.constraints != asked:
        msg = "warm is a certificate under other constraints, whose evidence does not fit this problem; leave it out"
        raise InvalidProblemError(msg)

    def facts() -> dict[str, Any]:
        wanted = {"sparsity": count, "target_gap": target_gap, "branching": branching, "semidefinite": semidefinite}
        given = {
            "depth": depth,
            "solution": None if solution is None else digest(solution.support, solution.loadings),
            "warm": None if warm is None else digest(json.dumps(certificate_to_dict(warm)).encode()),
        }
        searched: dict[str, Any] = {} if solver == "auto" else {"solver": described(method)}
        searched |= {"constraints": asked.to_dict()} if asked else {}
        return {**run_facts("certify", operator, rng), **wanted, **given, **searched}

    walks = Walks(near)
    with opened(checkpoint, facts) as states, progress.until_interrupted():
        judged = 0.0
        if solution is not None:
            support = solution.support if within is None else np.searchsorted(within.kept, solution.support)
            known = Known(support, solution.loadings, near.quadratic_form(support, solution.loadings))
        else:
            search = progress.part(share_of_the_search(near, progress, proving=True), after=progress)
            found = solved_near_one(near, count, method, True, seeded, search, None, states)
            require_narrow(found.support, count, method)
            known = Known(found.support, found.loadings, found.objective)
            judged = found.details.get("walks_judge", 0.0)
        walks.done("search", judged)
        proof = progress.part(checkpoint=None if states is None else states.part("proof"), after=progress)
        if goal.warm is not None:
            earlier = goal.warm if within is None else of_part(goal.warm, within)
            goal = replace(goal, warm=in_data_units(earlier, -units))
        made = of_whole(in_data_units(find_certificate(near, count, known, goal, proof), units), within)
        walks.done("proof")
        return replace(made, details=walks.told())
