"""Constraints as users give them, checked in one place: features by name or index, groups, signs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from certpca.intake.inputs import label_of
from certpca.operators import Operator
from certpca.results.constraints import Constraints
from certpca.results.solution import Solution
from certpca.runtime.did_you_mean import did_you_mean
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import Solver
from certpca.solvers.base import available_solvers, honoured_by
from certpca.verbs.validation import checked_flag, is_whole

Features = str | int | Sequence[str | int]
Groups = Sequence[Features] | Mapping[str, Features]


def checked_constraints(
    operator: Operator,
    sparsity: int,
    method: Solver,
    *,
    include: Any = None,
    exclude: Any = None,
    groups: Any = None,
    nonnegative: Any = False,
) -> Constraints:
    """Return what is asked of a component, or say what is wrong about it and what to do."""
    size, names = operator.size, operator.names
    found = stated(size, names, include=include, exclude=exclude, groups=groups, nonnegative=nonnegative)
    if found:
        _refuse_contradictions(found, operator, sparsity)
        _require_honoured(found, method)
    return found


def stated(
    size: int,
    names: tuple[str, ...] | None,
    *,
    include: Any = None,
    exclude: Any = None,
    groups: Any = None,
    nonnegative: Any = False,
) -> Constraints:
    """Return constraints on so many features, of which some are named, as a value."""
    features = Known(size, names)
    return Constraints(
        _features(include, "include", features),
        _features(exclude, "exclude", features),
        _groups(groups, features),
        checked_flag(nonnegative, "nonnegative"),
    )


class Known(NamedTuple):
    """The features that there are."""

    size: int
    names: tuple[str, ...] | None


def _features(given: Any, name: str, known: Known) -> tuple[int, ...]:
    """Return sorted indices of features that are named, or given by index."""
    if given is None:
        return ()
    if isinstance(given, (str, int, np.integer)):
        given = [given]
    if not isinstance(given, Iterable):
        msg = f"{name} must list features by name or index, got {given!r}"
        raise InvalidProblemError(msg)
    return tuple(sorted({_index(feature, name, known) for feature in given}))


def _index(feature: Any, name: str, known: Known) -> int:
    if isinstance(feature, str):
        return _named(str(feature), name, known.names)
    if not is_whole(feature) or not 0 <= feature < known.size:
        msg = f"{name} must list features by name, or by index in 0..{known.size - 1}, got {feature!r}"
        raise InvalidProblemError(msg)
    return int(feature)


def _named(feature: str, name: str, names: tuple[str, ...] | None) -> int:
    if names is None:
        msg = f"{name} names {feature!r}, but the features have no names; give indices, or names= with the data"
        raise InvalidProblemError(msg)
    count = names.count(feature)
    if count == 1:
        return names.index(feature)
    if count > 1:
        msg = f"{name} names {feature!r}, which {count} features are called; give indices"
        raise InvalidProblemError(msg)
    msg = f"{name} names {feature!r}, and no feature is called that{did_you_mean(feature, names)}"
    raise InvalidProblemError(msg)


def _groups(given: Any, known: Known) -> tuple[tuple[int, ...], ...]:
    if given is None:
        return ()
    listed = list(given.values()) if isinstance(given, Mapping) else given
    if isinstance(listed, (str, int, np.integer)) or not isinstance(listed, Iterable):
        msg = f"groups must be lists of features, as in groups=[[0, 1], [4, 7, 9]], got {given!r}"
        raise InvalidProblemError(msg)
    labels = list(given) if isinstance(given, Mapping) else None
    owner: dict[int, int] = {}
    found = []
    for number, group in enumerate(listed):
        label = f"group {number if labels is None else repr(labels[number])}"
        if isinstance(group, (int, np.integer)) and not isinstance(group, bool):
            msg = f"groups must be lists of features, as in groups=[[0, 1], [4, 7, 9]], got {group!r} for one"
            raise InvalidProblemError(msg)
        members = _features(group, label, known)
        if not members:
            msg = f"{label} has no features; leave it out"
            raise InvalidProblemError(msg)
        for feature in members:
            if feature in owner:
                msg = (
                    f"{label_of(feature, known.names)} is in two groups, {owner[feature]} and {number}; groups must "
                    "not overlap: join the two, or take the feature out of one"
                )
                raise InvalidProblemError(msg)
            owner[feature] = number
        if len(members) > 1:  # one feature alone is in or out anyway
            found.append(members)
    return tuple(sorted(found))


def _refuse_contradictions(found: Constraints, operator: Operator, sparsity: int) -> None:
    meant = found.completed
    both = sorted(set(meant.include) & set(meant.exclude))
    if both:
        by_group = "" if set(found.include) & set(found.exclude) else " (as its group is)"
        msg = f"{label_of(both[0], operator.names)} is both included and excluded{by_group}; take it out of one"
        raise InvalidProblemError(msg)
    if len(meant.include) > sparsity:
        more = "" if len(meant.include) == len(found.include) else ", with the groups they belong to,"
        msg = (
            f"{len(meant.include)} features are included{more} but sparsity={sparsity} allows fewer; raise the "
            f"sparsity to at least {len(meant.include)}, or include fewer"
        )
        raise InvalidProblemError(msg)
    for group in found.groups:
        if len(group) > sparsity:
            msg = (
                f"the group of {label_of(group[0], operator.names)} has {len(group)} features, more than "
                f"sparsity={sparsity} allows, so it could never be chosen; raise the sparsity, or exclude its features"
            )
            raise InvalidProblemError(msg)
    left = operator.size - len(meant.exclude)
    if left < sparsity:
        msg = (
            f"sparsity={sparsity} is more than the {left} of {operator.size} features that exclude leaves; lower it, "
            "or exclude fewer"
        )
        raise InvalidProblemError(msg)


def _require_honoured(found: Constraints, method: Solver) -> None:
    """Refuse a solver that would not follow what is asked."""
    asked = [name for name in ("include", "groups", "nonnegative") if getattr(found, name)]
    lacking = [name for name in asked if name not in honoured_by(method)]
    if lacking:
        others = [name for name, solver in available_solvers().items() if set(asked) <= set(honoured_by(solver))]
        msg = f"solver {method.name!r} does not follow {' and '.join(lacking)}; use {' or '.join(map(repr, others))}"
        raise InvalidProblemError(msg)


def require_allowed(solution: Solution | None, asked: Constraints, sparsity: int) -> None:
    """Refuse a component that constraints do not allow."""
    if solution is None or not asked:
        return
    meant = asked.completed
    wrong = (
        not set(meant.exclude).isdisjoint(solution.support.tolist())
        or meant.places_taken(solution.support) > sparsity
        or (asked.nonnegative and bool((solution.loadings < 0).any()))
    )
    if wrong:
        msg = (
            f"the solution given is not allowed: {asked.in_words()}; leave it out, or solve under the same constraints"
        )
        raise InvalidProblemError(msg)
