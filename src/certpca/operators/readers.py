"""Samples x features that stay in a file: columns on demand, and products by blocks that fit a memory budget.

A reader is data: `from_data`, `solve`, `certify` and `verify` take it wherever they take an array. What a file format
must say is how columns are read; moments and products follow, and a format that can do better overrides them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from certpca.arrays import Array, Indices, Vector
from certpca.errors import InvalidDataError, InvalidProblemError
from certpca.operators.moments import Moments, dense_moments, genotype_code

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
    ndim = 2

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
    def read(self, columns: slice | Indices) -> NDArray[Any]:
        """Return columns as they are stored, shape (samples, width)."""

    @abstractmethod
    def missing_code(self) -> int | None:
        """Return the integer that marks missing values, or None where NaN does or none can be missing."""

    def moments(self, *, center: bool) -> Moments:
        """Walk over the columns once; every block is in memory while its moments are taken."""
        code = self.missing_code()
        parts = [dense_moments(self.read(part), code, center=center) for part in self.parts(np.float64)]
        return Moments(
            self.shape[0],
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.squares for part in parts]),
            np.concatenate([part.infinite for part in parts]),
        )

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Return X·panel in the panel's type, with `fill` (one number for each column) where a value is missing."""
        product = np.zeros((self.shape[0], panel.shape[1]), dtype=panel.dtype)
        for part in self.parts(panel.dtype):
            product += self.filled(part, panel.dtype, fill) @ panel[part]
        return product

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Return Xᵀ·scores likewise."""
        product = np.empty((self.shape[1], scores.shape[1]), dtype=scores.dtype)
        for part in self.parts(scores.dtype):
            product[part] = self.filled(part, scores.dtype, fill).T @ scores
        return product

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Return Xᵀ(X·panel − 1·shift) and 1ᵀ(X·panel − 1·shift); by columns this takes two walks over the file."""
        scores = self.times(panel, fill) - shift[None, :]
        return self.transposed_times(scores, fill), scores.sum(axis=0)

    def filled(self, columns: slice | Indices, dtype: Any, fill: Vector | None) -> Array:
        """Return columns in a floating type, with numbers where values are missing."""
        return with_holes_filled(
            self.read(columns), dtype, None if fill is None else fill[columns], self.missing_code()
        )

    def parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the columns into runs that fit the budget when converted."""
        rows, size = self.shape
        # A stored block, the converted one and one more while missing values are filled.
        width = max(1, self.bytes_allowed // (rows * (self.dtype.itemsize + 2 * np.dtype(dtype).itemsize)))
        for start in range(0, size, width):
            yield slice(start, min(start + width, size))

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """Read columns: `data[:, 10:20]` or `data[:, indices]`."""
        if not (isinstance(key, tuple) and len(key) == 2 and key[0] == slice(None)):
            msg = "data in a file are read by columns, as in data[:, 10:20]"
            raise IndexError(msg)
        columns = key[1]
        if isinstance(columns, slice):
            return self.read(columns)
        return self.read(np.asarray(columns, dtype=np.intp))


def with_holes_filled(raw: NDArray[Any], dtype: Any, fill: Vector | None, code: int | None) -> Array:
    """Convert a block of columns to a floating type; `fill` replaces missing values, where there are any."""
    block = raw.astype(dtype)
    if fill is None:
        return block
    hole = np.isnan(raw) if code is None else raw == code
    return np.where(hole, fill[None, :].astype(dtype), block)


@final
class ArrayReader(Reader):
    """A memory-mapped array, never converted as a whole; rows are walked over where these lie together.

    Parameters
    ----------
    array
        Two-dimensional, of any real type; usually from ``np.load(path, mmap_mode="r")``.
    memory
        GiB that blocks may take at any time.
    """

    def __init__(self, array: NDArray[Any], memory: float = DEFAULT_MEMORY) -> None:
        super().__init__(memory)
        if array.ndim != 2 or 0 in array.shape:
            msg = f"data must be a table with rows and columns, got an array of shape {array.shape}"
            raise InvalidDataError(msg)
        if array.dtype.kind not in "biuf":
            msg = f"data must be real numbers, got {array.dtype}"
            raise InvalidDataError(msg)
        self._array = array.view(np.ndarray)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = array.dtype
        self._by_rows = array.strides[0] >= array.strides[1]
        self._code: int | None = None
        self._code_known = False

    def read(self, columns: slice | Indices) -> NDArray[Any]:
        """Copy columns out of the map."""
        part = np.array(self._array[:, columns])
        self._walked += part.shape[1] / self.shape[1]
        return part

    def missing_code(self) -> int | None:
        """Look for -9 among integers that are otherwise not negative."""
        if not self._code_known:
            # By whole stripes of the file, whichever way they lie.
            self._code = genotype_code(self._array if self._by_rows else self._array.T)
            self._code_known = True
        return self._code

    def moments(self, *, center: bool) -> Moments:
        """Walk over rows where these lie together."""
        if not self._by_rows:
            return super().moments(center=center)
        self._walked += 2.0
        return dense_moments(self._array, self.missing_code(), center=center)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Multiply row by row where these lie together."""
        if not self._by_rows:
            return super().times(panel, fill)
        product = np.empty((self.shape[0], panel.shape[1]), dtype=panel.dtype)
        for rows, block in self._row_blocks(panel.dtype, fill):
            product[rows] = block @ panel
        return product

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Add up over rows where these lie together."""
        if not self._by_rows:
            return super().transposed_times(scores, fill)
        product = np.zeros((self.shape[1], scores.shape[1]), dtype=scores.dtype)
        for rows, block in self._row_blocks(scores.dtype, fill):
            product += block.T @ scores[rows]
        return product

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Multiply there and back while a block of rows is in memory: one walk."""
        if not self._by_rows:
            return super().normal_product(panel, shift, fill)
        product = np.zeros(panel.shape, dtype=panel.dtype)
        total = np.zeros(panel.shape[1], dtype=panel.dtype)
        for _, block in self._row_blocks(panel.dtype, fill):
            scores = block @ panel - shift[None, :]
            product += block.T @ scores
            total += scores.sum(axis=0)
        return product, total

    def _row_blocks(self, dtype: Any, fill: Vector | None) -> Iterator[tuple[slice, Array]]:
        rows, size = self.shape
        height = max(1, self.bytes_allowed // (size * (self.dtype.itemsize + 2 * np.dtype(dtype).itemsize)))
        for start in range(0, rows, height):
            part = slice(start, min(start + height, rows))
            raw = self._array[part]
            complete = fill is None and raw.dtype == dtype
            yield part, raw if complete else with_holes_filled(raw, dtype, fill, self.missing_code())
            self._walked += raw.shape[0] / rows
