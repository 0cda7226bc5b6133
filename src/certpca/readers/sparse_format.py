"""Sparse matrices as they arrive: what their arrays say must fit together before anything indexes with them.

SciPy checks little when a matrix is made and nothing when its arrays are changed later; its loops then read and write
outside of them.
"""

import os
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.errors import InvalidDataError

BYTES_A_SIDE = 64  # that means, weights and starts take for each row or column, at least


def sound_sparse(values: Any) -> Any:
    """Return a scipy.sparse matrix as an array that shares its numbers, or say how it is damaged.

    One pass over the indices. Unsorted and repeated entries are sound: repeated ones count as their sum.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])
    >>> sound_sparse(matrix).nnz
    2
    >>> matrix.indices[0] = 7
    >>> sound_sparse(matrix)
    Traceback (most recent call last):
    ...
    certpca.runtime.errors.InvalidDataError: the sparse matrix is damaged: it has the column index 7, but 2 columns
    """
    try:
        return _checked(values)
    except InvalidDataError:
        raise
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        _refuse(str(error))


def _checked(values: Any) -> Any:
    import scipy.sparse as sp

    rows, columns = require_room(values.shape)
    form = values.format
    if values.dtype.kind not in "biufc":
        _refuse(f"its entries must be numbers, they are {values.dtype}")
    if form in ("csr", "csc", "bsr"):
        block = (1, 1) if form != "bsr" else _block_size(values, (rows, columns))
        along, across = (rows // block[0], columns // block[1]) if form != "csc" else (columns, rows)
        starts, used = _checked_starts(values.indptr, along, len(values.indices), np.shape(values.data), form)
        indices = _checked_indices(values.indices[:used], across, "row" if form == "csc" else "column")
        make = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[form]
        return make((values.data[:used], indices, starts), shape=(rows, columns))
    if form == "lil":
        _check_lists(values, rows)
        return sound_sparse(values.tocsr())
    if form == "dia":
        _check_diagonals(values)
    coordinates = values if form == "coo" else values.tocoo()
    places = [np.asarray(side) for side in (coordinates.row, coordinates.col)]
    if any(side.shape != coordinates.data.shape for side in places):
        _refuse(f"it has {coordinates.data.size} entries, {places[0].size} rows and {places[1].size} columns for them")
    row, column = (
        _checked_indices(side, most, what)
        for side, most, what in zip(places, (rows, columns), ("row", "column"), strict=True)
    )
    return sp.coo_array((coordinates.data, (row, column)), shape=(rows, columns))


def require_room(shape: Any) -> tuple[int, int]:
    """Return rows and columns, unless what there is to keep for each of them cannot fit this machine."""
    rows, columns = (int(side) for side in shape)
    if rows < 0 or columns < 0:
        _refuse(f"its shape is {rows} x {columns}")
    memory = _memory()
    if BYTES_A_SIDE * (rows + columns) > memory:
        msg = (
            f"the sparse matrix claims {rows} rows and {columns} columns: what is kept for each of them takes more "
            f"than the {memory / 2**30:.0f} GiB of this machine; check its shape, or drop empty rows and columns"
        )
        raise InvalidDataError(msg)
    return rows, columns


def by_columns(values: Any) -> Any:
    """Return a sound sparse matrix in CSC form with floating entries, each stored once, and leave the caller's own.

    Repeated entries are added in float64 and in the order in which they are stored, as the checker does.
    """
    from scipy.sparse import csc_array

    columns = values if values.format == "csc" else None
    if columns is None or not columns.has_canonical_format:
        columns = values.tocsc() if values.format == "csr" else None
        if columns is None or not columns.has_canonical_format:
            columns = _summed(values)
    return csc_array(columns) if columns.dtype.kind == "f" else csc_array(columns.astype(np.float64))


def _summed(values: Any) -> Any:
    from scipy.sparse import csc_array

    entries = values.tocoo()
    order = np.lexsort((entries.row, entries.col))  # keeps the order of what is stored twice
    row, column, data = entries.row[order], entries.col[order], entries.data[order]
    first = np.ones(order.size, dtype=bool)
    first[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    if not first.all():
        data = np.bincount(np.cumsum(first) - 1, weights=data)
        row, column = row[first], column[first]
    starts = np.searchsorted(column, np.arange(values.shape[1] + 1))
    return csc_array((data, row, starts), shape=values.shape)


def _refuse(problem: str) -> NoReturn:
    msg = f"the sparse matrix is damaged: {problem}"
    raise InvalidDataError(msg)


def _checked_starts(starts: Any, along: int, places: int, held: Any, form: str) -> tuple[NDArray[Any], int]:
    """Return where each row or column begins, and how many entries are in use."""
    starts, entries = np.asarray(starts), int(held[0])
    if len(held) != (3 if form == "bsr" else 1):
        _refuse(f"its entries must be a list of numbers, their shape is {tuple(held)}")
    what = "columns" if form == "csc" else "rows"
    if starts.dtype.kind not in "iu" or starts.shape != (along + 1,):
        _refuse(f"indptr must hold {along + 1} whole numbers for {along} {what}, it has {starts.size} ({starts.dtype})")
    if places != entries:
        _refuse(f"it has {entries} entries and {places} indices")
    if starts[0] != 0 or bool((starts[1:] < starts[:-1]).any()) or not 0 <= starts[-1] <= entries:
        _refuse(f"indptr must rise from 0 to at most the number of entries, {entries}")
    return starts, int(starts[-1])


def _checked_indices(given: Any, most: int, what: str) -> NDArray[Any]:
    indices: NDArray[Any] = np.asarray(given)
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        _refuse(f"{what} indices must be a list of whole numbers, they are {indices.dtype}")
    if indices.size:
        lowest, highest = int(indices.min()), int(indices.max())
        if lowest < 0 or highest >= most:
            _refuse(f"it has the {what} index {lowest if lowest < 0 else highest}, but {most} {what}s")
    return indices


def _block_size(values: Any, shape: tuple[int, int]) -> tuple[int, int]:
    data = np.asarray(values.data)
    if data.ndim != 3 or 0 in data.shape[1:] or shape[0] % data.shape[1] or shape[1] % data.shape[2]:
        _refuse(f"blocks of shape {data.shape[1:]} do not make up {shape[0]} x {shape[1]}")
    return int(data.shape[1]), int(data.shape[2])


def _check_lists(values: Any, rows: int) -> None:
    fits = len(values.rows) == len(values.data) == rows
    if not fits or any(len(places) != len(data) for places, data in zip(values.rows, values.data, strict=True)):
        _refuse("its rows do not have one index for each entry")


def _check_diagonals(values: Any) -> None:
    offsets, data = np.asarray(values.offsets), np.asarray(values.data)
    whole = offsets.dtype.kind in "iu" and offsets.ndim == 1
    if not whole or data.ndim != 2 or data.shape[0] != offsets.size or np.unique(offsets).size != offsets.size:
        _refuse("its diagonals do not have one offset each")


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # pragma: no cover - not told on this system
        return 1 << 40
