"""Text tables as programs write them: each comes back as its numbers and names, or is refused for a reason."""

import bz2
import gzip
import lzma
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from certpca import load_table
from certpca.formats.text.cells import number_of, truth_of
from certpca.formats.text.dialects import dialect_of
from certpca.formats.text.text_files import ENDINGS, text_files
from certpca.runtime.errors import DataFileError, MissingDependencyError

NAMES = ("alpha", "beta", "gamma")
NUMBERS = np.array([[1.5, -2.0, 1234.5], [0.25, 3.0, 1e-05], [4.0, 5.125, 6.0], [-7.5, 8.0, 0.1]])
WHOLE = np.array([[3, 0, 2], [1, 1, 0], [0, 2, 1], [2, 2, 0]], dtype=float)
YEARS = ("2001", "2002", "2003")
ROWS = "1.5,-2,1234.5\n0.25,3,1e-05\n4,5.125,6\n-7.5,8,0.1\n"
DECIMAL_COMMAS = "1,5;-2;1234,5\n0,25;3;1e-05\n4;5,125;6\n-7,5;8;0,1\n"


@dataclass(frozen=True)
class Written:
    """A file as some program writes it, and what it must be read as."""

    name: str
    content: str | bytes
    names: tuple[str, ...] | None = NAMES
    numbers: np.ndarray = field(default_factory=lambda: NUMBERS)
    understood: str = "4 × 3, header"
    sample_names: tuple[str, ...] | None = None


def r_rows(separator: str, labels: str = '"1"') -> str:
    """Write rows as R does: row names in quotes, numbers without."""
    return "".join(
        separator.join([labels.replace("1", str(index)), *(repr(float(value)) for value in row)]) + "\n"
        for index, row in enumerate(NUMBERS, 1)
    )


def tabbed(text: str) -> str:
    return text.replace(",", "\t")


