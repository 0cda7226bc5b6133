"""The search for a certificate of several components: makers are tried in the order of what they cost."""

from collections.abc import Sequence
from dataclasses import replace

from certpca.bounds.goals import Goal, Shared
from certpca.bounds.sets.makers import makers
from certpca.bounds.sets.search import SetSearch
from certpca.operators import Operator
from certpca.results.set_certificate import SetCertificate
from certpca.results.solution import ending
from certpca.results.status import Status
from certpca.runtime.arrays import Vector
from certpca.runtime.budget import Progress


def find_set_certificate(
    operator: Operator,
    problem: str,
    sparsities: Sequence[int],
    loadings: Vector,
    target_gap: float,
    progress: Progress,
    shared: Shared | None = None,
) -> SetCertificate:
    """Return the best certificate that the budget allows; there always is one.

    `operator` has entries near one (`Operator.near_one`), and the certificate is in its units
    (`near_one.in_data_units` turns it back). `loadings` has a column for each component, in the order of the
    sparsities; those of the certificate may be better ones.
    """
    goal = Goal(target_gap)
    shared = Shared(operator) if shared is None else shared
    search = SetSearch(operator, problem, tuple(sparsities), (), goal, progress, shared)
    search.components = search.components_of(loadings)
    for maker in makers():
        if search.best is not None and search.finished():
            break
        if maker.applies(search):
            maker.make(search)
    assert search.best is not None
    made = _with_components(search)
    reached = goal.reached(made.objective, made.upper_bound)
    status = Status.CONVERGED if reached else ending(progress, Status.STALLED)
    return replace(made, seconds=progress.seconds, status=status)


def _with_components(search: SetSearch) -> SetCertificate:
    """Return the best certificate with the best components, which may have been found after it."""
    best = search.best
    assert best is not None
    held = [support.tolist() for support in best.supports]
    if held == [component.support.tolist() for component in search.components]:
        return best
    return search.proved(best.kind, dict(best.evidence), best.tree)
