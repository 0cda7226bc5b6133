"""The packed part of a PLINK file: rows of bytes, read when they are asked for."""

import os
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from certpca.genotypes.packed import Packed
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import DataFileError

SMALLEST_SHARE = 0.25  # of a stretch of rows that must be wanted for the whole of it to be read


class PackedFile:
    """Rows of equal length behind a header; never in memory as a whole, and not mapped.

    A map would count as memory of the process, and a file that is cut off while it is mapped would end the process.
    """

    def __init__(self, file: Path, header: int, rows: int, length: int) -> None:
        self.file, self.rows, self.length = file, rows, length
        self._header = header
        self._handle: int | None = None
        self._lock = Lock()

    def __reduce__(self) -> Any:
        """Leave the open file behind: another process opens it again."""
        return PackedFile, (self.file, self._header, self.rows, self.length)

    def __del__(self) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def take(self, rows: Indices) -> Packed:
        """Read rows in the order given, neighbours together."""
        table = np.empty((rows.size, self.length), dtype=np.uint8)
        edges = np.flatnonzero(np.diff(rows) != 1) + 1
        for first, last in zip([0, *edges.tolist()], [*edges.tolist(), rows.size], strict=True):
            if last > first:
                self._fill(int(rows[first]), table[first:last])
        return table

    def run(self, rows: Indices, buffer: Packed) -> tuple[Packed, Indices]:
        """Read increasing rows, as many as the buffer has; return a table that holds them, and where in it they are."""
        first, last = int(rows[0]), int(rows[-1]) + 1
        if last - first <= buffer.shape[0]:
            self._fill(first, buffer[: last - first])
            return buffer[: last - first], rows - first
        if rows.size >= SMALLEST_SHARE * (last - first):
            # Few gaps: read over them, and keep what is wanted.
            place = 0
            for start in range(first, last, buffer.shape[0]):
                stretch = np.empty((min(buffer.shape[0], last - start), self.length), dtype=np.uint8)
                self._fill(start, stretch)
                wanted = rows[(rows >= start) & (rows < start + stretch.shape[0])] - start
                buffer[place : place + wanted.size] = stretch[wanted]
                place += wanted.size
        else:
            buffer[: rows.size] = self.take(rows)
        return buffer[: rows.size], np.arange(rows.size)

    def _fill(self, first: int, table: Packed) -> None:
        """Read rows that lie together."""
        room = memoryview(table.data).cast("B")
        begin, done = self._header + first * self.length, 0
        try:
            handle = self._opened()
            while done < len(room) and (got := self._read_at(handle, begin + done, room[done:])):
                done += got
        except OSError as error:
            msg = f"{str(self.file)!r} cannot be read: {error.strerror or error}"
            raise DataFileError(msg) from error
        if done < len(room):
            msg = f"{str(self.file)!r} ended early: it was cut off while it was being read"
            raise DataFileError(msg)

    def _read_at(self, handle: int, place: int, room: memoryview) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(handle, [room], place)
        with self._lock:  # Windows can only seek and then read
            os.lseek(handle, place, os.SEEK_SET)
            found = os.read(handle, len(room))
            room[: len(found)] = found
            return len(found)

    def _opened(self) -> int:
        with self._lock:  # threads ask at once
            if self._handle is None:
                flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
                self._handle = os.open(self.file, flags)
            return self._handle
