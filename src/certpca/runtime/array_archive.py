"""Arrays of numbers in an NPZ file, never pickled."""

from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


def write_arrays(stream: IO[bytes], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name. `savez` has a switch against pickles; in NumPy 2.1 and before it is one more array.

    Raises
    ------
    ValueError
        Where an array holds objects.
    """
    objects = [name for name, array in arrays.items() if array.dtype.hasobject]
    if objects:
        msg = f"arrays of objects are not written: {', '.join(objects)}"
        raise ValueError(msg)
    np.savez(stream, **dict(arrays))  # type: ignore[arg-type]  # its switch is typed as if it were among them
