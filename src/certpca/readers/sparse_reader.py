"""Sparse tables in a file, by rows (CSR) or by columns (CSC): blocks stay sparse in every product."""

from collections.abc import Iterator
from typing import Any, Literal, final

import numpy as np

from certpca.readers import merged_moments
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.column_copy import CopiedColumns
from certpca.readers.dense_reader import StoredArray, working_form
from certpca.readers.loaded import Loaded
from certpca.readers.moments import Moments, sparse_moments
from certpca.readers.scratch import scratch_array
from certpca.readers.sparse_format import require_room
from certpca.readers.walks import ColumnWalk, RowWalk, Walk
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import DataFileError, InvalidDataError
from certpca.runtime.prefetch import read_ahead

INDEX_BYTES = 8
LOOKING_BYTES = 96  # for each entry while moments are taken or a copy is made, the next block included
RESIDENT_BYTES = 64  # for each entry that is loaded, with what looking at it takes


@final
class SparseReader(Reader):
    """A sparse table in a file.

    Entries are kept in float32 where they are stored so, in float64 otherwise, as those of sparse data in memory.
    Indices are sorted and entries stored twice are added up, as SciPy does.

    Parameters
    ----------
    data, indices, indptr
        Entries, their columns (CSR) or rows (CSC), and where each row or column begins.
    shape
        Rows and columns.
    form
        ``"csr"`` or ``"csc"``.
    memory
        GiB that blocks may take at any time.
    label
        What holds the table, for errors.
    """

    def __init__(
        self,
        data: StoredArray,
        indices: StoredArray,
        indptr: StoredArray,
        shape: tuple[int, int],
        form: Literal["csr", "csc"],
        memory: float = DEFAULT_MEMORY,
        label: str = "the sparse table",
    ) -> None:
        super().__init__(memory)
        if 0 in shape:
            msg = f"data must not be empty, got {shape[0]} rows and {shape[1]} columns"
            raise InvalidDataError(msg)
        try:
            self.shape = require_room(shape)
        except InvalidDataError as error:
            msg = f"{label}: {error}"
            raise DataFileError(msg) from error
        kind = working_form(np.dtype(data.dtype))
        self.dtype = kind if kind.kind == "f" else np.dtype(np.float64)
        self._columns_first = form == "csc"
        self._label = label
        self._data, self._indices = data, indices
        self._starts = self._checked_starts(np.asarray(indptr[:]))
        self._counts: Indices | None = None
        self._columns = CopiedColumns(self.shape[1], self._decode_columns, self._share_touched, self._copied_by_columns)
        self._loaded = Loaded(self._resident_bytes, self._load)

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

    def read(self, columns: slice | Indices) -> Any:
        """Read columns from the file, or from its copy; CSC either way."""
        return self._columns.read(columns)

    def _checked_starts(self, starts: Any) -> Indices:
        major = self.shape[1 if self._columns_first else 0]
        entries, places = int(self._data.shape[0]), int(self._indices.shape[0])
        whole = starts.dtype.kind in "iu" and np.dtype(self._indices.dtype).kind in "iu"
        if entries != places:
            problem = f"it has {entries} entries and {places} indices"
        elif not whole:
            problem = "indices and indptr must be whole numbers"
        elif starts.shape != (major + 1,):
            what = "columns" if self._columns_first else "rows"
            problem = f"indptr must have {major + 1} entries for {major} {what}, got {starts.size}"
        elif starts[0] != 0 or (np.diff(starts.astype(np.int64)) < 0).any() or starts[-1] != entries:
            problem = f"indptr must rise from 0 to the number of entries, {entries}"
        else:
            return np.asarray(starts, dtype=np.int64)
        msg = f"{self._label} is damaged: {problem}"
        raise DataFileError(msg)

    @property
    def entries(self) -> int:
        """The number of stored entries."""
        return int(self._starts[-1])

    def _stripe(self, part: slice) -> Any:
        """Return rows of a CSR file or columns of a CSC file, checked and in canonical form."""
        from scipy.sparse import csc_array, csr_array

        first, last = int(self._starts[part.start]), int(self._starts[part.stop])
        other = self.shape[0 if self._columns_first else 1]
        indices = np.asarray(self._indices[first:last])
        if indices.size and not (indices.min() >= 0 and indices.max() < other):
            # SciPy would read and write outside its arrays.
            what = "rows" if self._columns_first else "columns"
            msg = f"{self._label} is damaged: it has indices outside its {other} {what}"
            raise DataFileError(msg)
        entries = np.asarray(self._data[first:last]).astype(self.dtype, copy=False)
        place = np.int32 if max(other, last - first) < 2**31 else np.int64
        starts = (self._starts[part.start : part.stop + 1] - first).astype(place)
        parts = (entries, indices.astype(place, copy=False), starts)
        width = part.stop - part.start
        block = (
            csc_array(parts, shape=(other, width)) if self._columns_first else csr_array(parts, shape=(width, other))
        )
        if not block.has_canonical_format:
            block = block.copy()
            block.sum_duplicates()
        return block

    def _stripes(self, room: int) -> Iterator[slice]:
        """Cut the stripes into runs with as many entries as the budget allows."""
        most = max(1, self.bytes_allowed // room)
        count, start = self._starts.size - 1, 0
        while start < count:
            stop = int(np.searchsorted(self._starts, self._starts[start] + most, side="right")) - 1
            stop = max(stop, start + 1)
            yield slice(start, stop)
            start = stop

    def _room(self, dtype: Any) -> int:
        """Return the bytes of an entry in two blocks: one stored and converted, one being multiplied."""
        return int(self._data.dtype.itemsize) + 3 * int(np.dtype(dtype).itemsize) + 3 * INDEX_BYTES

    def parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the columns into runs, of a CSC file by the entries they have."""
        return self._stripes(self._room(dtype)) if self._columns_first else super().parts(dtype)

    def row_parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the rows of a CSR file into runs."""
        return self._stripes(self._room(dtype))

    def read_rows(self, rows: slice) -> Any:
        """Read rows of a CSR file."""
        block = self._stripe(rows)
        self._walked += (rows.stop - rows.start) / self.shape[0]
        return block

    def _decode_columns(self, columns: slice | Indices) -> Any:
        """Read columns where they lie together, or walk over all rows; CSC either way."""
        from scipy.sparse import hstack, vstack

        if not self._columns_first:
            blocks = read_ahead(self._stripes(self._room(self.dtype)), self._stripe)
            return vstack([block[:, columns] for _, block in blocks], format="csc")
        if isinstance(columns, slice):
            return self._stripe(columns)
        if columns.size == 0:
            return self._stripe(slice(0, 1))[:, columns]
        wanted, order = np.unique(columns, return_inverse=True)
        ends = np.flatnonzero(np.diff(wanted) != 1) + 1
        runs = np.split(wanted, ends)
        together = hstack([self._stripe(slice(int(run[0]), int(run[-1]) + 1)) for run in runs], format="csc")
        return together[:, order]

    def _share_touched(self, columns: slice | Indices) -> float:
        """Return 1 where rows lie together."""
        count = columns.stop - columns.start if isinstance(columns, slice) else columns.size
        return count / self.shape[1] if self._columns_first else 1.0

    def missing_code(self) -> int | None:
        """Return None: missing entries are NaN."""
        return None

    def block_bytes(self, columns: Indices) -> int:
        """Count the entries of these columns."""
        return int(self.column_counts()[columns].sum()) * (self.dtype.itemsize + INDEX_BYTES)

    def moments(self, *, center: bool) -> Moments:
        """Walk once in the order of the file, or over its copy; counts of entries are kept."""
        if self._columns.copy is not None:
            return self._columns.copy.moments(center=center)
        counts = np.zeros(self.shape[1], dtype=np.int64)

        def walk() -> Iterator[Moments]:
            for part, block in self._looked_at():
                counts[part if self._columns_first else slice(None)] += np.diff(block.indptr)
                yield sparse_moments(block, center=center)

        if self._columns_first:
            moments = merged_moments.of_columns(walk())
        else:
            moments = merged_moments.of_rows(walk(), self.shape[1], center=center)
        self._counts = counts
        return moments

    def column_counts(self) -> Indices:
        """Return how many entries each column has, which takes a walk unless moments have been taken."""
        if self._counts is None:
            self.moments(center=False)
        assert self._counts is not None
        return self._counts

    def _looked_at(self) -> Iterator[tuple[slice, Any]]:
        """Walk in the order of the file by blocks in CSC form that leave room to work on them."""
        for part, block in read_ahead(self._stripes(LOOKING_BYTES), self._stripe):
            self._walked += (part.stop - part.start) / (self._starts.size - 1)
            yield part, block.tocsc()

    def _copied_by_columns(self) -> Reader:
        """Put the entries of every block of rows behind those of the blocks before, column by column."""
        starts = np.concatenate([[0], np.cumsum(self.column_counts())])
        total, purpose = int(starts[-1]), "a copy of the data in the order of columns"
        entries = scratch_array(total, self.dtype, purpose)
        rows = scratch_array(total, np.int32 if self.shape[0] < 2**31 else np.int64, purpose)
        free = starts[:-1].copy()
        for part, block in self._looked_at():
            widths = np.diff(block.indptr)
            place = np.repeat(free - block.indptr[:-1], widths) + np.arange(block.nnz)
            entries[place] = block.data
            rows[place] = block.indices + part.start
            free += widths
        return SparseReader(entries, rows, starts, self.shape, "csc", self.memory, f"the copy of {self._label}")

    def _resident_bytes(self) -> int:
        """Count entries with what converting and looking at them takes."""
        return RESIDENT_BYTES * self.entries + 2 * self._starts.nbytes

    def _load(self) -> Any:
        """Return all entries in CSC form."""
        return self._stripe(slice(0, self._starts.size - 1)).tocsc()
