"""The dual of the semidefinite relaxation, where it was asked for: it can be the tighter one."""

from certpca.bounds.proof_search import ProofSearch
from certpca.bounds.sdp import solve_relaxation
from certpca.bounds.sdp.clipped import DIRECTIONS
from certpca.results.certificate import Certificate
from certpca.runtime.resumable import once

ORDER = 70
KINDS = ("sdp-dual",)
GAP = 1e-4


def applies(search: ProofSearch) -> bool:
    """Whether it was asked for, and there is something to gain."""
    return search.goal.semidefinite and search.root is not None and not search.finished()


def seconds(search: ProofSearch) -> float:
    """Return nothing: half of the time is left for the proof where it needs that much."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Solve the relaxation."""
    search.offer(once(lambda: _certificate(search), search.progress, "semidefinite-certificate", Certificate))


def _certificate(search: ProofSearch) -> Certificate:
    progress, aside, best = search.progress, 0.0, search.best
    assert best is not None
    if progress.timed:
        aside = min(search.costs.clipped(DIRECTIONS), progress.remaining / 2)
    with progress.setting_aside(aside):
        relaxation = solve_relaxation(search.operator, search.sparsity, progress.part(quiet=True), gap=GAP)
    progress.tick(search.incumbent.objective, min(relaxation.upper, best.upper_bound))
    evidence = relaxation.dual.evidence()
    if search.improves(relaxation.upper) and search.fits(search.costs.of("sdp-dual", evidence)):
        return search.proved("sdp-dual", evidence)
    return best
