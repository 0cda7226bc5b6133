"""Text files as lines: unpacked, decoded, and without comments."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from certpca.formats.text.cells import is_missing
from certpca.runtime.errors import DataFileError
from certpca.runtime.optional import zstd

ENDINGS = {
    ".csv": ",",
    ".tsv": "\t",
    ".tab": "\t",
    ".txt": "\t ",
    ".dat": "\t ",
    ".data": ",",
}  # and separators
BLOCK = 1 << 20  # characters handed on at a time
SPACES = " "  # the separator of tables whose columns are apart by any number of spaces or tabs
MARKS = {  # the longer ones first: one begins with another
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}


PACKINGS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": lambda file: zstd().open(file),
}


def text_ending(file: Path) -> str | None:
    """Return the ending that tells that a file is a text table, before the one that tells how it is packed."""
    name = Path(file.name.lower())
    name = Path(name.stem) if name.suffix in PACKINGS else name
    return name.suffix if name.suffix in ENDINGS else None


def _unpacked(file: Path) -> Any:
    packing = file.suffix.lower()
    return PACKINGS[packing](file) if packing in PACKINGS else file.open("rb")


def unpacking_errors(file: Path) -> tuple[type[Exception], ...]:
    """Return what a packed file raises that is damaged."""
    more = (zstd().ZstdError,) if file.suffix.lower() == ".zst" else ()
    return (OSError, EOFError, zlib.error, lzma.LZMAError, *more)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file and the encoding it is taken to be in."""

    file: Path
    encoding: str

    def open(self) -> IO[str]:
        """Open it; lines may end in any of the usual ways."""
        return io.TextIOWrapper(_unpacked(self.file), encoding=self.encoding, newline=None)

    def lines(self) -> Iterator[str]:
        """Walk over all lines."""
        with self.open() as stream:
            yield from stream

    def records(self, separator: str) -> Iterator[tuple[int, list[str]]]:
        """Walk over the lines that are neither blank nor comments: the number of each (its last) and its cells."""
        number = 0
        blanks = " \n" if separator == "\t" else None  # a line of tabs alone is a row, if tabs are between cells

        def lines() -> Iterator[str]:
            nonlocal number
            for number, line in enumerate(self.lines(), 1):  # noqa: B007 - read below
                if line.strip(blanks) and not is_comment(line, separator):
                    yield line

        stripped = (line.replace("\t", " ").strip() for line in lines())
        for cells in csv.reader(
            stripped if separator == SPACES else lines(), delimiter=separator, skipinitialspace=True
        ):
            yield number, cells


def text_files(file: Path) -> tuple[TextFile, ...]:
    """Return the ways a text file may be encoded, to be tried in turn: as its mark says; UTF-8, then older ones."""
    with _unpacked(file) as stream:
        beginning = stream.read(1 << 16)
    for mark, encoding in MARKS.items():
        if beginning.startswith(mark):
            return (TextFile(file, encoding),)
    if b"\0" in beginning:
        for place, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
            if beginning[place::2].count(0) > 0.9 * (len(beginning) // 2):
                return (TextFile(file, encoding),)
        msg = f"{str(file)!r} is not text: it holds bytes that no text has"
        raise DataFileError(msg)
    return tuple(TextFile(file, encoding) for encoding in ("utf-8", "cp1252", "latin-1"))


class LineStream:
    """The lines of a file from some line on, without comments, for a reader that asks for a piece at a time.

    `separators` and `quotes` count what has been handed on, `comments` what has not; `torn` says whether quotes go
    over the end of a line, and `failure` what went wrong.
    """

    def __init__(self, text: TextFile, separator: str, skip: int) -> None:
        self._separator = separator
        self._stream = text.open()
        self._begun: list[str] = []  # pieces of a line that has not ended
        self.separators = self.quotes = self.comments = 0
        self.torn = False
        self.failure: Exception | None = None
        for _ in range(skip):
            self.comments += is_comment(self._stream.readline(), separator)

    def __enter__(self) -> "LineStream":
        return self

    def __exit__(self, *about: object) -> None:
        self._stream.close()

    def __iter__(self) -> Iterator[str]:
        """Walk over pieces of whole lines."""
        while piece := self.read():
            yield piece

    def read(self, size: int = 0) -> str:
        """Return the next lines."""
        del size  # whole lines may take more
        try:
            while piece := self._stream.read(BLOCK):
                whole, newline, rest = piece.rpartition("\n")
                begun = self._begun
                if not newline:
                    begun.append(piece)
                    continue
                self._begun = [rest]
                if lines := self._without_comments("".join([*begun, whole, newline])):
                    return lines
        except Exception as error:
            self.failure = error  # whoever asks may replace it by an error of his own
            raise
        rest, self._begun = "".join(self._begun), []
        return self._without_comments(rest)

    def _without_comments(self, lines: str) -> str:
        if "#" in lines:
            every = lines.split("\n")
            kept = [line for line in every if not is_comment(line, self._separator)]
            self.comments += len(every) - len(kept)
            lines = "\n".join(kept)
        self.separators += lines.count(self._separator)
        if quotes := lines.count('"'):
            self.quotes += quotes
            self.torn = self.torn or any(line.count('"') % 2 for line in lines.split("\n"))
        return lines


def is_comment(line: str, separator: str) -> bool:
    """Say whether a line is a comment: it begins with #, but not with a word for a missing value that does."""
    if not line.lstrip().startswith("#"):
        return False
    first = line.split(None if separator == SPACES else separator, 1)[0]
    return not is_missing(first)
