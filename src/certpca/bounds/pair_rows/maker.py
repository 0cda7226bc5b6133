"""When pairs of features are worth looking at, and what they then give."""

import numpy as np

from certpca.bounds.goals import Goal, Incumbent
from certpca.bounds.pair_rows.search import Found, search
from certpca.bounds.pair_rows.strongest import strongest
from certpca.bounds.proof_costs import ProofCosts
from certpca.operators import Operator
from certpca.runtime.budget import Progress

LARGEST_SUPPORT = 100  # beyond it most features matter to each other, and other bounds are tighter
LARGEST_FACTOR = 1 << 29  # numbers in memory, in single precision
MOST_SECONDS = 120.0  # for the proof, where nobody has said how long it may take
SEARCH = 3.0  # time to search, as a multiple of that for the proof, from which on it is worth to begin


def paired(
    operator: Operator, sparsity: int, incumbent: Incumbent, goal: Goal, progress: Progress, costs: ProofCosts
) -> Found | None:
    """Return what pairs of features prove, or None where they cannot help or there is no time."""
    if not 2 <= sparsity <= min(LARGEST_SUPPORT, operator.size // 2) or costs.depth * operator.size > LARGEST_FACTOR:
        return None
    proof = costs.pairs()
    if progress.remaining < (1 + SEARCH) * proof or proof > MOST_SECONDS:
        return None
    with np.errstate(over="ignore"):
        pairs = strongest(operator.factor(), sparsity - 1, lambda: progress.late(proof))
    return None if pairs is None else search(pairs, sparsity, incumbent, goal, progress, proof)
