"""Samples x features on the workers of a Dask cluster, in blocks of columns; products are tasks over them.

Blocks are loaded by the workers themselves wherever they can reach the file, and are kept as they are stored: int8
genotypes stay int8, packed ones packed, sparse ones sparse. Sums are taken in the order of the blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from certpca.distributed.dask_cluster import Cluster, active_client
from certpca.distributed.executors import PlacedFactor
from certpca.operators.base import Factor, column_bounds
from certpca.operators.covariance import DenseCovariance, SparseCovariance, Standardisation
from certpca.operators.streamed import StreamedCovariance
from certpca.readers import merged_moments
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.blocks import with_holes_filled
from certpca.readers.dense_reader import DenseReader, working_form
from certpca.readers.missing import code_in, negatives
from certpca.readers.moments import Moments
from certpca.runtime.array_kinds import is_sparse, require_table
from certpca.runtime.arrays import Array, Indices, Vector, is_host
from certpca.runtime.errors import DataFileError, InvalidDataError, InvalidProblemError

LOCAL_MEMORY = DEFAULT_MEMORY  # GiB for blocks of a dask array where there is no cluster


@final
class HeldColumns(Reader):
    """Columns in memory as they were stored, dense or scipy.sparse: what a worker has of the data."""

    def __init__(self, values: Any, code: int | None = None) -> None:
        super().__init__()
        self.values, self._code = values, code
        self.shape = (int(values.shape[0]), int(values.shape[1]))
        self.dtype = values.dtype
        self.is_sparse = is_sparse(values)

    def __sizeof__(self) -> int:
        """Tell Dask how much memory the block takes."""
        return int(self.values.data.nbytes + self.values.indices.nbytes if self.is_sparse else self.values.nbytes)

    def read(self, columns: slice | Indices) -> Any:
        """Return columns."""
        return self.values[:, columns]

    def missing_code(self) -> int | None:
        """Return what was found out about all blocks together."""
        return self._code

    def with_code(self, code: int) -> "HeldColumns":
        """Return the same columns, some of whose values are marks of missing ones."""
        return HeldColumns(self.values, code)

    def parts(self, dtype: Any) -> Iterator[slice]:  # noqa: ARG002
        """Take all at once: a block is as large as may be converted."""
        yield slice(0, self.shape[1])


@dataclass(frozen=True, slots=True)
class _AsFactor:
    """Makes a factor of a block as a worker holds it, the way it would be made of all data in memory."""

    columns: Standardisation
    dtype: Any

    def __call__(self, held: Reader) -> Factor:
        about = (self.columns, self.dtype, None, "")
        if not isinstance(held, HeldColumns):
            return StreamedCovariance(held, *about).factor()
        if not held.is_sparse:
            return DenseCovariance(held.values, *about).factor()
        fill = self.columns.mean if self.columns.has_nan else None
        return SparseCovariance(with_holes_filled(held.values, held.dtype, fill), *about).factor()


@final
class DaskReader(Reader):
    """Columns on workers; read like a file.

    Parameters
    ----------
    cluster
        Whose workers.
    blocks
        Handles of what a worker holds of them, each a `Reader`, from left to right.
    bounds
        The columns of each block.
    rows, dtype, names
        Of the table.
    code, code_known
        What marks missing values, where that is known.
    bytes_of
        Returns how much memory columns take as they are stored, where that is not what dense ones take.
    """

    def __init__(
        self,
        cluster: Cluster,
        blocks: Sequence[Any],
        bounds: Sequence[slice],
        rows: int,
        dtype: Any,
        names: tuple[str, ...] | None = None,
        code: int | None = None,
        *,
        code_known: bool = False,
        bytes_of: Callable[[Indices], int] | None = None,
    ) -> None:
        super().__init__()
        self._bytes_of = bytes_of
        self.cluster, self.blocks, self.bounds = cluster, list(blocks), tuple(bounds)
        self.shape = (rows, self.bounds[-1].stop)
        self.dtype, self.names = np.dtype(dtype), names
        self._code, self._code_known = code, code_known or self.dtype.kind != "i"

    def missing_code(self) -> int | None:
        """Look for -9 among integers that are otherwise not negative."""
        if not self._code_known:
            self._code = code_in(self.cluster.gather(self.cluster.map("look", _negatives, self.blocks)))
            if self._code is not None:
                self.blocks = self.cluster.map("load", HeldColumns.with_code, self.blocks, code=self._code)
            self._code_known = True
        return self._code

    def read(self, columns: slice | Indices) -> Any:
        """Bring columns here."""
        wanted = np.arange(self.shape[1])[columns]
        inside = [np.flatnonzero((wanted >= part.start) & (wanted < part.stop)) for part in self.bounds]
        used = [number for number, found in enumerate(inside) if found.size]
        chosen = [_run(wanted[inside[number]] - self.bounds[number].start) for number in used]
        handles = self.cluster.map("read", _read, [self.blocks[number] for number in used], chosen)
        parts = self.cluster.gather(handles)
        self._walked += wanted.size / self.shape[1]
        if is_sparse(parts[0]):
            from scipy.sparse import hstack

            together: Any = hstack(parts, format="csc")
        else:
            together = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        order = np.concatenate([inside[number] for number in used])
        if (np.diff(order) == 1).all():
            return together
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return together[:, back]

    def block_bytes(self, columns: Indices) -> int:
        """Return how much memory columns take as they are stored."""
        return super().block_bytes(columns) if self._bytes_of is None else self._bytes_of(columns)

    def moments(self, *, center: bool) -> Moments:
        """Take the moments of every block where it is."""
        self.missing_code()
        self._walked += 1.0
        found = self.cluster.gather(self.cluster.map("moments", _moments, self.blocks, center=center))
        return merged_moments.of_columns(found)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Multiply blocks and add up in their order."""
        return self.cluster.gather([self._times(panel, fill)])[0]

    def _times(self, panel: Array, fill: Vector | None) -> Any:
        self._walked += 1.0
        parts = self.cluster.map("times", _times, self.blocks, self.split(panel), self.split(fill))
        return self.cluster.sum_in_order("times", parts)

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Multiply every block by the same scores."""
        return np.concatenate(self.cluster.gather(self._transposed_times(self.cluster.share(scores), fill)))

    def _transposed_times(self, scores: Any, fill: Vector | None, shift: Array | None = None) -> list[Any]:
        self._walked += 1.0
        columns = (self.blocks, self.split(fill))
        return self.cluster.map("transposed-times", _transposed_times, *columns, scores=scores, shift=shift)

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Multiply there and back; what lies between stays on the workers."""
        product = self._times(panel, fill)
        total = self.cluster.call("times", _column_sums, product, shift)
        *parts, sums = self.cluster.gather([*self._transposed_times(product, fill, shift), total])
        return np.concatenate(parts), sums

    def sample_product(self, scores: Array, mean: Vector, weight: Vector, fill: Vector | None) -> Array:
        """Multiply there and back within each block and add up in their order."""
        self._walked += 1.0
        columns = (self.split(mean), self.split(weight), self.split(fill))
        there = self.cluster.share(scores)
        parts = self.cluster.map("sample-product", _sample_product, self.blocks, *columns, scores=there)
        return self.cluster.gather([self.cluster.sum_in_order("sample-product", parts)])[0]

    def split(self, values: Any) -> list[Any]:
        """Cut what has one entry for each column as the columns are cut; nothing stays nothing."""
        return [None if values is None else values[part] for part in self.bounds]


