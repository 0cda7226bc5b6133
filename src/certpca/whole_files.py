"""Files that are written whole or not at all: a reader sees the old one or the new one, never a part."""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from certpca.errors import DataFileError

Writer = Callable[[IO[bytes]], object]
UNFINISHED = ".part"  # how the names of temporary files end; they begin with a dot and the name of their target


def write_text_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write text."""
    write_bytes_whole(path, lambda stream: stream.write(text.encode()))


def write_bytes_whole(path: str | os.PathLike[str], write: Writer) -> None:
    """Let a function write bytes."""
    write_together([(path, write)])


def write_together(files: Sequence[tuple[str | os.PathLike[str], Writer]]) -> None:
    """Write all files beside their targets, then rename them in order: readers should look for the last.

    Writers are called in order too, and may read back what they wrote.

    Raises
    ------
    DataFileError
        Where a file cannot be written, as on a full disk. Earlier files of the same names are then still there.
    """
    parts: list[Path] = []
    target = Path()
    try:
        for name, write in files:
            target = Path(name)
            handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=UNFINISHED)
            parts.append(Path(part))
            with os.fdopen(handle, "w+b") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        for finished, (name, _) in zip(parts, files, strict=True):
            target = Path(name)
            finished.chmod(0o666 & ~mask)  # temporary files are private; results are as open as the user wants
            finished.replace(target)
    except OSError as error:
        msg = f"cannot write {str(target)!r}: {error.strerror or error}"
        raise DataFileError(msg) from error
    finally:
        for left in parts:
            left.unlink(missing_ok=True)
