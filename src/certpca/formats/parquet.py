"""Parquet tables, streamed by row groups or by columns."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import ColumnsByName, StreamedFormat, register
from certpca.formats.file_errors import require_file, said_of
from certpca.formats.selection import chosen_columns, drop_option, left_out
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.blocks import as_run, bytes_in_use, runs
from certpca.readers.dense_reader import working_form
from certpca.readers.loaded import Loaded
from certpca.readers.reading import as_texts, plain
from certpca.readers.walks import ColumnWalk, RowWalk, Walk
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import DataFileError, InvalidProblemError

BUFFER_BYTES = 1 << 16  # of a column chunk on its way from the disk
ARROW_SHARE = 8  # of the budget, in parts: what Arrow may hold at a time while columns are copied out of it


@register
@dataclass(frozen=True)
class Parquet(StreamedFormat):
    """Parquet files: small ones are loaded unless a memory budget is given. Any column may be labels."""

    kind = "Parquet"
    endings = (".parquet",)
    library, extra = "pyarrow.parquet", "parquet"
    chooses_columns = True

    streamed_from: int = 1 << 30  # bytes of float64

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Open the columns wanted."""
        held = columns_of(self.needed().read_schema(file))
        left = chosen_columns(held, len(held), wanted.columns, wanted.drop, str(file))
        reader = read_parquet(file, columns=[held[index] for index in left], memory=wanted.budget)
        return Table(reader, reader.names, understood=", ".join(left_out(len(held) - len(left))))

    def numbers(self, reader: Any, file: Path, wanted: Wanted, *, rearranged: bool) -> Any:
        """Load small files."""
        if wanted.memory is None and 8 * reader.shape[0] * reader.shape[1] < self.streamed_from:
            return np.ascontiguousarray(reader[:, :])
        return super().numbers(reader, file, wanted, rearranged=rearranged)

    def labels(self, file: Path) -> Mapping[str, Any]:
        """Return all columns."""
        parquet = self.needed()
        return ColumnsByName(
            tuple(parquet.read_schema(file).names),
            lambda name: parquet.read_table(file, columns=[name]).column(name).to_pylist(),
        )


