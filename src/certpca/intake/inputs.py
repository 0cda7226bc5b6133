"""What users hold: the numbers and the names in it, and what is refused at the door."""

from typing import Any

import numpy as np

from certpca.readers.base import Reader
from certpca.readers.sparse_format import sound_sparse
from certpca.runtime.array_kinds import is_dask_array, is_sparse
from certpca.runtime.arrays import Array, is_array, is_host, namespace
from certpca.runtime.errors import InvalidDataError, InvalidProblemError


def values_and_names(data: Any) -> tuple[Any, Any]:
    """Separate the numbers from the column names and refuse what is not numbers."""
    if is_dask_array(data):
        from certpca.distributed.to_workers import dask_array_reader

        data = dask_array_reader(data)
    if isinstance(data, Reader):
        return data.resident(), data.names
    names = None
    if hasattr(data, "X") and hasattr(data, "var_names"):
        names, data = _annotated_parts(data)
    elif hasattr(data, "columns") and hasattr(data, "to_numpy"):
        names, data = _frame_parts(data)
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(np.float64), np.nan)
    if not is_sparse(data) and (is_host(data) or not is_array(data)):  # np.matrix and the like become plain arrays
        try:
            data = np.asarray(data)
        except ValueError as error:
            msg = f"data must be a rectangular table of numbers: {error}"
            raise InvalidDataError(msg) from error
    if is_sparse(data) and data.ndim == 2:
        data = sound_sparse(data)  # before anything else is asked of it
    known = is_sparse(data) or is_host(data)
    kind = data.dtype.kind if known else _kind_elsewhere(data)
    if kind == "c":
        msg = f"data must be real, got complex numbers ({data.dtype}); use the real part or the modulus"
        raise InvalidDataError(msg)
    if kind not in "biuf":
        msg = f"data must be numbers, got {data.dtype}; encode text and categories as numbers first"
        raise InvalidDataError(msg)
    if kind == "f" and known and data.dtype.itemsize not in (4, 8):
        data = data.astype(np.float32 if data.dtype.itemsize < 4 else np.float64)
    if kind == "b":
        data = data.astype(np.int8) if known else namespace(data).astype(data, namespace(data).int8)
    return data, names


def stays_in_file(data: Any) -> bool:
    """Say whether data are read from a file by columns, or by workers."""
    return isinstance(data, Reader) or is_dask_array(data)


def _frame_parts(frame: Any) -> tuple[tuple[str, ...], Any]:
    """Take a pandas or polars DataFrame apart without importing either library."""
    names = tuple(str(name) for name in frame.columns)
    for name, dtype in zip(names, frame.dtypes, strict=True):  # by position: names may repeat
        kind = getattr(dtype, "kind", None)  # pandas
        numeric = kind in "biuf" if kind is not None else dtype.is_numeric() or str(dtype) == "Boolean"
        if not numeric:
            msg = f"column {name!r} holds {dtype}, not numbers; drop it or encode it as numbers"
            raise InvalidDataError(msg)
    values = frame.to_numpy()
    if values.dtype == object:  # pandas' nullable types, polars' decimals and booleans beside numbers
        pandas = hasattr(frame, "iloc")
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan) if pandas else values.astype(np.float64)
    return names, values


def _annotated_parts(annotated: Any) -> tuple[tuple[str, ...], Any]:
    """Take the numbers and the names of variables from an AnnData object without importing that library."""
    if getattr(annotated, "isbacked", False):
        file = getattr(annotated, "filename", None)
        msg = f"the AnnData object is backed by a file; pass certpca.read_h5ad({str(file)!r}), or adata.to_memory()"
        raise InvalidDataError(msg)
    if annotated.X is None:
        msg = "the AnnData object has no X; pass a layer, as in adata.layers['counts'], with names=adata.var_names"
        raise InvalidDataError(msg)
    return tuple(str(name) for name in annotated.var_names), annotated.X


def _kind_elsewhere(data: Array) -> str:
    xp = namespace(data)
    for kind, letter in (("bool", "b"), ("integral", "i"), ("real floating", "f"), ("complex floating", "c")):
        if xp.isdtype(data.dtype, kind):
            return letter
    return "O"


def require_in_memory(values: Any, what: str) -> None:
    """Refuse data that stay in a file where all of them are needed at once."""
    if isinstance(values, Reader):
        msg = f"{what} must be in memory; read the columns wanted first, as in data[:, :1000]"
        raise InvalidDataError(msg)


def refuse_device(device: str | None, what: str) -> None:
    """Say that some kinds of data are worked with on the host only."""
    if device is not None:
        msg = f"device={device!r} is for dense arrays in memory; {what} cannot be moved there"
        raise InvalidProblemError(msg)


def checked_names(given: Any, found: Any, size: int) -> tuple[str, ...] | None:
    """Return one name for each feature, the given ones before those found in the data."""
    names = found if given is None else given
    if names is None:
        return None
    labels = tuple(str(name) for name in names)
    if len(labels) != size:
        msg = f"names must have one entry for each of the {size} features, got {len(labels)}"
        raise InvalidDataError(msg)
    return labels


def label_of(index: int, names: tuple[str, ...] | None) -> str:
    """Name a column for an error message."""
    return f"column {index}" + (f" ({names[index]!r})" if names else "")
