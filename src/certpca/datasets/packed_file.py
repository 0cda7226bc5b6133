"""The packed part of a PLINK file: rows of bytes, read when they are asked for and a little earlier."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from certpca.arrays import Indices
from certpca.errors import DataFileError
from certpca.operators.packed import Packed
from certpca.read_ahead import read_ahead

SMALLEST_SHARE = 0.25  # of a stretch of rows that must be wanted for the whole of it to be read


class PackedFile:
    """Rows of equal length behind a header; never in memory as a whole, and not mapped.

    A map would count as memory of the process, and a file that is cut off while it is mapped would end the process.
    """

    def __init__(self, file: Path, header: int, rows: int, length: int) -> None:
        self.file, self.rows, self.length = file, rows, length
        self._header = header
        self._handle: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the open file behind: another process opens it again."""
        return {**self.__dict__, "_handle": None}

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

    def walk(self, rows: Indices, largest: int) -> Iterator[tuple[slice, Packed, Indices]]:
        """Read increasing rows by runs of at most `largest` bytes, each while the one before it is worked on.

        Yields which of the rows there are, a table, and where in that table they are; it is overwritten later on.
        """
        width = max(1, largest // (2 * self.length))  # one run is read while another is worked on
        parts = [slice(start, min(start + width, rows.size)) for start in range(0, rows.size, width)]
        buffers = [np.empty((min(width, rows.size), self.length), dtype=np.uint8) for _ in range(min(2, len(parts)))]

        def read(part: slice) -> tuple[Packed, Indices]:
            return self._run(rows[part], buffers[part.start // width % 2])

        for part, (table, places) in read_ahead(parts, read):
            yield part, table, places

    def _run(self, rows: Indices, buffer: Packed) -> tuple[Packed, Indices]:
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
            if self._handle is None:
                flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
                self._handle = os.open(self.file, flags)
            while done < len(room) and (got := os.preadv(self._handle, [room[done:]], begin + done)):
                done += got
        except OSError as error:
            msg = f"{str(self.file)!r} cannot be read: {error.strerror or error}"
            raise DataFileError(msg) from error
        if done < len(room):
            msg = f"{str(self.file)!r} ended early: it was cut off while it was being read"
            raise DataFileError(msg)
