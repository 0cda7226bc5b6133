"""Series matrices of the Gene Expression Omnibus: samples x probes, with what is said about the samples."""

import csv
import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import Format, register
from certpca.formats.file_errors import require_file, said_of
from certpca.formats.text.cells import MISSING_TEXTS
from certpca.runtime.arrays import Vector
from certpca.runtime.errors import DataFileError

BEGIN, END = "!series_matrix_table_begin", "!series_matrix_table_end"
SAMPLE, SERIES = "!Sample_", "!Series_"


@dataclass(frozen=True, slots=True, eq=False)
class SeriesMatrix:
    """A series matrix.

    Parameters
    ----------
    data : ndarray
        Samples x probes in float64, NaN where missing.
    names : tuple of str
        Identifiers of the probes.
    samples : tuple of str
        Accessions of the samples.
    titles : tuple of str
        Their titles; empty where the file has none.
    characteristics : dict
        What the authors say about each sample, by key: ``characteristics["tissue"]`` has one text for each
        sample, empty where nothing is said.
    series : dict
        Lines about the whole series, by key, such as ``series["title"]``; several lines are joined.

    See Also
    --------
    read_geo : What returns it.

    Examples
    --------
    >>> import certpca
    >>> series = certpca.read_geo("GSE1_series_matrix.txt.gz")  # doctest: +SKIP
    >>> certpca.solve(series.data, 10, names=series.names)  # doctest: +SKIP
    """

    data: Vector
    names: tuple[str, ...]
    samples: tuple[str, ...]
    titles: tuple[str, ...]
    characteristics: dict[str, tuple[str, ...]]
    series: dict[str, str]


def read_geo(path: str | PathLike[str]) -> SeriesMatrix:
    r"""Read a GEO series matrix, ``GSExxxx_series_matrix.txt`` or ``.txt.gz``.

    Parameters
    ----------
    path : path_like
        The file.

    Returns
    -------
    SeriesMatrix
        Samples x probes, with the names of both.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is something else.

    See Also
    --------
    load_table : Any format.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "GSE0_series_matrix.txt"
    >>> _ = file.write_text(
    ...     '!Sample_title\t"first"\t"second"\n!series_matrix_table_begin\n"ID_REF"\t"GSM1"\t"GSM2"\n'
    ...     '"p1"\t1.5\t2\n"p2"\tnull\t4\n!series_matrix_table_end\n'
    ... )
    >>> series = certpca.read_geo(file)
    >>> series.names, series.titles, series.data.tolist()
    (('p1', 'p2'), ('first', 'second'), [[1.5, nan], [2.0, 4.0]])
    """
    file = Path(path)
    require_file(file)
    with said_of(file, "a series matrix"):
        return _parsed(file)


@register
class Geo(Format):
    """Series matrices; what authors say about samples are labels."""

    kind = "GEO"
    endings = ("series_matrix.txt",)
    packings = (".gz",)

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Read the table."""
        del wanted
        series = read_geo(file)
        return Table(series.data, series.names, sample_names=series.samples)

    def labels(self, file: Path) -> Mapping[str, tuple[str, ...]]:
        """Read the characteristics of the samples."""
        return read_geo(file).characteristics


def _parsed(file: Path) -> SeriesMatrix:
    lines = _lines(file)
    about_samples, series = _preamble(file, lines)
    number, cells = next(lines, (0, []))
    if len(cells) < 2 or cells[0] != "ID_REF":
        msg = f"{str(file)!r}, line {number}: the table must begin with ID_REF and the names of samples"
        raise DataFileError(msg)
    samples = tuple(cells[1:])
    names, rows = _table(file, lines, len(samples))
    return SeriesMatrix(
        data=np.ascontiguousarray(np.array(rows).T),
        names=names,
        samples=samples,
        titles=_titles(file, about_samples, len(samples)),
        characteristics=_characteristics(file, about_samples, len(samples)),
        series=series,
    )


def _lines(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Walk over the lines that are not blank: number and cells, without their quotes."""
    with gzip.open(file) if file.name.lower().endswith(".gz") else file.open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                line = raw.decode("latin-1")  # older submissions; only what is said about samples can differ
            line = line.rstrip("\r\n")
            if not line.strip():
                continue
            # A quote of its own in one line must not swallow the lines after it.
            yield number, next(csv.reader([line], delimiter="\t")) if '"' in line else line.split("\t")


