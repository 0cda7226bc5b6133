"""Tables from files of many formats, with the names of their columns; the ending of a file's name tells which."""

import csv
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from certpca.formats.array_names import NAME_ARRAYS, chosen_array
from certpca.formats.parquet import columns_of, read_parquet
from certpca.formats.selection import as_slice, chosen_columns, drop_option, left_out, listed_names
from certpca.formats.text_files import ENDINGS as TEXT_ENDINGS
from certpca.formats.text_files import PACKINGS, text_ending
from certpca.formats.text_tables import read_text_table
from certpca.genotypes.plink_text import SampleList
from certpca.intake.inputs import checked_names
from certpca.readers.array_reader import ArrayReader
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.reading import DEFAULTS, Texts, as_texts, require_header, without_defaults
from certpca.readers.sparse_format import by_columns, sound_sparse
from certpca.runtime.array_kinds import is_sparse, require_table
from certpca.runtime.errors import CertpcaError, DataFileError, InvalidDataError, InvalidProblemError
from certpca.runtime.optional import require

STREAMED = (".npy", ".parquet", ".h5ad", ".zarr", ".bed")  # formats that keep to a memory budget
FOLDERS = (".zarr",)
WITH_ARRAYS = (".npz", ".zarr", ".h5ad")
CHOOSING = (*TEXT_ENDINGS, ".parquet")  # formats whose readers choose columns themselves
STREAMED_FROM = 1 << 30  # decoded bytes from which Parquet files are not loaded


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Numbers from a file and, where it has them, the names of their columns.

    `reading` holds, as plain JSON, keyword arguments with which `load_table` gives the same numbers and names again.
    `understood` says in a line what was found in the file, such as "178 × 13, header, row names dropped", and `remarks`
    what is uncertain about it.
    """

    data: Any
    names: tuple[str, ...] | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    sample_names: tuple[str, ...] | None = None
    understood: str = ""
    remarks: tuple[str, ...] = ()


def load_table(
    path: str | Path,
    *,
    array: str | None = None,
    header: str = "auto",
    columns: Texts | None = None,
    drop: Texts | None = None,
    transpose: bool = False,
    names: str | PathLike[str] | Iterable[str] | None = None,
    keep: SampleList | None = None,
    remove: SampleList | None = None,
    chromosomes: str | int | Iterable[str | int] | None = None,
    maf: float = 0.0,
    max_missing: float = 1.0,
    every: int = 1,
    memory: float | None = None,
) -> Table:
    """Read a table of numbers; the ending of the file's name tells the format.

    Columns are chosen first; what is left is transposed if that is asked for, and then named.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv`` or ``.txt`` (a header and a first column of labels are recognised),
        ``.npy`` (memory-mapped), ``.npz`` (NumPy's or scipy.sparse's), ``.parquet`` (streamed where it is large;
        see `read_parquet`), ``.h5ad`` (AnnData, see `read_h5ad`), ``.zarr`` (see `read_zarr`), ``.mtx`` / ``.mtx.gz``
        (Matrix Market), ``.bed`` (PLINK genotypes, streamed; see `read_plink` for filters) or ``series_matrix.txt`` /
        ``series_matrix.txt.gz`` (GEO). Some need an extra, which an error names.
    array
        Which array of an ``.npz`` archive or a ``.zarr`` group to take, or which layer of an AnnData file.
    header
        Whether the first line of a text table holds names: ``"yes"``, ``"no"``, or ``"auto"`` to find out.
    columns
        Only these, in this order: names or, where no column is called so, positions from 1 like ``"3"`` or ``"3:10"``.
    drop
        Not these.
    transpose
        Whether the samples are the columns of the file.
    names
        Names of the features, or a text file with one on each line.
    keep, remove, chromosomes, maf, max_missing, every
        Filters of `read_plink`, for ``.bed`` files.
    memory
        GiB for data on their way from a file that can be streamed, which is then not loaded beyond that.
    """
    file = Path(path)
    filters = {"maf": maf, "max_missing": max_missing, "every": every}
    genotypes = {name: value for name, value in filters.items() if value != DEFAULTS[name]}
    lists: dict[str, Any] = {"keep": keep, "remove": remove, "chromosomes": chromosomes}
    wanted = _Wanted(
        array=array,
        header=require_header("header", header),
        columns=as_texts("columns", columns),
        drop=as_texts("drop", drop),
        transpose=bool(transpose),
        names=None if names is None else listed_names(names),
        genotypes=genotypes | {name: value for name, value in lists.items() if value is not None},
        memory=memory,
    )
    ending = _ending(file, wanted)
    if not file.exists():
        msg = f"there is no file {str(file)!r}"
        raise DataFileError(msg)
    if file.is_dir() and ending not in FOLDERS:
        msg = f"{str(file)!r} is a folder, a file is needed"
        raise DataFileError(msg)
    if not file.is_dir() and file.stat().st_size == 0:
        msg = f"{str(file)!r} is empty"
        raise DataFileError(msg)
    try:
        return _arranged(_READERS[ending](file, wanted), file, wanted, chosen=ending in CHOOSING)
    except DataFileError:
        raise
    except ImportError:
        raise
    except (OSError, ValueError, KeyError, EOFError, csv.Error, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, CertpcaError):
            raise
        msg = f"{str(file)!r} cannot be read as {file.suffix or 'a table'}: {error}"
        raise DataFileError(msg) from error


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the caller asks for beside the file."""

    array: str | None
    header: str
    columns: tuple[str, ...] | None
    drop: tuple[str, ...] | None
    transpose: bool
    names: tuple[str, ...] | None
    genotypes: Mapping[str, Any]
    memory: float | None

    @property
    def budget(self) -> float:
        """The memory budget, given or not."""
        return DEFAULT_MEMORY if self.memory is None else self.memory

    @property
    def reading(self) -> dict[str, Any]:
        """All of it that leads to the numbers, genotypes apart: their reader knows what it was asked."""
        settings = ("array", "header", "columns", "drop", "transpose", "names")
        return without_defaults({name: getattr(self, name) for name in settings})


