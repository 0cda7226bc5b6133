"""Columns of files whose columns do not lie together: out of the file at first, then out of a copy in their order.

Certificates and their checker read all columns, a few at a time. In a file whose rows lie together every such request
is a walk over everything, so after a few walks the file is copied once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from certpca.readers.base import Reader
from certpca.readers.blocks import as_run
from certpca.runtime.arrays import Indices

WALKS_BEFORE_COPY = 2.0  # about what a copy costs: at most twice the work of whoever knew the future


@dataclass(slots=True)
class CopiedColumns:
    """Reads columns, and counts how much more of the file that takes; when it makes two walks, there is a copy.

    The copy is in a file without a name in the folder for temporary files. Products use it too: measured on compressed
    files, two walks over it take less time than one over the file.

    Parameters
    ----------
    size
        Number of columns.
    decode
        Reads columns from the file itself; a slice has a start and a stop and no step.
    share_touched
        Returns which share of the file must be decoded to read columns.
    copied
        Copies the numbers in the order of columns.
    """

    size: int
    decode: Callable[[slice | Indices], Any]
    share_touched: Callable[[slice | Indices], float]
    copied: Callable[[], Reader]
    copy: Reader | None = None
    _walked: float = field(default=0.0, init=False)
    _in_vain: float = field(default=0.0, init=False)

    @property
    def passes(self) -> float:
        """How often the file, or the copy, has been read for columns, and the copy for anything."""
        return self._walked + (0.0 if self.copy is None else self.copy.passes)

    def read(self, columns: slice | Indices) -> Any:
        """Read columns by the shortest way."""
        wanted = as_run(columns, self.size)
        if self.copy is None:
            count = wanted.stop - wanted.start if isinstance(wanted, slice) else wanted.size
            share = self.share_touched(wanted)
            self._in_vain += share - count / self.size
            if self._in_vain <= WALKS_BEFORE_COPY:
                self._walked += share
                return self.decode(wanted)
            self.copy = self.copied()
        return self.copy.read(wanted)
