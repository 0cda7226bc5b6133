"""Packed genotypes that are in memory: what a worker of a cluster has of a file."""

from collections.abc import Iterator

from certpca.arrays import Indices
from certpca.operators.packed import Packed


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

    def walk(self, rows: Indices, largest: int) -> Iterator[tuple[slice, Packed, Indices]]:
        """Give all rows at once, whatever may be read at a time: nothing is."""
        del largest
        if rows.size:
            yield slice(0, rows.size), self._table, rows