class DaskCovariance(StreamedCovariance):
    """The covariance of data on workers: what the dual needs of its factor stays there."""

    _data: DaskReader

    def factor(self) -> Factor:
        """Give the standardised data by blocks that stay where they are."""
        data, plain = self._data, super().factor()
        cluster = data.cluster
        makers = [_AsFactor(self._columns.take(part), self.dtype) for part in data.bounds]  # type: ignore[arg-type]

        def forth(panel: Array) -> Array:
            parts = cluster.map("times", _forth, data.blocks, makers, data.split(panel))
            return cluster.gather([cluster.sum_in_order("times", parts)])[0]

        def back(scores: Array) -> Array:
            there = cluster.share(scores)
            parts = cluster.map("transposed-times", _back, data.blocks, makers, scores=there)
            return np.concatenate(cluster.gather(parts))

        def around(scores: Array) -> Array:
            parts = cluster.map("sample-product", _around, data.blocks, makers, scores=cluster.share(scores))
            return cluster.gather([cluster.sum_in_order("sample-product", parts)])[0]

        return PlacedFactor(
            plain.depth,
            plain.size,
            plain.block,
            forth,
            back,
            around,
            place=cluster,
            pieces=tuple(data.blocks),
            makers=tuple(makers),
            bounds=data.bounds,
        )


# --- from what users hold -------------------------------------------------------------------------------------------


def dask_array_reader(array: Any, client: Any = None) -> Reader:
    """Take a dask array as data: on the workers of a client where there is one, else computed by blocks here."""
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
        return DenseReader(_Computed(array), LOCAL_MEMORY)
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
        blocks = [cluster.call("load", HeldColumns, _own(read(part))) for part in bounds]
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
        return HeldColumns(_own(table[:, columns]))


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


def _own(part: Any) -> Any:
    """Copy a block so that it keeps nothing else alive, and lies as it did."""
    return part.copy() if is_sparse(part) else np.array(part, order="K", subok=False)


def _run(indices: Indices) -> slice | Indices:
    """Return neighbours as a slice, which copies faster."""
    together = bool((np.diff(indices) == 1).all())
    return slice(int(indices[0]), int(indices[-1]) + 1) if together else indices


# --- on the workers -------------------------------------------------------------------------------------------------


def _itself(value: Any) -> Any:
    return value


def _held(columns: slice, source: Any) -> Reader:
    held: Reader = source.held(columns)
    return held


def _read(block: Reader, columns: slice | Indices) -> Any:
    return _own(block.read(columns))


def _negatives(block: HeldColumns) -> tuple[bool, bool]:
    return negatives(block.values)


def _moments(block: Reader, center: bool) -> Moments:
    return block.moments(center=center)


def _times(block: Reader, panel: Array, fill: Vector | None) -> Array:
    return block.times(panel, fill)


def _transposed_times(block: Reader, fill: Vector | None, scores: Array, shift: Array | None) -> Array:
    return block.transposed_times(scores if shift is None else scores - shift[None, :], fill)


def _sample_product(block: Reader, mean: Vector, weight: Vector, fill: Vector | None, scores: Array) -> Array:
    return block.sample_product(scores, mean, weight, fill)


def _column_sums(scores: Array, shift: Array) -> Array:
    return (scores - shift[None, :]).sum(axis=0)


def _forth(block: Reader, maker: _AsFactor, panel: Array) -> Array:
    return maker(block).times(panel)


def _back(block: Reader, maker: _AsFactor, scores: Array) -> Array:
    return maker(block).transposed_times(scores)


def _around(block: Reader, maker: _AsFactor, scores: Array) -> Array:
    return maker(block).sample_product(scores)
