"""What formats with groups of arrays share: one of them is the table, and others may say something about samples."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import StreamedFormat
from certpca.formats.groups.array_names import ARRAY
from certpca.readers.base import DEFAULT_MEMORY, Reader


class GroupFormat(StreamedFormat):
    """A format in which an array is chosen; columns of obs are labels."""

    settings = (ARRAY,)

    @abstractmethod
    def reader(self, file: Path, array: str | None, memory: float) -> Reader:
        """Open one of the arrays, or by default the table."""

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Open the array wanted."""
        reader = self.reader(file, wanted.settings["array"], wanted.budget)
        return Table(reader, reader.names, sample_names=reader.sample_names)

    def labels(self, file: Path) -> Mapping[str, Any]:
        """Return the columns about samples."""
        return self.reader(file, None, DEFAULT_MEMORY).obs
