"""Greedy coordinate-wise swaps: the paper's rival `cwpca`.

Beck & Vaisbourd, "The Sparse Principal Component Analysis Problem: Optimality Conditions and
Algorithms", JOTA 170 (2016), the greedy coordinate-wise method. Two departures, both upwards:
a swap is scored by the best vector in the plane of the remaining loadings and the new
coordinate (theirs keeps the magnitude of the entry that leaves), and the loadings are
refitted on the new support after each swap.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from certpca.operators.base import Operator
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.arrays import to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.search.krylov import leading_eigenpairs
from certpca.search.swaps import SwapSearch
from certpca.solvers.base import register


@register
@dataclass(frozen=True, slots=True)
class Coordinatewise:
    """Make the best swap of one feature for another until none improves.

    Starts from the largest entries of the leading eigenvector. One step is one swap.
    """

    name: ClassVar[str] = "coordinatewise"
    paper_name: ClassVar[str] = "cwpca"
    runs_on_device: ClassVar[bool] = False

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Swap greedily."""
        diagonal = to_vector(operator.diagonal())
        if sparsity == 1:
            return Candidate(top_k(diagonal, 1), Status.CONVERGED)
        pairs = leading_eigenpairs(operator, 1, rng=rng, late=progress.late)
        value = float(pairs.values[0])
        search = SwapSearch(operator, top_k(np.abs(pairs.vectors[:, 0]), sparsity), diagonal, progress.late)
        while progress.tick(search.objective):
            swaps = search.improving_swaps()
            if swaps.positions.size == 0 or not search.apply(swaps, 1):
                return Candidate(search.support, Status.CONVERGED, search.loadings, value, fitted=True)
        return Candidate(search.support, Status.OUT_OF_BUDGET, search.loadings, value, fitted=True)
