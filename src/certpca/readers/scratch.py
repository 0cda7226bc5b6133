"""Room on disk for as long as it is used."""

import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.errors import DataFileError


def scratch_array(count: int, dtype: Any, purpose: str) -> NDArray[Any]:
    """Return an array in a file without a name, which goes with the array, or with the process however that ends.

    Parameters
    ----------
    count
        Number of entries.
    dtype
        Their type.
    purpose
        What the room is for, for the error where there is none.
    """
    kind = np.dtype(dtype)
    if count == 0:
        return np.empty(0, dtype=kind)
    try:
        with tempfile.TemporaryFile(prefix="certpca-") as file:
            if hasattr(os, "posix_fallocate"):  # a full disk is noticed here, not while pages are written
                os.posix_fallocate(file.fileno(), 0, count * kind.itemsize)
            return np.memmap(file, dtype=kind, mode="r+", shape=(count,)).view(np.ndarray)
    except OSError as error:
        msg = (
            f"{purpose} needs {count * kind.itemsize / 2**30:.3g} GiB in {tempfile.gettempdir()!r}, which has no room "
            f"({error.strerror or error}); set TMPDIR to a folder with more, or allow more memory (memory=, --memory)"
        )
        raise DataFileError(msg) from error
