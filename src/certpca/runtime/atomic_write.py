"""Files that are written whole or not at all: a reader sees the old one or the new one, never a part."""

import contextlib
import os
import platform
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import IO

from certpca.runtime.errors import DataFileError

Writer = Callable[[IO[bytes]], object]
Target = str | os.PathLike[str] | Callable[[], Path]  # a name that depends on the content is asked for after writing
UNFINISHED = ".part"  # how the names of temporary files end; they begin with a dot and the name of their target
ABANDONED = 86_400.0  # seconds after which an unfinished file is nobody's, wherever it was begun


def write_text_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write text."""
    write_bytes_whole(path, lambda stream: stream.write(text.encode()))


def write_bytes_whole(path: str | os.PathLike[str], write: Writer) -> None:
    """Let a function write bytes."""
    write_together([(path, write)])


def write_together(files: Sequence[tuple[Target, Writer]], superseded: Callable[[], Iterable[Path]] = tuple) -> None:
    """Write all files beside their targets, then rename them in order: readers should look for the last.

    Writers are called in order too, and may read back what they wrote. What `superseded` names when all are in place is
    removed. What writers that died left of the same files goes as well.

    Raises
    ------
    DataFileError
        Where a file cannot be written, as on a full disk. Earlier files of the same names are then still there.
    """
    parts: list[Path] = []
    finished: list[tuple[Path, Path]] = []
    target = Path()
    try:
        for place, (name, write) in enumerate(files):
            # A file whose name is not known yet belongs to the next one that has a name.
            target = Path(next(known for known, _ in files[place:] if not callable(known)))
            _remove(_left_over(target))
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=_prefix(target), suffix=UNFINISHED)
            parts.append(Path(temporary))
            with os.fdopen(handle, "w+b") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            finished.append((parts[-1], name() if callable(name) else target))
        mask = os.umask(0)
        os.umask(mask)
        with _alone_in(target.parent) as settle:
            for part, target in finished:
                part.chmod(0o666 & ~mask)  # temporary files are private; results are as open as the user wants
                part.replace(target)
            _supersede(superseded, settle)
    except OSError as error:
        msg = f"cannot write {str(target)!r}: {error.strerror or error}"
        raise DataFileError(msg) from error
    finally:
        for left in parts:
            left.unlink(missing_ok=True)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Find out before the work, and not after it, that a file cannot be written. Nothing is left behind.

    Raises
    ------
    DataFileError
        Where the folder is missing or may not be written to, or the name cannot be that of a file.
    """
    target = Path(path)
    try:
        if not target.parent.is_dir():
            msg = f"there is no folder {str(target.parent)!r}"
            raise FileNotFoundError(msg)
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(target.stat().st_mode):
                msg = f"it is {'a folder' if target.is_dir() else 'not a regular file'}"
                raise FileExistsError(msg)
        with contextlib.suppress(FileNotFoundError):  # the longest name that will be needed beside it
            (target.parent / f"{_prefix(target)}{'x' * 8}{UNFINISHED}").lstat()
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except (OSError, ValueError) as error:  # a name may hold what no name can
        msg = f"cannot write {str(target)!r}: {getattr(error, 'strerror', None) or error}"
        raise DataFileError(msg) from error


def require_writable_folder(path: str | os.PathLike[str]) -> None:
    """Find out before the work that files cannot be put into a folder, which may have to be made."""
    folder = Path(path).absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        msg = f"cannot use {str(path)!r} as a folder: {str(folder)!r} is a file"
        raise DataFileError(msg)
    require_writable(folder / "x")


def _prefix(target: Path) -> str:
    return f".{target.name}.{_machine()}-{os.getpid()}."


@cache
def _machine() -> str:
    """Tell apart where numbers of processes mean different things: machines, their starts, and containers."""
    digest = blake2b(platform.node().encode(), digest_size=4)
    with contextlib.suppress(OSError):  # on Linux
        digest.update(Path("/proc/sys/kernel/random/boot_id").read_bytes())
        digest.update(str(Path("/proc/self/ns/pid").readlink()).encode())
    return digest.hexdigest()


def _left_over(target: Path) -> Iterator[Path]:
    """List the unfinished files of a target whose writers are no more."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.(?:([0-9a-f]{{8}})-(\d+)\.)?\w+{re.escape(UNFINISHED)}")
    for file in target.parent.iterdir():
        if match := ours.fullmatch(file.name):
            dead = match[1] == _machine() and not _alive(int(match[2]))
            if dead or time.time() - file.stat().st_mtime > ABANDONED:
                yield file


def _alive(process: int) -> bool:
    if os.name != "posix":  # there, asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _remove(files: Iterable[Path]) -> None:
    """Remove what nobody needs; where that fails it only takes space."""
    with contextlib.suppress(OSError):
        for file in files:
            file.unlink(missing_ok=True)


def _supersede(superseded: Callable[[], Iterable[Path]], settle: Callable[[], None]) -> None:
    """Remove what is not needed any more, once the system remembers what took its place."""
    with contextlib.suppress(OSError):
        if old := list(superseded()):
            settle()
            _remove(old)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[Callable[[], None]]:
    """Let no other writer rename or remove in this folder meanwhile, where the system can see to that.

    What is given makes the system remember the names that files have now, even if the power fails.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield lambda: None
        return
    handle = os.open(folder, os.O_RDONLY)

    def settle() -> None:
        with contextlib.suppress(OSError):
            os.fsync(handle)

    try:
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield settle
    finally:
        os.close(handle)
