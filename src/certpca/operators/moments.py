"""Counts, means and sums of squares of columns, in float64 and by blocks of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.arrays import Array, Vector, device_of, is_host, namespace, to_vector

BLOCK_BYTES = 4 << 20  # converted blocks are used twice and stay in the cache
MISSING_GENOTYPE = -9
EXACT_ROWS = 64  # so many squares of bytes add up to less than 2^24: exact in float32


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What one or two walks over the data tell about each column.

    `squares` is the sum of squared deviations from the mean, or of squares where the data
    are not to be centred; exactly zero for columns that are constant up to rounding.
    """

    rows: int
    count: Vector
    mean: Vector
    squares: Vector
    infinite: NDArray[np.bool_]

    @property
    def any_missing(self) -> bool:
        """Whether any value is missing."""
        return bool((self.count < self.rows).any())


def genotype_code(values: Array) -> int | None:
    """Return -9 where it marks missing values: integers whose only negative value it is."""
    xp = namespace(values)
    if not xp.isdtype(values.dtype, "signed integer") or int(xp.min(values)) != MISSING_GENOTYPE:
        return None
    for block in _row_blocks(values, itemsize=1):
        if bool(xp.any((block < 0) & (block != MISSING_GENOTYPE))):
            return None
    return MISSING_GENOTYPE


def dense_moments(values: Array, code: int | None, *, center: bool) -> Moments:
    """Walk over dense data twice: means first, then squared deviations from them."""
    xp = namespace(values)
    if code is None and is_host(values) and values.dtype.kind in "iu" and values.dtype.itemsize == 1:
        return _byte_moments(values, center=center)
    rows, size = values.shape
    count, total = np.full(size, float(rows)), np.zeros(size)
    with np.errstate(invalid="ignore", over="ignore"):  # +inf and -inf in one column; huge values
        for block in _row_blocks(values):
            total += to_vector(xp.sum(xp.astype(block, xp.float64), axis=0))
    complete = code is None and bool(np.isfinite(total).all())  # one value missing or infinite would show here
    if not complete:
        count, total = np.zeros(size), np.zeros(size)
        for block in _row_blocks(values):
            numbers, present = _present(xp, block, code)
            count += to_vector(xp.sum(xp.astype(present, xp.float64), axis=0))
            with np.errstate(invalid="ignore", over="ignore"):
                total += to_vector(xp.sum(numbers, axis=0))
    mean, infinite = _means(total, count)
    squares = np.zeros(size)
    reference = mean if center else np.zeros(size)
    shift = xp.asarray(reference, dtype=xp.float64, device=device_of(values))[None, :]
    for block in _row_blocks(values):
        if complete:
            deviation = xp.astype(block, xp.float64) - shift
        else:
            numbers, present = _present(xp, block, code)
            deviation = xp.where(present, numbers - shift, xp.zeros_like(numbers))
        with np.errstate(over="ignore", invalid="ignore"):
            squares += to_vector(_column_squares(xp, deviation))
    return Moments(rows, count, mean, without_rounding(squares, reference, rows), infinite)


def _byte_moments(values: NDArray[Any], *, center: bool) -> Moments:
    """Walk once over 8-bit integers: their sums are exact, so nothing cancels."""
    rows, size = values.shape
    total, squares = np.zeros(size), np.zeros(size)
    for start in range(0, rows, EXACT_ROWS):
        block = values[start : start + EXACT_ROWS].astype(np.float32)
        ones = np.ones(block.shape[0], dtype=np.float32)
        total += ones @ block
        np.multiply(block, block, out=block)
        squares += ones @ block
    if center:
        squares -= total**2 / rows
    mean = total / rows
    reference = mean if center else np.zeros(size)
    infinite = np.zeros(size, dtype=bool)
    return Moments(rows, np.full(size, float(rows)), mean, without_rounding(squares, reference, rows), infinite)


def sparse_moments(values: Any, *, center: bool) -> Moments:
    """Read the moments of CSC data off the entries it stores."""
    rows, size = values.shape
    column = np.repeat(np.arange(size), np.diff(values.indptr))
    data = values.data.astype(np.float64)
    holes = np.isnan(data)
    count = rows - np.bincount(column[holes], minlength=size).astype(np.float64)
    data[holes] = 0.0
    with np.errstate(invalid="ignore"):  # +inf and -inf in one column
        total: Vector = np.bincount(column, weights=data, minlength=size).astype(np.float64)
    mean, infinite = _means(total, count)
    reference = mean if center else np.zeros(size)
    stored = np.bincount(column, minlength=size)
    with np.errstate(invalid="ignore", over="ignore"):
        deviation = np.where(holes, 0.0, data - reference[column])
        squares: Vector = np.bincount(column, weights=deviation**2, minlength=size).astype(np.float64)
        squares += (rows - stored) * reference**2
    return Moments(rows, count, mean, without_rounding(squares, reference, rows), infinite)


def _row_blocks(values: Array, itemsize: int = 8) -> Iterator[Array]:
    rows, size = values.shape
    height = max(1, BLOCK_BYTES // (itemsize * size))
    for start in range(0, rows, height):
        yield values[start : min(start + height, rows), :]


def _present(xp: Any, block: Array, code: int | None) -> tuple[Array, Array]:
    """Return a block in float64 with zeros at missing values, and where values are present."""
    numbers = xp.astype(block, xp.float64)
    present = ~xp.isnan(numbers) if code is None else block != code
    return xp.where(present, numbers, xp.zeros_like(numbers)), present


def _column_squares(xp: Any, deviation: Array) -> Array:
    if is_host(deviation):
        return np.einsum("ij,ij->j", deviation, deviation)
    return xp.sum(deviation * deviation, axis=0)


def _means(total: Vector, count: Vector) -> tuple[Vector, NDArray[np.bool_]]:
    infinite = ~np.isfinite(total)
    mean = np.divide(total, count, out=np.zeros_like(total), where=(count > 0) & ~infinite)
    return mean, infinite


def without_rounding(squares: Vector, reference: Vector, rows: int) -> Vector:
    """Call a column constant when its deviations are what rounding of its mean leaves."""
    with np.errstate(over="ignore"):
        noise = rows * (8 * np.finfo(np.float64).eps * reference) ** 2
    return np.where((squares <= noise) & np.isfinite(squares), 0.0, squares)