def columns_of(schema: Any) -> list[str]:
    """Return the names of the columns; what pandas stores as the index names rows and is none."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def read_parquet(
    path: str | PathLike[str],
    *,
    columns: Iterable[str] | None = None,
    leave_out: str | Iterable[str] = (),
    memory: float = DEFAULT_MEMORY,
) -> "ParquetReader":
    """Open a Parquet file without reading it; the result is samples x features wherever data are asked for.

    Columns are read on their own. Products walk over row groups where these fit the memory budget, over columns
    otherwise. What is null is missing (NaN). The file's own directory, about 1.5 kB for each column of each row group,
    comes on top of the budget.

    Parameters
    ----------
    path : path_like
        A ``.parquet`` file whose columns are numbers.
    columns : iterable of str, optional
        Only these, in this order.
    leave_out : str or iterable of str
        Not these, such as a column of labels.
    memory : float
        GiB for data on their way from the file, or for all of them where they fit.

    Returns
    -------
    ParquetReader
        What every verb takes as `data`.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is something else, or has no such column.
    MissingDependencyError
        Where pyarrow is not installed.

    See Also
    --------
    load_table : Any format.

    Examples
    --------
    >>> import certpca
    >>> certpca.solve(certpca.read_parquet("survey.parquet", leave_out="id"), 5).names  # doctest: +SKIP
    """
    parquet = Parquet.needed()
    file = Path(path)
    require_file(file)
    wanted, without = as_texts("columns", columns), as_texts("leave_out", leave_out) or ()
    with said_of(file, ".parquet"):
        # Not mapped: pages of a map count as memory of the process. Column chunks are read through small buffers.
        opened = parquet.ParquetFile(file, memory_map=False, pre_buffer=False, buffer_size=BUFFER_BYTES)
        reader = ParquetReader(opened, str(file), wanted, set(without), memory)
    reader.reading = plain({"columns": wanted, "drop": without or None})
    return reader


@final
class ParquetReader(Reader):
    """Numbers in a Parquet file; made by `read_parquet`."""

    def __init__(
        self, file: Any, label: str, columns: tuple[str, ...] | None, leave_out: set[str], memory: float
    ) -> None:
        super().__init__(memory)
        self._file, self._label = file, label
        self.names: tuple[str, ...] = self._chosen(columns, leave_out)
        groups = [file.metadata.row_group(index).num_rows for index in range(file.metadata.num_row_groups)]
        self._edges = np.concatenate([[0], np.cumsum(np.asarray(groups, dtype=np.int64))])
        self.shape = (int(self._edges[-1]), len(self.names))
        if self.shape[0] == 0:
            msg = f"{label!r} has no rows"
            raise DataFileError(msg)
        self.dtype = working_form(np.result_type(*self._kinds()))
        # By rows a product is one walk, but whole groups of rows are decoded at once.
        largest = max(groups) * self.shape[1] * self._bytes_of_value(np.float64)
        self._columns_first = largest > self.bytes_allowed
        self._loaded = Loaded(self._resident_bytes, lambda: self._numbers(list(range(len(groups))), self.names))

    @property
    def passes(self) -> float:
        """How often the file has been read so far."""
        return self._walked + self._loaded.passes

    @property
    def walk(self) -> Walk:
        """By groups of rows where these fit the budget."""
        return ColumnWalk(self) if self._columns_first else RowWalk(self)

    def resident(self) -> Any:
        """Load everything once, where the budget has room for it."""
        return self._loaded.instead_of(self)

    def _chosen(self, columns: tuple[str, ...] | None, leave_out: set[str]) -> tuple[str, ...]:
        held = tuple(self._file.schema_arrow.names)
        for name in (*(columns or ()), *leave_out):
            if name not in held:
                some = ", ".join(held[:20]) + (" …" if len(held) > 20 else "")
                msg = f"{self._label!r} has no column {name!r}; it has {some}"
                raise InvalidProblemError(msg)
        everything = columns_of(self._file.schema_arrow)
        names = tuple(name for name in (everything if columns is None else columns) if name not in leave_out)
        if not names:
            msg = f"{self._label!r} has no columns that are left to read"
            raise DataFileError(msg)
        if len(set(names)) < len(names) or len(set(held)) < len(held):
            msg = f"{self._label!r}: columns must have different names, and be asked for once"
            raise DataFileError(msg)
        return names

    def _kinds(self) -> list[np.dtype[Any]]:
        """Return the types of the columns as NumPy has them; whole numbers with nulls among them need floats."""
        from pyarrow import types

        schema, kinds = self._file.schema_arrow, []
        metadata = self._file.metadata
        place = {metadata.schema.column(index).path: index for index in range(metadata.num_columns)}
        for name in self.names:
            kind = schema.field(name).type
            whole = types.is_integer(kind)
            if not (whole or types.is_floating(kind) or types.is_boolean(kind)):
                held = columns_of(schema)
                option = f"{drop_option(held.index(name), held)}, " if name in held else ""
                msg = (
                    f"{self._label!r}: column {name!r} holds {kind}, not numbers; drop or encode it, or leave it out "
                    f"({option}leave_out= of read_parquet)"
                )
                raise DataFileError(msg)
            nulls = not types.is_floating(kind) and self._has_nulls(name, place[name])
            if nulls and not whole:
                msg = f"{self._label!r}: column {name!r} has booleans that are missing; encode them as numbers"
                raise DataFileError(msg)
            kinds.append(np.dtype(np.float64) if nulls else np.dtype(kind.to_pandas_dtype()))
        return kinds

    def _has_nulls(self, name: str, place: int) -> bool:
        metadata = self._file.metadata
        for index in range(metadata.num_row_groups):
            statistics = metadata.row_group(index).column(place).statistics
            if statistics is None or not statistics.has_null_count:  # nothing is noted: look
                if self._file.read_row_group(index, columns=[name]).column(name).null_count:
                    return True
            elif statistics.null_count:
                return True
        return False

    def _bytes_of_value(self, dtype: Any) -> int:
        return bytes_in_use(self.dtype, dtype) + 8  # Arrow's own copy

    def parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the columns into runs that fit the budget."""
        return runs(self.shape[1], max(1, self.bytes_allowed // (self.shape[0] * self._bytes_of_value(dtype))))

    def row_parts(self, dtype: Any) -> Iterator[slice]:
        """Put groups of rows together as far as the budget goes."""
        most = self.bytes_allowed // (self.shape[1] * self._bytes_of_value(dtype))
        start = 0
        while start < self._edges.size - 1:
            stop = int(np.searchsorted(self._edges, self._edges[start] + most, side="right")) - 1
            stop = max(stop, start + 1)
            yield slice(int(self._edges[start]), int(self._edges[stop]))
            start = stop

    def read_rows(self, rows: slice) -> NDArray[Any]:
        """Decode groups of rows."""
        first, last = np.searchsorted(self._edges, [rows.start, rows.stop])
        self._walked += (rows.stop - rows.start) / self.shape[0]
        return self._numbers(list(range(int(first), int(last))), self.names)

    def read(self, columns: slice | Indices) -> NDArray[Any]:
        """Decode columns."""
        wanted = as_run(columns, self.shape[1])
        names = self.names[wanted] if isinstance(wanted, slice) else tuple(self.names[index] for index in wanted)
        self._walked += len(names) / self.shape[1]
        return self._numbers(list(range(self._edges.size - 1)), names)

    def _numbers(self, groups: list[int], names: tuple[str, ...]) -> NDArray[Any]:
        """Copy columns out of Arrow a few at a time: what it decodes is freed before it decodes more."""
        rows = int(sum(self._edges[group + 1] - self._edges[group] for group in groups))
        found = np.empty((rows, len(names)), dtype=self.dtype, order="F")
        width = max(1, self.bytes_allowed // (ARROW_SHARE * 2 * 8 * max(1, rows)))
        for part in runs(len(names), width):
            some = names[part]
            try:
                table = self._file.read_row_groups(groups, columns=list(dict.fromkeys(some)))
            except (OSError, ValueError) as error:
                msg = f"{self._label!r} cannot be read, the file is damaged or cut off: {error}"
                raise DataFileError(msg) from error
            for index, name in enumerate(some, part.start):
                start = 0
                for chunk in table.column(name).chunks:  # one after another: together they would be copied once more
                    found[start : start + len(chunk), index] = chunk.to_numpy(zero_copy_only=False)
                    start += len(chunk)
            del table
        return found

    def _resident_bytes(self) -> int:
        """Count the table, Arrow's copy of it and as much again to work with."""
        return self.shape[0] * self.shape[1] * (2 * self.dtype.itemsize + 8)
