"""Prove an upper bound on what any component captures."""

import json
import os
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from certpca.bounds.goals import Goal
from certpca.bounds.near_one import in_data_units
from certpca.bounds.pipeline import find_certificate
from certpca.intake import DataOptions, as_operator
from certpca.results.certificate import Certificate
from certpca.results.codec import certificate_to_dict
from certpca.results.solution import Solution
from certpca.runtime.budget import Budget, Listener, Progress, begun
from certpca.runtime.checkpoint import opened
from certpca.solvers import solver_named
from certpca.verbs.run_facts import digest, run_facts
from certpca.verbs.solve import share_of_the_search, solved
from certpca.verbs.validation import (
    checked_budget,
    checked_depth,
    checked_flag,
    checked_folder,
    checked_gap,
    checked_listener,
    checked_solution,
    checked_sparsity,
    checked_warm,
    generator,
)


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
            "solution": None if solution is None else digest(solution.support, solution.loadings),
            "warm": None if warm is None else digest(json.dumps(certificate_to_dict(warm)).encode()),
        }
        return {**run_facts("certify", operator, rng), **asked, **given}

    with opened(checkpoint, facts) as states, progress.until_interrupted():
        if solution is None:
            search = progress.part(share_of_the_search(near, progress, proving=True), after=progress)
            solution = solved(near, count, solver_named("auto"), True, seeded, search, None, states)
        proof = progress.part(checkpoint=None if states is None else states.part("proof"), after=progress)
        goal = replace(goal, warm=None if goal.warm is None else in_data_units(goal.warm, -units))
        return in_data_units(find_certificate(near, count, solution.support, solution.loadings, goal, proof), units)
