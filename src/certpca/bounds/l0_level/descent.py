"""A descent on a smoothed bound that survives levels for which there is no bound."""

import math
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from certpca.bounds.pair_bound.quasi_newton import descend
from certpca.runtime.arrays import Vector


class Evaluated(Protocol):
    """A smoothed bound and its gradient."""

    @property
    def value(self) -> float:
        """The smoothed bound."""

    @property
    def gradient(self) -> Vector:
        """Its derivatives by a step."""


Found = TypeVar("Found", bound=Evaluated)


class Descended(NamedTuple, Generic[Found]):
    """The best step, and what was found there: None where nothing was."""

    step: Vector
    best: Found | None


def descended(
    evaluate: Callable[[Vector], Found],
    coordinates: int,
    *,
    steps: int,
    tolerance: float,
    late: Callable[[], bool],
    memory: int,
) -> Descended[Found]:
    """Minimise from no step at all until decreases are within the tolerance, the steps are used up, or it is late."""
    still = np.zeros(coordinates)
    at, best = still, None

    def function(step: Vector) -> tuple[float, Vector]:
        nonlocal at, best
        try:
            found = evaluate(step)
        except np.linalg.LinAlgError:  # a frame that is singular, or not a number
            return math.inf, still
        if not math.isfinite(found.value) or not np.isfinite(found.gradient).all():
            return math.inf, still
        if best is None or found.value < best.value:
            at, best = step.copy(), found
        return found.value, found.gradient

    descend(function, still, steps=steps, tolerance=tolerance, stop=lambda _: late(), memory=memory)
    return Descended(at, best)
