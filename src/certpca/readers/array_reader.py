"""Tables that are mapped into memory."""

from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.blocks import bytes_in_use, runs
from certpca.readers.walks import ColumnWalk, RowWalk, Walk
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import InvalidDataError

PAGE_BYTES = 4096


@final
class ArrayReader(Reader):
    """A memory-mapped array, never converted as a whole; rows are walked over where these lie together.

    Parameters
    ----------
    array
        Two-dimensional, of any real type; usually from ``np.load(path, mmap_mode="r")``.
    memory
        GiB that blocks may take at any time.
    code
        Says what marks missing values, where somebody else knows.
    """

    def __init__(
        self, array: NDArray[Any], memory: float = DEFAULT_MEMORY, code: Callable[[], int | None] | None = None
    ) -> None:
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
        self._columns_first = array.strides[0] < array.strides[1]
        self._code = code

    @property
    def walk(self) -> Walk:
        """In the order of the file."""
        return ColumnWalk(self) if self._columns_first else RowWalk(self)

    def missing_code(self) -> int | None:
        """Say what is known, or look."""
        return super().missing_code() if self._code is None else self._code()

    def read(self, columns: slice | Indices) -> NDArray[Any]:
        """Copy columns out of the map."""
        part = np.array(self._array[:, columns])
        self._walked += part.shape[1] / self.shape[1]
        return part

    def row_parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the rows into runs that fit the budget when converted."""
        rows, size = self.shape
        return runs(rows, max(1, self.bytes_allowed // (size * bytes_in_use(self.dtype, dtype))))

    def read_rows(self, rows: slice) -> NDArray[Any]:
        """Fetch rows from the disk; they are not copied."""
        part = self._array[rows]
        if part.flags.c_contiguous:  # touching every page once makes the system read it now
            part.reshape(-1).view(np.uint8)[::PAGE_BYTES].max()
        self._walked += part.shape[0] / self.shape[0]
        return part
