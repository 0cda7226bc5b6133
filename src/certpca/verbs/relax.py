"""Solve the semidefinite relaxation."""

from dataclasses import replace
from typing import Any, Unpack

from certpca.bounds.sdp import Relaxation, solve_relaxation
from certpca.intake import DataOptions, as_operator
from certpca.results.solution import ending
from certpca.runtime.budget import Budget, Listener, Progress, begun
from certpca.runtime.errors import InvalidProblemError
from certpca.verbs.validation import checked_budget, checked_gap, checked_listener, checked_memory, checked_sparsity


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
