"""Where blocks of data are worked on: here, or (`dask_cluster`) by the workers of a cluster.

An algorithm that is a map over blocks and a sum is written once, against a place: what a block gives is a handle, which
is the result itself here and a future on a cluster. Blocks have the same bounds everywhere and are added up in the
same order, so the numbers do not depend on where, or how fast, they were made.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from certpca.operators.factor import Factor

FAN = 4  # results added up at a time, those of neighbours first


class Place(ABC):
    """Somewhere that functions of blocks can be computed.

    `keeps` says whether results may be asked for again, as when a worker is lost: then no function may change what it
    is given.
    """

    keeps: bool

    @abstractmethod
    def share(self, value: Any) -> Any:
        """Make a value known to every block's function."""

    @abstractmethod
    def map(
        self, name: str, function: Callable[..., Any], *columns: Sequence[Any], alone: bool = False, **shared: Any
    ) -> list[Any]:
        """Call a function once for each block and return handles.

        Parameters
        ----------
        name
            What people see while it runs.
        columns
            Sequences with one entry, value or handle, for each block.
        alone
            The function has threads of its own: no two at a time in one process.
        shared
            Arguments that are the same for every block.
        """

    @abstractmethod
    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return what handles stand for."""

    @abstractmethod
    def sum(
        self, name: str, function: Callable[..., Any], *columns: Sequence[Any], alone: bool = False, **shared: Any
    ) -> Any:
        """Add up what a function gives for each block, arrays or tuples of them, as a tree of `FAN`; see `tree_sum`."""


class Here(Place):
    """The process at hand; handles are the results themselves."""

    keeps = False

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def map(
        self,
        name: str,  # noqa: ARG002
        function: Callable[..., Any],
        *columns: Sequence[Any],
        alone: bool = False,  # noqa: ARG002
        **shared: Any,
    ) -> list[Any]:
        """Call the function for one block after another."""
        return [function(*entries, **shared) for entries in zip(*columns, strict=True)]

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results."""
        return list(handles)

    def sum(
        self,
        name: str,  # noqa: ARG002
        function: Callable[..., Any],
        *columns: Sequence[Any],
        alone: bool = False,  # noqa: ARG002
        **shared: Any,
    ) -> Any:
        """Add up results as they are made, so that few are in memory at a time."""
        return tree_sum(function(*entries, **shared) for entries in zip(*columns, strict=True))


def added(parts: Iterable[Any], *, owned: bool = False) -> Any:
    """Add arrays, or tuples of them, from left to right; the sum is float64, and one alone is returned as it is.

    Parts are added in their own type, since so few of them lose nothing. `owned` ones may be written over.
    """
    found = list(parts)
    if len(found) == 1:
        return found[0]
    if isinstance(found[0], tuple):
        return tuple(added(entries, owned=owned) for entries in zip(*found, strict=True))
    total = found[0]
    if not isinstance(total, np.ndarray):
        return reduce(add, found)
    if not owned or not total.flags.writeable:
        total = total.copy(order="K")
    for part in found[1:]:
        total += part
    return total.astype(np.float64, copy=False)


def tree_sum(parts: Iterable[Any]) -> Any:
    """Add up runs of `FAN` parts, then runs of `FAN` of those sums, and so on, keeping few at a time."""
    waiting: list[list[Any]] = []
    for part in parts:
        carried: Any = part
        for level in range(len(waiting) + 1):
            if level == len(waiting):
                waiting.append([])
            waiting[level].append(carried)
            if len(waiting[level]) < FAN:
                break
            carried, waiting[level] = added(waiting[level], owned=True), []
    carried = None
    for held in waiting:
        if carried is not None:
            held.append(carried)
        carried = added(held, owned=True) if held else None
    return carried


def runs_of(items: Sequence[Any], length: int) -> Iterator[Sequence[Any]]:
    """Cut a sequence into runs."""
    for start in range(0, len(items), length):
        yield items[start : start + length]


@dataclass(frozen=True, slots=True)
class PlacedFactor(Factor):
    """A factor whose blocks lie where a place keeps them.

    `pieces` are handles of what is there of the data, from left to right; each of `makers` turns one into a factor.
    """

    place: Place = field(default_factory=Here)
    pieces: tuple[Any, ...] = ()
    makers: tuple[Callable[[Any], Factor], ...] = ()
    bounds: tuple[slice, ...] = ()
