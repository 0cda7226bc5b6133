"""A table from a file, what is wanted of it, and how the one becomes the other: columns chosen, turned, named."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certpca.formats.selection import as_slice, chosen_columns, left_out
from certpca.intake.inputs import checked_names
from certpca.readers.base import DEFAULT_MEMORY
from certpca.readers.reading import plain
from certpca.runtime.array_kinds import is_sparse, require_table


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    r"""Numbers from a file and, where it has them, the names of their columns.

    Parameters
    ----------
    data : array_like or reader
        Samples x features, or a matrix; what every verb takes as `data`.
    names : tuple of str, optional
        Of the columns.
    reading : mapping
        As plain JSON, keyword arguments with which `load_table` gives the same numbers and names again.
    sample_names : tuple of str, optional
        Of the rows.
    understood : str
        In a line, what was found in the file, such as "178 × 13, header, row names dropped".
    remarks : tuple of str
        What is uncertain about it.

    See Also
    --------
    load_table : What returns it.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = file.write_text("a,b\n1,2\n3,4\n")
    >>> certpca.load_table(file).names
    ('a', 'b')
    """

    data: Any
    names: tuple[str, ...] | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    sample_names: tuple[str, ...] | None = None
    understood: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller asks for beside the file.

    `settings` has a value for everything that may be set about the format, given or by default, and `said` holds those
    of them that differ from their defaults.
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None
    transpose: bool = False
    names: tuple[str, ...] | None = None
    memory: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def budget(self) -> float:
        """The memory budget, given or not."""
        return DEFAULT_MEMORY if self.memory is None else self.memory

    @property
    def chooses(self) -> bool:
        """Whether not all columns are wanted."""
        return self.columns is not None or self.drop is not None


def arranged(table: Table, file: Path, wanted: Wanted, *, choose: bool) -> Table:
    """Choose columns where this has not been done, turn the table, and name its features."""
    data, names, sample_names = table.data, table.names, table.sample_names
    if choose or wanted.transpose or wanted.names is not None:
        require_table(data)
    dropped: tuple[str, ...] = ()
    if choose:
        left = chosen_columns(names, data.shape[1], wanted.columns, wanted.drop, str(file))
        dropped = left_out(data.shape[1] - len(left))
        data = (data.tocsc() if is_sparse(data) else data)[:, as_slice(left)]
        names = None if names is None else tuple(names[index] for index in left)
    if wanted.transpose:
        data, names, sample_names = data.T, sample_names, names
    if wanted.names is not None:
        names = checked_names(wanted.names, None, data.shape[1])
    asked = {"columns": wanted.columns, "drop": wanted.drop, "transpose": wanted.transpose or None}
    # What a format says of its settings goes first: lists of samples, say, instead of the file that held them.
    reading = {**plain(wanted.said), **table.reading, **plain({**asked, "names": wanted.names})}
    said = (" × ".join(map(str, data.shape)), table.understood, *dropped, "transposed" if wanted.transpose else "")
    return Table(data, names, reading, sample_names, ", ".join(filter(None, said)), table.remarks)