FOUR = ("1", "2", "3", "4")
DIALECTS: dict[str, Written] = {
    "pandas to_csv(index=False)": Written("a.csv", "alpha,beta,gamma\n" + ROWS),
    "pandas to_csv()": Written(
        "a.csv",
        ",alpha,beta,gamma\n0,1.5,-2.0,1234.5\n1,0.25,3.0,1e-05\n2,4.0,5.125,6.0\n3,-7.5,8.0,0.1\n",
        understood="4 × 3, header, row names dropped",
        sample_names=("0", "1", "2", "3"),
    ),
    "pandas, read back and written again": Written(
        "a.csv",
        "Unnamed: 0,alpha,beta,gamma\n17,1.5,-2.0,1234.5\n3,0.25,3.0,1e-05\n99,4.0,5.125,6.0\n5,-7.5,8.0,0.1\n",
        understood="4 × 3, header, row names dropped",
        sample_names=("17", "3", "99", "5"),
    ),
    "pandas without names (RangeIndex)": Written("a.csv", "0,1,2\n" + ROWS, ("0", "1", "2")),
    "pandas without names, with an index": Written(
        "a.csv",
        ",0,1,2\n0,3,0,2\n1,1,1,0\n2,0,2,1\n3,2,2,0\n",
        ("0", "1", "2"),
        WHOLE,
        "4 × 3, header, row names dropped",
        ("0", "1", "2", "3"),
    ),
    "years as names": Written("a.csv", "2001,2002,2003\n" + ROWS, YEARS),
    "years as names, countries as rows": Written(
        "a.csv",
        "country,2001,2002,2003\nAF,1.5,-2,1234.5\nNA,0.25,3,1e-05\nAL,4,5.125,6\nZW,-7.5,8,0.1\n",
        YEARS,
        understood="4 × 3, header, row names dropped",
        sample_names=("AF", "NA", "AL", "ZW"),
    ),
    "R write.csv": Written(
        "a.csv",
        '"","alpha","beta","gamma"\n' + r_rows(","),
        understood="4 × 3, header, row names dropped",
        sample_names=FOUR,
    ),
    "R write.csv, numeric names": Written(
        "a.csv", '"1007","1053","117"\n' + "3,0,2\n1,1,0\n0,2,1\n2,2,0\n", ("1007", "1053", "117"), WHOLE
    ),
    "R write.csv2": Written(
        "a.csv",
        '"";"alpha";"beta";"gamma"\n' + r_rows(";").replace(".", ","),
        understood="4 × 3, header, row names dropped, separated by semicolons, decimal commas",
        sample_names=FOUR,
    ),
    "R write.table": Written(
        "a.txt",
        '"alpha" "beta" "gamma"\n' + r_rows(" "),
        understood="4 × 3, header, row names dropped",
        sample_names=FOUR,
    ),
    "R write.table, quote=FALSE, sep tab": Written(
        "a.tsv",
        "alpha\tbeta\tgamma\n" + r_rows("\t", "s 1"),
        understood="4 × 3, header, row names dropped",
        sample_names=("s 1", "s 2", "s 3", "s 4"),
    ),
    "R write.table, years, quote=FALSE": Written(
        "a.txt",
        "2001 2002 2003\n" + r_rows(" ", "1"),
        YEARS,
        understood="4 × 3, header, row names dropped",
        sample_names=FOUR,
    ),
    "R sink() of a data frame": Written(
        "a.txt",
        "  alpha  beta    gamma\n1  1.50 -2.000 1234.5\n2  0.25  3.000 0.00001\n3  4.00  5.125 6\n4 -7.50  8.000 0.1\n",
        understood="4 × 3, header, row names dropped",
        sample_names=FOUR,
    ),
    "readr write_csv of row names": Written(
        "a.csv",
        "...1,alpha,beta,gamma\n1,1.5,-2,1234.5\n2,0.25,3,1e-5\n3,4,5.125,6\n4,-7.5,8,0.1\n",
        understood="4 × 3, header, row names dropped",
        sample_names=FOUR,
    ),
    "Excel, German, semicolons": Written(
        "a.csv",
        b"\xef\xbb\xbf" + ("alpha;beta;gamma\n" + DECIMAL_COMMAS).replace("\n", "\r\n").encode(),
        understood="4 × 3, header, separated by semicolons, decimal commas",
    ),
    "Excel with sep=": Written(
        "a.csv",
        ("sep=;\nalpha;beta;gamma\n" + DECIMAL_COMMAS).replace("\n", "\r\n"),
        understood="4 × 3, header, separated by semicolons, decimal commas",
    ),
    "Excel, Unicode text": Written(
        "a.txt",
        tabbed("größe,beta,gamma\n" + ROWS).replace("\n", "\r\n").encode("utf-16"),
        ("größe", "beta", "gamma"),
        understood="4 × 3, header, UTF-16",
    ),
    "Excel, Western Windows": Written(
        "a.csv",
        ("größe;beta;gamma\n" + DECIMAL_COMMAS).encode("cp1252"),
        ("größe", "beta", "gamma"),
        understood="4 × 3, header, separated by semicolons, decimal commas, Windows-1252",
    ),
    "Excel for Macintosh of old": Written("a.csv", ("alpha,beta,gamma\n" + ROWS).replace("\n", "\r")),
    "Excel, an empty column behind the table": Written(
        "a.csv",
        ("alpha,beta,gamma\n" + ROWS).replace("\n", ",\n"),
        understood="4 × 3, header, empty last column dropped",
    ),
    "instrument, separators at the end of rows": Written(
        "a.csv", "alpha,beta,gamma\n" + ROWS.replace("\n", ",\n"), understood="4 × 3, header, empty last column dropped"
    ),
    "LibreOffice, all cells quoted": Written("a.csv", re.sub(r"[^,\n]+", r'"\g<0>"', "alpha,beta,gamma\n" + ROWS)),
    "LibreOffice, decimal commas between commas": Written(
        "a.csv",
        'alpha,beta,gamma\n"1,5",-2,"1234,5"\n"0,25",3,1e-05\n4,"5,125",6\n"-7,5",8,"0,1"\n',
        understood="4 × 3, header, decimal commas",
    ),
    "decimal commas between tabs": Written(
        "a.tsv",
        tabbed("alpha,beta,gamma\n") + DECIMAL_COMMAS.replace(";", "\t"),
        understood="4 × 3, header, decimal commas",
    ),
    "decimal commas that begin late": Written(
        "a.csv",
        "alpha;beta\n" + "1;2\n" * 300 + "1,5;2\n",
        ("alpha", "beta"),
        np.array([[1.0, 2.0]] * 300 + [[1.5, 2.0]]),
        "301 × 2, header, separated by semicolons, decimal commas",
    ),
    "SAS proc export": Written(
        "a.csv",
        "alpha,beta,gamma\n1.5,.,1234.5\n.,3,0.00001\n4,5.125,6\n-7.5,8,.\n",
        numbers=np.array([[1.5, np.nan, 1234.5], [np.nan, 3, 1e-5], [4, 5.125, 6], [-7.5, 8, np.nan]]),
    ),
    "SPSS, semicolons and #NULL!": Written(
        "a.csv",
        "\ufeffalpha;beta;gamma\n#NULL!;-2;1234,5\n0,25;3;,00001\n4;5,125;6\n-7,5;8;#NULL!\n",
        numbers=np.array([[np.nan, -2, 1234.5], [0.25, 3, 1e-5], [4, 5.125, 6], [-7.5, 8, np.nan]]),
        understood="4 × 3, header, separated by semicolons, decimal commas",
    ),
    "Stata outsheet": Written("a.txt", tabbed("alpha,beta,gamma\n" + ROWS)),
    "tabs with cells left empty": Written(
        "a.txt",
        "alpha\tbeta\tgamma\n1\t\t3\n\t5\t6\n7\t8\t\n9\t1\t2\n",
        numbers=np.array([[1, np.nan, 3], [np.nan, 5, 6], [7, 8, np.nan], [9, 1, 2]]),
    ),
    "numpy savetxt": Written(
        "a.txt",
        "".join(" ".join(f"{value:.18e}" for value in row) + "\n" for row in NUMBERS),
        None,
        understood="4 × 3, no header",
    ),
    "numpy savetxt with a header": Written(
        "a.csv", "# alpha,beta,gamma\n" + ROWS, understood="4 × 3, header in a comment"
    ),
    "Matlab writematrix": Written("a.csv", ROWS, None, understood="4 × 3, no header"),
    "Matlab writetable": Written("a.txt", "alpha,beta,gamma\n" + ROWS, understood="4 × 3, header, separated by commas"),
    "Matlab save -ascii": Written(
        "a.dat",
        "".join("".join(f"{value:16.7e}" for value in row) + "\n" for row in NUMBERS),
        None,
        understood="4 × 3, no header",
    ),
    "polars write_csv": Written("a.csv", pl.DataFrame(NUMBERS, schema=list(NAMES)).write_csv()),
    "Fortran, columns apart by spaces": Written(
        "a.txt",
        "     alpha      beta     gamma\n" + "".join(f"{a:10.3f}{b:10.3f}{c:10.1f}\n" for a, b, c in WHOLE),
        NAMES,
        WHOLE,
    ),
    "comments before, between and after": Written(
        "a.csv",
        "# made by hand, in May\n#\nalpha,beta,gamma\n1.5,-2,1234.5\n# a pause\n" + ROWS[14:] + "# end\n",
        understood="4 × 3, header, 4 comments left out",
    ),
    "true and false": Written(
        "a.csv",
        "alpha,beta,gamma\nTRUE,1.5,False\nFALSE,2.5,True\nNA,3.5,True\nTRUE, NA ,True\n",
        numbers=np.array([[1, 1.5, 0], [0, 2.5, 1], [np.nan, 3.5, 1], [1, np.nan, 1]]),
    ),
    "bars": Written(
        "a.txt", ("alpha,beta,gamma\n" + ROWS).replace(",", "|"), understood="4 × 3, header, separated by bars"
    ),
    "wavelengths as names": Written(
        "a.csv",
        "400.5,401,401.5,402\n0.11,0.12,0.13,0.11\n0.21,0.25,0.2,0.3\n",
        ("400.5", "401", "401.5", "402"),
        np.array([[0.11, 0.12, 0.13, 0.11], [0.21, 0.25, 0.2, 0.3]]),
        "2 × 4, header",
    ),
    "dates as row names": Written(
        "a.csv",
        "date,alpha,beta,gamma\n2020-01-01,1.5,-2,1234.5\n2020-01-02,0.25,3,1e-05\n"
        "2020-01-03,4,5.125,6\n2020-01-04,-7.5,8,0.1\n",
        understood="4 × 3, header, row names dropped",
        sample_names=("2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"),
    ),
    "one row": Written("a.csv", "alpha,beta,gamma\n1.5,-2,1234.5\n", numbers=NUMBERS[:1], understood="1 × 3, header"),
    "one column": Written("a.csv", "alpha\n1.5\n2\n", ("alpha",), np.array([[1.5], [2.0]]), "2 × 1, header"),
    "one column of decimal commas": Written(
        "a.tsv", "alpha\n1,5\n2\n", ("alpha",), np.array([[1.5], [2.0]]), "2 × 1, header, decimal commas"
    ),
    "one column of decimal commas only": Written(
        "a.txt", "alpha\n1,5\n2,5\n", ("alpha",), np.array([[1.5], [2.5]]), "2 × 1, header, decimal commas"
    ),
}


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialect(tmp_path: Path, dialect: str) -> None:
    written = DIALECTS[dialect]
    table = load_table(write(tmp_path, written.name, written.content))
    np.testing.assert_array_equal(table.data, written.numbers)
    assert table.names == written.names
    assert table.sample_names == written.sample_names
    assert table.understood == written.understood
    again = load_table(tmp_path / written.name, **table.reading)
    np.testing.assert_array_equal(again.data, table.data)


