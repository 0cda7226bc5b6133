"""Kinds of arrays that are recognised without importing their libraries."""

import sys
from typing import Any

from certpca.runtime.errors import InvalidDataError


def is_dask_array(data: object) -> bool:
    """Say whether an object is a dask array, without importing Dask."""
    dask_array = sys.modules.get("dask.array")
    return dask_array is not None and isinstance(data, dask_array.Array)


def is_sparse(data: Any) -> bool:
    """Say whether an object is a scipy.sparse matrix or array."""
    # scipy.sparse loads slowly: ask for it only where the object can be one.
    if not hasattr(data, "tocsr"):
        return False
    from scipy.sparse import issparse

    return bool(issparse(data))


def require_table(values: Any) -> None:
    """Refuse what does not have rows and columns."""
    if values.ndim != 2:
        msg = f"data must be a table with two axes, got {values.ndim}"
        if values.ndim == 1:
            msg += "; a single feature is data.reshape(-1, 1)"
        raise InvalidDataError(msg)
    if 0 in values.shape:
        msg = f"data must not be empty, got {values.shape[0]} rows and {values.shape[1]} columns"
        raise InvalidDataError(msg)
