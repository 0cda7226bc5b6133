"""What a file format is, and the registry that finds all of them.

A format is one file in this package: a class under `@register` that says what its files are called and how one is
opened. `load_table`, the command line with its help, errors and the documentation ask the registry.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, ClassVar, TypeVar

from certpca.formats.arranging import Table, Wanted, arranged
from certpca.readers.reading import Setting
from certpca.runtime.errors import DataFileError, InvalidProblemError
from certpca.runtime.optional import require


class Format(ABC):
    """A file format. `open` is all it must do; what else it can do, it says."""

    kind: ClassVar[str]  # its name in lists, such as "AnnData"
    endings: ClassVar[tuple[str, ...]]  # of the names of its files
    packings: ClassVar[tuple[str, ...]] = ()  # endings that may follow these, such as ".gz"
    library: ClassVar[str] = ""  # the module it needs, where certpca can do without
    extra: ClassVar[str] = ""  # the extra of certpca that installs it; without one, it is installed by its name
    settings: ClassVar[tuple[Setting, ...]] = ()  # what may be set about reading it; `Wanted.settings` has the values
    streams: ClassVar[bool] = False  # whether it keeps to a memory budget
    chooses_columns: ClassVar[bool] = False  # whether `open` heeds `Wanted.columns` and `Wanted.drop`
    is_folder: ClassVar[bool] = False  # whether a folder may be one file of it
    instead: ClassVar[str] = "give more memory (--memory), or write a file with what is wanted"  # of rearranging it

    @abstractmethod
    def open(self, file: Path, wanted: Wanted) -> Table:
        """Return the numbers of a file, and the names of its columns and rows where it has them.

        Numbers are an array, scipy.sparse or a `Reader`. What is wrong with a file may be any error that its library
        raises (`load_table` says of which file); what a user can mend is better a `DataFileError` that says how.
        """

    def labels(self, file: Path) -> Mapping[str, Sequence[Any]]:
        """Return what the file says about samples beside the numbers: columns of labels, by name."""
        del file
        return {}

    def load(self, file: Path, wanted: Wanted) -> Table:
        """Open a file, and arrange what it holds as it is wanted."""
        return arranged(self.open(file, wanted), file, wanted, choose=wanted.chooses and not self.chooses_columns)

    @classmethod
    def needed(cls) -> Any:
        """Import the library that the format needs, or say how to install it."""
        return require(cls.library, extra=cls.extra, purpose=f"reading {', '.join(cls.endings)} files")

    def ending_of(self, name: str) -> str:
        """Return the longest ending of a file's name that is one of this format, packing included; empty if none is."""
        fitting = [ending for ending in self.all_endings() if name.lower().endswith(ending)]
        return max(fitting, key=len, default="")

    @classmethod
    def all_endings(cls) -> Iterator[str]:
        """Walk over the endings, packed and not."""
        for packing in ("", *cls.packings):
            yield from (ending + packing for ending in cls.endings)

    def stays_in_file(self, file: Path) -> InvalidProblemError:
        """Say that numbers which stay in a file cannot be rearranged."""
        return InvalidProblemError(
            f"{str(file)!r} is streamed, so that its columns cannot be chosen nor the table transposed; {self.instead}"
        )


class StreamedFormat(Format):
    """A format that `open` gives a `Reader` of, which stays in the file unless what is wanted needs it in memory."""

    streams = True

    def load(self, file: Path, wanted: Wanted) -> Table:
        """Open a file; what is rearranged must fit the memory budget."""
        opened = self.open(file, wanted)
        choose = wanted.chooses and not self.chooses_columns
        data = self.numbers(opened.data, file, wanted, rearranged=choose or wanted.transpose)
        table = arranged(replace(opened, data=data), file, wanted, choose=choose)
        opened.data.reading = table.reading
        return table

    def numbers(self, reader: Any, file: Path, wanted: Wanted, *, rearranged: bool) -> Any:
        """Return the numbers in memory where they are to be rearranged, else the reader."""
        del wanted
        if not rearranged:
            return reader
        data = reader.resident()
        if data is reader:
            raise self.stays_in_file(file)
        return data


FormatType = TypeVar("FormatType", bound=type[Format])
_registry: dict[str, Format] = {}


def register(format_type: FormatType) -> FormatType:
    """Make a format known by its endings."""
    _registry[format_type.kind] = format_type()
    return format_type


def formats() -> tuple[Format, ...]:
    """Return every format of this package, in the order of their first endings; each module is imported once."""
    package = import_module("certpca.formats")
    for module in iter_modules(package.__path__):
        if not module.ispkg:
            import_module(f"{package.__name__}.{module.name}")
    return tuple(sorted(_registry.values(), key=lambda known: known.endings[0].lstrip(".")))


def format_of(file: Path) -> Format:
    """Return the format that a file's name tells: the one with the longest ending that fits."""
    found = max(formats(), key=lambda known: len(known.ending_of(file.name)))
    if not found.ending_of(file.name):
        msg = f"{str(file)!r} has an unknown format; known endings are {formats_in_words()}"
        raise DataFileError(msg)
    return found


def endings_where(holds: Callable[[Format], bool]) -> str:
    """List the endings of the formats that have some property."""
    return ", ".join(ending for known in formats() if holds(known) for ending in known.endings)


def formats_in_words() -> str:
    """List all formats: endings, kind, and how files may be packed."""
    return "; ".join(map(_in_words, formats()))


def _in_words(known: Format) -> str:
    packed = f", also packed: {', '.join(known.packings)}" if known.packings else ""
    return f"{', '.join(known.endings)} ({known.kind}{packed})"


@dataclass(frozen=True, slots=True)
class ColumnsByName(Mapping[str, Any]):
    """Columns of a file, each read when it is asked for."""

    names: tuple[str, ...]
    read: Callable[[str], Any] = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        """Read a column."""
        if name not in self.names:
            raise KeyError(name)
        return self.read(name)

    def __iter__(self) -> Iterator[str]:
        """Walk over the names."""
        return iter(self.names)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self.names)
