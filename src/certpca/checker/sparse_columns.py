"""Columns of a sparse matrix measured by their nonzero entries alone, and hashed without the zeros.

With m rows, a column of p entries x_i other than zero and mean μ: Σ(x_i − μ)² over these and (m − p)μ² for the zeros
add up to its squared length after centring. Every term is rounded as in the sum over all rows, and there are fewer of
them, so that the allowances for m rows cover it.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.checker.numbers import Indices, Mask, Vector
from certpca.checker.sparse_table import SparseTable

FEW = 8  # a column is hashed without its zeros where fewer than one entry in this many is none,
FEW_WHOLE = 64  # or one in this many where its entries are small whole numbers, which take a byte each


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a sparse matrix that are not zero, column by column, rows ascending."""

    rows: int
    places: Indices
    values: Vector
    starts: Indices  # where each column begins, and the end of the last

    @property
    def counts(self) -> Indices:
        """Entries of each column."""
        return np.diff(self.starts)

    def sums(self, terms: Vector) -> Vector:
        """Add up one term for each entry, by columns."""
        return _by_columns(np.add, terms, self.starts)

    def largest(self) -> Vector:
        """Return the largest magnitude of each column."""
        return _by_columns(np.maximum, np.abs(self.values), self.starts)

    def of(self, wanted: Mask) -> "Entries":
        """Keep some columns."""
        kept = np.repeat(wanted, self.counts)
        starts = np.concatenate([[0], np.cumsum(self.counts[wanted])])
        return Entries(self.rows, self.places[kept], self.values[kept], starts)

    def spread(self, each: Vector) -> Vector:
        """Repeat one number for each column at all its entries."""
        return np.repeat(each, self.counts)


def entries_of(values: Any) -> Entries | None:
    """Return the entries of a sparse table, or None for anything else."""
    return Entries(values.shape[0], *values.entries()) if isinstance(values, SparseTable) else None


def _by_columns(operation: Any, terms: Vector, starts: Indices) -> Vector:
    result = np.zeros(starts.size - 1)
    filled = np.flatnonzero(np.diff(starts))
    if filled.size:
        result[filled] = operation.reduceat(terms, starts[:-1][filled])
    return result


def entries_by_rows(table: NDArray[Any]) -> Entries:
    """Return the entries of a dense table."""
    turned = table.T
    column, row = np.nonzero(turned)
    starts = np.searchsorted(column, np.arange(turned.shape[0] + 1))
    return Entries(table.shape[0], row, turned[column, row], starts)


def nearly_zero(counts: NDArray[Any], rows: int, whole: Mask) -> Mask:
    """Say which columns are hashed without their zeros; that depends on their numbers alone, not on what holds them."""
    return np.asarray(counts * np.where(whole, FEW_WHOLE, FEW) < rows)


class ZeroFree:
    """The hash of columns without their zeros: how many entries each has, where they are, and which."""

    def __init__(self) -> None:
        self._parts = [blake2b(digest_size=20) for _ in range(3)]

    def add(self, entries: Entries) -> None:
        """Go on with more columns."""
        kept = (entries.counts.astype("<i8"), entries.places.astype("<i8"), entries.values.astype("<f8"))
        for part, numbers in zip(self._parts, kept, strict=True):
            part.update(np.ascontiguousarray(numbers).data)

    def digest(self) -> bytes:
        """Return the hash."""
        return b"".join(part.digest() for part in self._parts)
