"""Tables from files: csv, tsv, npy, npz, parquet, Matrix Market, PLINK and GEO, with their column names."""

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
from certpca.errors import DataFileError, InvalidProblemError
from certpca.operators.readers import DEFAULT_MEMORY, ArrayReader
from certpca.optional import require

MISSING_TEXTS = frozenset({"", "na", "nan", "n/a", "null", "none", "."})
ARRAY_NAMES = ("X", "A", "G", "data", "matrix", "arr_0")  # tried in this order in .npz archives
NAME_ARRAYS = ("names", "columns", "features", "feature_names", "genes", "snp", "snps", "vocab")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Numbers from a file and, where it has them, the names of their columns."""

    data: Any
    names: tuple[str, ...] | None = None


def load_table(path: str | Path, *, array: str | None = None, genotypes: Mapping[str, Any] | None = None) -> Table:
    """Read a table of numbers; the ending of the file's name tells the format.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv`` or ``.txt`` (a header and a first column of labels are recognised),
        ``.npy`` (memory-mapped), ``.npz`` (NumPy's or scipy.sparse's), ``.parquet`` (needs the
        ``parquet`` extra), ``.mtx`` / ``.mtx.gz`` (Matrix Market), ``.bed`` (PLINK genotypes, streamed;
        see `read_plink` for filters) or ``series_matrix.txt`` / ``series_matrix.txt.gz`` (GEO).
    array
        Which array of an ``.npz`` archive to take.
    genotypes
        Filters and settings of `read_plink`, for ``.bed`` files.
    """
    file = Path(path)
    reader = _reader(file, genotypes or {})
    if not file.exists():
        msg = f"there is no file {str(file)!r}"
        raise DataFileError(msg)
    if file.is_dir():
        msg = f"{str(file)!r} is a folder, a file is needed"
        raise DataFileError(msg)
    if file.stat().st_size == 0:
        msg = f"{str(file)!r} is empty"
        raise DataFileError(msg)
    try:
        return reader(file, array)
    except DataFileError:
        raise
    except ImportError:
        raise
    except (OSError, ValueError, KeyError, EOFError, csv.Error, zipfile.BadZipFile, zlib.error) as error:
        msg = f"{str(file)!r} cannot be read as {file.suffix or 'a table'}: {error}"
        raise DataFileError(msg) from error


def _reader(file: Path, genotypes: Mapping[str, Any]) -> Callable[[Path, str | None], Table]:
    endings: dict[str, Callable[[Path, str | None], Table]] = {
        ".csv": lambda path, _: _read_text(path, ","),
        ".tsv": lambda path, _: _read_text(path, "\t"),
        ".txt": lambda path, _: _read_text(path, None),
        ".npy": lambda path, _: Table(np.lib.format.open_memmap(path, mode="r")),
        ".npz": _read_npz,
        ".parquet": lambda path, _: _read_parquet(path),
        ".mtx": lambda path, _: _read_matrix_market(path),
        ".mtx.gz": lambda path, _: _read_matrix_market(path),
        ".bed": lambda path, _: _read_genotypes(path, genotypes),
        "series_matrix.txt": lambda path, _: _read_series_matrix(path),
        "series_matrix.txt.gz": lambda path, _: _read_series_matrix(path),
    }
    fitting = [ending for ending in endings if file.name.lower().endswith(ending)]
    if genotypes and fitting != [".bed"]:
        msg = f"{', '.join(sorted(genotypes))}: only for PLINK files (.bed), got {str(file)!r}"
        raise InvalidProblemError(msg)
    if fitting:
        return endings[max(fitting, key=len)]
    msg = f"{str(file)!r} has an unknown format; known endings are {', '.join(endings)}"
    raise DataFileError(msg)


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
    return ArrayReader(load_table(path).data, memory)


def _read_genotypes(file: Path, settings: Mapping[str, Any]) -> Table:
    from certpca.datasets.plink import read_plink

    genotypes = read_plink(file, **settings)
    return Table(genotypes, genotypes.names)


def _read_series_matrix(file: Path) -> Table:
    from certpca.datasets.geo import read_geo

    series = read_geo(file)
    return Table(series.data, series.names)


def _read_npz(file: Path, array: str | None) -> Table:
    if not zipfile.is_zipfile(file):
        msg = f"{str(file)!r} is not an npz archive, or only a part of one"
        raise DataFileError(msg)
    with np.load(file, allow_pickle=False) as archive:
        held = list(archive.files)
        if array is None and {"format", "shape", "data"} <= set(held):
            from scipy.sparse import load_npz

            return Table(load_npz(file))
        if array is not None and array not in held:
            msg = f"{str(file)!r} has no array {array!r}; it has {', '.join(held)}"
            raise DataFileError(msg)
        if array is None:
            tables = [name for name in held if _is_table(archive, name)]
            known = [name for name in ARRAY_NAMES if name in tables]
            if len(tables) != 1 and not known:
                msg = f"{str(file)!r} has the arrays {', '.join(held)}; say which one with array= (--array)"
                raise DataFileError(msg)
            array = known[0] if known else tables[0]
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


def _read_parquet(file: Path) -> Table:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="reading .parquet files")
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


def _read_matrix_market(file: Path) -> Table:
    from scipy.io import mmread

    data = mmread(file, spmatrix=False)
    return Table(data.tocsc() if hasattr(data, "tocsc") else data)


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
