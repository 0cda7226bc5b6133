"""Tables in text files: laid out as `dialects` finds, read by pandas' C engine, refused where a line or cell is bad."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import ColumnsByName, Format, register
from certpca.formats.selection import as_slice, chosen_columns, drop_option, left_out
from certpca.formats.text.cells import MISSING_TEXTS, WITH_COMMA, is_missing, number_of, truth_of, why_no_number
from certpca.formats.text.dialects import Dialect, dialect_of, require_decimal_commas
from certpca.formats.text.text_files import (
    ENDINGS,
    PACKINGS,
    SPACES,
    LineStream,
    TextFile,
    text_ending,
    text_files,
    unpacking_errors,
)
from certpca.readers.reading import Setting, wrong
from certpca.runtime.arrays import Vector
from certpca.runtime.errors import CertpcaError, DataFileError

MISSING_WORDS = sorted({form for word in MISSING_TEXTS for form in (word, word.upper(), word.title(), "NaN", "-NaN")})
SEPARATOR_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", SPACES: "spaces"}
ENCODING_WORDS = {"utf-8": "", "utf-8-sig": "", "cp1252": "Windows-1252", "latin-1": "Latin-1"}


HEADERS = ("yes", "no", "auto")
Result = TypeVar("Result")


def _require_header(name: str, value: object) -> str:
    if not (isinstance(value, str) and value in HEADERS):
        raise wrong(name, "'yes', 'no' or 'auto'", value)
    return value


@register
class TextTable(Format):
    """Text tables; any column, row names included, may be labels."""

    kind = "text tables"
    endings = tuple(ENDINGS)
    packings = tuple(PACKINGS)
    chooses_columns = True
    settings = (
        Setting(
            "header",
            _require_header,
            "whether the first line holds names",
            files="text tables",
            default="auto",
            option={"choices": HEADERS},
        ),
    )

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Read the columns wanted."""
        header = _require_header("header", wanted.settings["header"])
        return read_text_table(file, header, wanted.columns, wanted.drop)

    def labels(self, file: Path) -> Mapping[str, Any]:
        """Return all columns that a header names."""
        known = _decoded(file, "auto", _header)
        return ColumnsByName(known, lambda name: _decoded(file, "auto", partial(_cells, name=name)))


def read_text_table(file: Path, header: str, columns: Sequence[str] | None, drop: Sequence[str] | None) -> Table:
    """Read a table of numbers from a text file, packed or not.

    Parameters
    ----------
    file
        Its name.
    header
        Whether it has a header: ``"yes"``, ``"no"`` or ``"auto"``.
    columns, drop
        Which columns are wanted; see `chosen_columns`.
    """
    try:
        return _decoded(file, header, lambda text, dialect: _read(text, dialect, columns, drop))
    except CertpcaError:
        raise
    except unpacking_errors(file) as error:
        if file.suffix.lower() not in PACKINGS:
            raise
        msg = f"{str(file)!r} cannot be unpacked, it is damaged or cut off: {error}"
        raise DataFileError(msg) from error


def _decoded(file: Path, header: str, use: Callable[[TextFile, Dialect], Result]) -> Result:
    """Use a file in the first of its possible encodings in which it can be decoded."""
    *likely, last = text_files(file)
    for text in likely:
        try:
            return use(text, dialect_of(text, _usual(file), header))
        except UnicodeDecodeError:
            continue
    return use(last, dialect_of(last, _usual(file), header))


def _usual(file: Path) -> str:
    return ENDINGS.get(text_ending(file) or "", "")


def _header(text: TextFile, dialect: Dialect) -> tuple[str, ...]:
    del text
    return tuple(cell.strip() for cell in dialect.header or ())


def _cells(text: TextFile, dialect: Dialect, name: str) -> tuple[str, ...]:
    """Return the cells of the column of some name."""
    known = _header(text, dialect)
    place = known.index(name) + (dialect.width - len(known) if dialect.row_names else 0)
    return tuple(cells[place].strip() if place < len(cells) else "" for _, cells in dialect.rows(text))


