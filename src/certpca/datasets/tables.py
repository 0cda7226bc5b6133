"""Tables from files of many formats, with the names of their columns; the ending of a file's name tells which."""

import csv
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from certpca.arrays import Vector
from certpca.datasets.array_names import NAME_ARRAYS, chosen_array
from certpca.errors import CertpcaError, DataFileError, InvalidDataError, InvalidProblemError
from certpca.operators.inputs import is_sparse
from certpca.operators.readers import DEFAULT_MEMORY, ArrayReader
from certpca.operators.sparse_format import by_columns, sound_sparse
from certpca.optional import require

MISSING_TEXTS = frozenset({"", "na", "nan", "n/a", "null", "none", "."})
STREAMED = (".npy", ".parquet", ".h5ad", ".zarr", ".bed")  # formats that keep to a memory budget
FOLDERS = (".zarr",)
STREAMED_FROM = 1 << 30  # decoded bytes from which Parquet files are not loaded


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Numbers from a file and, where it has them, the names of their columns."""

    data: Any
    names: tuple[str, ...] | None = None


def load_table(
    path: str | Path,
    *,
    array: str | None = None,
    genotypes: Mapping[str, Any] | None = None,
    memory: float | None = None,
) -> Table:
    """Read a table of numbers; the ending of the file's name tells the format.

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
    genotypes
        Filters and settings of `read_plink`, for ``.bed`` files.
    memory
        GiB for data on their way from a file that can be streamed, which is then not loaded beyond that.
    """
    file = Path(path)
    wanted = _Wanted(array, genotypes or {}, memory)
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
        return _READERS[ending](file, wanted)
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
    genotypes: Mapping[str, Any]
    memory: float | None

    @property
    def budget(self) -> float:
        """The memory budget, given or not."""
        return DEFAULT_MEMORY if self.memory is None else self.memory


def _ending(file: Path, wanted: _Wanted) -> str:
    fitting = [ending for ending in _READERS if file.name.lower().endswith(ending)]
    if not fitting:
        msg = f"{str(file)!r} has an unknown format; known endings are {', '.join(_READERS)}"
        raise DataFileError(msg)
    ending = max(fitting, key=len)
    if wanted.genotypes and ending != ".bed":
        msg = f"{', '.join(sorted(wanted.genotypes))}: only for PLINK files (.bed), got {str(file)!r}"
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
    table = np.lib.format.open_memmap(file, mode="r")
    return Table(table if wanted.memory is None else ArrayReader(table, wanted.memory))


def _read_genotypes(file: Path, wanted: _Wanted) -> Table:
    from certpca.datasets.plink import read_plink

    genotypes = read_plink(file, **{"memory": wanted.budget, **wanted.genotypes})
    return Table(genotypes, genotypes.names)


def _read_h5ad(file: Path, wanted: _Wanted) -> Table:
    from certpca.datasets.h5ad import read_h5ad

    reader = read_h5ad(file, layer=wanted.array, memory=wanted.budget)
    return Table(reader, reader.names)


def _read_zarr(store: Path, wanted: _Wanted) -> Table:
    from certpca.datasets.zarr_files import read_zarr

    reader = read_zarr(store, array=wanted.array, memory=wanted.budget)
    return Table(reader, reader.names)


def _read_series_matrix(file: Path) -> Table:
    from certpca.datasets.geo import read_geo

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
    if wanted.memory is not None or _decoded_bytes(parquet.read_metadata(file)) >= STREAMED_FROM:
        from certpca.datasets.parquet import read_parquet

        reader = read_parquet(file, memory=wanted.budget)
        return Table(reader, reader.names)
    frame = parquet.read_table(file)
    columns = []
    for name in frame.column_names:
        values = frame.column(name).to_numpy()
        if values.dtype.kind not in "biuf":
            kind = frame.schema.field(name).type
            msg = f"{str(file)!r}: column {name!r} holds {kind}, not numbers; drop or encode it"
            raise DataFileError(msg)
        columns.append(values)
    return Table(np.column_stack(columns), tuple(frame.column_names))


def _decoded_bytes(about: Any) -> int:
    return 8 * int(about.num_rows) * int(about.num_columns)


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


def _read_text(file: Path, delimiter: str | None) -> Table:
    """Look at the first lines, then let NumPy's C reader work; go slowly where it cannot."""
    if delimiter is None:
        with file.open(encoding="utf-8-sig") as stream:
            line = next((line for line in stream if line.strip()), "")
        delimiter = "\t" if "\t" in line else ("," if "," in line else " ")
    beginning = list(islice(_records(file, delimiter), 2))
    if not beginning:
        msg = f"{str(file)!r} has no rows of numbers"
        raise DataFileError(msg)
    first, second = beginning[0][1], beginning[-1][1]
    header = not all(_is_number(cell) for cell in first[1:] or first)
    if header and len(beginning) == 1:
        msg = f"{str(file)!r} has a header but no rows of numbers"
        raise DataFileError(msg)
    labelled = len(second) > 1 and not _is_number(second[0])
    labelled = labelled or (not header and len(first) > 1 and not _is_number(first[0]))
    try:
        data = np.loadtxt(
            file,
            delimiter=None if delimiter == " " else delimiter,
            skiprows=beginning[0][0] if header else 0,
            usecols=range(1, len(second)) if labelled else None,
            ndmin=2,
            comments=None,
            quotechar='"',
            encoding="utf-8-sig",
        )
    except ValueError:
        data = _read_carefully(file, delimiter, header=header, labelled=labelled)
    if labelled:  # usecols makes NumPy forgive surplus cells
        _require_same_width(file, delimiter, header=header)
    names = None
    if header:
        # A header may or may not have a cell above the labels.
        names = tuple(cell.strip() for cell in first[len(first) - data.shape[1] :])
        if len(names) != data.shape[1] or len(first) - data.shape[1] not in (0, 1):
            msg = f"{str(file)!r} names {len(first)} columns in its first line but has {data.shape[1]}"
            raise DataFileError(msg)
    return Table(data, names)


