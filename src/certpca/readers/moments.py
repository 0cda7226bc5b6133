"""Counts, means and sums of squares of columns, in float64 and by blocks of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.arrays import Array, Indices, Vector, device_of, is_host, namespace, to_vector

BLOCK_BYTES = 1 << 20  # converted blocks stay in the cache, and in memory that is at hand
COLUMN_BYTES = BLOCK_BYTES >> 4  # of a column, so that a block of what is kept by columns holds several
LARGEST, SMALLEST = 2.0**800, 2.0**-900  # sums of squares between which no square overflows or vanishes
SMALLEST_MEAN = 2.0**-400  # what is left of smaller deviations from a larger mean is rounding
EXACT_ROWS = 64  # so many squares of bytes add up to less than 2^24: exact in float32


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What one or two walks over the data tell about each column.

    `squares` is the sum of squared deviations from the mean, or of squares where the data
    are not to be centred; exactly zero for columns that are constant up to rounding. They are those of the column
    divided by 2 to the `power`, which is 0 unless its numbers are too large or too small to be squared.
    """

    rows: int
    count: Vector
    mean: Vector
    squares: Vector
    infinite: NDArray[np.bool_]
    power: Any = 0

    @property
    def any_missing(self) -> bool:
        """Whether any value is missing."""
        return bool((self.count < self.rows).any())


@np.errstate(invalid="ignore", over="ignore", under="ignore")  # +inf and -inf in one column; huge values
def dense_moments(values: Array, code: int | None, *, center: bool) -> Moments:
    """Walk over dense data twice: means first, then squared deviations from them."""
    if code is None and is_host(values) and values.dtype.kind in "iu" and values.dtype.itemsize == 1:
        return _byte_moments(values, center=center)
    if is_host(values) and values.flags.f_contiguous and 0 < values.shape[0] <= COLUMN_BYTES // 8:
        width = BLOCK_BYTES // (8 * values.shape[0])
        parts = [values[:, start : start + width] for start in range(0, max(1, values.shape[1]), width)]
        return _side_by_side([_moments_by_rows(part, code, center=center) for part in parts])
    return _moments_by_rows(values, code, center=center)


def _side_by_side(parts: list[Moments]) -> Moments:
    """Put together what is known of some columns each."""
    if len(parts) == 1:
        return parts[0]
    power = np.concatenate([np.broadcast_to(part.power, part.mean.shape) for part in parts])
    count, mean, squares, infinite = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("count", "mean", "squares", "infinite")
    )
    return Moments(parts[0].rows, count, mean, squares, infinite, power if power.any() else 0)


