"""What evidence may hold: arrays by name, each of a type and of a size that the number of features allows.

The rule of a kind declares these forms, so that a file is held against them before anything in it is unpacked. An array
that belongs to a part, such as one leaf of a tree, is named after both: ``leaf3_level``.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

MOST_ARRAYS = 5_000_000

Axis = Callable[[int], int]  # from the number of features to the most that an axis may have
Value = TypeVar("Value")


def features(size: int) -> int:
    """Allow one entry for each feature."""
    return size


def listed(size: int) -> int:
    """Allow a list whose length has nothing to do with the number of features."""
    del size
    return MOST_ARRAYS


def up_to(most: int) -> Axis:
    """Allow one entry for each feature, but no more than that."""
    return lambda size: min(size, most)


def triangle(most: int) -> Axis:
    """Allow the lower triangle of a matrix of that order, packed."""
    return lambda size: min(size, most) * (min(size, most) + 1) // 2


class Form(NamedTuple):
    """What one array may be.

    `type` is "f" for floating point or "i" for whole numbers, `axes` are the most that each may have. Where the matrix
    is multiplied by c, the array is multiplied by c to the power `degree`.
    """

    type: str
    axes: tuple[Axis, ...] = ()
    degree: float = 0.0


Forms = Mapping[str, Form]  # by name, which is a pattern where there are many


def form_of(forms: Forms, name: str) -> Form | None:
    """Return the form of an array, or None where no such array belongs there."""
    return next((form for pattern, form in forms.items() if re.fullmatch(pattern, name, re.ASCII)), None)


def numbered(part: str) -> str:
    """Return the pattern of parts that are told apart by a number."""
    return rf"{part}\d{{1,9}}"


def within(part: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Name what belongs to a part: its arrays, or their forms."""
    return {f"{part}_{name}": value for name, value in values.items()}


def parts_of(evidence: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arrays of each part by their own names.

    Examples
    --------
    >>> parts_of({"rays": 1, "leaf0_level": 2, "leaf0_theta": 3})
    {'leaf0': {'level': 2, 'theta': 3}}
    """
    parts: dict[str, dict[str, Any]] = {}
    for name, value in evidence.items():
        part, _, own = name.partition("_")
        if own:
            parts.setdefault(part, {})[own] = value
    return parts