def _preamble(file: Path, lines: Iterator[tuple[int, list[str]]]) -> tuple[list[list[str]], dict[str, str]]:
    """Return the lines about samples and those about the series, up to the table."""
    about: list[list[str]] = []
    series: dict[str, str] = {}
    read = 0
    for _, cells in lines:
        if not cells[0].startswith("!"):
            break
        read += 1
        key = cells[0].strip()
        if key.lower() == BEGIN:
            return about, series
        if key.startswith(SAMPLE):
            about.append([key.removeprefix(SAMPLE), *cells[1:]])
        elif key.startswith(SERIES):
            name, text = key.removeprefix(SERIES), " ".join(cells[1:])
            series[name] = f"{series[name]}\n{text}" if name in series else text
    if read == 0:
        msg = f"{str(file)!r} is not a GEO series matrix: its first line does not begin with '!'"
    else:
        msg = f"{str(file)!r} has no line {BEGIN}: it is not a GEO series matrix, or only the beginning of one"
    raise DataFileError(msg)


def _table(file: Path, lines: Iterator[tuple[int, list[str]]], width: int) -> tuple[tuple[str, ...], list[list[float]]]:
    names: list[str] = []
    rows: list[list[float]] = []
    for number, cells in lines:
        if cells[0].strip().lower() == END:
            break
        if len(cells) != width + 1:
            msg = f"{str(file)!r}, line {number}: {len(cells) - 1} values where there are {width} samples"
            raise DataFileError(msg)
        names.append(cells[0])
        try:
            rows.append([float(cell) for cell in cells[1:]])
        except ValueError:
            rows.append(_with_missing(file, number, cells[1:]))
    else:
        msg = f"{str(file)!r} has no line {END}: the file is cut off"
        raise DataFileError(msg)
    if not rows:
        msg = (
            f"{str(file)!r} has an empty table; where authors deposit values in supplementary files, load those instead"
        )
        raise DataFileError(msg)
    return tuple(names), rows


def _with_missing(file: Path, number: int, cells: list[str]) -> list[float]:
    row = []
    for place, cell in enumerate(cells, 1):
        text = cell.strip().lower()
        try:
            row.append(np.nan if text in MISSING_TEXTS else float(text))
        except ValueError:
            msg = f"{str(file)!r}, line {number}, value {place}: {cell!r} is not a number"
            raise DataFileError(msg) from None
    return row


def _one_each(file: Path, line: list[str], count: int) -> list[str]:
    if len(line) - 1 != count:
        msg = f"{str(file)!r}: {SAMPLE}{line[0]} has {len(line) - 1} entries for {count} samples"
        raise DataFileError(msg)
    return line[1:]


def _titles(file: Path, about: list[list[str]], count: int) -> tuple[str, ...]:
    for line in about:
        if line[0] == "title":
            return tuple(_one_each(file, line, count))
    return ("",) * count


def _characteristics(file: Path, about: list[list[str]], count: int) -> dict[str, tuple[str, ...]]:
    """Collect entries of the form "key: value"; a sample may have its keys in any line."""
    found: dict[str, list[str]] = {}
    for line in about:
        if not line[0].startswith("characteristics"):
            continue
        for sample, entry in enumerate(_one_each(file, line, count)):
            if not entry.strip():
                continue
            key, colon, value = entry.partition(":")
            name, text = (key.strip(), value.strip()) if colon else (line[0], entry.strip())
            found.setdefault(name, [""] * count)[sample] = text
    return {name: tuple(values) for name, values in found.items()}