def zst(content: bytes) -> bytes:
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    packed: bytes = zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})
    return packed


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zst,
}


@pytest.mark.parametrize("ending", PACKINGS)
@pytest.mark.parametrize("name", ["a.csv", "A.TSV"])
def test_packed(tmp_path: Path, ending: str, name: str) -> None:
    content = "alpha,beta,gamma\n" + ROWS
    content = tabbed(content) if name.endswith("TSV") else content
    table = load_table(write(tmp_path, f"{name}.{ending}", PACKINGS[ending](content.encode())))
    np.testing.assert_array_equal(table.data, NUMBERS)
    assert (table.names, table.understood) == (NAMES, "4 × 3, header")


@pytest.mark.parametrize("ending", PACKINGS)
@pytest.mark.parametrize("damage", ["cut", "changed", "not packed"])
def test_packed_and_damaged(tmp_path: Path, rng: np.random.Generator, ending: str, damage: str) -> None:
    content = "\n".join(",".join(map(repr, row)) for row in rng.standard_normal((400, 6)).tolist()).encode()
    packed = bytearray(PACKINGS[ending](content))
    if damage == "cut":
        packed = packed[: len(packed) // 2]
    elif damage == "changed":
        for place in range(len(packed) // 2, len(packed) // 2 + 40):
            packed[place] ^= 0x5A
    else:
        packed = bytearray(content)
    with pytest.raises(DataFileError, match=rf"a\.csv\.{ending}.*cannot be unpacked"):
        load_table(write(tmp_path, f"a.csv.{ending}", bytes(packed)))


def test_zst_without_its_library_says_how_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    with pytest.raises(MissingDependencyError, match=r"reading .zst files needs .*zstd.*certpca\[zst\]"):
        load_table(write(tmp_path, "a.csv.zst", b"anything"))


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("header", ["texts", "range", "years"])
@pytest.mark.parametrize("kind", ["floats", "whole"])
def test_what_pandas_writes(tmp_path: Path, rng: np.random.Generator, index: bool, header: str, kind: str) -> None:
    values = rng.standard_normal((30, 6)) if kind == "floats" else rng.integers(0, 3, (30, 6))
    names = {"texts": list("uvwxyz"), "range": range(6), "years": range(1998, 2004)}[header]
    frame = pd.DataFrame(values, columns=list(names))
    frame.to_csv(tmp_path / "a.csv", index=index)
    table = load_table(tmp_path / "a.csv")
    np.testing.assert_array_equal(table.data, values)
    assert table.names == tuple(map(str, names))
    assert (table.sample_names is not None) == index


REFUSED: dict[str, tuple[str, list[str]]] = {
    "a text column in the middle": (
        "alpha,city,beta\n1,Rome,2\n3,Oslo,4\n",
        ["line 2, column 'city': 'Rome' is not a number", "without this column: --drop city"],
    ),
    "a text column without a header": ("5.1,3.5,setosa\n4.9,3.0,setosa\n", ["line 1, column 3: 'setosa'", "--drop 3"]),
    "a column of dates": ("alpha,day\n1,2020-01-02\n2,2020-01-03\n", ["column 'day': '2020-01-02' is a date"]),
    "one bad cell": ("alpha,beta\n1,2\n3,4\n5,x7\n", ["line 4, column 'beta': 'x7' is not a number"]),
    "thousands in quotes": ('alpha,beta\n"1,234",2\n"5,678",4\n', ["every comma", "decimal sign or between thousands"]),
    "thousands and decimals": (
        'alpha,beta\n"1,234.5",2\n3,4\n',
        ["line 2, column 'alpha': '1,234.5' seems to have separators"],
    ),
    "thousands and decimal commas": (
        "alpha;beta\n1.234,5;2\n3,5;4\n",
        ["'1.234,5' seems to have separators of thousands"],
    ),
    "thousands between semicolons": ("alpha;beta\n1,234;2\n999;4\n", ["decimal sign or between thousands"]),
    "both decimal signs": (
        "alpha;beta\n1,5;2\n3.5;4\n",
        ["line 3, column 'alpha': '3.5' has a decimal point, others have commas"],
    ),
    "true among numbers": ("alpha,beta\n1,2\nTRUE,4\n", ["line 3, column 'alpha': 'TRUE' stands among numbers"]),
    "first line half text": (
        "1.5,abc,3.5\n2,3,4\n5,6,7\n",
        ["first line holds numbers (1.5) and text ('abc')", "--header"],
    ),
    "row names that turn into numbers": (
        "alpha,beta\n" + "a,1\n" * 60 + "17,2\n",
        ["line 62: the first column names rows in the lines before, but is the number '17' here"],
    ),
    "text in the first column, later": ("alpha,beta\n1,2\nx,3\n", ["line 3, column 'alpha': 'x' is not a number"]),
    "a short line": ("alpha,beta\n1,2\n3\n4,5\n", ["line 3: 1 cells where others have 2"]),
    "a long line": ("alpha,beta\n1,2\n3,4,5\n6,7\n", ["line 3: 3 cells where others have 2"]),
    "a short line far down": ("alpha,beta\n" + "1,2\n" * 500 + "3\n", ["line 502: 1 cells where others have 2"]),
    "a short and a long line": ("a,b,c\n1,2,3\n1,2\n1,2,3,4\n", ["line 3: 2 cells"]),
    "a short line and missing cells": ("a,b\n1,\n2\n3,4\n", ["line 3: 1 cells"]),
    "a short line among quoted ones": ('a,b\n"1","2"\n"3"\n"4","5"\n', ["line 3: 1 cells"]),
    "a short line, counted with comments": ("# x\na,b\n1,2\n# y\n3\n", ["line 5: 1 cells"]),
    "a short line between spaces": ("a b\n1 2\n3\n4 5\n", ["line 3: 1 cells"]),
    "a first line that is short": ("1,2\n7,8,9\n3,4,5\n", ["line 1: 2 cells where others have 3"]),
    "empty behind comments": ("# nothing\n# at all\n", ["has no rows of numbers"]),
    "header only": ("alpha,beta\n", ["has a header but no rows of numbers"]),
    "header too long": ("a,b,c,d\n1,2\n3,4\n", ["names 4 columns in its first line but has 2"]),
    "underscores": ("alpha,beta\n1_000,2\n3,4\n", ["'1_000' is not a number"]),
    "one column, commas": ("alpha\n1,5\n2,5\n2,7\n", ["its commas may be decimal signs, or behind row names"]),
    "a cell behind the end": (
        "a,b,\n" + "1,2,\n" * 80 + "1,2,3\n",
        ["line 82: '3' stands where other lines have ended"],
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(tmp_path: Path, kind: str) -> None:
    content, fragments = REFUSED[kind]
    name = "a.txt" if "spaces" in kind else "a.csv"
    with pytest.raises(DataFileError, match="(?s)" + ".*".join(map(re.escape, fragments))):
        load_table(write(tmp_path, name, content))


def test_binary_is_not_text(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="is not text: it holds bytes that no text has"):
        load_table(write(tmp_path, "a.csv", b"1,2\n\x003,\x00\x00\x01\n"))


@pytest.mark.parametrize("mark", [True, False])
def test_utf_16_without_a_mark(tmp_path: Path, mark: bool) -> None:
    encoding = "utf-16" if mark else "utf-16-be"
    table = load_table(write(tmp_path, "a.csv", ("alpha,beta,gamma\n" + ROWS).encode(encoding)))
    np.testing.assert_array_equal(table.data, NUMBERS)


CELLS = st.one_of(
    st.integers(-20, 2000).map(str),
    st.floats(-100, 100).map(lambda number: repr(round(number, 3))),
    st.sampled_from(["", "NA", " nan", ".", "#N/A", "TRUE", "false", "1,5", "x", "inf", "1e5", "+3"]),
)


def agrees_with_a_careful_reader(file: Path, header: str) -> None:
    """Read a file, unless it is refused, and compare it with what the csv module finds, cell by cell."""
    try:
        table = load_table(file, header=header)
    except DataFileError:
        return
    (text, *_) = text_files(file)
    dialect = dialect_of(text, ENDINGS[file.suffix], header)
    found = [cells for _, cells in dialect.rows(text)]
    assert {len(cells) for cells in found} == {dialect.width}
    wanted = [
        [truth_of(cells[place]) if truth_of(cells[place]) is not None else number_of(cells[place], dialect.decimal)]
        for cells in found
        for place in dialect.places
    ]
    np.testing.assert_array_equal(table.data.reshape(-1, 1), np.array(wanted, dtype=float))
    assert table.names is None or len(table.names) == table.data.shape[1]
    assert table.sample_names is None or len(table.sample_names) == table.data.shape[0]


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=4), min_size=1, max_size=6),
    separator=st.sampled_from([",", ";", "\t", " ", "  ", "|"]),
    quoted=st.booleans(),
    header=st.sampled_from(["auto", "yes", "no"]),
)
def test_random_tables_are_read_as_a_careful_reader_does(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], separator: str, quoted: bool, header: str
) -> None:
    lines = [separator.join(f'"{cell}"' if quoted else cell for cell in row) for row in rows]
    agrees_with_a_careful_reader(write(tmp_path_factory.mktemp("any"), "a.csv", "\n".join(lines)), header)


