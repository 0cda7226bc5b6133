"""Archives of NumPy arrays (.npz), and what scipy.sparse saves in one."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import ColumnsByName, Format, register
from certpca.formats.file_errors import sound
from certpca.formats.groups.array_names import ARRAY, NAME_ARRAYS, chosen_array
from certpca.runtime.errors import DataFileError


@register
class Npz(Format):
    """NumPy's archives; the arrays in them that are lists may be labels."""

    kind = "NumPy, scipy.sparse"
    endings = (".npz",)
    settings = (ARRAY,)

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Load the table of an archive, or the one asked for."""
        array = wanted.settings["array"]
        if not zipfile.is_zipfile(file):
            msg = f"{str(file)!r} is not an npz archive, or only a part of one"
            raise DataFileError(msg)
        with np.load(file, allow_pickle=False) as archive:
            held = list(archive.files)
            if array is None and {"format", "shape", "data"} <= set(held):
                from scipy.sparse import load_npz

                return Table(sound(load_npz(file), file))
            if array is not None and array not in held:
                msg = f"{str(file)!r} has no array {array!r}; it has {', '.join(held)}"
                raise DataFileError(msg)
            if array is None:
                tables = [name for name in held if _is_table(_readable(archive, name))]
                array = chosen_array(tables, held, str(file))
            data = archive[array]
            return Table(data, _names(archive, data.shape[1:]))

    def labels(self, file: Path) -> Mapping[str, Any]:
        """Return the arrays with one axis."""
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: _readable(archive, name) for name in archive.files}
        lists = {name: array for name, array in arrays.items() if array is not None and array.ndim == 1}
        return ColumnsByName(tuple(lists), lists.__getitem__)


def _names(archive: Any, shape: tuple[int, ...]) -> tuple[str, ...] | None:
    """Return the names of columns: texts of a usual name, one for each."""
    for name in NAME_ARRAYS:
        found = _readable(archive, name) if name in archive.files else None
        if found is not None and found.dtype.kind == "U" and found.shape == shape:
            return tuple(str(entry) for entry in found)
    return None


def _readable(archive: Any, name: str) -> Any:
    """Return an array of an archive, or None where it holds Python objects, which are never unpickled."""
    try:
        return archive[name]
    except ValueError:
        return None


def _is_table(array: Any) -> bool:
    return array is not None and array.ndim == 2 and array.dtype.kind in "biuf"
