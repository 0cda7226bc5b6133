"""One dual point for all directions of sample space."""

from certpca.bounds.dual_steps import root_point
from certpca.bounds.evidence import point_evidence
from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.l0_dual.problem import DualPoint
from certpca.bounds.proof_search import ProofSearch
from certpca.results.certificate import Certificate
from certpca.runtime.resumable import once

ORDER = 40
KINDS = ("l0-dual",)
AFTER_LEVELS = 0.1  # share of the time that is left which it may take where a matrix as level, never weaker, was found
FEWEST_STEPS = 1  # towards a dual point: with time for that as predicted, which is rather long, the problem is posed


def applies(search: ProofSearch) -> bool:
    """Whether a matrix of samples x samples is small enough, and there is not a tighter bound already.

    Beside that one it can only help to screen features, which is worth a little time.
    """
    if search.dual is not None:  # trees needed it
        return False
    tighter = search.shared.levels is not None and search.goal.over_supports and search.progress.timed
    if tighter and not search.fits(seconds(search) / AFTER_LEVELS):
        return False
    return not too_deep(search.operator, search.goal.depth)


def seconds(search: ProofSearch) -> float:
    """Return what it takes to pose the problem, to make a step, and to prove a point."""
    posing = 0.0 if search.shared.posed else search.costs.posing()
    return posing + FEWEST_STEPS * search.costs.step() + search.costs.dual()


def make(search: ProofSearch) -> None:
    """Follow the central path from the incumbent's direction or an earlier certificate's density."""
    problem, goal = search.shared.dual.at(search.sparsity), search.goal
    warm = goal.usable_warm(search.prover.fingerprint)
    assert search.estimate is not None
    with search.progress.setting_aside(search.costs.dual()):
        point = root_point(problem, search.incumbent, goal, warm, search.estimate.bound, search.progress)
    search.suggest("largest-eigenvalue", problem.scale)
    search.dual = problem, point
    search.root = once(lambda: _certificate(search, point), search.progress, "root-certificate", Certificate)
    search.offer(search.root)


def _certificate(search: ProofSearch, point: DualPoint) -> Certificate:
    """Prove the point, or the closed form where that is as good or there is no time."""
    assert search.estimate is not None
    as_good = search.estimate.bound <= point.bound
    if search.best is None or (not as_good and search.fits(search.costs.dual() / 2)):
        search.offer(search.proved("l0-dual", point_evidence(point)))
    search.prove_estimate()
    assert search.best is not None
    return search.best
