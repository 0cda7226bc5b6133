"""All numbers of a file at once, where a memory budget has room for them: then they are ordinary data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from certpca.readers.base import Reader


@dataclass(slots=True)
class Loaded:
    """Loads everything once.

    Parameters
    ----------
    needs
        Returns the memory it takes to load everything and look at it, in bytes.
    load
        Returns everything, as an array or scipy.sparse.
    """

    needs: Callable[[], int]
    load: Callable[[], Any]
    values: Any = None

    def instead_of(self, reader: Reader) -> Any:
        """Return all numbers, or the reader where its budget has no room for them."""
        if self.values is None and self.needs() <= reader.bytes_allowed:
            self.values = self.load()
        return reader if self.values is None else self.values

    @property
    def passes(self) -> float:
        """How often the file has been read for this."""
        return 0.0 if self.values is None else 1.0
