"""Matrix Market (.mtx): sparse or dense, as scipy reads it."""

from pathlib import Path

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import Format, register
from certpca.formats.file_errors import sound
from certpca.readers.sparse_format import by_columns
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.errors import DataFileError


@register
class MatrixMarket(Format):
    """Matrices as text, which have no names."""

    kind = "Matrix Market"
    endings = (".mtx",)
    packings = (".gz",)

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Read the matrix."""
        from scipy.io import mmread

        del wanted
        try:
            data = sound(mmread(file, spmatrix=False), file)
        except (MemoryError, OverflowError) as error:
            msg = f"{str(file)!r} is damaged or does not fit memory: there is no room for what its first line claims"
            raise DataFileError(msg) from error
        return Table(by_columns(data) if is_sparse(data) else data)
