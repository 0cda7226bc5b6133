"""Dense tables in chunks, as HDF5 and Zarr store them."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from certpca.readers.array_reader import ArrayReader
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.blocks import bytes_in_use, runs
from certpca.readers.column_copy import CopiedColumns
from certpca.readers.loaded import Loaded
from certpca.readers.scratch import scratch_array
from certpca.readers.walks import ColumnWalk, RowWalk, Walk
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import InvalidDataError
from certpca.runtime.prefetch import read_ahead


class StoredArray(Protocol):
    """An array that is read when it is sliced."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its length along each axis."""

    @property
    def dtype(self) -> Any:
        """The type of its values."""

    def __getitem__(self, key: Any) -> Any:
        """Read a part."""


def working_form(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that stored values are worked with: this machine's byte order, no halves, no booleans."""
    if kind.kind not in "biuf":
        msg = f"data must be real numbers, got {kind}; encode text and categories as numbers first"
        raise InvalidDataError(msg)
    if kind.kind == "b":
        return np.dtype(np.int8)
    if kind.kind == "f" and kind.itemsize not in (4, 8):
        return np.dtype(np.float32 if kind.itemsize < 4 else np.float64)
    return kind.newbyteorder("=")


@final
class DenseReader(Reader):
    """A table of numbers in a file, walked over in the way that decodes every chunk once.

    Parameters
    ----------
    array
        Two-dimensional, of any real type; sliced to be read.
    memory
        GiB that blocks may take at any time.
    """

    def __init__(self, array: StoredArray, memory: float = DEFAULT_MEMORY) -> None:
        super().__init__(memory)
        if len(array.shape) != 2 or 0 in array.shape:
            msg = f"data must be a table with rows and columns, got an array of shape {tuple(array.shape)}"
            raise InvalidDataError(msg)
        self.dtype = working_form(np.dtype(array.dtype))
        self._array = array
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        chunk = getattr(array, "chunks", None)  # None where values lie one after another
        self._chunk = (1, self.shape[1]) if chunk is None else (int(chunk[0]), int(chunk[1]))
        self._columns_first = self._repeats(1) < self._repeats(0)
        self._columns = CopiedColumns(self.shape[1], self._decode_columns, self._share_touched, self._copied_by_columns)
        self._loaded = Loaded(self._resident_bytes, lambda: self._converted(array[:, :]))

    @property
    def passes(self) -> float:
        """How often the file, or its copy in the order of columns, has been read so far."""
        return self._walked + self._columns.passes + self._loaded.passes

    @property
    def is_copied(self) -> bool:
        """Whether there is a copy in the order of columns."""
        return self._columns.copy is not None

    @property
    def walk(self) -> Walk:
        """Over the copy where there is one: nothing in it needs decoding."""
        if self._columns.copy is not None:
            return self._columns.copy.walk
        return ColumnWalk(self) if self._columns_first else RowWalk(self)

    def resident(self) -> Any:
        """Load everything once, where the budget has room for it."""
        return self._loaded.instead_of(self)

    def read(self, columns: slice | Indices) -> NDArray[Any]:
        """Read columns from the file, or from its copy."""
        found: NDArray[Any] = self._columns.read(columns)
        return found

    def _repeats(self, axis: int) -> float:
        """Return how often a chunk is decoded in a walk along an axis where it does not fit the budget."""
        across = self.shape[1 - axis] * self._bytes_of_value(np.float64)
        return max(1.0, self._chunk[axis] * across / self.bytes_allowed)

    def _bytes_of_value(self, dtype: Any) -> int:
        return bytes_in_use(self.dtype, dtype) + self.dtype.itemsize  # chunks while they are put together

    def parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the columns along chunks where these fit the budget."""
        return self._along_chunks(1, dtype)

    def row_parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the rows along chunks where these fit the budget."""
        return self._along_chunks(0, dtype)

    def _along_chunks(self, axis: int, dtype: Any) -> Iterator[slice]:
        width = max(1, self.bytes_allowed // (self.shape[1 - axis] * self._bytes_of_value(dtype)))
        if width > self._chunk[axis]:
            width -= width % self._chunk[axis]
        return runs(self.shape[axis], width)

    def _converted(self, part: Any) -> NDArray[Any]:
        return np.asarray(part).astype(self.dtype, copy=False)

    def read_rows(self, rows: slice) -> NDArray[Any]:
        """Decode rows."""
        part = self._converted(self._array[rows, :])
        self._walked += part.shape[0] / self.shape[0]
        return part

    def _decode_columns(self, columns: slice | Indices) -> NDArray[Any]:
        """Decode columns: a run at once, others by walking over rows or over chunks."""
        if isinstance(columns, slice):
            return self._converted(self._array[:, columns])
        found = np.empty((self.shape[0], columns.size), dtype=self.dtype)
        width = self._chunk[1]
        for start in np.unique(columns // width) * width:
            # The columns of one chunk are decoded together, and by runs of rows: a chunk can be the whole width.
            mine = np.flatnonzero((columns >= start) & (columns < start + width))
            first, last = int(columns[mine].min()), int(columns[mine].max()) + 1
            height = max(1, self.bytes_allowed // ((last - first) * 2 * self.dtype.itemsize))
            height -= height % self._chunk[0] if height > self._chunk[0] else 0
            for rows, block in read_ahead(runs(self.shape[0], height), partial(self._window, slice(first, last))):
                found[rows, mine] = block[:, columns[mine] - first]
        return found

    def _window(self, columns: slice, rows: slice) -> NDArray[Any]:
        return self._converted(self._array[rows, columns])

    def _share_touched(self, columns: slice | Indices) -> float:
        """Count the chunks that hold these columns; rows that are not in chunks are read whole."""
        width = self._chunk[1]
        if isinstance(columns, slice):
            touched = -(-columns.stop // width) - columns.start // width
        else:
            touched = int(np.unique(columns // width).size)
        return min(1.0, float(touched * width / self.shape[1]))

    def _copied_by_columns(self) -> Reader:
        """Write the transposed table, block by block."""
        rows, size = self.shape
        copy = scratch_array(rows * size, self.dtype, "a copy of the data in the order of columns").reshape(size, rows)
        if self._columns_first:
            for part, block in read_ahead(self.parts(self.dtype), self._decode_columns):
                copy[part] = block.T
            self._walked += 1.0
        else:
            for part, block in read_ahead(self.row_parts(self.dtype), self.read_rows):
                copy[:, part] = block.T
        return ArrayReader(copy.T, self.memory, self.missing_code)

    def _resident_bytes(self) -> int:
        """Count the table and as much again to work with."""
        return 2 * self.shape[0] * self.shape[1] * self.dtype.itemsize