@settings(max_examples=300, deadline=None)
@given(
    text=st.text(alphabet="01.9,;\t \n\"#-+eEaNAx\r|'", max_size=60),
    name=st.sampled_from(["a.csv", "a.tsv", "a.txt"]),
    header=st.sampled_from(["auto", "yes", "no"]),
)
@example('"\t"0', "a.csv", "no")
@example("\t\n,23 +", "a.txt", "no")
@example('5\n;7N\t"1"9\nA 3 ', "a.tsv", "auto")
@example('"0\t7\n"\r2" \n4944', "a.tsv", "auto")
@example("s0 200 -98\ns1  NA\ns2 31 167\ns3 321 \n", "a.tsv", "no")
def test_any_text_is_refused_or_read_as_a_careful_reader_does(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str, header: str
) -> None:
    agrees_with_a_careful_reader(write(tmp_path_factory.mktemp("any"), name, text), header)


# --- what the user can say ----------------------------------------------------------------------


def test_numbers_that_nobody_can_tell_from_names(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "0,1,2\n1,1,0\n2,0,1\n")
    table = load_table(file)
    assert table.data.shape == (3, 3)
    assert table.understood == "3 × 3, no header"
    assert table.remarks == ("the first line (0, 1, 2) was taken for a row: --header yes if it holds names",)
    named = load_table(file, header="yes")
    assert (named.names, named.data.tolist()) == (("0", "1", "2"), [[1, 1, 0], [2, 0, 1]])
    assert named.reading == {"header": "yes"}
    assert named.remarks == ()
    write(tmp_path, "b.csv", "2001,2002,2003\n0.5,1,0\n2,0.5,1\n")
    table = load_table(tmp_path / "b.csv")
    assert table.remarks == (
        "the first line (2001, 2002, 2003) holds numbers and was taken for names: --header no if it is a row",
    )
    assert load_table(tmp_path / "b.csv", header="no").data[0].tolist() == [2001, 2002, 2003]


