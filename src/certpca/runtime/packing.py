"""States as JSON and arrays, and back: the one code that packs what a checkpoint holds.

A state is a dataclass, or any nesting of dataclasses, lists, tuples, sets, dictionaries, enumerations, numbers, text
and arrays. It comes back as what the annotations of its fields say. Fields with ``metadata=MADE_AGAIN`` are left out;
arrays of fields annotated as `Array` are placed where the data are.
"""

import json
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.arrays import ANYWHERE, Array, to_numpy

ARRAY, SHORT, KEPT = "@array", "@short", "@kept"  # keys under which JSON names what it cannot hold itself
MADE_AGAIN: Mapping[str, Any] = {"stored": False}  # of fields that whoever needs them computes once more
SHORT_UP_TO = 1024  # numbers that are written into the JSON: a file of many short arrays is slow to read

PLAIN: dict[type, Callable[[Any], Any]] = {
    Enum: lambda value: value.name,
    Mapping: dict,
    AbstractSet: sorted,
    np.generic: lambda value: value.item(),
}

Adopt = Callable[[NDArray[Any]], Array]


class Kept:
    """Objects of one class, which never change, that are stored once however many states refer to them."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.batches = 0  # that are stored
        self._objects: list[Any] = []
        self._places: dict[int, int] = {}
        self._stored = 0

    def place(self, item: Any) -> int:
        """Return the number of an object."""
        if id(item) not in self._places:
            self._places[id(item)] = len(self._objects)
            self._objects.append(item)
        return self._places[id(item)]

    def fresh(self) -> list[Any]:
        """Return the objects that are not stored, to be stored as the next batch."""
        new = self._objects[self._stored :]
        self._stored = len(self._objects)
        self.batches += bool(new)
        return new

    def restore(self, items: list[Any]) -> None:
        """Take objects of the next batch as stored."""
        for item in items:
            self.place(item)
        self.fresh()

    def __getitem__(self, place: int) -> Any:
        if place >= len(self._objects):
            msg = "what it refers to is missing"
            raise LookupError(msg)
        return self._objects[place]


def packed(state: Any, kept: Kept | None = None) -> tuple[bytes, list[NDArray[Any]]]:
    """Return a state as JSON, with places in a list of arrays; an array that occurs several times is listed once."""
    places: dict[int, int] = {}
    arrays: list[NDArray[Any]] = []

    def plain(value: Any) -> Any:
        if kept is not None and isinstance(value, kept.kind):
            return {KEPT: kept.place(value)}
        if is_dataclass(value):
            return {field.name: getattr(value, field.name) for field in fields(value) if _is_stored(field)}
        for kind, plainly in PLAIN.items():
            if isinstance(value, kind):
                return plainly(value)
        if id(value) not in places:
            host = to_numpy(value)
            if host.ndim == 1 and host.size <= SHORT_UP_TO and host.dtype in (np.float64, np.int64):
                return {SHORT: host.tolist(), "of": host.dtype.str}
            places[id(value)] = len(arrays)
            arrays.append(host)
        return {ARRAY: places[id(value)]}

    return json.dumps(state, default=plain).encode(), arrays


def _is_stored(field: Any) -> bool:
    return bool(field.metadata.get("stored", True))


def unpacked(text: bytes, arrays: list[NDArray[Any]], kept: Kept | None = None) -> Any:
    """Return plain values and arrays of what `packed` gave; `rebuilt` makes a state of them."""

    def hook(held: dict[str, Any]) -> Any:
        if ARRAY in held:
            return arrays[held[ARRAY]]
        if SHORT in held:
            return np.array(held[SHORT], dtype=held["of"])
        return kept[held[KEPT]] if KEPT in held and kept is not None else held

    return json.loads(text, object_hook=hook)


def rebuilt(hint: Any, value: Any, adopt: Adopt | None = None) -> Any:
    """Return what the type hint says, of the plain values that were made of it.

    Raises
    ------
    ValueError
        Where the values are those of something else.
    """
    if hint is Any or value is None:
        return value
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return adopt(value) if adopt is not None and ANYWHERE in inner else value
    if origin in (Union, UnionType):
        (hint,) = (arm for arm in inner if arm is not NoneType)
        return rebuilt(hint, value, adopt)
    if origin in (list, set, tuple, dict, Mapping):
        return _collection(origin, inner, value, adopt)
    if isinstance(hint, type) and not isinstance(value, hint):
        return _instance(hint, value, adopt)
    return value


def _collection(origin: Any, inner: tuple[Any, ...], value: Any, adopt: Adopt | None) -> Any:
    if origin in (dict, Mapping):
        key_of = int if inner[0] is int else str
        return {key_of(key): rebuilt(inner[1], item, adopt) for key, item in value.items()}
    hints = inner if origin is tuple and inner[-1] is not Ellipsis else [inner[0]] * len(value)
    return origin(rebuilt(each, item, adopt) for each, item in zip(hints, value, strict=True))


def _instance(kind: Any, value: Any, adopt: Adopt | None) -> Any:
    if issubclass(kind, Enum):
        return kind[value]
    hints = _stored_hints(kind)
    if hints is None:
        return kind(value)
    if not isinstance(value, dict) or value.keys() != hints.keys():
        msg = f"it holds something other than {kind.__name__}"
        raise ValueError(msg)
    return kind(**{name: rebuilt(hints[name], item, adopt) for name, item in value.items()})


@cache
def _stored_hints(kind: Any) -> dict[str, Any] | None:
    if not is_dataclass(kind):
        return None
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind) if _is_stored(field)}
