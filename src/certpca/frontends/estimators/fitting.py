"""What both estimators do when they are fitted: start the clock, find components, warn where these are not all."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from certpca.frontends.progress_line import progress_line
from certpca.operators import Operator
from certpca.results.status import Status
from certpca.runtime.budget import Listener, Progress, Step
from certpca.verbs.components import Components
from certpca.verbs.decompose import decompose
from certpca.verbs.validation import checked_flag, checked_time_limit, is_whole, require

DEFAULT_SPARSITY = 10


FLAGS = ("center", "certify", "whiten")  # settings that are True or False
EVERY = 2.0  # seconds between lines of a fit that tells how it gets on


def started(estimator: Any) -> Progress | None:
    """Check settings that nobody else does, and start the clock of a fit: what is done before the search counts too."""
    for name in FLAGS:
        if hasattr(estimator, name):
            checked_flag(getattr(estimator, name), name)
    verbose = getattr(estimator, "verbose", 0)
    whole = isinstance(verbose, bool) or is_whole(verbose)
    require(whole and verbose >= 0, "verbose", "True, False or a whole number from 0", verbose)
    limit = checked_time_limit(estimator.time_limit)
    return None if limit is None else Progress(limit, _told(estimator))


def _told(estimator: Any) -> Listener | None:
    """Print a line about the fit now and then, where that is asked for."""
    if not getattr(estimator, "verbose", 0):
        return None
    name, next_line = type(estimator).__name__, 0.0

    def tell(step: Step) -> None:
        nonlocal next_line
        if step.seconds >= next_line:
            next_line = step.seconds + EVERY
            print(f"[{name}] {progress_line(step).strip()}", flush=True)

    return tell


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
        listener=_told(estimator) if progress is None else None,
        **more,
    )
    if getattr(estimator, "verbose", 0):
        count, took = len(components.components), components.seconds
        print(f"[{type(estimator).__name__}] {count} of {estimator.n_components} components, {took:.1f} s", flush=True)
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
