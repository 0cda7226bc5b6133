"""Where packed genotypes come from, and those in memory: what a worker of a cluster has of a file."""

from typing import Protocol

from certpca.genotypes.packed import Packed
from certpca.runtime.arrays import Indices


class PackedStore(Protocol):
    """Rows of packed bytes, wherever they come from."""

    rows: int
    length: int

    def take(self, rows: Indices) -> Packed:
        """Read rows in the order given."""

    def run(self, rows: Indices, buffer: Packed) -> tuple[Packed, Indices]:
        """Read increasing rows, as many as the buffer has; return a table that holds them, and where in it they are."""


class PackedTable:
    """Rows of packed bytes, read like a `PackedFile`."""

    def __init__(self, table: Packed) -> None:
        self._table = table
        self.rows, self.length = table.shape

    def __sizeof__(self) -> int:
        """Tell Dask how much memory the rows take."""
        return int(self._table.nbytes)

    def take(self, rows: Indices) -> Packed:
        """Copy rows."""
        return self._table[rows]

    def run(self, rows: Indices, buffer: Packed) -> tuple[Packed, Indices]:
        """Return the table, and where in it the rows are; nothing is copied."""
        del buffer
        return self._table, rows
