"""What files in formats that need decoding share: columns by the shortest way, and all numbers at once if they fit.

Certificates and their checker read all columns, a few at a time. In a file whose rows lie together every such request
is a walk over everything, so after a few walks the file is copied once, in the order of its columns.
"""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.readers.base import DEFAULT_MEMORY, Reader, RowReader
from certpca.readers.moments import Moments
from certpca.runtime.arrays import Array, Indices, Vector

WALKS_BEFORE_COPY = 2.0  # about what a copy costs: at most twice the work of whoever knew the future


class LoadableReader(RowReader):
    """A file that is loaded as a whole where the budget has room for that: then its data are ordinary data.

    `sample_names` and `obs` (columns about samples) are what the file says beside the numbers.
    """

    sample_names: tuple[str, ...] | None = None
    obs: Mapping[str, NDArray[Any]] = MappingProxyType({})

    def __init__(self, memory: float = DEFAULT_MEMORY) -> None:
        super().__init__(memory)
        self._held: Any = None

    @abstractmethod
    def resident_bytes(self) -> int:
        """Return the memory it takes to load everything and look at it."""

    @abstractmethod
    def load(self) -> Any:
        """Return everything, as an array or scipy.sparse."""

    def resident(self) -> Any:
        """Load everything once, where the budget has room for it."""
        if self._held is None and self.resident_bytes() <= self.bytes_allowed:
            self._walked += 1.0
            self._held = self.load()
        return self if self._held is None else self._held


class FileReader(LoadableReader):
    """A file that is decoded as it is read.

    `read` counts how much more of the file it reads than it was asked for. When that makes two walks, the numbers are
    copied in the order of columns to a file without a name in the folder for temporary files. Then products use the
    copy too: measured on compressed files, two walks over it take less time than one over the file.
    """

    def __init__(self, memory: float = DEFAULT_MEMORY) -> None:
        super().__init__(memory)
        self._in_vain = 0.0
        self._copy: Reader | None = None

    @property
    def passes(self) -> float:
        """How often the file, or its copy in the order of columns, has been read so far."""
        return self._walked + (0.0 if self._copy is None else self._copy.passes)

    @property
    def is_copied(self) -> bool:
        """Whether there is a copy in the order of columns."""
        return self._copy is not None

    @abstractmethod
    def read_columns(self, columns: slice | Indices) -> Any:
        """Read columns from the file itself; a slice has a start and a stop and no step."""

    @abstractmethod
    def share_touched(self, columns: slice | Indices) -> float:
        """Return which share of the file must be decoded to read these columns."""

    @abstractmethod
    def copied_by_columns(self) -> Reader:
        """Copy the numbers in the order of columns, within the memory budget."""

    def read(self, columns: slice | Indices) -> Any:
        """Read columns from the file, or from its copy."""
        wanted = as_run(columns, self.shape[1])
        if self._copy is None:
            count = wanted.stop - wanted.start if isinstance(wanted, slice) else wanted.size
            share = self.share_touched(wanted)
            self._in_vain += share - count / self.shape[1]
            if self._in_vain <= WALKS_BEFORE_COPY:
                self._walked += share
                return self.read_columns(wanted)
            self._copy = self.copied_by_columns()
            self.by_columns = True
        return self._copy.read(wanted)

    def moments(self, *, center: bool) -> Moments:
        """Look at the copy where there is one: nothing in it needs decoding."""
        return super().moments(center=center) if self._copy is None else self._copy.moments(center=center)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Multiply from the copy where there is one."""
        return super().times(panel, fill) if self._copy is None else self._copy.times(panel, fill)

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Likewise."""
        copy = self._copy
        return super().transposed_times(scores, fill) if copy is None else copy.transposed_times(scores, fill)

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Likewise; two walks over the copy."""
        copy = self._copy
        return super().normal_product(panel, shift, fill) if copy is None else copy.normal_product(panel, shift, fill)

    def sample_product(self, scores: Array, mean: Vector, weight: Vector, fill: Vector | None) -> Array:
        """Likewise; one walk over the copy."""
        copy = self._copy
        if copy is None:
            return super().sample_product(scores, mean, weight, fill)
        return copy.sample_product(scores, mean, weight, fill)


def as_run(columns: slice | Indices, size: int) -> slice | Indices:
    """Return a run of columns as a slice with two ends, anything else as indices from 0."""
    indices = np.arange(size)[columns]
    if indices.size and (np.diff(indices) == 1).all():
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices
