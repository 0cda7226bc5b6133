"""The one evaluation of loadings: the judge is never the solver."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from certpca.operators import Operator
from certpca.operators.within import asked_of
from certpca.results.certificate import PROVED_OPTIMAL, Certificate
from certpca.results.solution import Candidate, Solution
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, fix_sign
from certpca.runtime.budget import Progress
from certpca.search.constrained import fitted_on
from certpca.search.krylov import ROUGH, leading_eigenpairs


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Loadings, what they capture, and the largest eigenvalue of the whole matrix."""

    support: Indices
    loadings: Vector
    objective: float
    refitted: bool
    largest: float


def judged(operator: Operator, candidate: Candidate, progress: Progress, *, refit: bool = True) -> Judged:
    """Recompute loadings and objective in float64, and find the largest eigenvalue where the solver did not."""
    support, raw = candidate.support, candidate.loadings
    refitted = refit and asked_of(operator).nonnegative and not candidate.fitted
    keep_own = raw is not None and not candidate.fitted and (candidate.constrained or not refit) and not refitted
    if raw is not None and (keep_own or candidate.fitted):
        loadings = np.asarray(raw, dtype=np.float64)
        loadings = loadings / np.linalg.norm(loadings)
    else:
        loadings = fitted_on(operator, support, progress.late, raw).loadings
    loadings = fix_sign(loadings)
    objective = max(operator.quadratic_form(support, loadings), 0.0)
    largest = candidate.largest_eigenvalue
    if largest is None:
        pairs = leading_eigenpairs(operator, 1, rng=0, late=progress.late)
        largest = float(pairs.values[0]) if pairs.residual <= ROUGH else math.nan
    # The objective is itself a lower bound of the largest eigenvalue.
    largest = largest if math.isnan(largest) else max(largest, objective)
    kept = loadings != 0.0
    return Judged(support[kept], loadings[kept], objective, not keep_own, largest)


def answer(
    operator: Operator,
    sparsity: int,
    solver: str,
    found: Judged,
    status: Status,
    progress: Progress,
    certificate: Certificate | None,
    details: Mapping[str, float] | None = None,
) -> Solution:
    """Say what was found, and that it is optimal where that is proved."""
    trace, largest, objective = operator.trace(), found.largest, found.objective
    proved = certificate is not None and objective >= certificate.upper_bound * (1 - PROVED_OPTIMAL)
    mean, scale = standardised_by(operator, found.support)
    return Solution(
        support=found.support,
        names=operator.names_of(found.support),
        loadings=found.loadings,
        objective=objective,
        explained_variance_ratio=objective / trace if trace > 0 else 0.0,
        relative_objective=objective / largest if largest > 0 or math.isnan(largest) else 0.0,
        size=operator.size,
        sparsity=sparsity,
        matrix=operator.description,
        solver=solver,
        status=Status.OPTIMAL if proved and found.refitted else status,
        seconds=progress.seconds,
        refitted=found.refitted,
        history=progress.history,
        details=dict(details or {}),
        certificate=certificate,
        reading=dict(operator.reading),
        mean=mean,
        scale=scale,
    )


def standardised_by(operator: Operator, support: Indices) -> tuple[Vector, Vector] | tuple[None, None]:
    """Return what the columns of a support have subtracted and are divided by, in the units of the data."""
    given = operator.undeflated
    made = given.standardisation()
    if made is None:
        return None, None
    mean, scale = made
    return mean[support], np.ldexp(scale[support], -given.power // 2)
