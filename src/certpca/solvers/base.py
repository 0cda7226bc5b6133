"""What a solver is, and the registry that finds all of them."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from certpca.operators.base import Operator
from certpca.results.solution import Candidate
from certpca.runtime.budget import Progress
from certpca.runtime.did_you_mean import did_you_mean
from certpca.runtime.errors import InvalidProblemError


@runtime_checkable
class Solver(Protocol):
    """Proposes a support. Fields are settings; `propose` keeps no state between calls.

    Attributes
    ----------
    name : str
        What users call it.
    paper_name : str
        What its publication calls it, or nothing.
    runs_on_device : bool
        Whether it computes where the operator lives; else it is given the operator on the host.
    honours : tuple of str, optional
        The constraints that it follows (``"include"``, ``"groups"``, ``"nonnegative"``), as `operator.within` tells
        them; without it none. Features that are left out are not in the operator at all.

    See Also
    --------
    register : Make a solver available under its name.
    Candidate : What a solver proposes.

    Examples
    --------
    >>> import certpca
    >>> isinstance(certpca.solver_named("auto"), certpca.Solver)
    True
    """

    name: ClassVar[str]
    paper_name: ClassVar[str]
    runs_on_device: ClassVar[bool]

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Return the best support found within the budget.

        Parameters
        ----------
        operator : Operator
            The matrix, near one.
        sparsity : int
            Largest allowed number of nonzero loadings.
        progress : Progress
            Counts steps (`tick`) and says when it is late.
        rng : numpy.random.Generator
            The only source of random numbers.

        Returns
        -------
        Candidate
            The proposal, which the caller judges.
        """
        ...


ALL_CONSTRAINTS = ("include", "groups", "nonnegative")


def honoured_by(solver: Any) -> tuple[str, ...]:
    """Return the constraints that a solver follows, besides features that are left out."""
    return tuple(getattr(solver, "honours", ()))


SolverType = TypeVar("SolverType", bound=type)
_registry: dict[str, Callable[..., Solver]] = {}


def register(solver: SolverType) -> SolverType:
    """Make a solver available under its name, at any time.

    Parameters
    ----------
    solver : type
        A class with what `Solver` asks for. Its fields are settings with defaults that work.

    Returns
    -------
    type
        The class itself: `register` is a decorator.

    Raises
    ------
    InvalidProblemError
        Where the class lacks what a solver needs.

    See Also
    --------
    Solver : What a solver is.
    available_solvers : All that are registered.

    Examples
    --------
    >>> import certpca, numpy as np
    >>> @certpca.register
    ... class First:
    ...     name, paper_name, runs_on_device = "first", "", False
    ...
    ...     def propose(self, operator, sparsity, progress, rng):
    ...         return certpca.Candidate(np.arange(sparsity), certpca.Status.CONVERGED)
    >>> certpca.solve(certpca.pitprops(), 2, "first").names
    ('topdiam', 'length')
    >>> _ = _registry.pop("first")  # so that this example leaves nothing behind
    """
    lacking = [part for part in ("name", "paper_name", "runs_on_device", "propose") if not hasattr(solver, part)]
    if lacking:
        msg = f"a solver needs {', '.join(lacking)}, which {solver.__name__} has not"
        raise InvalidProblemError(msg)
    _registry[solver.name] = solver  # type: ignore[attr-defined]
    return solver


@cache
def _import_all() -> None:
    package = import_module("certpca.solvers")
    for module in iter_modules(package.__path__):
        import_module(f"certpca.solvers.{module.name}")


def available_solvers() -> dict[str, Callable[..., Solver]]:
    """Return every solver by name, those of this package and those that were registered.

    Returns
    -------
    dict
        What makes each solver, by its name.

    See Also
    --------
    solver_named : Make one of them.
    register : Add one.

    Examples
    --------
    >>> import certpca
    >>> "truncated-power" in certpca.available_solvers()
    True
    """
    _import_all()
    return dict(sorted(_registry.items()))


def solver_named(name: str, **settings: Any) -> Solver:
    """Make a solver from its name and settings.

    Parameters
    ----------
    name : str
        One of `available_solvers`.
    **settings : Any
        Of that solver; what is left out has a default that works.

    Returns
    -------
    Solver
        What `solve` and the other verbs take as `solver`.

    Raises
    ------
    InvalidProblemError
        Where there is no such solver, or it has no such setting, or not with that value.

    See Also
    --------
    available_solvers : The names.

    Examples
    --------
    >>> import certpca
    >>> certpca.solver_named("truncated-power", nonnegative=True).nonnegative
    True
    >>> certpca.solver_named("truncted-power")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    certpca.runtime.errors.InvalidProblemError: solver must be one of ...; did you mean 'truncated-power'?
    """
    _import_all()
    if name not in _registry:
        solvers = available_solvers()
        msg = f"solver must be one of {', '.join(solvers)}, got {name!r}{did_you_mean(name, solvers)}"
        raise InvalidProblemError(msg)
    made: Any = _registry[name]
    for field in fields(made) if is_dataclass(made) else ():
        value = settings.get(field.name, 0)
        if field.type is int and (not isinstance(value, (int, np.integer)) or isinstance(value, bool)):
            msg = f"solver {name!r}: {field.name} must be a whole number, got {value!r}"
            raise InvalidProblemError(msg)
    try:
        return made(**settings)  # type: ignore[no-any-return]
    except TypeError as error:
        known = list(signature(made).parameters)
        wrong = next((setting for setting in settings if setting not in known), "")
        msg = f"solver {name!r} does not take these settings: {error}{did_you_mean(wrong, known)}"
        raise InvalidProblemError(msg) from error
