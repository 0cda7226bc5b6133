"""Bounds that need no evidence, estimated."""

import numpy as np

from certpca.bounds.l0_dual.features import dual_depth
from certpca.checker.limits import LARGEST_DENSE
from certpca.operators import Operator
from certpca.runtime.arrays import to_vector
from certpca.runtime.budget import Late, never
from certpca.search.krylov import leading_on_support

ROW_SUMS_UP_TO = 4096  # features up to which every pair of columns is multiplied


def cheap_bounds(operator: Operator, sparsity: int, late: Late = never) -> list[tuple[str, float]]:
    """Estimate the closed-form bounds; the checker proves the one that is used."""
    diagonal = np.sort(to_vector(operator.diagonal()))[::-1]
    bounds = [("trace", float(diagonal[:sparsity].sum()))]
    if operator.size <= ROW_SUMS_UP_TO and not late():
        worst = 0.0
        for start in range(0, operator.size, 512):
            part = np.abs(to_vector(operator.columns(np.arange(start, min(start + 512, operator.size)))))
            ordered = np.partition(part, operator.size - sparsity, axis=0)[operator.size - sparsity :]
            worst = max(worst, float(ordered.sum(axis=0).max()))
        bounds.append(("row-sums", worst))
    fits = dual_depth(operator) <= LARGEST_DENSE
    if operator.size <= 512 or (sparsity == operator.size and fits and not late()):
        value = leading_on_support(operator, np.arange(operator.size), late=late)[0]
        bounds.append(("largest-eigenvalue", value))
    return bounds
