"""How AnnData lays out a table in a group of HDF5 or Zarr: numbers, names and what is said about samples.

The group is used as a mapping of arrays and groups with attributes, which both libraries offer.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.formats.base import ColumnsByName
from certpca.formats.groups.stored_arrays import GuardedArray, texts_of
from certpca.readers.base import Reader
from certpca.readers.dense_reader import DenseReader
from certpca.readers.sparse_reader import SparseReader
from certpca.runtime.errors import DataFileError, InvalidDataError

FORMS = {"csr_matrix": "csr", "csc_matrix": "csc", "csr": "csr", "csc": "csc"}
SPARSE_PARTS = ("data", "indices", "indptr")


def is_group(item: Any) -> bool:
    """Say whether an item of a file holds others."""
    return hasattr(item, "keys")


def is_anndata(root: Any) -> bool:
    """Say whether a group is laid out so."""
    return _attribute(root, "encoding-type") == "anndata" or ("X" in root and "var" in root)


def open_table(root: Any, file: str, array: str | None, memory: float) -> Reader:
    """Open the table of a group.

    Parameters
    ----------
    root
        The group.
    file
        Its name, for errors.
    array
        A layer, ``"raw"``, or None for X.
    memory
        GiB for blocks on their way from the file.
    """
    place = _place(root, file, array)
    reader = open_matrix(root[place], f"{file!r}, {place}", memory)
    parent = "raw/" if place.startswith("raw/") else ""
    reader.names = _axis_names(root, f"{parent}var", file, reader.shape[1], "columns")
    reader.sample_names = _axis_names(root, "obs", file, reader.shape[0], "rows")
    if "obs" in root and is_group(root["obs"]):
        frame = root["obs"]
        about = tuple(name for name in frame if name not in (_index_of(frame), "__categories"))
        reader.obs = ColumnsByName(about, lambda name: _column(frame, name))
    return reader


def open_matrix(item: Any, label: str, memory: float) -> Reader:
    """Open an array, or a group that holds a sparse one."""
    try:
        if is_group(item):
            return _open_sparse(item, label, memory)
        return DenseReader(GuardedArray(item, label), memory)
    except InvalidDataError as error:
        msg = f"{label}: {error}"
        raise DataFileError(msg) from error


def is_sparse_group(item: Any) -> bool:
    """Say whether a group holds a sparse table."""
    return is_group(item) and all(part in item for part in SPARSE_PARTS)


def _open_sparse(group: Any, label: str, memory: float) -> SparseReader:
    written = _attribute(group, "encoding-type") or _attribute(group, "h5sparse_format")
    form = FORMS.get(written)
    if form is None:
        msg = f"{label} is neither a table nor a sparse matrix by rows or columns (encoding: {written or 'unknown'})"
        raise DataFileError(msg)
    absent = [part for part in SPARSE_PARTS if part not in group]
    if absent:
        msg = f"{label} is damaged: it has no {', '.join(absent)}"
        raise DataFileError(msg)
    attributes = dict(group.attrs)
    shape = np.asarray(attributes.get("shape", attributes.get("h5sparse_shape", ())))
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        msg = f"{label} is damaged: it does not say how many rows and columns it has"
        raise DataFileError(msg)
    data, indices, indptr = (GuardedArray(group[part], f"{label}/{part}") for part in SPARSE_PARTS)
    for part in (data, indices, indptr):
        if len(part.shape) != 1:
            msg = f"{part.label} is damaged: it must be a list of numbers, its shape is {part.shape}"
            raise DataFileError(msg)
    side = (int(shape[0]), int(shape[1]))
    return SparseReader(data, indices, indptr, side, "csr" if form == "csr" else "csc", memory, label)


def _place(root: Any, file: str, array: str | None) -> str:
    """Say where in the group the table wanted lies."""
    layers = sorted(root["layers"]) if "layers" in root and is_group(root["layers"]) else []
    held = [*(["X"] if _holds(root, "X") else []), *(f"layers/{name}" for name in layers)]
    held += ["raw/X"] if _holds(root, "raw/X") else []
    known: dict[str, str] = {name: f"layers/{name}" for name in layers}
    known |= {"raw": "raw/X"} if "raw/X" in held else {}
    known |= {place: place for place in held}
    wanted = "X" if array is None else array
    if wanted in known:
        return known[wanted]
    what = ", ".join(held) if held else "no tables at all"
    advice = "; say which one with layer= (--array)" if held and array is None else ""
    msg = f"{file!r} has no {wanted}; it has {what}{advice}"
    raise DataFileError(msg)


def _holds(root: Any, place: str) -> bool:
    return place in root and _attribute(root[place], "encoding-type") != "null"


def _attribute(item: Any, name: str) -> str:
    value = dict(item.attrs).get(name, "")
    return str(value.decode() if isinstance(value, bytes) else value)


def _index_of(frame: Any) -> str:
    return _attribute(frame, "_index") or "_index"


def _axis_names(root: Any, place: str, file: str, length: int, what: str) -> tuple[str, ...] | None:
    if place not in root:
        return None
    frame = root[place]
    if is_group(frame):
        index = _index_of(frame)
        if index not in frame:
            return None
        names = tuple(str(value) for value in _column(frame, index))
    else:  # a table of records, as files of old have
        fields = [name for name in ("index", "_index") if name in (frame.dtype.names or ())]
        if not fields:
            return None
        names = texts_of(frame[:][fields[0]])
    if len(names) != length:
        msg = f"{file!r} is damaged: {place} names {len(names)} {what}, but the table has {length}"
        raise DataFileError(msg)
    return names


def _column(frame: Any, name: str) -> NDArray[Any]:
    """Read a column of a frame: plain, of categories, or with a mask of what is missing."""
    item = frame[name]
    if is_group(item) and "codes" in item and "categories" in item:
        return _named(np.asarray(item["codes"][:]), _plain(item["categories"]))
    if is_group(item) and "values" in item:
        values = _plain(item["values"])
        if "mask" not in item:
            return values
        mask = np.asarray(item["mask"][:], dtype=bool)
        if values.dtype.kind in "biuf":
            return np.where(mask, np.nan, values)
        return np.where(mask, "", values)
    if is_group(item):
        msg = f"column {name!r} is stored in a way that is not known ({_attribute(item, 'encoding-type') or 'a group'})"
        raise DataFileError(msg)
    if "__categories" in frame and name in frame["__categories"]:
        return _named(np.asarray(item[:]), _plain(frame["__categories"][name]))
    return _plain(item)


def _plain(item: Any) -> NDArray[Any]:
    if is_group(item):  # texts that know about missing ones, since pandas 3
        return np.asarray(texts_of(item["values"]))
    values = np.asarray(item[:])
    return values if values.dtype.kind in "biuf" else np.asarray(texts_of(item))


def _named(codes: NDArray[Any], categories: NDArray[Any]) -> NDArray[Any]:
    """Put names for codes; -1 stands for none."""
    names = np.append(categories.astype(str), "")
    if codes.size and not (codes.min() >= -1 and codes.max() < categories.size):
        msg = f"codes of categories must lie in -1..{categories.size - 1}"
        raise DataFileError(msg)
    return np.asarray(names[codes])