def _records(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Walk over the lines that are not blank: the number of each (its last, where it has several) and its cells."""
    with file.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=True)
        for cells in reader:
            if delimiter == " " and cells and not cells[-1]:  # spaces at the end of a line
                cells.pop()
            if len(cells) > 1 or (cells and cells[0].strip()):
                yield reader.line_num, cells


def _is_number(cell: str) -> bool:
    text = cell.strip().lower()
    if text in MISSING_TEXTS:
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def _require_same_width(file: Path, delimiter: str, *, header: bool) -> None:
    width = 0
    for number, cells in islice(_records(file, delimiter), int(header), None):
        width = width or len(cells)
        if len(cells) != width:
            msg = f"{str(file)!r}, line {number}: {len(cells)} cells where the lines before have {width}"
            raise DataFileError(msg)


def _read_carefully(file: Path, delimiter: str, *, header: bool, labelled: bool) -> Vector:
    """Read cell by cell, so that an error names the line and missing values are understood."""
    rows: list[list[float]] = []
    for number, cells in islice(_records(file, delimiter), int(header), None):
        values = cells[1:] if labelled else cells
        if rows and len(values) != len(rows[0]):
            msg = f"{str(file)!r}, line {number}: {len(values)} values where the lines before have {len(rows[0])}"
            raise DataFileError(msg)
        row = []
        for position, cell in enumerate(values):
            text = cell.strip().lower()
            try:
                row.append(np.nan if text in MISSING_TEXTS else float(text))
            except ValueError:
                msg = f"{str(file)!r}, line {number}, value {position + 1}: {cell!r} is not a number"
                raise DataFileError(msg) from None
        rows.append(row)
    return np.array(rows)


_READERS: dict[str, Callable[[Path, _Wanted], Table]] = {
    ".csv": lambda file, _: _read_text(file, ","),
    ".tsv": lambda file, _: _read_text(file, "\t"),
    ".txt": lambda file, _: _read_text(file, None),
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
