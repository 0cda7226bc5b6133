"""JSON files of results: written as they are, read as what a stranger may have written."""

import contextlib
import json
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from certpca.results.evidence import open_beside
from certpca.results.field_checks import shown
from certpca.results.schema import LONGEST_WHOLE, MOST_JSON_BYTES
from certpca.runtime.atomic_write import Writer
from certpca.runtime.errors import DataFileError, InvalidDataError

# What reading nonsense can raise, once the schema has seen every field: broken archives, absurd sizes and depths. Not
# what a mistake in this program raises, which should look like one.
DAMAGE = (
    EOFError,
    MemoryError,
    NotImplementedError,  # zipfile: unknown compression
    OSError,
    RecursionError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def json_writer(fields: dict[str, Any]) -> Writer:
    """Write fields as they are when their turn comes."""
    return lambda stream: stream.write((json.dumps(fields, indent=1) + "\n").encode())


def read_json(
    file: Path,
    form: str | tuple[str, ...],
    what: str,
    *,
    named: bool = False,
    hint: str = "",
    most_bytes: int = MOST_JSON_BYTES,
) -> dict[str, Any]:
    """Read a JSON file of a form, or of one of several; where it has another, an error ends with the `hint`.

    Where it is `named` by another file and not by the user, it must be a regular one.
    """
    forms = (form,) if isinstance(form, str) else form
    try:
        with open_beside(file.parent, file.name) if named else file.open("rb") as stream:
            fields = json.loads(_content(stream, most_bytes), parse_int=_whole, object_pairs_hook=_without_repeats)
    except FileNotFoundError as error:
        msg = f"there is no file {str(file)!r}"
        raise DataFileError(msg) from error
    except DataFileError:
        raise
    except (OSError, MemoryError, RecursionError, ValueError) as error:  # also what is no JSON, or numbers too long
        msg = f"{str(file)!r} cannot be read as {what}: {str(error)[:200]}"
        raise DataFileError(msg) from error
    if not isinstance(fields, dict) or fields.get("format") not in forms:
        held = fields.get("format") if isinstance(fields, dict) else None
        found = "" if held is None else f"; it holds {shown(held)}"
        missing = " or ".join(map(repr, forms))
        msg = f"{str(file)!r} is not {what} written by certpca ({missing} is missing){found}{hint}"
        raise DataFileError(msg)
    return fields


def _content(stream: IO[bytes], most_bytes: int) -> str:
    """Read a text of limited length, by parts: where it comes from may be endless."""
    parts, length = [], 0
    while part := stream.read(1 << 20):
        parts.append(part)
        length += len(part)
        if length > most_bytes:
            msg = f"it is larger than {most_bytes >> 20} MiB"
            raise ValueError(msg)
    return b"".join(parts).decode("utf-8")


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_WHOLE:
        msg = f"it has a whole number of {len(digits)} digits"
        raise ValueError(msg)
    return int(digits)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a mapping that says two things under one name: readers differ in which they believe."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        msg = f"the field {shown(twice)} is there twice"
        raise ValueError(msg)
    return fields


@contextlib.contextmanager
def damage_named(file: Path) -> Iterator[None]:
    """Say of which file it is that something cannot be made sense of."""
    try:
        yield
    except DataFileError:
        raise
    except DAMAGE as error:
        msg = f"{str(file)!r} is damaged: {error if isinstance(error, InvalidDataError) else shown(repr(error), 200)}"
        raise DataFileError(msg) from error
