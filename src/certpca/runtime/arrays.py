"""Array types and the few operations that every layer shares.

This is the only module that knows array libraries by name.
"""

from functools import cache
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.errors import InvalidProblemError, MissingDependencyError

ANYWHERE = "on any device"
Array = Annotated[Any, ANYWHERE]  # a panel in any namespace that follows the array API standard
Vector = NDArray[np.float64]  # host numbers; also used for small host matrices
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]  # one entry for each feature


def namespace(array: Array) -> Any:
    """Return the array API namespace an array belongs to."""
    return _of_numpy() if is_host(array) else _namespace_elsewhere(array)


@cache
def _of_numpy() -> Any:
    return _namespace_elsewhere(np.empty(0))


def _namespace_elsewhere(array: Array) -> Any:
    from array_api_compat import array_namespace

    return array_namespace(array)


def is_host(array: Array) -> bool:
    """Say whether an array is NumPy's own."""
    return isinstance(array, np.ndarray)


def is_array(data: object) -> bool:
    """Say whether an object is an array of a library that follows the standard."""
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(data))


def device_of(array: Array) -> Any:
    """Return the device that holds an array."""
    if is_host(array):
        return "cpu"
    from array_api_compat import device

    return device(array)


def to_numpy(array: Array) -> NDArray[Any]:
    """Bring an array of any namespace to the host."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "get"):  # CuPy
        return np.asarray(array.get())
    if hasattr(array, "detach"):  # torch
        return np.asarray(array.detach().cpu().numpy())
    return np.from_dlpack(array)


def to_device(array: Array, device: str) -> Array:
    """Copy an array to a device, such as ``"cuda"``, by torch or, where that is not installed, by CuPy."""
    from importlib.util import find_spec

    host = to_numpy(array)
    try:
        if find_spec("torch") is not None:
            import torch

            return torch.asarray(host.copy() if not host.flags.writeable else host, device=device)
        if find_spec("cupy") is not None and device.startswith("cuda"):
            import cupy

            with cupy.cuda.Device(int(device.partition(":")[2] or 0)):
                return cupy.asarray(host)
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        msg = f"the data cannot be moved to device {device!r}: {error}"
        raise InvalidProblemError(msg) from error
    msg = f"device={device!r} needs torch or, for CUDA devices, CuPy; neither is installed"
    raise MissingDependencyError(msg)


def to_vector(array: Array) -> Vector:
    """Bring an array to the host in float64."""
    return np.asarray(to_numpy(array), dtype=np.float64)


def top_k(values: NDArray[Any], count: int) -> Indices:
    """Return the sorted indices of the largest values; ties go to the lower index.

    Linear in the number of values.
    """
    if count >= values.size:
        return np.arange(values.size)
    level = np.partition(values, values.size - count)[values.size - count]
    chosen: Indices = (values >= level).nonzero()[0]
    if chosen.size == count:  # no ties to decide
        return chosen
    above = np.flatnonzero(values > level)
    level_with = np.flatnonzero(values == level)[: count - above.size]
    return np.sort(np.concatenate([above, level_with]))


def fix_sign(vector: Vector) -> Vector:
    """Make the entry of largest magnitude positive; ties go to the lower index."""
    if vector.size == 0:
        return vector
    # Magnitudes equal up to rounding must not let rounding decide the sign.
    magnitude = np.abs(vector)
    leader = int(np.argmax(magnitude >= magnitude.max() * (1 - 1e-9)))
    return -vector if vector[leader] < 0 else vector