def test_names_some_of_which_are_numbers_are_a_remark(tmp_path: Path) -> None:
    table = load_table(write(tmp_path, "a.csv", "150,4,red,green,blue\n5.1,3.5,1.4,0.2,0\n4.9,3,1.4,0.2,0\n"))
    assert table.names == ("150", "4", "red", "green", "blue")
    assert table.remarks == (
        "the first line (150, 4) holds numbers and was taken for names: --header no if it is a row",
    )


def test_rows_that_count_are_rows(tmp_path: Path) -> None:
    table = load_table(write(tmp_path, "a.csv", "1,2,3,4,5,6\n2,3,4,5,6,7\n0,5,1,8,2,9\n"))
    assert table.data.shape == (3, 6)


def test_text_columns_can_be_dropped(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "id,alpha,city,beta,day\nr1,1.5,Rome,2,2020-01-01\nr2,3,,4,\n")
    table = load_table(file, drop=["city", "day"])
    assert (table.names, table.data.tolist()) == (("alpha", "beta"), [[1.5, 2], [3, 4]])
    assert table.understood == "2 × 2, header, row names dropped, 2 columns left out"
    assert load_table(file, columns=["beta", "alpha"]).data.tolist() == [[2, 1.5], [4, 3]]
    assert load_table(file, drop=["id", "2", "4:4"]).names == ("alpha", "beta")  # row names are left out anyway
    assert load_table(write(tmp_path, "b.csv", "1,x,2\n3,y,4\n"), drop="2").data.tolist() == [[1, 2], [3, 4]]


