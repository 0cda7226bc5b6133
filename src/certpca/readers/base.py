"""Samples x features that stay in a file: columns on demand, and products by blocks that fit a memory budget.

A reader is data: `from_data`, `solve`, `certify` and `verify` take it wherever they take an array. What a file format
must say is how columns are read. Moments and products follow from the walk it has; a format that can do better says so.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.readers.blocks import bytes_in_use, runs
from certpca.readers.moments import Moments
from certpca.readers.walks import ColumnWalk, Walk
from certpca.runtime.arrays import Array, Indices, Vector
from certpca.runtime.errors import InvalidProblemError

DEFAULT_MEMORY = 0.25  # GiB for blocks on their way from the file


class Reader(ABC):
    """Samples x features in a file, read by blocks of columns.

    Parameters
    ----------
    memory
        GiB that blocks may take at any time; what products return comes on top.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: tuple[str, ...] | None = None
    sample_names: tuple[str, ...] | None = None
    obs: Mapping[str, NDArray[Any]] = MappingProxyType({})  # what the file says about samples, by columns
    reading: Mapping[str, Any] | None = None  # keyword arguments of `load_table` that give these numbers again
    ndim = 2
    columns_apart = False  # reading a few columns at a time takes no longer than reading them together

    def __init__(self, memory: float = DEFAULT_MEMORY) -> None:
        if not memory > 0:
            msg = f"memory must be a positive number of GiB, got {memory}"
            raise InvalidProblemError(msg)
        self.memory = float(memory)
        self._walked = 0.0

    @property
    def passes(self) -> float:
        """How often the file has been read so far; reading a tenth of the columns counts a tenth."""
        return self._walked

    @property
    def bytes_allowed(self) -> int:
        """The memory budget in bytes."""
        return int(self.memory * 2**30)

    @abstractmethod
    def read(self, columns: slice | Indices) -> Any:
        """Return columns as they are stored, shape (samples, width): an array, or scipy.sparse from sparse files."""

    def missing_code(self) -> int | None:
        """Return the integer that marks missing values, or None where NaN does or none can be missing."""
        return self._found_code

    @cached_property
    def _found_code(self) -> int | None:
        """Look for a code among whole numbers; the walk this takes is made once."""
        return self.walk.found_code() if self.dtype.kind == "i" else None

    def resident(self) -> Any:
        """Return all numbers in memory where the format allows and the budget has room for them; else the reader."""
        return self

    def block_bytes(self, columns: Indices) -> int:
        """Return how much memory columns take as they are stored."""
        return self.shape[0] * columns.size * self.dtype.itemsize

    @property
    def walk(self) -> Walk:
        """How moments and products come about: in the order that the file is best read in."""
        return ColumnWalk(self)

    @property
    def by_columns(self) -> bool:
        """Whether columns lie together, so that several can be worked on while they are in memory."""
        return self.walk.by_columns

    def moments(self, *, center: bool) -> Moments:
        """Return what one walk tells about each column."""
        return self.walk.moments(center=center)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Return X·panel in the panel's type, with `fill` (one number for each column) where a value is missing."""
        return self.walk.times(panel, fill)

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Return Xᵀ·scores likewise."""
        return self.walk.transposed_times(scores, fill)

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Return Xᵀ(X·panel − 1·shift) and 1ᵀ(X·panel − 1·shift); by columns this takes two walks over the file."""
        return self.walk.normal_product(panel, shift, fill)

    def sample_product(self, scores: Array, mean: Vector, weight: Vector, fill: Vector | None) -> Array:
        """Return (X − 1·meanᵀ)·diag(weight)²·(X − 1·meanᵀ)ᵀ·scores; by columns this takes one walk over the file."""
        return self.walk.sample_product(scores, mean, weight, fill)

    def parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the columns into runs that fit the budget when converted."""
        rows, size = self.shape
        yield from runs(size, max(1, self.bytes_allowed // (rows * bytes_in_use(self.dtype, dtype))))

    def __getitem__(self, key: Any) -> Any:
        """Read columns: `data[:, 10:20]` or `data[:, indices]`."""
        if not (isinstance(key, tuple) and len(key) == 2 and key[0] == slice(None)):
            msg = "data in a file are read by columns, as in data[:, 10:20]"
            raise IndexError(msg)
        columns = key[1]
        if isinstance(columns, slice):
            return self.read(columns)
        return self.read(np.asarray(columns, dtype=np.intp))
