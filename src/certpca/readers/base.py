"""Samples x features that stay in a file: columns on demand, and products by blocks that fit a memory budget.

A reader is data: `from_data`, `solve`, `certify` and `verify` take it wherever they take an array. What a file format
must say is how columns are read; moments and products follow, and a format that can do better overrides them.
While one block is multiplied the next one is read.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from certpca.readers import merged_moments
from certpca.readers.moments import MISSING_GENOTYPE, Moments, dense_moments
from certpca.runtime.arrays import Array, Indices, Vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.runtime.prefetch import read_ahead

DEFAULT_MEMORY = 0.25  # GiB for blocks on their way from the file
PAGE_BYTES = 4096


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
    reading: Mapping[str, Any] | None = None  # keyword arguments of `load_table` that give these numbers again
    ndim = 2
    by_columns = True  # columns lie together, so that several can be worked on while they are in memory
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

    @abstractmethod
    def missing_code(self) -> int | None:
        """Return the integer that marks missing values, or None where NaN does or none can be missing."""

    def resident(self) -> Any:
        """Return all numbers in memory where the format allows and the budget has room for them; else the reader."""
        return self

    def block_bytes(self, columns: Indices) -> int:
        """Return how much memory columns take as they are stored."""
        return self.shape[0] * columns.size * self.dtype.itemsize

    def moments(self, *, center: bool) -> Moments:
        """Walk over the columns once; every block is in memory while its moments are taken."""
        code = self.missing_code()
        blocks = read_ahead(self.parts(np.float64), self.read)
        return merged_moments.of_columns(self.block_moments(block, code, center=center) for _, block in blocks)

    def block_moments(self, block: Any, code: int | None, *, center: bool) -> Moments:
        """Return the moments of a block as it is stored."""
        return dense_moments(block, code, center=center)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Return X·panel in the panel's type, with `fill` (one number for each column) where a value is missing."""
        product = np.zeros((self.shape[0], panel.shape[1]), dtype=panel.dtype)
        for part, block in self.column_blocks(panel.dtype, fill):
            product += block @ panel[part]
        return product

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Return Xᵀ·scores likewise."""
        product = np.empty((self.shape[1], scores.shape[1]), dtype=scores.dtype)
        for part, block in self.column_blocks(scores.dtype, fill):
            product[part] = block.T @ scores
        return product

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Return Xᵀ(X·panel − 1·shift) and 1ᵀ(X·panel − 1·shift); by columns this takes two walks over the file."""
        scores = self.times(panel, fill) - shift[None, :]
        return self.transposed_times(scores, fill), scores.sum(axis=0)

    def sample_product(self, scores: Array, mean: Vector, weight: Vector, fill: Vector | None) -> Array:
        """Return (X − 1·meanᵀ)·diag(weight)²·(X − 1·meanᵀ)ᵀ·scores; by columns this takes one walk over the file."""
        product = np.zeros(scores.shape, dtype=scores.dtype)
        centre, weights, total = mean.astype(scores.dtype), weight.astype(scores.dtype), scores.sum(axis=0)
        for part, block in self.column_blocks(scores.dtype, fill):
            # Weights one after the other: their squares may be out of range.
            inner = weights[part, None] * (weights[part, None] * (block.T @ scores - centre[part, None] * total))
            product += block @ inner - centre[part] @ inner
        return product

    def column_blocks(self, dtype: Any, fill: Vector | None) -> Iterator[tuple[slice, Any]]:
        """Walk over the columns, ready to be multiplied."""
        return read_ahead(self.parts(dtype), lambda part: self.filled(part, dtype, fill))

    def filled(self, columns: slice | Indices, dtype: Any, fill: Vector | None) -> Array:
        """Return columns in a floating type, with numbers where values are missing."""
        return with_holes_filled(
            self.read(columns), dtype, None if fill is None else fill[columns], self.missing_code()
        )

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


def bytes_in_use(stored: np.dtype[Any], wanted: Any) -> int:
    """Return the bytes that one value takes while blocks are walked over.

    One block is multiplied while the next is read, converted and rid of missing values.
    """
    return int(stored.itemsize) + 3 * int(np.dtype(wanted).itemsize) + 1


def runs(size: int, width: int) -> Iterator[slice]:
    """Cut a range into runs of some width."""
    for start in range(0, size, width):
        yield slice(start, min(start + width, size))


def with_holes_filled(raw: NDArray[Any], dtype: Any, fill: Vector | None, code: int | None) -> Array:
    """Convert a block of columns to a floating type; `fill` replaces missing values, where there are any."""
    block = raw.astype(dtype, copy=False)
    if fill is None:
        return block
    hole = np.isnan(raw) if code is None else raw == code
    return np.where(hole, fill[None, :].astype(dtype), block)


