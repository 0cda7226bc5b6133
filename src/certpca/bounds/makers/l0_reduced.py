"""The dual along a few directions of sample space; the checker bounds what all others can add.

For data with too many samples for a dual point in all of them, or as asked for.
"""

import numpy as np
from numpy.typing import NDArray

from certpca.bounds.dual_steps import root_point
from certpca.bounds.evidence import point_evidence
from certpca.bounds.l0_dual.features import dual_depth, too_deep
from certpca.bounds.l0_dual.problem import DualProblem
from certpca.bounds.proof_search import ProofSearch
from certpca.results.certificate import RANDOM
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.limits import limits
from certpca.runtime.resumable import once
from certpca.search.krylov import leading_directions

ORDER = 20
KINDS = ("l0-reduced", f"l0-reduced{RANDOM}")
DEFAULT_DEPTH = 256  # directions of sample space where there are too many samples for all of them

Directions = tuple[NDArray[np.float32], float]  # and about the variance along the next one


def applies(search: ProofSearch) -> bool:
    """Whether there are too many directions of sample space."""
    return too_deep(search.operator, search.goal.depth)


def seconds(search: ProofSearch) -> float:
    """Return what it takes; where it was asked for, the proof alone decides."""
    whole = limits().seconds_an_entry * dual_depth(search.operator) * search.operator.size
    return _proof(search) if search.goal.depth is not None else max(_proof(search), whole)


def _proof(search: ProofSearch) -> float:
    depth = dual_depth(search.operator)
    if depth > limits().largest_factored:
        return limits().seconds_an_entry / 2 * depth * search.operator.size
    return search.costs.reduced(_count(search))


def make(search: ProofSearch) -> None:
    """Find the directions, pose the problem for what the checker will make of them, and solve it."""
    if not _possible(search):
        search.progress.run_out()
        return
    operator, progress, count = search.operator, search.progress, _count(search)
    assert search.estimate is not None

    def found() -> Directions:
        basis, variances = leading_directions(operator, count, np.random.default_rng(0))
        # What is stored is single precision.
        return basis.astype(np.float32), float(variances[count:].max(initial=0.0))

    with progress.setting_aside(_proof(search)):
        basis, tail = once(found, progress, "directions", Directions)
        axes, triangle = np.linalg.qr(basis.astype(np.float64))
        problem = DualProblem(operator, search.sparsity, axes * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))
        point = root_point(problem, search.incumbent, search.goal, None, search.estimate.bound, progress, tail)
    kind = KINDS[dual_depth(operator) > limits().largest_factored]
    search.offer(search.proved(kind, {"basis": basis, **point_evidence(point)}))


def _count(search: ProofSearch) -> int:
    return DEFAULT_DEPTH if search.goal.depth is None else search.goal.depth


def _possible(search: ProofSearch) -> bool:
    """Whether there is such a certificate for these data; where it was asked for and there is none, say so."""
    source, wanted = search.operator.source(), search.goal.depth
    possible = source.kind == "data" and source.values.shape[0] <= search.operator.size
    if wanted is not None and wanted > limits().largest_factored:
        msg = f"a certificate of smaller depth has at most {limits().largest_factored} directions, got {wanted}"
        raise InvalidProblemError(msg)
    if wanted is not None and not possible:
        msg = "a certificate of smaller depth is for data with at most as many samples as features"
        raise InvalidProblemError(msg)
    return possible
