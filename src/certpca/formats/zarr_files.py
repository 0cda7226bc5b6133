"""Zarr: a single array, a group with a table and names beside it, or AnnData's layout."""

from os import PathLike
from pathlib import Path
from typing import Any

from certpca.formats.anndata_layout import is_anndata, is_group, is_sparse_group, open_matrix, open_table
from certpca.formats.array_names import NAME_ARRAYS, chosen_array
from certpca.formats.stored_arrays import texts_of
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.reading import without_defaults
from certpca.runtime.errors import CertpcaError, DataFileError
from certpca.runtime.optional import require


def read_zarr(path: str | PathLike[str], *, array: str | None = None, memory: float = DEFAULT_MEMORY) -> Reader:
    """Open a Zarr store without reading it; the result is samples x features wherever data are asked for.

    Chunks are walked over by rows or by columns, whichever decodes each of them once; the next block is
    decompressed while one is multiplied. See `read_h5ad` for what is loaded and what is copied.

    Parameters
    ----------
    path
        A Zarr array, a group with a table, or an AnnData object, of format 2 or 3.
    array
        Which array of a group to take, or which layer of an AnnData object. By default its only table, or X.
    memory
        GiB for data on their way from the store, or for all of them where they fit.

    Examples
    --------
    >>> import certpca
    >>> certpca.solve(certpca.read_zarr("expression.zarr", memory=1.0), 20).names  # doctest: +SKIP
    """
    zarr = require("zarr", extra="zarr", purpose="reading .zarr stores")
    store = Path(path)
    if not store.exists():
        msg = f"there is no file or folder {str(store)!r}"
        raise DataFileError(msg)
    try:
        reader = _open(zarr.open(str(store), mode="r"), str(store), array, memory)
        reader.reading = without_defaults({"array": array})
        return reader
    except CertpcaError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
        msg = f"{str(store)!r} cannot be read as a Zarr store: {error}"
        raise DataFileError(msg) from error


def _open(root: Any, store: str, array: str | None, memory: float) -> Reader:
    if not is_group(root):
        if array is not None:
            msg = f"{store!r} is a single array; there is none named {array!r} to choose"
            raise DataFileError(msg)
        return open_matrix(root, repr(store), memory)
    if is_anndata(root):
        return open_table(root, store, array, memory)
    held = sorted(root)
    if array is None:
        tables = [name for name in held if _is_table(root[name])]
        array = chosen_array(tables, held, store)
    elif array not in root:
        msg = f"{store!r} has no array {array!r}; it has {', '.join(held) or 'none'}"
        raise DataFileError(msg)
    reader = open_matrix(root[array], f"{store!r}, {array}", memory)
    for name in NAME_ARRAYS:
        if name in root and not is_group(root[name]) and tuple(root[name].shape) == reader.shape[1:]:
            reader.names = texts_of(root[name])
            break
    return reader


def _is_table(item: Any) -> bool:
    if is_group(item):
        return is_sparse_group(item)
    return len(item.shape) == 2 and getattr(item.dtype, "kind", "O") in "biuf"
