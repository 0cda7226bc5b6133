"""Sparse matrices as the checker reads them: from their arrays alone, every index looked at before it is used.

Loops over sparse matrices in libraries trust these arrays. Here nothing is handed to them: entries are put in place by
NumPy, which stays within its arrays, and entries that are stored twice are added in the order in which they are stored.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.checker.numbers import Vector, require

LARGEST_SIDE = 1 << 31  # a list of so many numbers takes 16 GiB


def is_sparse(values: Any) -> bool:
    """Say whether values are a sparse matrix."""
    return hasattr(values, "tocoo") and hasattr(values, "format")


class SparseTable:
    """Columns of a sparse matrix in float64, or a refusal where its arrays do not fit together."""

    dtype = np.dtype(np.float64)

    def __init__(self, values: Any) -> None:
        self.shape = tuple(int(side) for side in values.shape)
        require(len(self.shape) == 2, "the sparse matrix is not a table")
        require(all(0 <= side <= LARGEST_SIDE for side in self.shape), "the sparse matrix claims an impossible shape")
        kind = getattr(values, "dtype", None)
        require(getattr(kind, "kind", "O") in "biuf", f"the sparse matrix holds {kind}, not real numbers")
        if values.format == "csc":
            self._starts = _starts(values.indptr, self.shape[1], values)
            used = int(self._starts[-1])
            self._rows, self._data = _indices(values.indices[:used], self.shape[0]), _numbers(values, used)
            return
        row, column, data = _entries(values, self.shape)
        order = np.argsort(column, kind="stable")
        self._rows, self._data = row[order], data[order]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=self.shape[1]))])

    def __getitem__(self, key: tuple[slice, slice]) -> Vector:
        """Return a run of columns."""
        part = key[1]
        first, last, step = part.indices(self.shape[1])
        assert step == 1
        rows, width = self.shape[0], max(0, last - first)
        begin, end = int(self._starts[first]), int(self._starts[last])
        place = self._rows[begin:end].astype(np.int64) * width
        place += np.repeat(np.arange(width), np.diff(self._starts[first : last + 1]))
        dense = np.bincount(place, weights=self._data[begin:end], minlength=rows * width)
        return np.asarray(dense, dtype=np.float64).reshape(rows, width)

    def take(self, kept: NDArray[Any]) -> "SparseTable":
        """Return some of the columns, in increasing order."""
        part = object.__new__(SparseTable)
        counts = np.diff(self._starts)
        chosen = np.zeros(self.shape[1], dtype=bool)
        chosen[kept] = True
        mine = np.repeat(chosen, counts)
        part.shape = (self.shape[0], int(kept.size))
        part._rows, part._data = self._rows[: mine.size][mine], self._data[: mine.size][mine]
        part._starts = np.concatenate([[0], np.cumsum(counts[chosen])])
        return part

    def entries(self) -> tuple[NDArray[Any], Vector, NDArray[Any]]:
        """Return rows and values of all entries other than zero, and where each column begins and the last ends.

        Rows ascend in a column, and entries that are stored twice are added as in `__getitem__`.
        """
        rows, size = self.shape
        column = np.repeat(np.arange(size), np.diff(self._starts))
        place: NDArray[Any] = column * rows + self._rows
        data: NDArray[Any] = self._data.astype(np.float64)
        if not bool((place[1:] > place[:-1]).all()):
            order = np.argsort(place, kind="stable")
            place, group = np.unique(place[order], return_inverse=True)
            data = np.bincount(group, weights=data[order], minlength=place.size)
        kept = data != 0
        place = place[kept]
        starts = np.searchsorted(place, np.arange(size + 1) * rows)
        return place % rows, np.asarray(data[kept], dtype=np.float64), starts


def _entries(values: Any, shape: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the row, the column and the value of every entry."""
    if values.format == "csr":
        starts = _starts(values.indptr, shape[0], values)
        used = int(starts[-1])
        row = np.repeat(np.arange(shape[0]), np.diff(starts))
        return row, _indices(values.indices[:used], shape[1]), _numbers(values, used)
    if values.format == "bsr":
        data = np.asarray(values.data)
        require(data.ndim == 3 and 0 not in data.shape[1:], "the sparse matrix has no blocks")
        height, width = data.shape[1:]
        require(shape[0] % height == 0 and shape[1] % width == 0, "blocks of the sparse matrix do not fit its shape")
        starts = _starts(values.indptr, shape[0] // height, values)
        used = int(starts[-1])
        over = np.repeat(np.arange(shape[0] // height), np.diff(starts))[:, None, None] * height
        left = _indices(values.indices[:used], shape[1] // width).astype(np.int64)[:, None, None] * width
        row = np.broadcast_to(over + np.arange(height)[None, :, None], data[:used].shape)
        column = np.broadcast_to(left + np.arange(width)[None, None, :], data[:used].shape)
        return row.ravel(), column.ravel(), data[:used].ravel()
    if values.format == "lil":
        fits = len(values.rows) == len(values.data) == shape[0]
        require(fits, "the sparse matrix does not have one list for each row")
        same = all(len(places) == len(data) for places, data in zip(values.rows, values.data, strict=True))
        require(same, "the sparse matrix does not have one index for each entry")
        row = np.repeat(np.arange(shape[0]), [len(places) for places in values.rows])
        column = np.array([place for places in values.rows for place in places])
        data = np.array([entry for entries in values.data for entry in entries], dtype=values.dtype)
        return row, _indices(column if column.size else row, shape[1]), data
    if values.format == "dia":
        offsets, data = np.asarray(values.offsets), np.asarray(values.data)
        fits = offsets.ndim == 1 and offsets.dtype.kind in "iu" and data.ndim == 2 and data.shape[0] == offsets.size
        require(fits, "the sparse matrix does not have one offset for each diagonal")
        column = np.broadcast_to(np.arange(data.shape[1]), data.shape)
        row = column - offsets[:, None]
        inside = (row >= 0) & (row < shape[0]) & (column < shape[1])
        return row[inside], column[inside], data[inside]
    coordinates = values if values.format == "coo" else values.tocoo()
    row, column = _indices(coordinates.row, shape[0]), _indices(coordinates.col, shape[1])
    data = np.asarray(coordinates.data)
    require(row.shape == column.shape == data.shape, "the sparse matrix does not have one place for each entry")
    return row, column, data


def _numbers(values: Any, used: int) -> NDArray[Any]:
    data = np.asarray(values.data)
    require(data.ndim == 1, "entries of the sparse matrix are not a list of numbers")
    return data[:used]


def _starts(given: Any, along: int, values: Any) -> NDArray[Any]:
    starts: NDArray[Any] = np.asarray(given)
    entries = len(values.data)
    require(
        starts.dtype.kind in "iu" and starts.shape == (along + 1,), "indptr of the sparse matrix does not fit its shape"
    )
    require(len(values.indices) == entries, "the sparse matrix does not have one index for each entry")
    rising = bool((starts[1:] >= starts[:-1]).all())
    require(
        rising and starts[0] == 0 and starts[-1] <= entries,
        "indptr of the sparse matrix does not rise from 0 to its entries",
    )
    return starts.astype(np.int64)


def _indices(given: Any, most: int) -> NDArray[Any]:
    indices: NDArray[Any] = np.asarray(given)
    require(indices.dtype.kind in "iu" and indices.ndim == 1, "indices of the sparse matrix are not whole numbers")
    inside = indices.size == 0 or bool(indices.min() >= 0 and indices.max() < most)
    require(inside, "the sparse matrix has indices outside its shape")
    return indices
