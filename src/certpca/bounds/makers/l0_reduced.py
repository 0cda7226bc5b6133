"""The dual along a few directions of sample space, as asked for; the checker bounds what all others can add."""

import numpy as np
from numpy.typing import NDArray

from certpca.bounds.dual_steps import root_point
from certpca.bounds.evidence import point_evidence
from certpca.bounds.l0_dual.features import dual_depth, fewer_asked
from certpca.bounds.l0_dual.problem import DualProblem
from certpca.bounds.proof_search import ProofSearch
from certpca.operators import Operator
from certpca.results.certificate import RANDOM
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.limits import limits
from certpca.runtime.resumable import once
from certpca.search.krylov import leading_directions

ORDER = 20
KINDS = ("l0-reduced", f"l0-reduced{RANDOM}")

Directions = tuple[NDArray[np.float32], float]  # and about the variance along the next one


def applies(search: ProofSearch) -> bool:
    """Whether fewer directions of sample space are asked for than there are."""
    return fewer_asked(search.operator, search.goal.depth)


def seconds(search: ProofSearch) -> float:
    """Return what the proof takes."""
    depth, count = dual_depth(search.operator), search.goal.depth or 1
    if depth > limits().largest_factored:
        return search.costs.level_random(count)
    return search.costs.reduced(count)


def make(search: ProofSearch) -> None:
    """Find the directions, pose the problem for what the checker will make of them, and solve it."""
    operator, progress, count = search.operator, search.progress, search.goal.depth
    assert search.estimate is not None
    assert count is not None
    _require_possible(operator, count)

    def found() -> Directions:
        basis, variances = leading_directions(operator, count, np.random.default_rng(0))
        # What is stored is single precision.
        return basis.astype(np.float32), float(variances[count:].max(initial=0.0))

    with progress.setting_aside(seconds(search)):
        basis, tail = once(found, progress, "directions", Directions)
        axes, triangle = np.linalg.qr(basis.astype(np.float64))
        problem = DualProblem(operator, search.sparsity, axes * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))
        point = root_point(problem, search.incumbent, search.goal, None, search.estimate.bound, progress, tail)
    kind = KINDS[dual_depth(operator) > limits().largest_factored]
    search.offer(search.proved(kind, {"basis": basis, **point_evidence(point)}))


def _require_possible(operator: Operator, count: int) -> None:
    """Say so where there is no such certificate for these data."""
    source = operator.source()
    if count > limits().largest_factored:
        msg = f"a certificate of smaller depth has at most {limits().largest_factored} directions, got {count}"
        raise InvalidProblemError(msg)
    if source.kind != "data" or source.values.shape[0] > operator.size:
        msg = "a certificate of smaller depth is for data with at most as many samples as features"
        raise InvalidProblemError(msg)