def _arranged(table: Table, file: Path, wanted: _Wanted, *, chosen: bool) -> Table:
    """Choose columns where this has not been done, turn the table, and name its features."""
    data, names = table.data, table.names
    sample_names = table.sample_names or getattr(data, "sample_names", None)
    choose = not chosen and (wanted.columns is not None or wanted.drop is not None)
    if (choose or wanted.transpose) and isinstance(data, Reader):
        data = _in_memory(data, file)
    if choose or wanted.transpose or wanted.names is not None:
        require_table(data)
    dropped: tuple[str, ...] = ()
    if choose:
        left = chosen_columns(names, data.shape[1], wanted.columns, wanted.drop, str(file))
        dropped = left_out(data.shape[1] - len(left))
        data = (data.tocsc() if is_sparse(data) else data)[:, as_slice(left)]
        names = None if names is None else tuple(names[index] for index in left)
    if wanted.transpose:
        data, names, sample_names = data.T, sample_names, names
    if wanted.names is not None:
        names = checked_names(wanted.names, None, data.shape[1])
    reading = {**table.reading, **wanted.reading}
    if isinstance(table.data, np.memmap) and wanted.memory is not None:
        if not isinstance(data, np.memmap):  # chosen columns that do not lie together were copied
            raise _stays_in_file(file)
        data = ArrayReader(data, wanted.memory)
    if isinstance(data, Reader):
        data.reading = reading
    shape = " × ".join(map(str, data.shape))
    said = (shape, table.understood, *dropped, "transposed" if wanted.transpose else "")
    return Table(data, names, reading, sample_names, ", ".join(filter(None, said)), table.remarks)


def _in_memory(reader: Reader, file: Path) -> Any:
    data = reader.resident()
    if isinstance(data, Reader):
        raise _stays_in_file(file)
    return data


