"""How a text table is laid out: what is between cells, whether it has a header and row names, how decimals are written.

The rules are those of docs/tables.md. They look at the first lines only; what they conclude is checked while all lines
are read, and is said to the user.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from certpca.formats.text.cells import (
    MAYBE_THOUSANDS,
    WITH_COMMA,
    counts_in_steps,
    is_missing,
    is_value,
    number_of,
    truth_of,
    whole_number_of,
)
from certpca.formats.text.text_files import SPACES, TextFile, is_comment
from certpca.runtime.errors import DataFileError

SEPARATORS = (",", ";", "\t", "|", SPACES)
INDEX_NAMES = frozenset({"", "unnamed: 0", "...1", "rownames", "row.names", "row_names", "__index_level_0__"})
CORNERS = INDEX_NAMES | {
    "id",
    "ids",
    "name",
    "sample",
    "sample_id",
    "sampleid",
    "gene",
    "gene_id",
    "probe",
    "id_ref",
    "index",
}
EXCEL_HINT = re.compile(r'"?sep=(.)"?\s*')
MOST_RECORDS, LOOKED_AT = 50, 2 << 20  # lines, and characters in them, unless lines are longer
CELLS_LOOKED_AT = 200  # of a line
_NAMED = "the first line ({}) holds numbers and was taken for names: --header no if it is a row"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The layout of a text table.

    Parameters
    ----------
    separator
        What is between cells.
    width
        How many cells a line has.
    header
        The cells of the header, or None.
    skip
        Lines before the first row.
    row_names
        Whether the first cell of a row names it.
    trailing
        Whether every line ends in a separator behind which there is nothing.
    decimal
        The decimal sign.
    commented
        Whether the header is a comment.
    remarks
        What users should know of.
    """

    separator: str
    width: int
    header: tuple[str, ...] | None
    skip: int
    row_names: bool
    trailing: bool
    decimal: str
    commented: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def places(self) -> range:
        """Where in a row the columns of the table are."""
        return range(int(self.row_names), self.width - int(self.trailing))

    @property
    def has_index(self) -> bool:
        """Whether the header says that the first column names rows, whatever is in it."""
        header = self.header
        short = header is not None and len(header) < self.width and not self.trailing
        return short or (header is not None and header[0].strip().lower() in INDEX_NAMES)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        if self.header is None:
            return None
        shift = self.width - len(self.header) - int(self.trailing and len(self.header) < self.width)
        named = [self.header[place - shift].strip() for place in self.places]
        return tuple(name or f"column {place + 1}" for place, name in enumerate(named))

    def rows(self, text: TextFile) -> Iterator[tuple[int, list[str]]]:
        """Walk over the rows of a file: the number of the line, and its cells."""
        return (record for record in text.records(self.separator) if record[0] > self.skip)


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The first lines of a file, cut by some separator."""

    separator: str
    numbers: list[int]
    rows: list[list[str]]

    @property
    def width(self) -> int:
        """How many cells lines after the first have."""
        first = len(self.rows[0])
        widths = [len(row) for row in self.rows[1:]] or [first]
        return max(set(widths), key=lambda width: (widths.count(width), width == first, width == first + 1))

    @property
    def consistent(self) -> bool:
        """Whether the lines have equally many cells; a header may have one less."""
        width = self.width
        return all(len(row) == width for row in self.rows[1:]) and len(self.rows[0]) in (width, width - 1)

    @property
    def numeric(self) -> float:
        """The share of cells that can stand among numbers, after the first line."""
        cells = [cell for row in self.rows[1:] or self.rows for cell in row[:CELLS_LOOKED_AT]]
        return round(sum(map(is_value, cells)) / len(cells), 2)


def dialect_of(text: TextFile, usual: str, header: str) -> Dialect:
    """Find out how a table is laid out.

    Parameters
    ----------
    text
        The file.
    usual
        Separators that its name promises.
    header
        ``"yes"``, ``"no"`` or ``"auto"``.
    """
    start, hint = _excel_hint(text)
    beginning = _beginning(text, hint, start) if hint else _cut(text, usual)
    if beginning is None:
        msg = f"{str(text.file)!r} has no rows of numbers"
        raise DataFileError(msg)
    rows, width = beginning.rows, beginning.width
    trailing = _ends_in_nothing(rows, width)
    has_header, remarks = (header == "yes", []) if header != "auto" else _header(text, beginning, trailing=trailing)
    below = rows[1:] if has_header else rows
    if not below:
        msg = f"{str(text.file)!r} has a header but no rows of numbers"
        raise DataFileError(msg)
    names: tuple[str, ...] | None = tuple(rows[0]) if has_header else None
    commented = None if has_header or header != "auto" else _commented_header(text, beginning)
    names = names if commented is None else commented
    if names is not None and len(names) not in (width, width - 1):
        msg = f"{str(text.file)!r} names {len(names)} columns in its first line but has {width}"
        raise DataFileError(msg)
    found = Dialect(
        separator=beginning.separator,
        width=width,
        header=names,
        skip=beginning.numbers[0] if has_header else start,
        row_names=False,
        trailing=trailing,
        decimal=".",
        commented=commented is not None,
        remarks=tuple(remarks),
    )
    found = replace(found, row_names=_has_row_names(found, below))
    return replace(found, decimal=_decimal(below, found, text))


def _excel_hint(text: TextFile) -> tuple[int, str]:
    """Return the separator that a line for Excel names, and the number of that line."""
    for number, line in enumerate(text.lines(), 1):
        if line.strip():
            found = EXCEL_HINT.fullmatch(line)
            return (number, found[1]) if found else (0, "")
    return 0, ""


def _cut(text: TextFile, usual: str) -> _Beginning | None:
    """Cut the first lines by the separator that makes most sense of them; spaces are the last that is thought of."""
    order = sorted(SEPARATORS, key=lambda separator: (separator == SPACES, separator not in usual))
    ways = [way for separator in order if (way := _beginning(text, separator, 0)) is not None]
    cutting = [way for way in ways if max(map(len, way.rows)) > 1]
    if "," not in usual:  # then commas may well be decimal signs of a single column
        cutting = [way for way in cutting if not (way.separator == "," and _is_one_column(way))]
    return max(cutting or ways, key=lambda way: (way.consistent, way.numeric), default=None)


def _is_one_column(way: _Beginning) -> bool:
    """Say whether lines cut at commas can be a single column of numbers with decimal commas."""
    return len(way.rows[0]) == 1 and all(is_value(",".join(row)) for row in way.rows[1:])


def _beginning(text: TextFile, separator: str, start: int) -> _Beginning | None:
    numbers, rows, seen = [], [], 0
    records = (record for record in text.records(separator) if record[0] > start)
    try:
        for number, cells in islice(records, MOST_RECORDS):
            numbers.append(number)
            rows.append(cells)
            seen += sum(map(len, cells))
            if seen > LOOKED_AT and len(rows) > 2:
                break
    except csv.Error:  # a cell of more than 100,000 characters: this is not the separator
        return None
    return _Beginning(separator, numbers, rows) if rows else None


def _ends_in_nothing(rows: list[list[str]], width: int) -> bool:
    """Say whether lines end in a separator: a last cell that is empty everywhere, under no name."""
    if width < 2 or len(rows) < 2 or not all(len(row) == width for row in rows[1:]):
        return False
    return all(not row[-1].strip() for row in rows if len(row) == width)


def _header(text: TextFile, beginning: _Beginning, *, trailing: bool) -> tuple[bool, list[str]]:
    """Say whether the first line holds names, and what is uncertain about that."""
    first, rows = beginning.rows[0], beginning.rows[1:]
    texts = [place for place, cell in enumerate(first) if not is_value(cell)]
    if not rows:
        return bool(texts) and not (texts == [0] and len(first) > 1), []
    if len(first) == beginning.width - 1 and not trailing:  # R names rows, and has no cell above these names
        if beginning.separator == "," and _is_one_column(beginning) and not _name_rows([row[0] for row in rows]):
            msg = f"{str(text.file)!r}: its commas may be decimal signs, or behind row names; write decimal points"
            raise DataFileError(msg)
        return bool(texts) or _is_quoted(text, beginning) or _name_rows([row[0] for row in rows]), []
    corner = first[0].strip().lower() in CORNERS and len(first) > 1
    if corner and _name_rows([row[0] for row in rows]):
        return True, []
    above_numbers = [place for place in texts if _are_numbers(rows, place)]
    if not above_numbers:
        return _numbers_are_names(text, beginning)
    numbers = [cell for cell in first if is_value(cell) and not is_missing(cell)]
    if not numbers or corner or counts_in_steps(numbers):
        return True, []
    if len(above_numbers) > len(first) / 2:
        return True, [_NAMED.format(", ".join(numbers[:3]))]
    msg = (
        f"{str(text.file)!r}: its first line holds numbers ({numbers[0]}) and text ({first[above_numbers[0]]!r}) above "
        "numbers; say whether it names columns with header='yes' or 'no' (--header)"
    )
    raise DataFileError(msg)


def _are_numbers(rows: list[list[str]], place: int) -> bool:
    """Say whether a column holds numbers below the first line, or nothing at all."""
    cells = [row[place] for row in rows if place < len(row)]
    return any(is_value(cell) and not is_missing(cell) for cell in cells) or all(map(is_missing, cells))


def _name_rows(cells: list[str]) -> bool:
    """Say whether cells name rows: texts, or numbers that count up from 0 or 1, and nothing missing."""
    if any(map(is_missing, cells)):
        return False
    if not any(map(is_value, cells)):
        return True
    wholes = [whole_number_of(cell) for cell in cells]
    return wholes[0] in (0, 1) and wholes == list(range(wholes[0], wholes[0] + len(wholes)))


def _numbers_are_names(text: TextFile, beginning: _Beginning) -> tuple[bool, list[str]]:
    """Say whether a first line of numbers differs from the rows below as names do, and what is uncertain about that."""
    begin = 0 if number_of(beginning.rows[0][0]) is not None and not is_missing(beginning.rows[0][0]) else 1
    cells = beginning.rows[0][begin:]
    wholes = [whole_number_of(cell) for cell in cells]
    below = [cell for row in beginning.rows[1:] for cell in row[begin:CELLS_LOOKED_AT] if not is_missing(cell)]
    apart = [cell for cell in below if whole_number_of(cell) is None and truth_of(cell) is None]
    shown = ", ".join(cell.strip() for cell in cells[:3]) + (", …" if len(cells) > 3 else "")
    if cells and _is_quoted(text, beginning):
        return True, []
    if counts_in_steps(cells):
        alike = counts_in_steps(beginning.rows[1][begin:])
        if not alike and (apart or len(cells) >= 5):
            return True, [_NAMED.format(shown)]
        return False, [f"the first line ({shown}) was taken for a row: --header yes if it holds names"]
    different = None not in wholes and len(set(wholes)) == len(wholes)
    if different and len(cells) > 2 and below and len(apart) == len(below):
        return True, [_NAMED.format(shown)]
    return False, []


def _is_quoted(text: TextFile, beginning: _Beginning) -> bool:
    """Say whether all cells of the first line are in quotes, and those of the second, row names apart, are not."""
    separator = beginning.separator
    lines = (line for line in text.lines() if line.strip() and not is_comment(line, separator))
    first, second = [
        [cell.lstrip().startswith('"') for cell in (line.split() if separator == SPACES else line.split(separator))]
        for line in chain(islice(lines, 2), [""] * 2)
    ][:2]
    return sum(first) == len(beginning.rows[0]) and len(first) > 1 and not all(second[1:])


def _commented_header(text: TextFile, beginning: _Beginning) -> tuple[str, ...] | None:
    """Return the names in a comment just before the first row, where there is one for each column."""
    separator = beginning.separator
    before = list(islice(text.lines(), beginning.numbers[0] - 1))
    if not before or not is_comment(before[-1], separator) or beginning.width < 2:
        return None
    line = before[-1].strip()
    line = line[1:].strip() if line.startswith("# ") else line
    cells = line.split(None if separator == SPACES else separator)
    named = len(cells) == beginning.width and not any(is_value(cell) for cell in cells)
    return tuple(cell.strip().strip('"') for cell in cells) if named else None


def _has_row_names(found: Dialect, rows: list[list[str]]) -> bool:
    """Say whether the first column names the rows: as the header says, or because it holds texts."""
    if found.width < 2 or found.has_index:
        return found.width > 1
    cells = [row[0] for row in rows if not is_missing(row[0])]
    return bool(cells) and not any(map(is_value, cells))


def _decimal(rows: list[list[str]], found: Dialect, text: TextFile) -> str:
    """Return the decimal sign: a comma where cells have one, after making sure that it is not one of thousands."""
    cells = [row[place].strip() for row in rows for place in found.places[:CELLS_LOOKED_AT] if place < len(row)]
    if not any(number_of(cell) is None and WITH_COMMA.fullmatch(cell) for cell in cells):
        return "."
    require_decimal_commas(text, found)
    return ","


def require_decimal_commas(text: TextFile, found: Dialect) -> None:
    """Refuse tables all of whose commas may be decimal signs or between thousands."""
    whole = False
    for cell in (cells[place].strip() for _, cells in found.rows(text) for place in found.places if place < len(cells)):
        if "," in cell and not MAYBE_THOUSANDS.fullmatch(cell):
            return
        whole = whole or whole_number_of(cell) is not None
    if not whole and found.separator != ",":  # three decimals in every cell
        return
    msg = (
        f"{str(text.file)!r}: every comma in its numbers has three digits behind it, and may be a decimal sign or "
        "between thousands; write numbers without separators of thousands, or with decimal points"
    )
    raise DataFileError(msg)
