"""How a table is read: the settings that lead from a file to its numbers and names, also as plain JSON.

A result can hold such a mapping, so that whoever has the file gets the same numbers: `load_table(file, **reading)`.
"""

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping
from shlex import quote
from typing import Any

from certpca.runtime.errors import InvalidProblemError

MOST_ENTRIES = 1 << 24  # of a list in a file that nobody vouches for
LONGEST_TEXT = 1 << 14
SHOWN = 60  # characters of a list that are printed

Texts = str | Iterable[str]


def without_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the settings that say something, in the form that JSON has for them."""
    return {name: _plain(value) for name, value in settings.items() if value != DEFAULTS[name]}


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


def reading_from_json(found: object) -> dict[str, Any]:
    """Check a mapping from a file that nobody vouches for, and return keyword arguments of `load_table`.

    Only what `Table.reading` can hold passes: known names, plain values of the right type, no files to be opened.

    Parameters
    ----------
    found
        What JSON made of the file.

    Examples
    --------
    >>> from certpca.readers.reading import reading_from_json
    >>> reading_from_json({"maf": 0.05, "keep": ["a", ["family", "b"]]})
    {'maf': 0.05, 'keep': ['a', ['family', 'b']]}
    """
    if not isinstance(found, Mapping):
        msg = f"how a table is read must be a mapping of settings, got {type(found).__name__}"
        raise InvalidProblemError(msg)
    checked = {}
    for name, value in found.items():
        if name not in _CHECKS:
            msg = f"{_short(name)} is no setting for reading a table; there are {', '.join(_CHECKS)}"
            raise InvalidProblemError(msg)
        checked[name] = _CHECKS[name](name, value)
    return checked


def as_texts(name: str, value: Texts | None) -> tuple[str, ...] | None:
    """Return a setting that is a list of texts; a single one stands for itself."""
    if value is None:
        return None
    some = (value,) if isinstance(value, str) else tuple(value)
    for entry in some:
        _text(name, entry)
    return some


def _short(value: object) -> str:
    try:
        return reprlib.repr(value)
    except ValueError:  # whole numbers of thousands of digits
        return f"a {type(value).__name__} that is too large to print"


def _wrong(name: str, needed: str, got: object) -> InvalidProblemError:
    return InvalidProblemError(f"{name} must be {needed}, got {_short(got)}")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "text", value)
    if len(value) > LONGEST_TEXT:
        raise _wrong(name, f"text of at most {LONGEST_TEXT} characters", value)
    return value


def _list(name: str, value: object, entry: Callable[[str, object], Any]) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise _wrong(name, "a list", value)
    if not 1 <= len(value) <= MOST_ENTRIES:
        raise _wrong(name, f"a list of 1 to {MOST_ENTRIES} entries", f"{len(value)} entries")
    return [entry(name, item) for item in value]


def _texts(name: str, value: object) -> list[str]:
    return _list(name, value, _text)


def _samples(name: str, value: object) -> list[Any]:
    return _list(name, value, _sample)


def _sample(name: str, value: object) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) != 2:
            raise _wrong(name, "names, or pairs of family and name", value)
        return [_text(name, value[0]), _text(name, value[1])]
    return _text(name, value)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1 or math.isnan(value):
        raise _wrong(name, "a number from 0 to 1", value)
    return float(value)


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 53:
        raise _wrong(name, "a whole number from 1", value)
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def require_header(name: str, value: object) -> str:
    """Refuse what is no answer to whether a text table has a header."""
    if not (isinstance(value, str) and value in HEADERS):
        raise _wrong(name, "'yes', 'no' or 'auto'", value)
    return value


def as_options(reading: Mapping[str, Any]) -> str:
    """Write settings as options of the command line; of long lists, how long they are."""
    return " ".join(_option(name, value) for name, value in reading.items())


def _option(name: str, value: Any) -> str:
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return flag
    if isinstance(value, (list, tuple)):
        texts = [entry if isinstance(entry, str) else " ".join(map(str, entry)) for entry in value]
        shown = ",".join(f'"{text}"' if "," in text else text for text in texts)
        return f"{flag} {quote(shown)}" if len(shown) <= SHOWN else f"{flag} ({len(texts):,} entries)"
    return f"{flag} {quote(str(value))}"


HEADERS = ("auto", "yes", "no")
_CHECKS: dict[str, Callable[[str, object], Any]] = {
    "array": _text,
    "header": require_header,
    "columns": _texts,
    "drop": _texts,
    "transpose": _flag,
    "names": _texts,
    "keep": _samples,
    "remove": _samples,
    "chromosomes": _texts,
    "maf": _number,
    "max_missing": _number,
    "every": _whole,
}
DEFAULTS: dict[str, Any] = dict.fromkeys(_CHECKS) | {
    "header": "auto",
    "transpose": False,
    "maf": 0.0,
    "max_missing": 1.0,
    "every": 1,
}
