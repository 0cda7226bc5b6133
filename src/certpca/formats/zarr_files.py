"""Zarr: a single array, a group with a table and names beside it, or AnnData's layout."""

from os import PathLike
from pathlib import Path
from typing import Any

from certpca.formats.base import register
from certpca.formats.file_errors import GROUP_DAMAGE, require_file, said_of
from certpca.formats.groups.anndata_layout import is_anndata, is_group, is_sparse_group, open_matrix, open_table
from certpca.formats.groups.array_names import NAME_ARRAYS, chosen_array
from certpca.formats.groups.group_format import GroupFormat
from certpca.formats.groups.stored_arrays import texts_of
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.reading import plain
from certpca.runtime.errors import DataFileError


@register
class Zarr(GroupFormat):
    """Zarr stores."""

    kind = "Zarr"
    endings = (".zarr",)
    library, extra = "zarr", "zarr"
    is_folder = True

    def reader(self, file: Path, array: str | None, memory: float) -> Reader:
        """Open the table of a store, or the array asked for."""
        return read_zarr(file, array=array, memory=memory)


def read_zarr(path: str | PathLike[str], *, array: str | None = None, memory: float = DEFAULT_MEMORY) -> Reader:
    """Open a Zarr store without reading it; the result is samples x features wherever data are asked for.

    Chunks are walked over by rows or by columns, whichever decodes each of them once; the next block is
    decompressed while one is multiplied. See `read_h5ad` for what is loaded and what is copied.

    Parameters
    ----------
    path : path_like
        A Zarr array, a group with a table, or an AnnData object, of format 2 or 3.
    array : str, optional
        Which array of a group to take, or which layer of an AnnData object. By default its only table, or X.
    memory : float
        GiB for data on their way from the store, or for all of them where they fit.

    Returns
    -------
    Reader
        What every verb takes as `data`.

    Raises
    ------
    DataFileError
        Where there is no such store, or it is something else, or has no such array.
    MissingDependencyError
        Where zarr is not installed.

    See Also
    --------
    load_table : Any format.

    Examples
    --------
    >>> import certpca
    >>> certpca.solve(certpca.read_zarr("expression.zarr", memory=1.0), 20).names  # doctest: +SKIP
    """
    zarr = Zarr.needed()
    store = Path(path)
    require_file(store, or_folder=True)
    with said_of(store, "a Zarr store", GROUP_DAMAGE):
        reader = _open(zarr.open(str(store), mode="r"), str(store), array, memory)
    reader.reading = plain({"array": array})
    return reader


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
