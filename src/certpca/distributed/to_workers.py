"""From what users hold to data on the workers of a Dask cluster, which load it themselves wherever they can."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.distributed.dask_cluster import Cluster, active_client
from certpca.distributed.dask_reader import DaskReader, HeldColumns, own_copy
from certpca.operators.factor import column_bounds
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.dense_reader import DenseReader, working_form
from certpca.runtime.array_kinds import is_sparse, require_table
from certpca.runtime.arrays import is_host
from certpca.runtime.errors import DataFileError, InvalidDataError, InvalidProblemError

LOCAL_MEMORY = DEFAULT_MEMORY  # GiB for blocks of a dask array where there is no cluster


def dask_array_reader(array: Any, client: Any = None, memory: float = LOCAL_MEMORY) -> Reader:
    """Take a dask array as data: on the workers of a client where there is one, else by blocks of `memory` GiB here."""
    if array.ndim == 2 and any(np.isnan(side) for side in array.shape):
        msg = "the dask array has chunks of unknown size; call compute_chunk_sizes() on it first"
        raise InvalidDataError(msg)
    require_table(array)
    if array.dtype.kind == "c":
        msg = f"data must be real, got complex numbers ({array.dtype}); use the real part or the modulus"
        raise InvalidDataError(msg)
    kind = working_form(array.dtype)
    array = array.astype(kind)
    client = active_client() if client is None else client
    if client is None:
        return DenseReader(_Computed(array), memory)
    cluster = Cluster(client)
    rows, size = (int(side) for side in array.shape)
    bounds = column_bounds(rows, size)
    by_columns = array.rechunk((rows, tuple(part.stop - part.start for part in bounds)))
    blocks = cluster.compute("load", HeldColumns, by_columns.to_delayed().reshape(-1).tolist())
    return DaskReader(cluster, blocks, bounds, rows, kind)


def on_workers(values: Any, client: Any) -> DaskReader:
    """Put data on the workers of a cluster; a file that they can open they read themselves."""
    cluster = Cluster(client)
    if isinstance(values, DaskReader):
        if values.cluster.client is not client:
            msg = "the data are on another cluster than that of client="
            raise InvalidProblemError(msg)
        return values
    if not (isinstance(values, Reader) or is_sparse(values) or is_host(values)):
        msg = "client= is for data on the host; bring the array there first"
        raise InvalidProblemError(msg)
    rows, size = (int(side) for side in values.shape)
    bounds = column_bounds(rows, size)
    names = values.names if isinstance(values, Reader) else None
    code, known = None, False
    mapped = _mapped_file(getattr(values, "_array", values))
    if hasattr(values, "held"):  # packed genotypes
        code, known = values.missing_code(), True
        blocks = cluster.map("load", _held, bounds, source=cluster.call("open", _itself, values))
    elif mapped is not None:
        blocks = cluster.map("load", _held, bounds, source=mapped)
    else:
        read: Callable[[slice], Any] = values.read if isinstance(values, Reader) else lambda part: values[:, part]
        blocks = [cluster.call("load", HeldColumns, own_copy(read(part))) for part in bounds]
    bytes_of = values.block_bytes if isinstance(values, Reader) else None
    if is_sparse(values):
        of_column = np.diff(values.indptr) * (values.dtype.itemsize + values.indices.dtype.itemsize)
        bytes_of = lambda columns: int(of_column[columns].sum())  # noqa: E731
    return DaskReader(cluster, blocks, bounds, rows, values.dtype, names, code, code_known=known, bytes_of=bytes_of)


class _Computed:
    """A dask array that is computed when it is sliced."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape, self.dtype = array.shape, array.dtype
        self.chunks = tuple(max(lengths) for lengths in array.chunks)

    def __getitem__(self, key: Any) -> NDArray[Any]:
        return np.asarray(self._array[key].compute())


@dataclass(frozen=True, slots=True)
class _MappedFile:
    """Where a memory-mapped array lies, for processes that map it themselves."""

    file: Path
    offset: int
    shape: tuple[int, int]
    dtype: Any
    order: Any

    def held(self, columns: slice) -> HeldColumns:
        """Copy columns into memory."""
        try:
            table = np.memmap(
                self.file, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape, order=self.order
            )
        except (OSError, ValueError) as error:
            msg = f"a worker cannot open {str(self.file)!r} ({error}); workers must see the same files as the caller"
            raise DataFileError(msg) from error
        return HeldColumns(own_copy(table[:, columns]))


def _mapped_file(values: Any) -> _MappedFile | None:
    """Describe a memory map of a whole file's table; None for anything else."""
    table = values if isinstance(values, np.memmap) else getattr(values, "base", None)
    if not isinstance(table, np.memmap) or table.filename is None or not is_host(values):
        return None
    whole = (table.shape, table.strides, table.dtype, table.ctypes.data)
    if whole != (values.shape, values.strides, values.dtype, values.ctypes.data) or table.ndim != 2:
        return None
    if table.mode == "c" or not (table.flags.c_contiguous or table.flags.f_contiguous):
        return None  # what was changed in a private map is not in the file
    order = "C" if table.flags.c_contiguous else "F"
    return _MappedFile(Path(table.filename).resolve(), int(table.offset), table.shape, table.dtype, order)


def _itself(value: Any) -> Any:
    return value


def _held(columns: slice, source: Any) -> Reader:
    held: Reader = source.held(columns)
    return held
