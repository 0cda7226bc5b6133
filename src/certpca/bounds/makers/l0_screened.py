"""A dual point without the features that are in no optimal support."""

import numpy as np

from certpca.bounds.dual_steps import without_the_rest
from certpca.bounds.evidence import point_evidence
from certpca.bounds.makers.l0_dual import FEWEST_STEPS
from certpca.bounds.proof_search import ProofSearch, Screening
from certpca.checker.screening import SCREEN
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices
from certpca.runtime.resumable import once

ORDER = 50
KINDS = ("l0-dual",)
FROM = 0.1  # share of features that must be excluded


def applies(search: ProofSearch) -> bool:
    """Whether the first dual point excluded many features."""
    root = search.root
    excluded = 0 if root is None or root.kind != "l0-dual" else root.outside
    return search.screening is None and excluded >= FROM * search.operator.size and not search.finished()


def seconds(search: ProofSearch) -> float:
    """Return nothing: what it takes depends on how many features are left, which is found out first."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Solve the dual again."""
    root, costs, progress, size = search.root, search.costs, search.progress, search.operator.size
    assert root is not None
    assert search.dual is not None

    def undecided() -> Indices:
        return np.setdiff1d(np.arange(size), search.prover.examine(root).outside)

    features = once(undecided, progress, "features", Indices)
    screen = within(SCREEN, root.evidence)
    search.screening = Screening(features, screen, costs.dual(screened=True))
    proof = search.screening.seconds + costs.dual(features.size, roots=False)
    if not search.fits(proof + FEWEST_STEPS * costs.step() * features.size / size):
        progress.run_out()
        search.over = True
        return
    with progress.setting_aside(proof):
        problem, point = without_the_rest(*search.dual, features, search.incumbent, search.goal, progress)
    search.dual = problem, point
    if search.improves(point.bound) or not progress.timed:
        # Without roots: a better component may yet leave the checker with fewer features than there are here.
        evidence = {**screen, **point_evidence(point, roots=False)}
        search.offer(search.proved_once("shrunk-certificate", "l0-dual", evidence))
