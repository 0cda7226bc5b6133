"""Labels of samples, from a file of their own or from the file that holds the data."""

import csv
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from certpca.formats.tables import load_table
from certpca.formats.text_files import text_ending
from certpca.formats.text_tables import text_column
from certpca.runtime.errors import DataFileError
from certpca.runtime.optional import require


def read_labels(where: str, data: str | Path, samples: int) -> tuple[str, ...]:
    """Read one label for each sample.

    Parameters
    ----------
    where
        A file with one label on each line (a first line more is a header), an ``.npy`` file, or the name of a
        column or array in the data file.
    data
        The data file.
    samples
        How many labels there must be.
    """
    file = Path(where)
    try:
        found = _from_file(file, samples) if file.is_file() else _from_column(where, Path(data))
    except DataFileError:
        raise
    except (OSError, ValueError, KeyError, EOFError, csv.Error, zipfile.BadZipFile) as error:
        msg = f"labels cannot be read from {where!r}: {error}"
        raise DataFileError(msg) from error
    if len(found) != samples:
        msg = f"{where!r} holds {len(found)} labels, but there are {samples} samples"
        raise DataFileError(msg)
    return found


def _from_file(file: Path, samples: int) -> tuple[str, ...]:
    if file.suffix.lower() == ".npy":
        return _as_text(np.load(file, allow_pickle=False))
    with file.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream) if row and any(cell.strip() for cell in row)]
    if any(len(row) != 1 for row in rows):
        msg = f"{str(file)!r} must hold one label on each line and nothing else"
        raise DataFileError(msg)
    labels = tuple(row[0].strip() for row in rows)
    return labels[1:] if len(labels) == samples + 1 else labels


def _from_column(name: str, data: Path) -> tuple[str, ...]:
    ending = data.suffix.lower()
    if ending == ".npz":
        with np.load(data, allow_pickle=False) as archive:
            if name in archive.files:
                return _as_text(archive[name])
            known = [held for held in archive.files if archive[held].ndim == 1]
    elif ending == ".parquet":
        parquet = require("pyarrow.parquet", extra="parquet", purpose="reading .parquet files")
        known = list(parquet.read_schema(data).names)
        if name in known:
            return tuple(str(value) for value in parquet.read_table(data, columns=[name]).column(name).to_pylist())
    elif text_ending(data) is not None:
        known, cells = text_column(data, name)
        if cells is not None:
            return cells
    elif ending in (".h5ad", ".zarr"):
        about = load_table(data).data.obs
        known = list(about)
        if name in known:
            return _as_text(np.asarray(about[name]))
    else:
        known = []
    held = f"; it has {', '.join(known[:20])}{' …' if len(known) > 20 else ''}" if known else ""
    msg = f"there is no file {name!r}, and {str(data)!r} has no column {name!r}{held}"
    raise DataFileError(msg)


def _as_text(values: Any) -> tuple[str, ...]:
    if values.ndim != 1:
        msg = f"labels must be a list, got an array with {values.ndim} axes"
        raise DataFileError(msg)
    return tuple(str(value) for value in values)
