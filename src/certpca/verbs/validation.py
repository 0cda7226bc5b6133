"""Arguments that several verbs share, checked in one place: what is wrong is said in the same words everywhere."""

import math
import os
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from numbers import Real
from typing import Any, ParamSpec, TypeVar, get_args

import numpy as np

from certpca.results.solution import Solution
from certpca.runtime.budget import Budget, Listener, Progress, begun
from certpca.runtime.did_you_mean import did_you_mean
from certpca.runtime.errors import InvalidProblemError, UnknownArgumentError
from certpca.solvers import Solver, solver_named

TARGET_GAP = 0.01  # where a proof ends unless it is told

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def named_arguments(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Ask what a wrong name was meant to be, before the function is called; it has to accept no more than it knows."""
    known, by_position, owner = [], [], function.__qualname__.removesuffix(".__init__")
    for name, parameter in signature(function).parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:  # a TypedDict says which
            known += [key for part in get_args(parameter.annotation) for key in part.__annotations__]
        else:
            known.append(name)
            by_position += [name] if parameter.kind is not Parameter.KEYWORD_ONLY else []

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        for name in kwargs:
            if name not in known:
                msg = f"{owner} has no argument {name!r}{did_you_mean(name, known)}"
                raise UnknownArgumentError(msg)
        if len(args) > len(by_position) and by_position in ([], ["self"]):  # of others Python says how many they take
            first, *others = known[len(by_position) :]
            given = args[len(by_position)]
            msg = f"{owner} takes its arguments by name, got {given!r}; write {owner}({first}={given!r}, {others[0]}=…)"
            raise UnknownArgumentError(msg)
        return function(*args, **kwargs)

    return called


def refuse_without_effect(reason: str, **given: Any) -> None:
    """Refuse what was given although it would change nothing in this call."""
    for name, value in given.items():
        if value is not None:
            msg = f"{name}={value!r} would have no effect: {reason}"
            raise InvalidProblemError(msg)


def checked_solver(solver: Any) -> Solver:
    """Return the solver that a name stands for, or that is given."""
    if isinstance(solver, str):
        return solver_named(solver)
    require(hasattr(solver, "propose"), "solver", "a name (see available_solvers) or a solver object", solver)
    method: Solver = solver
    return method


def checked_proof(certify: Any, target_gap: Any) -> float | None:
    """Return the gap at which a proof ends, or None where none is asked for."""
    if not checked_flag(certify, "certify"):
        refuse_without_effect(
            "it is where a proof ends, and none is asked for; add certify=True", target_gap=target_gap
        )
        return None
    return TARGET_GAP if target_gap is None else checked_gap(target_gap)


def checked_limits(
    time_limit: Any, budget: Any, listener: Listener | None = None, *, proving: bool = False
) -> Progress:
    """Start the clock of a call with its limits; a call that is part of another is given that one's progress."""
    if time_limit is not None and budget is not None:
        msg = "give time_limit, or a budget, which can limit steps too, but not both"
        raise InvalidProblemError(msg)
    limits = checked_budget(budget) if time_limit is None else checked_time_limit(time_limit)
    return begun(limits, checked_listener(listener), proving=proving)


def checked_sparsity(sparsity: Any, size: int) -> int:
    """Return the sparsity as an integer in range, or say what the range is."""
    require(
        is_whole(sparsity) and 1 <= sparsity <= size,
        "sparsity",
        f"a whole number in 1..{size} (the number of features)",
        sparsity,
    )
    return int(sparsity)


def checked_sparsities(sparsities: Any, size: int) -> list[int]:
    """Return different sparsities in increasing order."""
    require(
        isinstance(sparsities, Iterable) and not isinstance(sparsities, (str, bytes)),
        "sparsities",
        "a list of whole numbers",
        sparsities,
    )
    wanted = sorted({checked_sparsity(sparsity, size) for sparsity in sparsities})
    if not wanted:
        msg = "sparsities must name at least one sparsity, got none"
        raise InvalidProblemError(msg)
    return wanted


def checked_gap(target_gap: Any, name: str = "target_gap", *, positive: bool = False) -> float:
    """Return a relative gap."""
    if not _is_real(target_gap) or not 0 <= target_gap < 1 or (positive and target_gap == 0):
        bracket = "(" if positive else "["
        msg = f"{name} must lie in {bracket}0, 1), got {target_gap!r}"
        raise InvalidProblemError(msg)
    return float(target_gap)


def checked_depth(depth: Any) -> int | None:
    """Return the number of directions of sample space to work with, or None for all of them."""
    if depth is None:
        return None
    require(is_whole(depth) and depth >= 1, "depth", "a positive number of directions", depth)
    return int(depth)


def checked_memory(memory: Any) -> float:
    """Return an amount of memory in GiB."""
    require(_is_real(memory) and 0 < memory < math.inf, "memory", "a positive number of GiB", memory)
    return float(memory)


def checked_whole(value: Any, name: str, least: int) -> int:
    """Return a whole number that is not too small."""
    require(is_whole(value) and value >= least, name, f"a whole number of at least {least}", value)
    return int(value)


def checked_halves(subsamples: Any) -> int:
    """Return a number of half-samples, which come in pairs."""
    if checked_whole(subsamples, "subsamples", 2) % 2:
        msg = f"subsamples must be an even number, as halves come in pairs; got {subsamples}, {subsamples + 1} would do"
        raise InvalidProblemError(msg)
    return int(subsamples)


def checked_share(value: Any, name: str) -> float:
    """Return a share above zero."""
    if not _is_real(value) or not 0 < value <= 1:
        msg = f"{name} must lie in (0, 1], got {value!r}"
        raise InvalidProblemError(msg)
    return float(value)


def checked_positive(value: Any, name: str) -> float:
    """Return a number above zero."""
    require(_is_real(value) and 0 < value < math.inf, name, "a positive number", value)
    return float(value)


def checked_flag(value: Any, name: str) -> bool:
    """Return True or False, and nothing that only counts as one of them."""
    require(isinstance(value, (bool, np.bool_)), name, "True or False", value)
    return bool(value)


def checked_branching(value: Any) -> bool | str:
    """Return what to split where a bound is not enough."""
    allowed = isinstance(value, (bool, np.bool_)) or (isinstance(value, str) and value == "directions")
    require(allowed, "branching", 'True, False or "directions"', value)
    return value if isinstance(value, str) else bool(value)


def checked_budget(budget: Any) -> Budget | Progress | None:
    """Return limits on time and steps."""
    require(
        budget is None or isinstance(budget, (Budget, Progress)),
        "budget",
        "a Budget, such as Budget(seconds=60)",
        budget,
    )
    limits: Budget | Progress | None = budget
    return limits


def checked_time_limit(seconds: Any) -> Budget | None:
    """Return a budget of so many seconds, or None where there is no limit."""
    if seconds is None:
        return None
    require(_is_real(seconds) and seconds > 0, "time_limit", "a positive number of seconds", seconds)
    return Budget(seconds=float(seconds))


def checked_listener(listener: Any) -> Any:
    """Return what is called after each step."""
    require(listener is None or callable(listener), "listener", "a function of one Step", listener)
    return listener


def checked_folder(checkpoint: Any) -> Any:
    """Return the folder of a checkpoint."""
    require(
        checkpoint is None or isinstance(checkpoint, (str, os.PathLike)),
        "checkpoint",
        "the name of a folder",
        checkpoint,
    )
    return checkpoint


def checked_warm(warm: Any, kind: type[Answer], verb: str) -> Answer | None:
    """Return an earlier answer of a verb."""
    what = f"a {kind.__name__.lower()}, as {verb} returns it"
    require(warm is None or isinstance(warm, kind), "warm", what, warm)
    answer: Answer | None = warm
    return answer


def checked_position(component: Any, count: int) -> int:
    """Return the position of one of several components."""
    if not is_whole(component) or not 0 <= component < count:
        msg = f"component must lie in 0..{count - 1}, got {component!r}"
        raise InvalidProblemError(msg)
    return int(component)


def checked_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """Return one of several words."""
    known = list(choices)
    if value not in known:
        msg = f"{name} must be one of {', '.join(known)}, got {value!r}{did_you_mean(value, known)}"
        raise InvalidProblemError(msg)
    return str(value)


def checked_solution(solution: Any, size: int, sparsity: int) -> Solution | None:
    """Return a component that fits a problem."""
    if solution is None:
        return None
    require(isinstance(solution, Solution), "solution", "a solution, as solve returns it", solution)
    if solution.size != size or solution.support.size > sparsity:
        msg = "the solution given is for other data or for a larger sparsity"
        raise InvalidProblemError(msg)
    component: Solution = solution
    return component


def generator(rng: Any) -> np.random.Generator:
    """Return the source of random numbers that a seed or a generator stands for."""
    try:
        if isinstance(rng, (bool, float)):
            raise TypeError
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        msg = f"rng (random_state, --seed) must be a whole number from 0 or a NumPy Generator, got {rng!r}"
        raise InvalidProblemError(msg) from error


def seeds(rng: Any, count: int) -> list[Any]:
    """Return a seed or generator for each part of a run, whatever the other parts draw: a seed begins anew in each."""
    if isinstance(rng, np.random.Generator):
        return list(rng.spawn(count))
    generator(rng)
    return [rng] * count


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number; truth values are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, (Real, np.floating, np.integer)) and not isinstance(value, (bool, np.bool_))


def require(holds: bool, name: str, what: str, value: Any) -> None:
    """Say what an argument must be, and what it is, unless it is that."""
    if not holds:
        msg = f"{name} must be {what}, got {value!r}"
        raise InvalidProblemError(msg)
