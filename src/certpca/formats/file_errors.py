"""Errors that name the file they are about."""

import csv
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from certpca.readers.sparse_format import sound_sparse
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.errors import CertpcaError, DataFileError, InvalidDataError

DAMAGE = (OSError, ValueError, KeyError, EOFError, csv.Error, zipfile.BadZipFile, zlib.error)
GROUP_DAMAGE = (*DAMAGE, TypeError, RuntimeError, AttributeError)  # and what h5py and zarr raise besides


@contextmanager
def said_of(file: Path, what: str, damage: tuple[type[Exception], ...] = DAMAGE) -> Iterator[None]:
    """Turn what libraries raise over damaged files into an error that names the file and what it was taken for."""
    try:
        yield
    except CertpcaError:
        raise
    except damage as error:
        msg = f"{str(file)!r} cannot be read as {what}: {error}"
        raise DataFileError(msg) from error


def require_file(file: Path, *, or_folder: bool = False) -> None:
    """Refuse what is not there, and folders where a file is needed."""
    if not file.exists():
        msg = f"there is no file {'or folder ' if or_folder else ''}{str(file)!r}"
        raise DataFileError(msg)
    if file.is_dir() and not or_folder:
        msg = f"{str(file)!r} is a folder, a file is needed"
        raise DataFileError(msg)


def sound(data: Any, file: Path) -> Any:
    """Return a sparse table whose arrays fit together; dense ones as they are."""
    if not is_sparse(data):
        return data
    try:
        return sound_sparse(data)
    except InvalidDataError as error:
        msg = f"{str(file)!r}: {error}"
        raise DataFileError(msg) from error
