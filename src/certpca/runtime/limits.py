"""Sizes and times at which algorithms change their ways, in one place.

They were measured on machines of two to sixteen cores. Whoever knows better, or wants a small problem to be treated as
a large one, changes some of them for a block of code.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """Where one way of working gives way to another."""

    largest_factored: int = 8192  # order of matrices that searches factor: that takes minutes on two cores
    always_optimal: int = 200  # features up to which the optimum is proved, whatever gap was asked for
    searched_supports: int = 512  # features left over by screening up to which supports are searched
    constrained_supports: int = 4096  # features up to which they are searched under constraints, known to few bounds
    few_features: int = 512  # that trees alone do for: no levels that are matrices, no rows of pairs
    small_supports: int = 50  # loadings up to which one level and prices do better for disjoint supports than regions
    patience: float = 30.0  # seconds before anybody gives up on a bound
    least_progress: float = 0.02  # share of the gap that must have been closed in the last half of the time to go on
    dear_walk: int = 500_000_000  # numbers, from which a walk over them takes a while
    block_bytes: int = 96 << 20  # of a block of F in float64: smaller ones keep many cores from working together


_now: ContextVar[Limits] = ContextVar("certpca_limits", default=Limits())  # noqa: B039, it is frozen


def limits() -> Limits:
    """Return those that hold here."""
    return _now.get()


@contextmanager
def with_limits(**changes: Any) -> Iterator[None]:
    """Change some for what the caller does meanwhile.

    Examples
    --------
    >>> with with_limits(always_optimal=0):
    ...     limits().always_optimal
    0
    """
    token = _now.set(replace(_now.get(), **changes))
    try:
        yield
    finally:
        _now.reset(token)
