"""Solve the semidefinite relaxation."""

from dataclasses import replace
from typing import Any, Unpack

from certpca.bounds.sdp import Relaxation, solve_relaxation
from certpca.intake import DataOptions, as_operator
from certpca.results.solution import ending
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.verbs.validation import (
    checked_gap,
    checked_limits,
    checked_memory,
    checked_sparsity,
    checked_warm,
    named_arguments,
)


@named_arguments
def solve_sdp(
    data: Any,
    sparsity: int,
    *,
    warm: Relaxation | None = None,
    target_gap: float = 1e-4,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    memory: float = 16.0,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> Relaxation:
    """Solve the semidefinite relaxation max ⟨A, Z⟩, Z ⪰ 0, tr Z ≤ 1, Σ|Z_ij| ≤ sparsity, with its dual.

    The solver ``"sdp-threshold"`` does this too, rounds the result and proves the dual value.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        As in `solve`.
    sparsity : int
        Largest allowed number of nonzero loadings, which the relaxation bounds by the sum of |Z_ij|.
    warm : Relaxation, optional
        The solution for a neighbouring sparsity, to begin with; it saves few steps or none.
    target_gap : float
        Relative duality gap at which to stop.
    time_limit : float, optional
        Seconds for the whole call; the best pair so far is returned then, and after the first Ctrl-C.
    budget : Budget, optional
        Limits steps too, in place of `time_limit`.
    memory : float
        GiB that dense steps may take, where there is no rank-one solution. It is compared after features are left out.
    listener : callable, optional
        Called with a `Step` after each step; returning False ends the run.
    **options : DataOptions
        How data become a matrix, as in `solve`.

    Returns
    -------
    Relaxation
        A primal and a dual solution; the relaxation's value lies between theirs.

    Raises
    ------
    InvalidProblemError
        Where an argument has no meaning for these data.
    InvalidDataError
        Where the data cannot be used as they are.
    UnknownArgumentError
        Where an argument has no such name.

    See Also
    --------
    certify : With ``semidefinite=True``, keeps the smaller of this bound, proved, and another.
    solver_named : Makes the solver ``"sdp-threshold"``.

    Examples
    --------
    >>> import certpca
    >>> relaxation = certpca.solve_sdp(certpca.pitprops(), 5)
    >>> round(relaxation.upper, 3)
    3.458
    """
    checked_gap(target_gap, positive=True)
    allowed = checked_memory(memory) * 2**30
    checked_warm(warm, Relaxation, "solve_sdp")
    progress = checked_limits(time_limit, budget, listener)
    operator = as_operator(data, **options)
    near = operator.near_one()
    units = near.power - operator.power
    progress.power += units
    count = checked_sparsity(sparsity, operator.size)
    known = None if warm is None else warm.times_two_to(-units)
    with progress.until_interrupted():
        found = solve_relaxation(near, count, progress, gap=target_gap, memory=allowed, warm=known)
    return replace(found.times_two_to(units), status=ending(progress, found.status))