def missing_code_of(blocks: Iterable[NDArray[Any]]) -> int | None:
    """Return -9 where it marks missing values: integers whose only negative value it is."""
    found = False
    for block in blocks:
        negative = block[block < 0]
        if (negative != MISSING_GENOTYPE).any():
            return None
        found |= negative.size > 0
    return MISSING_GENOTYPE if found else None


class RowReader(Reader):
    """A file that is walked over by rows unless `by_columns`: then a product with the covariance is one walk."""

    _code: int | None = None
    _code_known = False

    @abstractmethod
    def read_rows(self, rows: slice) -> Any:
        """Return rows as they are stored, shape (height, features)."""

    def rows_filled(self, rows: slice, dtype: Any, fill: Vector | None) -> Any:
        """Return rows in a floating type, with numbers where values are missing."""
        return with_holes_filled(self.read_rows(rows), dtype, fill, self.missing_code())

    def row_parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the rows into runs that fit the budget when converted."""
        rows, size = self.shape
        yield from runs(rows, max(1, self.bytes_allowed // (size * bytes_in_use(self.dtype, dtype))))

    def missing_code(self) -> int | None:
        """Look for -9 among integers that are otherwise not negative; the walk this takes is made once."""
        if not self._code_known:
            if self.dtype.kind == "i":
                by_columns = self.by_columns
                parts = self.parts(np.int64) if by_columns else self.row_parts(np.int64)
                blocks = read_ahead(parts, self.read if by_columns else self.read_rows)
                self._code = missing_code_of(block for _, block in blocks)
            self._code_known = True
        return self._code

    def row_blocks(self, dtype: Any, fill: Vector | None) -> Iterator[tuple[slice, Any]]:
        """Walk over the rows, ready to be multiplied."""
        return read_ahead(self.row_parts(dtype), lambda part: self.rows_filled(part, dtype, fill))

    def moments(self, *, center: bool) -> Moments:
        """Walk once, in the order of the file."""
        if self.by_columns:
            return super().moments(center=center)
        code = self.missing_code()
        blocks = read_ahead(self.row_parts(np.float64), self.read_rows)
        parts = (self.block_moments(block, code, center=center) for _, block in blocks)
        return merged_moments.of_rows(parts, self.shape[1], center=center)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Multiply in the order of the file."""
        if self.by_columns:
            return super().times(panel, fill)
        product = np.empty((self.shape[0], panel.shape[1]), dtype=panel.dtype)
        for rows, block in self.row_blocks(panel.dtype, fill):
            product[rows] = block @ panel
        return product

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Multiply, or add up over rows, in the order of the file."""
        if self.by_columns:
            return super().transposed_times(scores, fill)
        product = np.zeros((self.shape[1], scores.shape[1]), dtype=scores.dtype)
        for rows, block in self.row_blocks(scores.dtype, fill):
            product += block.T @ scores[rows]
        return product

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Multiply there and back while a block of rows is in memory: one walk."""
        if self.by_columns:
            return super().normal_product(panel, shift, fill)
        product = np.zeros(panel.shape, dtype=panel.dtype)
        total = np.zeros(panel.shape[1], dtype=panel.dtype)
        for _, block in self.row_blocks(panel.dtype, fill):
            scores = block @ panel - shift[None, :]
            product += block.T @ scores
            total += scores.sum(axis=0)
        return product, total

    def scatter(self, mean: Vector, weight: Vector, fill: Vector | None) -> Vector:
        """Return diag(weight)(X − 1·meanᵀ)ᵀ(X − 1·meanᵀ)diag(weight) in one walk over the rows."""
        size = self.shape[1]
        total: Vector = np.zeros((size, size))
        for _, block in self.row_blocks(np.float64, fill):
            if hasattr(block, "toarray"):  # stays sparse: the means are taken off the sum
                scaled, centre, height = block.copy(), mean * weight, block.shape[0]
                scaled.data *= weight[scaled.indices]
                total += (scaled.T @ scaled).toarray() - height * np.outer(centre, centre)
                # Sums over a block differ from the means.
                rest = np.asarray(scaled.sum(axis=0)) - height * centre
                total -= np.outer(rest, centre) + np.outer(centre, rest)
            else:
                centred = (block - mean) * weight
                total += centred.T @ centred
        return total


@final
class ArrayReader(RowReader):
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
        self.by_columns = array.strides[0] < array.strides[1]

    def read(self, columns: slice | Indices) -> NDArray[Any]:
        """Copy columns out of the map."""
        part = np.array(self._array[:, columns])
        self._walked += part.shape[1] / self.shape[1]
        return part

    def read_rows(self, rows: slice) -> NDArray[Any]:
        """Fetch rows from the disk; they are not copied."""
        part = self._array[rows]
        if part.flags.c_contiguous:  # touching every page once makes the system read it now
            part.reshape(-1).view(np.uint8)[::PAGE_BYTES].max()
        self._walked += part.shape[0] / self.shape[0]
        return part
