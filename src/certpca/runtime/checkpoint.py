"""Where a long run stands, on disk: a folder of named states from which the same run goes on after a crash.

What a state is made of, `packing` says. Each is one NPZ file, written whole or not at all, without pickles; what never
changes can be kept apart and is written once. ``run.json`` says which run the folder belongs to, and a lock that
the operating system drops with the process keeps a second one out.

A folder that can no longer be written, as on a full disk, does not end a run: there is one warning, what was stored
stays as it is, and nothing more is stored. So whatever a state refers to was stored before it.
"""

import contextlib
import itertools
import json
import os
import time
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.array_archive import write_arrays
from certpca.runtime.atomic_write import UNFINISHED, write_bytes_whole, write_text_whole
from certpca.runtime.errors import DataFileError
from certpca.runtime.packing import Adopt, Kept, packed, rebuilt, unpacked

FORMAT = "certpca checkpoint 2"
RUN, LOCK, ENDING = "run.json", "lock", ".npz"

# What reading a damaged archive can raise.
DAMAGE = (
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,  # in the header of an array
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)

State = Any


class Checkpoint:
    """The states of one part of a run; `part` gives those of a part of it."""

    def __init__(self, folder: "_Folder", prefix: str = "") -> None:
        self._folder, self._prefix = folder, prefix

    def part(self, name: str) -> "Checkpoint":
        """Return the states of a part, which share no names with those of other parts."""
        return Checkpoint(self._folder, f"{self._prefix}{name}.")

    def load(self, name: str, kind: Any = Any, *, kept: Kept | None = None, adopt: Adopt | None = None) -> State:
        """Return a state of that kind as it was stored last, or None; see `packing.rebuilt`."""
        return self._folder.load(self._prefix + name, kind, kept, adopt)

    def store(self, name: str, state: State, *, now: bool = False, kept: Kept | None = None) -> None:
        """Store a state, unless storing so often would slow the run down; `now` stores it in any case."""
        self._folder.store(self._prefix + name, state, now=now, kept=kept)

    def finish(self, name: str, state: State) -> None:
        """Store the last state of this part and remove all others, which nobody needs any more."""
        self._folder.store(self._prefix + name, state, now=True)
        self._folder.drop(self._prefix, but=self._prefix + name)


@dataclass(frozen=True, slots=True)
class CheckpointFolder(os.PathLike[str]):
    """A folder for states, and how often they are stored.

    Parameters
    ----------
    path
        The folder.
    pause
        Seconds between two states of one name, where steps are shorter.
    share
        At least so many times what storing takes lies between them.
    """

    path: str | os.PathLike[str]
    pause: float = 1.0
    share: float = 10.0

    def __fspath__(self) -> str:
        """Return the path."""
        return os.fspath(self.path)


@contextlib.contextmanager
def opened(
    folder: str | os.PathLike[str] | None, facts: Callable[[], Mapping[str, Any]]
) -> Iterator[Checkpoint | None]:
    """Open the folder for the run with these facts, as new or where that run left it; without a folder give None.

    Raises
    ------
    DataFileError
        Where the folder belongs to another run, is in use, is damaged, or cannot be used.
    """
    if folder is None:
        yield None
        return
    owned = _Folder(folder if isinstance(folder, CheckpointFolder) else CheckpointFolder(folder))
    try:
        owned.belong_to(facts())
        yield Checkpoint(owned)
    finally:
        owned.release()


