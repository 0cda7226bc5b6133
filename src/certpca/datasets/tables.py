"""Tables from files: csv, tsv, npy, npz, parquet and Matrix Market, with their column names."""

import csv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from certpca.arrays import Vector
from certpca.errors import DataFileError
from certpca.optional import require

MISSING_TEXTS = frozenset({"", "na", "nan", "n/a", "null", "none", "."})
ARRAY_NAMES = ("X", "A", "G", "data", "matrix", "arr_0")  # tried in this order in .npz archives
NAME_ARRAYS = ("names", "columns", "features", "feature_names", "genes", "snp", "snps", "vocab")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Numbers from a file and, where it has them, the names of their columns."""

    data: Any
    names: tuple[str, ...] | None = None


def load_table(path: str | Path, *, array: str | None = None) -> Table:
    """Read a table of numbers; the ending of the file's name tells the format.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv`` or ``.txt`` (a header and a first column of labels are recognised),
        ``.npy`` (memory-mapped), ``.npz`` (NumPy's or scipy.sparse's), ``.parquet`` (needs the
        ``parquet`` extra) or ``.mtx`` / ``.mtx.gz`` (Matrix Market).
    array
        Which array of an ``.npz`` archive to take.
    """
    file = Path(path)
    reader = _reader(file)
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
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        msg = f"{str(file)!r} cannot be read as {file.suffix or 'a table'}: {error}"
        raise DataFileError(msg) from error


def _reader(file: Path) -> Callable[[Path, str | None], Table]:
    endings: dict[str, Callable[[Path, str | None], Table]] = {
        ".csv": lambda path, _: _read_text(path, ","),
        ".tsv": lambda path, _: _read_text(path, "\t"),
        ".txt": lambda path, _: _read_text(path, None),
        ".npy": lambda path, _: Table(np.load(path, mmap_mode="r", allow_pickle=False)),
        ".npz": _read_npz,
        ".parquet": lambda path, _: _read_parquet(path),
        ".mtx": lambda path, _: _read_matrix_market(path),
        ".mtx.gz": lambda path, _: _read_matrix_market(path),
    }
    for ending, reader in endings.items():
        if file.name.lower().endswith(ending):
            return reader
    msg = f"{str(file)!r} has an unknown format; known endings are {', '.join(endings)}"
    raise DataFileError(msg)


def _read_npz(file: Path, array: str | None) -> Table:
    with np.load(file, allow_pickle=False) as archive:
        held = list(archive.files)
        if array is None and {"format", "shape", "data"} <= set(held):
            from scipy.sparse import load_npz

            return Table(load_npz(file))
        if array is not None and array not in held:
            msg = f"{str(file)!r} has no array {array!r}; it has {', '.join(held)}"
            raise DataFileError(msg)
        tables = [name for name in held if archive[name].ndim == 2 and archive[name].dtype.kind in "biuf"]
        if array is None:
            known = [name for name in ARRAY_NAMES if name in tables]
            if len(tables) != 1 and not known:
                msg = f"{str(file)!r} has the arrays {', '.join(held)}; say which one with array= (--array)"
                raise DataFileError(msg)
            array = known[0] if known else tables[0]
        data = archive[array]
        for name in NAME_ARRAYS:
            if name in held and archive[name].dtype.kind == "U" and archive[name].shape == data.shape[1:]:
                return Table(data, tuple(str(label) for label in archive[name]))
        return Table(data)


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
    with file.open(newline="", encoding="utf-8-sig") as stream:
        lines = list(islice(stream, 2))
    if delimiter is None:
        delimiter = "\t" if "\t" in lines[0] else ("," if "," in lines[0] else " ")
    first, *second = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    header = not all(_is_number(cell) for cell in first[1:] or first)
    labelled = bool(second) and len(second[0]) > 1 and not _is_number(second[0][0])
    labelled = labelled or (not header and len(first) > 1 and not _is_number(first[0]))
    width = len(second[0]) if second else len(first)
    try:
        data = np.loadtxt(
            file,
            delimiter=None if delimiter == " " else delimiter,
            skiprows=1 if header else 0,
            usecols=range(1, width) if labelled else None,
            ndmin=2,
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
    with file.open(newline="", encoding="utf-8-sig") as stream:
        for number, cells in enumerate(csv.reader(stream, delimiter=delimiter, skipinitialspace=True), start=1):
            if not cells or (header and number == 1):
                continue
            width = width or len(cells)
            if len(cells) != width:
                msg = f"{str(file)!r}, line {number}: {len(cells)} cells where the lines before have {width}"
                raise DataFileError(msg)


def _read_carefully(file: Path, delimiter: str, *, header: bool, labelled: bool) -> Vector:
    """Read cell by cell, so that an error names the line and missing values are understood."""
    rows: list[list[float]] = []
    with file.open(newline="", encoding="utf-8-sig") as stream:
        for number, cells in enumerate(csv.reader(stream, delimiter=delimiter, skipinitialspace=True), start=1):
            if not cells or (header and number == 1):
                continue
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
    if not rows:
        msg = f"{str(file)!r} has no rows of numbers"
        raise DataFileError(msg)
    return np.array(rows)
