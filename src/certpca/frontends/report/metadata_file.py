"""What else is known of the samples, from a table with a line for each and a name for each column."""

import csv
from pathlib import Path

from certpca.runtime.errors import DataFileError

SEPARATORS = ",\t;"


def read_metadata(file: str | Path, samples: int) -> dict[str, list[str]]:
    """Read columns by name; there must be one line for each sample, in their order.

    Parameters
    ----------
    file
        Text with a first line of names, separated by commas, tabs or semicolons.
    samples
        How many lines there must be.
    """
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"metadata cannot be read from {str(file)!r}: {error}"
        raise DataFileError(msg) from error
    first = text.split("\n", 1)[0]
    separator = max(SEPARATORS, key=first.count)
    lines = [line for line in csv.reader(text.splitlines(), delimiter=separator) if any(cell.strip() for cell in line)]
    if not lines:
        msg = f"{str(file)!r} holds no metadata: it is empty"
        raise DataFileError(msg)
    names, *rows = lines
    names = [name.strip() or f"column {j + 1}" for j, name in enumerate(names)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"{str(file)!r} has two columns named {twice!r}; rename one"
        raise DataFileError(msg)
    if len(rows) != samples:
        msg = f"{str(file)!r} has {len(rows)} lines below its names, but there are {samples} samples"
        raise DataFileError(msg)
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            msg = f"line {number} of {str(file)!r} has {len(row)} values, its first line {len(names)} names"
            raise DataFileError(msg)
    return {name: [row[j].strip() for row in rows] for j, name in enumerate(names)}