def test_ragged_lines_are_noticed_where_columns_are_dropped(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "a,b,c\n1,2,3\n1,2\n1,2,3,4\n")
    with pytest.raises(DataFileError, match="line 3: 2 cells"):
        load_table(file, columns=["a"])
    with pytest.raises(DataFileError, match="line 4: 4 cells"):
        load_table(write(tmp_path, "b.csv", "a,b,c\n1,2,3\n1,2,3\n1,2,3,4\n"), columns=["a"])


def test_transposed_tables_are_named_by_their_rows(tmp_path: Path) -> None:
    file = write(tmp_path, "a.tsv", "gene\tabout\ts1\ts2\ts3\ng1\tx\t1\t2\t3\ng2\ty\t4\t5\t6\n")
    table = load_table(file, drop="about", transpose=True)
    assert (table.names, table.sample_names) == (("g1", "g2"), ("s1", "s2", "s3"))
    assert table.data.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert table.understood == "3 × 2, header, row names dropped, 1 column left out, transposed"


def test_names_that_are_numbers_are_not_positions(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "2001,2002,2003\n0.5,1.5,0.5\n2.5,0.5,1.5\n")
    assert load_table(file, columns=["2003"]).data.tolist() == [[0.5], [1.5]]
    assert load_table(file, drop=["1:2"]).names == ("2003",)
    with pytest.raises(
        ValueError, match="no column called '1'; as names of others are numbers, a position is written 1:1"
    ):
        load_table(file, drop=["1"])


