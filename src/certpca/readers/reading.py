"""How a table is read: what may be set about it, and settings in the form that JSON and the command line have for them.

A result can hold such settings, so that whoever has the file gets the same numbers: `load_table(file, **reading)`.
"""

import csv
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

from certpca.runtime.errors import InvalidProblemError

MOST_ENTRIES = 1 << 24  # of a list in a file that nobody vouches for
LONGEST_TEXT = 1 << 14
SHOWN = 60  # characters of a list that are printed

Texts = str | Iterable[str]
Check = Callable[[str, object], Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """What may be set about reading: a keyword of `load_table`, an option of the command line, an entry of results.

    Parameters
    ----------
    name
        The keyword; the option has dashes in place of underscores.
    check
        Takes the name and a value from a file that nobody vouches for; returns the value or refuses it.
    help
        What the command line says about it.
    files
        Which files it is for, in words, such as "PLINK files"; empty where it is for all.
    default
        The value that says nothing.
    commas
        Whether the command line takes a list, with commas between its entries.
    option
        More keyword arguments of `argparse`: metavar, type, choices, action.
    unrecorded
        What stored results mean that do not mention it, where that is not the default: those made before it had one.
    """

    name: str
    check: Check
    help: str
    files: str = ""
    default: Any = None
    commas: bool = False
    option: Mapping[str, Any] = field(default_factory=dict)
    unrecorded: Any = None

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return _flag_of(self.name)

    def is_default(self, value: Any) -> bool:
        """Say whether a value says nothing."""
        return value is None if self.default is None else bool(value == self.default)

    def typed(self, value: Any) -> Any:
        """Return what an option says: lists are cut at commas; an entry that holds one is put in quotes."""
        return next(csv.reader([value], skipinitialspace=True), []) if self.commas else value


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings that are not None, in the form that JSON has for them."""
    return {name: _plain(value) for name, value in settings.items() if value is not None}


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def as_texts(name: str, value: Texts | None) -> tuple[str, ...] | None:
    """Return a setting that is a list of texts; a single one stands for itself."""
    if value is None:
        return None
    some = (value,) if isinstance(value, str) else tuple(value)
    for entry in some:
        text(name, entry)
    return some


def short(value: object) -> str:
    """Write a value from a file, whatever it is, in a few characters."""
    try:
        return reprlib.repr(value)
    except ValueError:  # whole numbers of thousands of digits
        return f"a {type(value).__name__} that is too large to print"


def wrong(name: str, needed: str, got: object) -> InvalidProblemError:
    """Say what a setting must be."""
    return InvalidProblemError(f"{name} must be {needed}, got {short(got)}")


def text(name: str, value: object) -> str:
    """Refuse what is no text, or too long for one that somebody wrote."""
    if not isinstance(value, str):
        raise wrong(name, "text", value)
    if len(value) > LONGEST_TEXT:
        raise wrong(name, f"text of at most {LONGEST_TEXT} characters", value)
    return value


def list_of(entry: Check) -> Check:
    """Return what refuses all but lists of such entries."""

    def checked(name: str, value: object) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise wrong(name, "a list", value)
        if not 1 <= len(value) <= MOST_ENTRIES:
            raise wrong(name, f"a list of 1 to {MOST_ENTRIES} entries", f"{len(value)} entries")
        return [entry(name, item) for item in value]

    return checked


texts = list_of(text)


def share(name: str, value: object) -> float:
    """Refuse what is no number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1 or math.isnan(value):
        raise wrong(name, "a number from 0 to 1", value)
    return float(value)


def whole(name: str, value: object) -> int:
    """Refuse what is no whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 53:
        raise wrong(name, "a whole number from 1", value)
    return value


def positive(name: str, value: object) -> float:
    """Refuse what is no positive number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise wrong(name, "a positive number", value)
    return float(value)


def flag(name: str, value: object) -> bool:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise wrong(name, "true or false", value)
    return value


def as_options(reading: Mapping[str, Any]) -> str:
    """Write settings as options of the command line; of long lists, how long they are."""
    return " ".join(_option(name, value) for name, value in reading.items())


def _flag_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(name: str, value: Any) -> str:
    if value is True:
        return _flag_of(name)
    if isinstance(value, (list, tuple)):
        entries = [entry if isinstance(entry, str) else " ".join(map(str, entry)) for entry in value]
        shown = ",".join(f'"{entry}"' if "," in entry else entry for entry in entries)
        return (
            f"{_flag_of(name)} {quote(shown)}"
            if len(shown) <= SHOWN
            else f"{_flag_of(name)} ({len(entries):,} entries)"
        )
    return f"{_flag_of(name)} {quote(str(value))}"