def _read(text: TextFile, dialect: Dialect, columns: Sequence[str] | None, drop: Sequence[str] | None) -> Table:
    named = None if dialect.header is None else dialect.names
    corner = dialect.header[0].strip() if dialect.header and dialect.row_names else None
    # Row names are left out anyway: who asks for that is not refused.
    unwanted = drop and [entry for entry in drop if entry != corner or entry in (named or ())]
    left = chosen_columns(named, len(dialect.places), columns, unwanted, str(text.file))
    places = [dialect.places[index] for index in left]
    frame, dialect = _frame(text, dialect, places)
    if dialect.trailing and frame[dialect.width - 1].notna().any():
        _require_same_width(text, dialect)
    numbers = _numbers(text, dialect, frame, places)
    labels = _row_names(text, dialect, frame)
    names = None if named is None else tuple(named[index] for index in left)
    comments = frame.attrs["comments"] - int(dialect.commented)
    said = [f"{comments} comment{'s' if comments > 1 else ''} left out"] if comments else []
    understood = ", ".join((*_understood(text, dialect), *said, *left_out(len(dialect.places) - len(left))))
    return Table(numbers, names, {}, labels, understood, dialect.remarks + _twins(names))


def _frame(text: TextFile, dialect: Dialect, places: list[int]) -> tuple[Any, Dialect]:
    """Read all cells: those wanted as numbers where they all are, else as pandas finds them."""
    try:
        frame = _parsed(text, dialect, places, numbers_only=True)
    except _NoNumbersError:
        frame = _parsed(text, dialect, places, numbers_only=False)
        commas = [cell for place in places for cell in _texts(frame[place]) if WITH_COMMA.fullmatch(cell.strip())]
        if commas and dialect.decimal == "." and dialect.separator != ",":  # they begin late in the file
            require_decimal_commas(text, dialect)
            dialect = replace(dialect, decimal=",")
            frame = _parsed(text, dialect, places, numbers_only=False)
    return frame, dialect


class _NoNumbersError(Exception):
    """Some cells are not plain numbers."""


def _parsed(text: TextFile, dialect: Dialect, places: list[int], *, numbers_only: bool) -> Any:
    import pandas as pd

    texts = dict.fromkeys(set(range(dialect.width)) - set(places), str)
    kinds: Any = texts
    if numbers_only:
        kinds = dict.fromkeys(places, np.float64) | texts if texts else np.float64
    with LineStream(text, dialect.separator, dialect.skip) as stream:
        try:
            frame = pd.read_csv(
                stream,
                sep=r"\s+" if dialect.separator == SPACES else dialect.separator,
                header=None,
                dtype=kinds,
                decimal=dialect.decimal,
                na_values=MISSING_WORDS,
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,  # in pieces it takes longer, and not less memory
                engine="c",
                **_exactly(pd.__version__),
            )
        except (ValueError, OverflowError) as error:
            if stream.failure is not None:
                raise stream.failure from error
            if isinstance(error, pd.errors.ParserError) or not numbers_only:
                _require_same_width(text, dialect)
                raise
            raise _NoNumbersError from error
        # Lines that are too short were filled up: counting separators tells, where each is one and none is in quotes.
        countable = dialect.separator != SPACES and not stream.quotes
        full = countable and stream.separators == len(frame) * (dialect.width - 1)
        if frame.shape[1] != dialect.width or stream.torn:
            shape = (_require_same_width(text, dialect), dialect.width)
            if frame.shape != shape:
                msg = f"{str(text.file)!r}: cells cannot be told apart; its quotes are not as programs write them"
                raise DataFileError(msg)
        elif not full and frame[dialect.width - 1].isna().any():
            _require_same_width(text, dialect)
        frame.attrs["comments"] = stream.comments
    return frame


