"""The one evaluation of loadings: the judge is never the solver."""

import numpy as np

from certpca.operators import Operator
from certpca.results.solution import Candidate
from certpca.runtime.arrays import Indices, Vector, fix_sign
from certpca.runtime.budget import Progress
from certpca.search.krylov import leading_on_support


def evaluate(
    operator: Operator, candidate: Candidate, progress: Progress, *, refit: bool
) -> tuple[Indices, Vector, float, bool]:
    """Recompute loadings and objective in float64: the judge is never the solver."""
    support, raw = candidate.support, candidate.loadings
    keep_own = raw is not None and not candidate.fitted and (candidate.constrained or not refit)
    if raw is not None and (keep_own or candidate.fitted):
        loadings = np.asarray(raw, dtype=np.float64)
        loadings = loadings / np.linalg.norm(loadings)
    else:
        loadings = leading_on_support(operator, support, start=raw, late=progress.late)[1]
    loadings = fix_sign(loadings)
    objective = operator.quadratic_form(support, loadings)
    kept = loadings != 0.0
    return support[kept], loadings[kept], max(objective, 0.0), not keep_own