_INSTEAD = {
    ".bed": "choose variants with --chromosomes or --every, or write a file with what is wanted (plink --extract)",
    ".npy": "load it without a memory budget, or write a file with what is wanted",
}


def _stays_in_file(file: Path) -> InvalidProblemError:
    instead = _INSTEAD.get(_kind(file), "give more memory (--memory), or write a file with what is wanted")
    return InvalidProblemError(
        f"{str(file)!r} is streamed, so that its columns cannot be chosen nor the table transposed; {instead}"
    )


def _kind(file: Path) -> str:
    """Return the ending that tells the format; text tables may be packed."""
    fitting = [ending for ending in _READERS if file.name.lower().endswith(ending)]
    text = text_ending(file)
    if text is not None:
        fitting.append(text)
    if not fitting:
        known = f"{', '.join(_READERS)}; texts may be packed ({', '.join(PACKINGS)})"
        msg = f"{str(file)!r} has an unknown format; known endings are {known}"
        raise DataFileError(msg)
    return max(fitting, key=len)


def _ending(file: Path, wanted: _Wanted) -> str:
    ending = _kind(file)
    if wanted.genotypes and ending != ".bed":
        msg = f"{', '.join(sorted(wanted.genotypes))}: only for PLINK files (.bed), got {str(file)!r}"
        raise InvalidProblemError(msg)
    if wanted.array is not None and ending not in WITH_ARRAYS:
        msg = f"array: only for files with several tables ({', '.join(WITH_ARRAYS)}), got {str(file)!r}"
        raise InvalidProblemError(msg)
    if wanted.header != "auto" and ending not in TEXT_ENDINGS:
        msg = f"header: only for text tables ({', '.join(TEXT_ENDINGS)}), got {str(file)!r}"
        raise InvalidProblemError(msg)
    if wanted.memory is not None and ending not in STREAMED:
        msg = f"memory: only for files that can be streamed ({', '.join(STREAMED)}), got {str(file)!r}"
        raise InvalidProblemError(msg)
    return ending


def open_npy(path: str | Path, *, memory: float = DEFAULT_MEMORY) -> ArrayReader:
    """Open an ``.npy`` file without reading it; the result is data wherever data are asked for.

    Products walk over the file in its own order, by blocks. Smaller files are better loaded.

    Parameters
    ----------
    path
        A table of numbers written by `numpy.save`.
    memory
        GiB for blocks on their way from the file.

    Examples
    --------
    >>> import numpy as np, certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.npy"
    >>> np.save(file, np.random.default_rng(0).standard_normal((50, 8)))
    >>> certpca.solve(certpca.open_npy(file), 3).support.size
    3
    """
    reader: ArrayReader = load_table(path, memory=memory).data
    return reader


def _read_npy(file: Path, wanted: _Wanted) -> Table:
    del wanted
    return Table(np.lib.format.open_memmap(file, mode="r"))


def _read_genotypes(file: Path, wanted: _Wanted) -> Table:
    from certpca.genotypes.plink import read_plink

    genotypes = read_plink(file, **{"memory": wanted.budget, **wanted.genotypes})
    return Table(genotypes, genotypes.names, genotypes.reading or {})


def _read_h5ad(file: Path, wanted: _Wanted) -> Table:
    from certpca.formats.h5ad import read_h5ad

    reader = read_h5ad(file, layer=wanted.array, memory=wanted.budget)
    return Table(reader, reader.names)


def _read_zarr(store: Path, wanted: _Wanted) -> Table:
    from certpca.formats.zarr_files import read_zarr

    reader = read_zarr(store, array=wanted.array, memory=wanted.budget)
    return Table(reader, reader.names)


def _read_series_matrix(file: Path) -> Table:
    from certpca.formats.geo import read_geo

    series = read_geo(file)
    return Table(series.data, series.names)