def _exactly(version: str) -> dict[str, Any]:
    """Ask for correctly rounded numbers where that is not the default."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def _require_same_width(text: TextFile, dialect: Dialect) -> int:
    """Refuse lines that are too short or too long, and return how many rows there are."""
    count = 0
    for number, cells in dialect.rows(text):
        count += 1
        if len(cells) != dialect.width:
            msg = f"{str(text.file)!r}, line {number}: {len(cells)} cells where others have {dialect.width}"
            raise DataFileError(msg)
        if dialect.trailing and cells[-1].strip():
            msg = f"{str(text.file)!r}, line {number}: {cells[-1]!r} stands where other lines have ended"
            raise DataFileError(msg)
    return count


def _texts(column: Any) -> list[str]:
    """Return the different texts of a column; none where it holds numbers."""
    return [] if column.dtype.kind in "biuf" else sorted({cell for cell in column if isinstance(cell, str)})


def _numbers(text: TextFile, dialect: Dialect, frame: Any, places: list[int]) -> Vector:
    kinds = frame.dtypes.to_numpy()[places]
    if all(kind == np.float64 for kind in kinds):
        return np.ascontiguousarray(frame.iloc[:, as_slice(places)].to_numpy(dtype=np.float64))
    data = np.empty((len(frame), len(places)))
    for index, place in enumerate(places):
        column = frame[place]
        plain = column.dtype.kind in "biuf"
        data[:, index] = column.to_numpy() if plain else _values(text, dialect, column, place)
    return data


def _values(text: TextFile, dialect: Dialect, column: Any, place: int) -> NDArray[np.float64]:
    """Make numbers of cells that pandas left as texts: true and false, and missing values with spaces around them."""
    cells = column.astype(object)
    known = {cell: _value(cell, dialect.decimal) for cell in set(cells[~column.isna()])}
    truths = {cell for cell in known if isinstance(cell, bool) or truth_of(str(cell)) is not None}
    kinds = {cell in truths for cell, value in known.items() if value is None or not np.isnan(value)}
    if None in known.values() or len(kinds) > 1:
        raise _bad_cell(text, dialect, place, mixed=None not in known.values())
    return np.array([known.get(cell, np.nan) for cell in cells], dtype=np.float64)


def _value(cell: Any, decimal: str) -> float | None:
    if not isinstance(cell, str):
        return float(cell)
    truth = truth_of(cell)
    return number_of(cell, decimal) if truth is None else truth


def _bad_cell(text: TextFile, dialect: Dialect, place: int, *, mixed: bool) -> DataFileError:
    """Say which line has the cell that is no number, and what to do about it."""
    column = place - dialect.places[0]
    what = f"column {column + 1}" if dialect.names is None else f"column {dialect.names[column]!r}"
    for number, cells in dialect.rows(text):
        truth = truth_of(cells[place])
        if (truth is not None and mixed) or (truth is None and number_of(cells[place], dialect.decimal) is None):
            return DataFileError(
                f"{str(text.file)!r}, line {number}, {what}: {why_no_number(cells[place])}; "
                f"to do without this column: {drop_option(column, dialect.names)}"
            )
    return DataFileError(f"{str(text.file)!r}: {what} is not all numbers")


def _row_names(text: TextFile, dialect: Dialect, frame: Any) -> tuple[str, ...] | None:
    """Return the names of rows; a first column taken for them because it begins so must go on so."""
    if not dialect.row_names:
        return None
    labels = frame[0] if frame[0].notna().all() else (cells[0] for _, cells in dialect.rows(text))  # one may be "NA"
    names = tuple(label.strip() for label in labels)
    if not dialect.has_index and any(map(_is_number, names)):
        number, name = next((number, cells[0]) for number, cells in dialect.rows(text) if _is_number(cells[0]))
        msg = (
            f"{str(text.file)!r}, line {number}: the first column names rows in the lines before, but is the number "
            f"{name!r} here; make it names or numbers, or leave it out of the file"
        )
        raise DataFileError(msg)
    return names


def _is_number(cell: str) -> bool:
    return not is_missing(cell) and number_of(cell) is not None


def _twins(names: tuple[str, ...] | None) -> tuple[str, ...]:
    ((name, count),) = Counter(names or ("",)).most_common(1)
    return (f"{count} columns are called {name!r}",) if count > 1 else ()


def _understood(text: TextFile, dialect: Dialect) -> tuple[str, ...]:
    said = ["no header" if dialect.header is None else "header in a comment" if dialect.commented else "header"]
    said += ["row names dropped"] if dialect.row_names else []
    said += ["empty last column dropped"] if dialect.trailing else []
    if dialect.separator not in _usual(text.file) and dialect.width > 1:
        said.append(f"separated by {SEPARATOR_WORDS.get(dialect.separator, dialect.separator)}")
    said += ["decimal commas"] if dialect.decimal == "," else []
    encoding = ENCODING_WORDS.get(text.encoding, text.encoding.upper())
    return (*said, encoding) if encoding else tuple(said)
