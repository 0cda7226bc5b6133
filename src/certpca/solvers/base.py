"""What a solver is, and the registry that finds all of them."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from certpca.operators.base import Operator
from certpca.results.solution import Candidate
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError


@runtime_checkable
class Solver(Protocol):
    """Proposes a support. Fields are settings; `propose` keeps no state between calls."""

    name: ClassVar[str]
    paper_name: ClassVar[str]
    runs_on_device: ClassVar[bool]

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Return the best support found within the budget."""
        ...


SolverType = TypeVar("SolverType", bound=type)
_registry: dict[str, Callable[..., Solver]] = {}


def register(solver: SolverType) -> SolverType:
    """Make a solver available under its name."""
    _registry[solver.name] = solver  # type: ignore[attr-defined]
    return solver


@cache
def available_solvers() -> dict[str, Callable[..., Solver]]:
    """Return every solver in this package by name, importing each module once."""
    package = import_module("certpca.solvers")
    for module in iter_modules(package.__path__):
        import_module(f"certpca.solvers.{module.name}")
    return dict(sorted(_registry.items()))


def solver_named(name: str, **settings: Any) -> Solver:
    """Make a solver from its name and settings."""
    solvers = available_solvers()
    if name not in solvers:
        msg = f"solver must be one of {', '.join(solvers)}, got {name!r}"
        raise InvalidProblemError(msg)
    made: Any = solvers[name]
    for field in fields(made) if is_dataclass(made) else ():
        value = settings.get(field.name, 0)
        if field.type is int and (not isinstance(value, (int, np.integer)) or isinstance(value, bool)):
            msg = f"solver {name!r}: {field.name} must be a whole number, got {value!r}"
            raise InvalidProblemError(msg)
    try:
        return solvers[name](**settings)
    except TypeError as error:
        msg = f"solver {name!r} does not take these settings: {error}"
        raise InvalidProblemError(msg) from error