def _read_npz(file: Path, wanted: _Wanted) -> Table:
    array = wanted.array
    if not zipfile.is_zipfile(file):
        msg = f"{str(file)!r} is not an npz archive, or only a part of one"
        raise DataFileError(msg)
    with np.load(file, allow_pickle=False) as archive:
        held = list(archive.files)
        if array is None and {"format", "shape", "data"} <= set(held):
            from scipy.sparse import load_npz

            return Table(_sound(load_npz(file), file))
        if array is not None and array not in held:
            msg = f"{str(file)!r} has no array {array!r}; it has {', '.join(held)}"
            raise DataFileError(msg)
        if array is None:
            tables = [name for name in held if _is_table(archive, name)]
            array = chosen_array(tables, held, str(file))
        data = archive[array]
        for name in NAME_ARRAYS:
            labels = _readable(archive, name) if name in held else None
            if labels is not None and labels.dtype.kind == "U" and labels.shape == data.shape[1:]:
                return Table(data, tuple(str(label) for label in labels))
        return Table(data)


def _readable(archive: Any, name: str) -> Any:
    """Return an array of an archive, or None where it holds Python objects, which are never unpickled."""
    try:
        return archive[name]
    except ValueError:
        return None


def _is_table(archive: Any, name: str) -> bool:
    array = _readable(archive, name)
    return array is not None and array.ndim == 2 and array.dtype.kind in "biuf"


def _read_parquet(file: Path, wanted: _Wanted) -> Table:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="reading .parquet files")
    rows, held = int(parquet.read_metadata(file).num_rows), columns_of(parquet.read_schema(file))
    left = chosen_columns(held, len(held), wanted.columns, wanted.drop, str(file))
    wanted_names = [held[index] for index in left]
    understood = ", ".join(left_out(len(held) - len(left)))
    if wanted.memory is not None or 8 * rows * len(left) >= STREAMED_FROM:
        reader = read_parquet(file, columns=wanted_names, memory=wanted.budget)
        return Table(reader, reader.names, understood=understood)
    frame = parquet.read_table(file, columns=wanted_names)
    columns = []
    for name in frame.column_names:
        values = frame.column(name).to_numpy()
        if values.dtype.kind not in "biuf":
            kind = frame.schema.field(name).type
            option = drop_option(held.index(name), held)
            msg = f"{str(file)!r}: column {name!r} holds {kind}, not numbers; drop or encode it ({option})"
            raise DataFileError(msg)
        columns.append(values)
    return Table(np.column_stack(columns), tuple(frame.column_names), understood=understood)


def _read_matrix_market(file: Path) -> Table:
    from scipy.io import mmread

    try:
        data = mmread(file, spmatrix=False)
    except (MemoryError, OverflowError) as error:
        msg = f"{str(file)!r} is damaged or does not fit memory: there is no room for what its first line claims"
        raise DataFileError(msg) from error
    sound = _sound(data, file)
    return Table(by_columns(sound) if is_sparse(sound) else sound)


def _sound(data: Any, file: Path) -> Any:
    """Return a sparse table whose arrays fit together; dense ones as they are."""
    if not is_sparse(data):
        return data
    try:
        return sound_sparse(data)
    except InvalidDataError as error:
        msg = f"{str(file)!r}: {error}"
        raise DataFileError(msg) from error


def _read_text(file: Path, wanted: _Wanted) -> Table:
    found = read_text_table(file, wanted.header, wanted.columns, wanted.drop)
    return Table(found.data, found.names, {}, found.sample_names, ", ".join(found.understood), found.remarks)


_READERS: dict[str, Callable[[Path, _Wanted], Table]] = {
    **dict.fromkeys(TEXT_ENDINGS, _read_text),
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
    ".h5ad": _read_h5ad,
    ".zarr": _read_zarr,
    ".mtx": lambda file, _: _read_matrix_market(file),
    ".mtx.gz": lambda file, _: _read_matrix_market(file),
    ".bed": _read_genotypes,
    "series_matrix.txt": lambda file, _: _read_series_matrix(file),
    "series_matrix.txt.gz": lambda file, _: _read_series_matrix(file),
}
