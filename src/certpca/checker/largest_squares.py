"""The largest squares in the rows of FᵀF beside the diagonal, square by square of the matrix.

A product of two columns counts in the rows of both, so pairs are multiplied once but for those within one block. Of F,
a few blocks of columns are in memory at a time, and of every row what is largest so far. Where that is too much for all
rows, these are taken in bands, and pairs of columns in different bands are multiplied for each of the two.
"""

from collections.abc import Callable, Iterator

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import Vector
from certpca.checker.read_ahead import read_ahead

HEIGHT, WIDTH = 1024, 512  # rows that meet other columns, and how many of these at a time,
ENTRIES = 1 << 21  # but no more entries of the rows than these at a time,
FEWEST = 16  # or so many rows at least, as all that they meet is prepared for them,
KEPT = 1 << 22  # and no more of the largest in a band


class LargestEntries:
    """The largest entries of some rows, of all those that they were shown."""

    def __init__(self, rows: int, count: int) -> None:
        self._kept = np.full((rows, count), -np.inf)

    def show(self, rows: slice, entries: Vector) -> None:
        """Take in more entries of some rows; what is not a number counts as the largest."""
        both = np.concatenate([self._kept[rows], entries], axis=1)
        both.partition(entries.shape[1], axis=1)
        self._kept[rows] = both[:, entries.shape[1] :]

    def sums(self) -> Vector:
        """Return the sum of what is kept of every row."""
        return np.asarray(self._kept.sum(axis=1))

    def smallest(self) -> Vector:
        """Return the smallest that is kept of every row."""
        return np.asarray(self._kept.min(axis=1))


def sums_of_largest(prepared: Prepared, count: int, weight: float, others: Callable[[slice, Vector], Vector]) -> Vector:
    """Sum in every row the `count` largest of its weighted squares beside the diagonal and of some other entries.

    `others` returns a row of these for each of some columns, given F there; it is asked for every column once.
    """
    size, sums = prepared.size, np.empty(prepared.size)
    height = min(HEIGHT, max(FEWEST, ENTRIES // (WIDTH + count)))
    rise = height * max(1, KEPT // (height * count))
    for start in range(0, size, rise):
        band = slice(start, min(start + rise, size))
        largest = LargestEntries(band.stop - start, count)
        for left in _cut(band, height):
            block = prepared.block(left)
            rows = slice(left.start - start, left.stop - start)
            largest.show(rows, others(left, block))
            for part in _cut(slice(0, block.shape[1]), WIDTH):
                squares = _squares(block, block[:, part], weight)
                squares[np.arange(part.start, part.stop), np.arange(squares.shape[1])] = -np.inf
                largest.show(rows, squares)
            # Those of the band that come before have met these already.
            rights = [slice(left.stop, band.stop), slice(0, start), slice(band.stop, size)]
            parts = [part for right in rights for part in _cut(right, WIDTH)]
            for part, there in read_ahead(parts, prepared.block, prepared.threads):
                squares = _squares(block, there, weight)
                largest.show(rows, squares)
                if start <= part.start < band.stop:
                    largest.show(slice(part.start - start, part.stop - start), squares.T)
        sums[band] = largest.sums()
    return sums


def _squares(left: Vector, right: Vector, weight: float) -> Vector:
    products = left.T @ right
    np.multiply(products, products, out=products)
    products *= weight
    return np.asarray(products)


def _cut(columns: slice, width: int) -> Iterator[slice]:
    for start in range(columns.start, columns.stop, width):
        yield slice(start, min(start + width, columns.stop))
