"""Blocks of a table on their way from a file, dense or scipy.sparse: how large they may be, what is done to each."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.readers.moments import Moments, dense_moments, sparse_moments
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Indices, Vector


def bytes_in_use(stored: np.dtype[Any], wanted: Any) -> int:
    """Return the bytes that one value takes while blocks are walked over.

    One block is multiplied while the next is read, converted and rid of missing values.
    """
    return int(stored.itemsize) + 3 * int(np.dtype(wanted).itemsize) + 1


def runs(size: int, width: int) -> Iterator[slice]:
    """Cut a range into runs of some width."""
    for start in range(0, size, width):
        yield slice(start, min(start + width, size))


def as_run(columns: slice | Indices, size: int) -> slice | Indices:
    """Return a run of columns as a slice with two ends, anything else as indices from 0."""
    indices = np.arange(size)[columns]
    if indices.size and (np.diff(indices) == 1).all():
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices


def moments_of_block(block: Any, code: int | None, *, center: bool) -> Moments:
    """Return the moments of a block as it is stored; sparse ones are CSC."""
    return sparse_moments(block, center=center) if is_sparse(block) else dense_moments(block, code, center=center)


def with_holes_filled(block: Any, dtype: Any, fill: Vector | None, code: int | None = None) -> Any:
    """Convert a block to a floating type; `fill`, a number for each column, stands where values are missing.

    In dense blocks `code` marks these, or NaN where it is None; sparse ones, CSR or CSC, stay sparse and have NaN.
    """
    converted = block.astype(dtype, copy=False)
    if fill is None:
        return converted
    return _sparse_filled(converted, fill) if is_sparse(block) else _dense_filled(block, converted, fill, code)


def _dense_filled(raw: NDArray[Any], converted: NDArray[Any], fill: Vector, code: int | None) -> NDArray[Any]:
    hole = np.isnan(raw) if code is None else raw == code
    return np.where(hole, fill[None, :].astype(converted.dtype), converted)


def _sparse_filled(block: Any, fill: Vector) -> Any:
    holes = np.flatnonzero(np.isnan(block.data))
    if holes.size:
        block = block.copy()
        if block.format == "csr":
            columns = block.indices[holes]
        else:
            columns = np.searchsorted(block.indptr, holes, side="right") - 1
        block.data[holes] = fill[columns]
    return block