def test_columns_of_the_same_name(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "a,b,a\n1,2,3\n4,5,6\n")
    table = load_table(file)
    assert (table.names, table.remarks) == (("a", "b", "a"), ("2 columns are called 'a'",))
    with pytest.raises(ValueError, match=r"2 columns are called 'a'; say which by position \(1, 3\)"):
        load_table(file, columns=["a"])
    assert load_table(file, columns=["3"]).data.tolist() == [[3], [6]]


def test_columns_without_a_name_get_one(tmp_path: Path) -> None:
    assert load_table(write(tmp_path, "a.csv", "a,,c\n1,2,3\n")).names == ("a", "column 2", "c")


@pytest.mark.parametrize("size", [3, 400])
def test_numbers_come_back_exactly(tmp_path: Path, rng: np.random.Generator, size: int) -> None:
    bits = rng.integers(0, 2**64, (size, 50), dtype=np.uint64).view(np.float64)
    values = np.where(np.isfinite(bits), bits, 1.0)
    text = "\n".join(";".join(map(repr, row)) for row in values.tolist())
    np.testing.assert_array_equal(load_table(write(tmp_path, "a.csv", text)).data, values)
    np.testing.assert_array_equal(load_table(write(tmp_path, "b.csv", text.replace(".", ","))).data, values)


def test_lines_of_millions_of_characters(tmp_path: Path, rng: np.random.Generator) -> None:
    values = rng.standard_normal((2, 120_000))
    text = "\n".join(",".join(map(repr, row)) for row in values.tolist())
    np.testing.assert_array_equal(load_table(write(tmp_path, "a.csv", text)).data, values)
