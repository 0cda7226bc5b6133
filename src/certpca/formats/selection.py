"""Which columns of a table are wanted, by names or positions."""

import re
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from shlex import quote

from certpca.runtime.errors import DataFileError, InvalidProblemError

POSITIONS = re.compile(r"(\d{1,15})(?::(\d{1,15}))?")


def chosen_columns(
    held: Sequence[str] | None, width: int, columns: Sequence[str] | None, drop: Sequence[str] | None, file: str
) -> list[int]:
    """Return the indices of the columns wanted: `columns` in their order, or all, without those in `drop`.

    An entry is the name of a column, or else a position from 1 or a run of them, ends included: ``"3"``, ``"3:10"``.

    Parameters
    ----------
    held
        Names of the columns, where there are any.
    width
        How many columns there are.
    columns, drop
        What is asked for.
    file
        For errors.
    """
    places: dict[str, list[int]] = {}
    for index, name in enumerate(held or ()):
        places.setdefault(name, []).append(index)
    wanted = range(width) if columns is None else _once(columns, places, width, file)
    without = _once(dict.fromkeys(drop or ()), places, width, file)
    left = [index for index in wanted if index not in without]
    if not left:
        msg = f"{file!r} has no columns that are left to read"
        raise DataFileError(msg)
    return left


def drop_option(index: int, names: Sequence[str] | None) -> str:
    """Return the option that leaves a column out, as one would type it."""
    name = None if names is None else names[index]
    if name is None or not name.isprintable() or list(names or ()).count(name) > 1:
        numbered = names is not None and any(POSITIONS.fullmatch(other) for other in names)
        return f"--drop {index + 1}:{index + 1}" if numbered else f"--drop {index + 1}"
    if set(name) & set(',"') or name != name.strip():
        name = '"' + name.replace('"', '""') + '"'
    return f"--drop {quote(name)}"


def left_out(count: int) -> tuple[str, ...]:
    """Say how many columns are left out, where some are."""
    return (f"{count} column{'s' if count > 1 else ''} left out",) if count else ()


def as_slice(wanted: list[int]) -> slice | list[int]:
    """Return a run of columns as a slice, so that a view does for it."""
    run = list(range(wanted[0], wanted[-1] + 1))
    return slice(wanted[0], wanted[-1] + 1) if wanted == run else wanted


def listed_names(names: str | PathLike[str] | Iterable[str]) -> tuple[str, ...]:
    """Return names of features: those given, or those in a text file, one on each line."""
    if not isinstance(names, (str, PathLike)):
        return tuple(str(name) for name in names)
    file = Path(names)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"names cannot be read from {str(file)!r}: {getattr(error, 'strerror', None) or error}"
        raise DataFileError(msg) from error
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _once(entries: Iterable[str], places: dict[str, list[int]], width: int, file: str) -> dict[int, None]:
    """Return the indices of all entries, in their order; as none may come twice, there is an end to it."""
    found: dict[int, None] = {}
    for entry in entries:
        indices = _indices(entry, places, width, file)
        if any(index in found for index in indices):
            msg = f"{file!r}: a column is asked for twice ({entry!r} repeats one)"
            raise InvalidProblemError(msg)
        found |= dict.fromkeys(indices)
    return found


def _indices(entry: str, places: dict[str, list[int]], width: int, file: str) -> list[int]:
    if entry in places:
        if len(places[entry]) > 1:
            numbers = ", ".join(str(index + 1) for index in places[entry])
            msg = f"{file!r}: {len(places[entry])} columns are called {entry!r}; say which by position ({numbers})"
            raise InvalidProblemError(msg)
        return places[entry]
    found = POSITIONS.fullmatch(entry)
    if found is None:
        msg = f"{file!r} has no column {entry!r}; it has {_some(places, width)}"
        raise InvalidProblemError(msg)
    if found[2] is None and any(POSITIONS.fullmatch(name) for name in places):
        msg = (
            f"{file!r} has no column called {entry!r}; as names of others are numbers, "
            f"a position is written {entry}:{entry}"
        )
        raise InvalidProblemError(msg)
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last <= width:
        msg = f"{file!r}: positions of columns lie in 1..{width}, got {entry!r}"
        raise InvalidProblemError(msg)
    return list(range(first - 1, last))


def _some(places: dict[str, list[int]], width: int) -> str:
    if not places:
        return f"{width} columns without names: use positions, such as 3 or 3:10"
    names = list(places)
    return ", ".join(names[:20]) + (" …" if len(names) > 20 else "")