class _Folder:
    """The files of a checkpoint, and the lock on them."""

    def __init__(self, folder: CheckpointFolder) -> None:
        self._pause, self._share = folder.pause, folder.share
        self._path = path = Path(folder)
        self._writable = True
        self._stored: dict[str, tuple[float, float]] = {}  # when a state was stored, and how long that took
        try:
            path.mkdir(parents=True, exist_ok=True)
            strangers = self._strangers()
            if strangers:
                msg = f"it is not a checkpoint and holds other files, such as {strangers[0]!r}; name a new or empty one"
                raise FileExistsError(msg)
            self._lock = (path / LOCK).open("ab")
        except OSError as error:
            msg = f"the checkpoint folder {str(path)!r} cannot be used: {error.strerror or error}"
            raise DataFileError(msg) from error
        try:
            _lock(self._lock)
        except OSError as error:
            self._lock.close()
            msg = f"the checkpoint folder {str(path)!r} is in use by another run; wait for it or name another folder"
            raise DataFileError(msg) from error
        for left in path.glob(f".*{UNFINISHED}"):  # of a process that ended while it wrote
            left.unlink(missing_ok=True)

    def release(self) -> None:
        self._lock.close()

    def _strangers(self) -> list[str]:
        """List what a folder without a run holds that is not left of the beginning of one."""
        if (self._path / RUN).exists():
            return []
        names = sorted(entry.name for entry in self._path.iterdir())
        return [
            name for name in names if name != LOCK and not (name.startswith(f".{RUN}.") and name.endswith(UNFINISHED))
        ]

    def belong_to(self, facts: Mapping[str, Any]) -> None:
        """Note what the run is about, or make sure that it is the run that was here before."""
        file = self._path / RUN
        mine = {"format": FORMAT, **json.loads(json.dumps(facts))}
        if not file.exists():
            write_text_whole(file, json.dumps(mine, indent=1) + "\n")
            return
        try:
            theirs = json.loads(file.read_text(encoding="utf-8"))
            names = [*mine, *(name for name in theirs if name not in mine)]
            differing = [
                (name, theirs.get(name), mine.get(name)) for name in names if theirs.get(name) != mine.get(name)
            ]
        except DAMAGE as error:
            raise self.damaged(RUN, error) from error
        for name, there, here in differing:
            msg = (
                f"the checkpoint in {str(self._path)!r} belongs to another run: {name.replace('_', ' ')} was "
                f"{there!r} there and is {here!r} now; go on with the same, or name another folder"
            )
            raise DataFileError(msg)

    def load(self, name: str, kind: Any, kept: Kept | None, adopt: Adopt | None) -> State:
        file = self._path / (name + ENDING)
        if not file.exists():
            return None
        if kept is not None:
            for number in itertools.count():
                batch = self.load(_batch(name, number), list[kept.kind], None, adopt)  # type: ignore[name-defined]
                if batch is None:
                    break
                kept.restore(batch)
        try:
            self._stored[name] = time.perf_counter(), 0.0
            # Opened here, so that it is closed even where NumPy cannot make sense of it.
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
                arrays = [archive[f"array{number}"] for number in range(len(archive.files) - 1)]
                plain = unpacked(archive["plain"].tobytes(), arrays, kept)
        except DAMAGE as error:
            raise self.damaged(file.name, error) from error
        try:
            return rebuilt(kind, plain, adopt)
        except ValueError as error:
            raise self.damaged(file.name, error) from error

    def store(self, name: str, state: State, *, now: bool, kept: Kept | None = None) -> None:
        begin = time.perf_counter()
        when, took = self._stored.get(name, (-np.inf, 0.0))
        if not self._writable or (not now and begin - when < max(self._pause, self._share * took)):
            return
        plain, arrays = packed(state, kept)
        if kept is not None and (new := kept.fresh()):
            self._write(_batch(name, kept.batches - 1), *packed(new))
        self._write(name, plain, arrays)
        end = time.perf_counter()
        self._stored[name] = end, end - begin

    def _write(self, name: str, plain: bytes, arrays: list[NDArray[Any]]) -> None:
        if not self._writable:
            return
        named = {f"array{number}": array for number, array in enumerate(arrays)}

        def write(stream: IO[bytes]) -> None:
            write_arrays(stream, {"plain": np.frombuffer(plain, dtype=np.uint8), **named})

        try:
            write_bytes_whole(self._path / (name + ENDING), write)
        except DataFileError as error:
            self._writable = False
            msg = f"{error}; the run goes on without checkpoints, those stored so far are kept"
            warnings.warn(msg, RuntimeWarning, stacklevel=2)

    def drop(self, prefix: str, *, but: str) -> None:
        if not self._writable:
            return
        for file in self._path.glob(f"{prefix}*{ENDING}"):
            if file.name != but + ENDING:
                file.unlink(missing_ok=True)

    def damaged(self, name: str, why: object) -> DataFileError:
        msg = f"{name!r} in the checkpoint {str(self._path)!r} is damaged ({why}); remove the folder to start again"
        return DataFileError(msg)


def _batch(name: str, number: int) -> str:
    return f"{name}-kept-{number}"


def _lock(stream: IO[bytes]) -> None:
    """Take the lock of an open file until it is closed or the process ends, or raise OSError."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