def _moments_by_rows(values: Array, code: int | None, *, center: bool) -> Moments:
    """Walk over blocks of rows."""
    xp = namespace(values)
    rows, size = values.shape
    count, total = np.full(size, float(rows)), np.zeros(size)
    for block in row_blocks(values):
        total += to_vector(xp.sum(xp.astype(block, xp.float64, copy=False), axis=0))
    complete = code is None and bool(np.isfinite(total).all())  # one value missing or infinite would show here
    if not complete:
        count, total = np.zeros(size), np.zeros(size)
        for block in row_blocks(values):
            numbers, present = _present(xp, block, code)
            count += to_vector(xp.sum(xp.astype(present, xp.float64), axis=0))
            total += to_vector(xp.sum(numbers, axis=0))
    mean, infinite = (total / rows, np.zeros(size, dtype=bool)) if complete else _means(total, count)
    squares = np.zeros(size)
    reference = mean if center else np.zeros(size)
    shift = xp.asarray(reference, dtype=xp.float64, device=device_of(values))[None, :]
    for block in row_blocks(values):
        if complete:
            deviation = xp.astype(block, xp.float64, copy=False) - shift
        else:
            numbers, present = _present(xp, block, code)
            deviation = xp.where(present, numbers - shift, xp.zeros_like(numbers))
        squares += to_vector(_column_squares(xp, deviation))
    ordinary = not _is_double(values.dtype) or (complete and squares.min() >= SMALLEST and squares.max() <= LARGEST)
    odd = np.empty(0, np.intp) if ordinary else np.flatnonzero(_out_of_range(mean, squares, infinite))
    found = Moments(rows, count, mean, without_rounding(squares, reference, rows), infinite)
    width = max(1, BLOCK_BYTES // (8 * rows))
    closer = []
    for start in range(0, odd.size, width):
        part = odd[start : start + width]
        numbers = _host_columns(values, part)
        if numbers.any():  # else all of them are zero, and nothing can be told better
            closer.append((part, _rescaled(numbers, code, center=center)))
    return _amended(found, closer)


def _host_columns(values: Array, columns: Indices) -> Vector:
    xp = namespace(values)
    return to_vector(xp.take(values, xp.asarray(columns, device=device_of(values)), axis=1))


def _out_of_range(mean: Vector, squares: Vector, infinite: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which columns may have numbers whose squares overflow or vanish; zeros are among them."""
    small = (squares < SMALLEST) & (np.abs(mean) < SMALLEST_MEAN)  # else the column is constant up to rounding
    return np.asarray(infinite | ~(squares <= LARGEST) | small)


def _rescaled(numbers: Vector, code: int | None, *, center: bool) -> Moments:
    """Return the moments of columns that are divided by powers of two first, so that their largest number is near 1."""
    absent = np.isnan(numbers) if code is None else np.isnan(numbers) | (numbers == code)
    numbers = np.where(absent, 0.0, numbers)
    count = (numbers.shape[0] - absent.sum(axis=0)).astype(np.float64)
    largest = np.abs(numbers).max(axis=0)
    infinite = np.isinf(largest)
    power = np.where(infinite, 0, np.frexp(largest)[1])
    near = np.ldexp(np.where(infinite, 0.0, numbers), -power)
    mean, _ = _means(near.sum(axis=0), count)
    deviation = np.where(absent, 0.0, near - mean) if center else near
    squares = without_rounding((deviation**2).sum(axis=0), mean if center else 0.0 * mean, numbers.shape[0])
    return Moments(numbers.shape[0], count, np.ldexp(mean, power), squares, infinite, power)


def _amended(found: Moments, parts: list[tuple[Indices, Moments]]) -> Moments:
    """Put what a closer look at some columns gave in the place of what was found at first."""
    if not parts:
        return found
    mean, squares, infinite = found.mean.copy(), found.squares.copy(), found.infinite.copy()
    power = np.zeros(found.mean.size, dtype=np.int64)
    for columns, closer in parts:
        mean[columns], squares[columns], infinite[columns] = closer.mean, closer.squares, closer.infinite
        power[columns] = closer.power
    return Moments(found.rows, found.count, mean, squares, infinite, power)


def _is_double(dtype: Any) -> bool:
    """Say whether numbers of a type can be too large or too small to be squared in float64."""
    return bool(dtype == np.float64) if isinstance(dtype, np.dtype) else str(dtype).rsplit(".", 1)[-1] == "float64"


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
    """Read the moments of CSC data off the entries it stores, of as many columns at a time as stay in the cache."""
    rows, size = values.shape
    starts, first = np.asarray(values.indptr), 0
    parts: list[Moments] = []
    while first < size or not parts:
        last = int(np.searchsorted(starts, starts[first] + BLOCK_BYTES // 16, side="right")) - 1
        last = min(max(last, first + 1), size)
        entries = values.data[starts[first] : starts[last]]
        parts.append(_moments_of_entries(entries, np.diff(starts[first : last + 1]), rows, center=center))
        first = last
    return _side_by_side(parts)


def _moments_of_entries(entries: NDArray[Any], stored: Indices, rows: int, *, center: bool) -> Moments:
    """Return the moments of columns whose entries follow each other, so many for each."""
    data = entries.astype(np.float64, copy=False)
    found, plain = _sparse_sums(data, stored, rows, center=center)
    if not _is_double(entries.dtype):
        return found
    odd = _out_of_range(found.mean, plain, found.infinite) & (stored > 0)
    if not odd.any():
        return found
    chosen, data, stored = np.flatnonzero(odd), data[np.repeat(odd, stored)], stored[odd]
    largest = np.maximum.reduceat(np.where(np.isnan(data), 0.0, np.abs(data)), np.cumsum(stored) - stored)
    power = np.where(np.isinf(largest), 0, np.frexp(largest)[1])
    closer, _ = _sparse_sums(np.ldexp(data, -np.repeat(power, stored)), stored, rows, center=center)
    mean = np.ldexp(closer.mean, power)
    return _amended(found, [(chosen, Moments(rows, closer.count, mean, closer.squares, np.isinf(largest), power))])


@np.errstate(invalid="ignore", over="ignore", under="ignore")  # +inf and -inf in one column; huge values
def _sparse_sums(data: Vector, stored: Indices, rows: int, *, center: bool) -> tuple[Moments, Vector]:
    """Return the moments of columns, and the sums of squares as they were before rounding."""
    count, total = np.full(stored.size, float(rows)), _sums(data, stored)
    holes = np.zeros(0, bool) if np.isfinite(total).all() else np.isnan(data)  # one value missing would show
    if holes.any():
        count -= _sums(holes.astype(np.float64), stored)
        data = np.where(holes, 0.0, data)
        total = _sums(data, stored)
    mean, infinite = _means(total, count)
    reference = mean if center else np.zeros_like(mean)
    deviation = data - np.repeat(reference, stored)
    if holes.any():
        deviation[holes] = 0.0
    squares = _sums(np.square(deviation, out=deviation), stored) + (rows - stored) * reference**2
    return Moments(rows, count, mean, without_rounding(squares, reference, rows), infinite), squares


def _sums(data: Vector, stored: Indices) -> Vector:
    """Add up what each column stores."""
    total, filled = np.zeros(stored.size), np.flatnonzero(stored)
    if filled.size:
        total[filled] = np.add.reduceat(data, (np.cumsum(stored) - stored)[filled])
    return total


def row_blocks(values: Array, itemsize: int = 8) -> Iterator[Array]:
    """Walk over the rows of an array by blocks that stay in the cache, at so many bytes for each number."""
    rows, size = values.shape
    height = max(1, BLOCK_BYTES // (itemsize * size))
    for start in range(0, rows, height):
        yield values[start : min(start + height, rows), :]


def _present(xp: Any, block: Array, code: int | None) -> tuple[Array, Array]:
    """Return a block in float64 with zeros at missing values, and where values are present."""
    numbers = xp.astype(block, xp.float64)
    present = ~xp.isnan(numbers) if code is None else ~xp.isnan(numbers) & (block != code)
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
    with np.errstate(over="ignore", under="ignore"):
        noise = rows * (8 * np.finfo(np.float64).eps * reference) ** 2
    return np.where((squares <= noise) & np.isfinite(squares), 0.0, squares)
