"""Labels of samples, from a file of their own or from the file that holds the data."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from certpca.formats.base import format_of
from certpca.formats.file_errors import DAMAGE
from certpca.runtime.errors import CertpcaError, DataFileError


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
    except CertpcaError:
        raise
    except DAMAGE as error:
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
    known = format_of(data).labels(data)
    if name in known:
        return _as_text(np.asarray(known[name]))
    names = list(known)
    held = f"; it has {', '.join(names[:20])}{' …' if len(names) > 20 else ''}" if names else ""
    msg = f"there is no file {name!r}, and {str(data)!r} has no column {name!r}{held}"
    raise DataFileError(msg)


def _as_text(values: Any) -> tuple[str, ...]:
    if values.ndim != 1:
        msg = f"labels must be a list, got an array with {values.ndim} axes"
        raise DataFileError(msg)
    return tuple(str(value) for value in values)
