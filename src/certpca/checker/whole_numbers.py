"""Data that are whole numbers of a byte: exact sums over columns, and products without centring every number.

Sums. While such data are hashed, how many numbers every column has, their sum, that of their magnitudes and that of
their squares are added up, which is exact: all are whole numbers, in floating point below 2⁵³ (or 2²⁴ in single
precision), where no sum in any order rounds. So the data need not be read again for means and lengths. A mean and a
length then round a few times only, so the allowances of `columns` for sums over all rows cover them. One thing does
not follow: that the squared length is that of the column as it is rounded when it is centred, up to γ_d. Each entry
of that is off by γ_2 of the mean and γ_4 of itself, and so is the length by γ_2√d|mean| + γ_4|a|. Where 32|mean| ≤
√d|a|, that is γ_2 d|a|/32 + γ_4|a|, so the square is within γ_{d/8+16}; elsewhere the sums are not used.

Uncentred. F = (A − 1mᵀ)diag(c) for the numbers A as they are stored, with the mean m in place of missing ones, and
weights c. Taken exactly, for m and c as they were rounded, it is as near to the true one as the rounded F is: it
misses it by the errors of m and c, which are parts of what `columns` allows for. A product with A rounds relative to
|A_i|, and with 1mᵀ to √d|m_i|: together, in the units of F, to `reach` = c(|A_i| + √d|m_i|) ≤ |a_i| + 2c√d|m_i|.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.checker.numbers import Indices, Vector

MOST_ROWS = 1 << 20  # rows² times the largest square is a whole number of 64 bits
EXACT = 1 << 24  # whole numbers below it, and their sums, are exact in single precision


@dataclass(frozen=True, slots=True)
class Uncentred:
    """F = (A − 1 meanᵀ) diag(weight), A by blocks of columns; products with a column round relative to its `reach`."""

    block: Callable[[slice], Vector]
    mean: Vector
    weight: Vector
    reach: Vector


class ColumnSums:
    """Exact sums over the columns of a table of bytes; `complete` once all were added, and all were bytes.

    `present` counts numbers that are there, `largest` is their largest magnitude; `total`, `sizes` and `squares` add up
    them, their magnitudes and their squares.
    """

    def __init__(self, rows: int, size: int, missing: int | None) -> None:
        self.rows, self._missing, self._left, self._fit = rows, missing, size, rows <= MOST_ROWS
        self._lock = Lock()  # blocks may be read by several threads
        self.present, self.largest = np.full(size, rows), np.zeros(size)
        self.total, self.sizes, self.squares = (np.zeros(size, dtype=np.int64) for _ in range(3))

    @property
    def complete(self) -> bool:
        """Whether the sums are those of all columns."""
        return self._fit and self._left == 0

    def add(self, columns: slice, stored: NDArray[Any]) -> None:
        """Add up a run of columns, unless they are no bytes, or a code may stand for a number like others."""
        missing = self._missing
        if stored.dtype.itemsize != 1 or (missing is not None and stored.dtype.kind not in "iu"):
            self._fit = False
        if not self._fit:
            return
        table, turned = laid_out(stored)
        holes, gaps = holes_in(table, turned, missing)
        if missing is not None and np.count_nonzero(table < 0) != (holes.size if missing < 0 else 0):
            self._fit = False
            return
        low, high = int(table.min()), int(table.max())
        wide = max(low * low, high * high) * self.rows >= EXACT
        numbers: NDArray[Any] = table.astype(np.float64 if wide else np.float32)
        if holes.size:
            numbers.ravel()[holes] = 0.0
            self.present[columns] -= np.bincount(gaps, minlength=stored.shape[1])
        numbers = numbers.T if turned else numbers
        ones = np.ones(self.rows, dtype=numbers.dtype)
        self.total[columns] = ones @ numbers
        self.squares[columns] = np.einsum("ij,ij->j", numbers, numbers)
        if low < 0:
            np.abs(numbers, out=numbers)
        self.sizes[columns] = ones @ numbers if low < 0 else self.total[columns]
        self.largest[columns] = numbers.max(axis=0)
        with self._lock:
            self._left -= stored.shape[1]

    def centred_squares(self) -> Vector:
        """Return the squared distance of every column from its mean, which rounds twice."""
        present = np.maximum(self.present, 1)
        return np.asarray((present * self.squares - self.total**2) / present)


def in_bytes(values: Any) -> bool:
    """Whether numbers of a table are bytes, wherever they are; sparse tables are looked at otherwise."""
    dtype = getattr(values, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.itemsize == 1 and dtype.kind in "iub" and not hasattr(values, "nnz")


def laid_out(stored: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """Return columns as they lie in memory, and whether that is turned round."""
    turned = abs(stored.strides[0]) <= abs(stored.strides[1])
    return np.ascontiguousarray(stored.T if turned else stored), turned


def holes_in(table: NDArray[Any], turned: bool, missing: int | None) -> tuple[Indices, Indices]:
    """Return where in the flattened table a code stands for missing numbers, and in which columns that is."""
    if missing is None:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    places = np.flatnonzero(table == missing)
    return places, places // table.shape[1] if turned else places % table.shape[1]


def in_floating_point(stored: NDArray[Any], missing: int | None, mean: Vector) -> Vector:
    """Return columns in float64, with means where numbers are missing."""
    table, turned = laid_out(stored)
    numbers = table.astype(np.float64)
    places, columns = holes_in(table, turned, missing)
    numbers.ravel()[places] = mean[columns]
    return numbers.T if turned else numbers
