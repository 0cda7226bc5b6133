"""The evidence of a certificate on disk: arrays in an NPZ file that is named after its content.

An archive is believed to be what it says only after its list of contents and the header of every array have been read:
names, types and shapes must be those that the rule of its kind declares for so many features, and nothing may be
compressed, so that no file takes more memory than it has bytes.
"""

import contextlib
import os
import re
import stat
import tokenize
import zipfile
from collections.abc import Mapping
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from certpca.results.evidence_forms import MOST_ARRAYS, Form, form_of
from certpca.runtime.array_archive import write_arrays
from certpca.runtime.errors import DataFileError, InvalidDataError

# Where kinds declare their evidence: named, as it stands above this room.
RULES = "certpca.checker.rules"
SET_RULES = "certpca.checker.set_rules"
MOST_EVIDENCE_BYTES = 16 << 30
MOST_HEADER_BYTES = 10_000
ENDING = ".npz"
ENCRYPTED = 0x1  # a flag of entries of an archive
DIGITS = 16  # of the digest, in names
TYPES = {"f": ("<f4", "<f8"), "i": ("|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8")}


def write_evidence(stream: IO[bytes], evidence: Mapping[str, Any]) -> str:
    """Write arrays and return the digest of what was written."""
    write_arrays(stream, {name: np.asarray(value) for name, value in evidence.items()})
    stream.seek(0)
    return digest_of(stream)


def evidence_name(target: Path, digest: str) -> str:
    """Name the file beside `target` that holds evidence with this digest."""
    return f"{_stem(target)}.{digest[:DIGITS]}{ENDING}"


def all_evidence(target: Path) -> set[str]:
    """List what lies beside `target` and has the name of evidence of its own, current or not."""
    ours = re.compile(rf"{re.escape(_stem(target))}\.[0-9a-f]{{{DIGITS}}}\{ENDING}")
    return {file.name for file in target.parent.iterdir() if ours.fullmatch(file.name)}


def first_evidence(target: Path) -> Path:
    """Name the file in which the first version kept the evidence of `target`."""
    return target.with_suffix(ENDING)


def digest_of_file(file: Path) -> str:
    """Hash a regular file; what cannot be read has no digest."""
    with contextlib.suppress(DataFileError), open_beside(file.parent, file.name) as stream:
        return digest_of(stream)
    return ""


def _stem(target: Path) -> str:
    return target.stem if target.suffix == ".json" else f"{target.name}.evidence"


def read_evidence(
    folder: Path,
    name: str,
    digest: str,
    kind: str,
    size: int,
    *,
    declared: str = RULES,
    most_bytes: int = MOST_EVIDENCE_BYTES,
    most_arrays: int = MOST_ARRAYS,
) -> dict[str, Any]:
    """Read the arrays of a certificate of that kind for so many features.

    Raises
    ------
    DataFileError
        Where the file is missing, is not the one the certificate was written with, or holds what no such certificate
        needs.
    """
    with open_beside(folder, name) as stream:
        length = os.fstat(stream.fileno()).st_size
        if length > most_bytes:
            raise _refused(name, f"it is larger than {most_bytes >> 30} GiB")
        if digest_of(stream) != digest:
            raise _refused(name, "it is not the evidence that the certificate was written with")
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            _check_contents(archive, name, length, kind, size, import_module(declared).rules(), most_arrays)
            return {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in archive.infolist()}


def open_beside(folder: Path, name: str) -> IO[bytes]:
    """Open a regular file of a folder; anything else could be endless, or wait for ever."""
    path = folder / name
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError as error:
        msg = f"there is no file {str(path)!r}"
        raise DataFileError(msg) from error
    except OSError as error:
        msg = f"{str(path)!r} cannot be opened: {error.strerror or error}"
        raise DataFileError(msg) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        msg = f"{str(path)!r} is not a regular file"
        raise DataFileError(msg)
    return os.fdopen(handle, "rb")


def digest_of(stream: IO[bytes]) -> str:
    """Hash what is left of a stream."""
    digest = blake2b(digest_size=20)
    while part := stream.read(1 << 24):
        digest.update(part)
    return digest.hexdigest()


def _check_contents(
    archive: zipfile.ZipFile, name: str, length: int, kind: str, size: int, known: Mapping[str, Any], most_arrays: int
) -> None:
    """Look at the list of contents before anything is unpacked."""
    entries = archive.infolist()
    if kind not in known:
        raise _refused(name, f"it belongs to a certificate of unknown kind {kind!r}")
    if len(entries) > most_arrays or len({entry.filename for entry in entries}) != len(entries):
        raise _refused(name, "it holds too many arrays, or two of one name")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise _refused(name, "it is compressed, which evidence written by certpca is not")
    if any(entry.flag_bits & ENCRYPTED for entry in entries):
        raise _refused(name, "it is encrypted, which evidence written by certpca is not")
    if sum(entry.file_size for entry in entries) > length:
        raise _refused(name, "its contents overlap: they would take more memory than the file has bytes")
    for entry in entries:
        form = form_of(known[kind].EVIDENCE, entry.filename.removesuffix(".npy"))
        if form is None or not entry.filename.endswith(".npy"):
            raise _refused(name, f"it holds {entry.filename[:80]!a}, which no certificate of kind {kind!r} has")
        _check_header(archive, entry, form, name, size)


def _check_header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, form: Form, name: str, size: int) -> None:
    array = entry.filename.removesuffix(".npy")
    with archive.open(entry) as stream:
        shape, dtype = _header(stream)
        begin = stream.tell()
    if dtype.str not in TYPES[form.type]:
        raise _refused(name, f"{array!r} has numbers of type {dtype}")
    if len(shape) != len(form.axes) or any(side > most(size) for side, most in zip(shape, form.axes, strict=True)):
        raise _refused(name, f"{array!r} has shape {shape}, which does not fit {size:,} features")
    if begin + dtype.itemsize * int(np.prod(shape, dtype=object)) != entry.file_size:
        raise _refused(name, f"{array!r} is not as long as it says")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        msg = f"arrays of version {version} are unknown"
        raise InvalidDataError(msg)
    try:
        shape, _, dtype = readers[version](stream, max_header_size=MOST_HEADER_BYTES)
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError, tokenize.TokenError) as error:
        msg = "the header of an array cannot be read"
        raise InvalidDataError(msg) from error
    return shape, dtype


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    with archive.open(entry) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False, max_header_size=MOST_HEADER_BYTES)


def _refused(name: str, why: str) -> DataFileError:
    return DataFileError(f"the evidence {name!r} is refused: {why}")
