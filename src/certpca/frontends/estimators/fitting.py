"""What both estimators do when they are fitted: start the clock, find components, warn where these are not all."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from certpca.operators import Operator
from certpca.results.status import Status
from certpca.runtime.budget import Progress
from certpca.verbs.components import Components
from certpca.verbs.decompose import decompose
from certpca.verbs.validation import checked_time_limit

DEFAULT_SPARSITY = 10


def started(estimator: Any) -> Progress | None:
    """Start the clock of a fit, where it has a limit: what is done before the search counts too."""
    limit = checked_time_limit(estimator.time_limit)
    return None if limit is None else Progress(limit)


def found(estimator: Any, operator: Operator, progress: Progress | None, **more: Any) -> Components:
    """Find what an estimator asks for."""
    total = more.get("total")
    default = None if total is not None else min(DEFAULT_SPARSITY, operator.size)
    components = decompose(
        operator,
        estimator.n_components,
        default if estimator.sparsity is None else estimator.sparsity,
        estimator.solver,
        deflation=estimator.deflation,
        certify=estimator.certify,
        target_gap=estimator.target_gap,
        rng=_seed(estimator.random_state),
        budget=progress,
        **more,
    )
    _warn(type(estimator).__name__, components, estimator.n_components)
    return components


def _seed(random_state: Any) -> Any:
    """Return what the verbs take for what scikit-learn's users give: None draws a seed."""
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state


def _warn(name: str, components: Components, asked: int) -> None:
    """Say once that a limit or the user ended the fit, or that nothing was left to explain."""
    solutions = components.components
    ended = (Status.OUT_OF_BUDGET, Status.INTERRUPTED)
    states = [components.status, *(solution.status for solution in solutions)]
    early = next((status.value for status in states if status in ended), None)
    if early is None and len(solutions) < asked:
        early = f"found {len(solutions)} of {asked} components: these explain all of the variance"
    if early is not None:
        warnings.warn(f"{name} {early}", ConvergenceWarning, stacklevel=4)
