"""Arrays in files: what goes wrong while they are read is said of the file."""

from typing import Any

import numpy as np

from certpca.runtime.errors import CertpcaError, DataFileError


class GuardedArray:
    """An array of HDF5 or Zarr whose errors name the file.

    Parameters
    ----------
    array
        What is sliced.
    label
        The file and the array's name in it.
    """

    def __init__(self, array: Any, label: str) -> None:
        self._array = array
        self.label = label
        self.shape = tuple(int(side) for side in array.shape)
        self.dtype = np.dtype(array.dtype)
        self.chunks = getattr(array, "chunks", None)

    def __getitem__(self, key: Any) -> Any:
        """Read a part."""
        try:
            return self._array[key]
        except CertpcaError:
            raise
        except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
            msg = f"{self.label} cannot be read, the file is damaged or cut off: {error}"
            raise DataFileError(msg) from error


def texts_of(array: Any) -> tuple[str, ...]:
    """Return the entries of an array as texts, whichever way texts are stored."""
    values = np.asarray(array[:]).tolist()
    return tuple(value.decode("utf-8") if isinstance(value, bytes) else str(value) for value in values)
