"""GEO series matrices come back as samples x probes, or with an error that points at the problem."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.frontends.report import read_labels
from certpca.runtime.errors import DataFileError

PREAMBLE = (
    '!Series_title\t"Two tissues"\n'
    '!Series_summary\t"first line"\n'
    '!Series_summary\t"second "quoted" line"\n'
    "\n"
    '!Sample_title\t"liver, 1"\t"kidney"\t"liver\'s second"\n'
    '!Sample_geo_accession\t"GSM1"\t"GSM2"\t"GSM3"\n'
    '!Sample_characteristics_ch1\t"tissue: liver"\t"tissue: kidney"\t"tissue: liver"\n'
    '!Sample_characteristics_ch1\t"age: 40"\t""\t"sex: f: yes"\n'
    '!Sample_characteristics_ch1\t"treated"\t""\t""\n'
)
TABLE = (
    "!series_matrix_table_begin\n"
    '"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"\n'
    '"1007_s_at"\t1.5\t-2\t3e2\n'
    '"AFFX-1"\tnull\t\t"4"\n'
    "!series_matrix_table_end\n"
)
NUMBERS = np.array([[1.5, np.nan], [-2.0, np.nan], [300.0, 4.0]])


def write(folder: Path, text: str | bytes, name: str = "GSE1_series_matrix.txt") -> Path:
    file = folder / name
    raw = text.encode() if isinstance(text, str) else text
    file.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return file


def refused(*fragments: str) -> Any:
    return pytest.raises(DataFileError, match="(?s)" + ".*".join(re.escape(part) for part in fragments))


@pytest.mark.parametrize("name", ["GSE1_series_matrix.txt", "GSE1-GPL2_SERIES_MATRIX.TXT", "series_matrix.txt.gz"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_table_and_names(tmp_path: Path, name: str, ends: str) -> None:
    file = write(tmp_path, (PREAMBLE + TABLE).replace("\n", ends), name)
    table = certpca.load_table(file)
    np.testing.assert_array_equal(table.data, NUMBERS)
    assert table.names == ("1007_s_at", "AFFX-1")
    assert table.data.flags.c_contiguous


def test_characteristics_are_labels_and_samples_name_rows(tmp_path: Path) -> None:
    file = write(tmp_path, PREAMBLE + TABLE)
    assert read_labels("tissue", file, 3) == ("liver", "kidney", "liver")
    with refused("has no column 'organ'; it has tissue, age"):
        read_labels("organ", file, 3)
    assert certpca.load_table(file, transpose=True).names == ("GSM1", "GSM2", "GSM3")


def test_what_is_said_about_samples_is_kept(tmp_path: Path) -> None:
    series = certpca.read_geo(write(tmp_path, PREAMBLE + TABLE))
    assert series.samples == ("GSM1", "GSM2", "GSM3")
    assert series.titles == ("liver, 1", "kidney", "liver's second")
    assert series.characteristics == {
        "tissue": ("liver", "kidney", "liver"),
        "age": ("40", "", ""),
        "sex": ("", "", "f: yes"),
        "characteristics_ch1": ("treated", "", ""),
    }
    assert series.series["title"] == "Two tissues"
    assert series.series["summary"].startswith("first line\nsecond")


def test_table_alone(tmp_path: Path) -> None:
    series = certpca.read_geo(write(tmp_path, TABLE))
    assert series.titles == ("", "", "")
    assert series.characteristics == {}


def test_titles_in_an_older_encoding(tmp_path: Path) -> None:
    text = '!Sample_title\t"größe"\t"b"\t"c"\n' + TABLE
    assert certpca.read_geo(write(tmp_path, text.encode("latin-1"))).titles[0] == "größe"
    assert certpca.read_geo(write(tmp_path, ("\ufeff" + text).encode())).titles[0] == "größe"


@pytest.mark.parametrize(("text", "fragment"), [("null", "nan"), ("NULL", "nan"), ("", "nan"), ("NA", "nan")])
def test_missing_values(tmp_path: Path, text: str, fragment: str) -> None:
    data = certpca.read_geo(write(tmp_path, TABLE.replace("-2", text))).data
    assert str(data[1, 0]) == fragment


def test_missing_values_reach_the_mean_rule(tmp_path: Path) -> None:
    lines = "".join(f'"p{row}"\t{row}\t{row**2}\t{7 - row}\n' for row in range(1, 6))
    text = TABLE.replace("!series_matrix_table_end", lines + "!series_matrix_table_end")
    table = certpca.load_table(write(tmp_path, text.replace("\t\t", "\t3\t")))
    solution = certpca.solve(table.data, 2, names=table.names, missing="mean")
    assert solution.names is not None
    assert "1007_s_at" in solution.names


BAD = {
    "no end": (PREAMBLE + TABLE.replace("!series_matrix_table_end\n", ""), "has no line !series_matrix_table_end"),
    "no table": (PREAMBLE, "has no line !series_matrix_table_begin"),
    "other text": ("gene,a,b\nx,1,2\n", "is not a GEO series matrix: its first line does not begin with '!'"),
    "family file": ("^DATABASE = GeoMiame\n!Database_name = x\n", "is not a GEO series matrix"),
    "blank": ("\n\n", "is not a GEO series matrix"),
    "no header": (TABLE.replace("ID_REF", "GENE"), "line 2: the table must begin with ID_REF"),
    "table cut at its header": ("!series_matrix_table_begin\n", "the table must begin with ID_REF"),
    "short row": (TABLE.replace("\t3e2", ""), "line 3: 2 values where there are 3 samples"),
    "text in a cell": (TABLE.replace("-2", "high"), "line 3, value 2: 'high' is not a number"),
    "row cut in the middle": ((PREAMBLE + TABLE)[:-40], "values where there are 3 samples"),
    "empty table": (
        '!series_matrix_table_begin\n"ID_REF"\t"GSM1"\n!series_matrix_table_end\n',
        "has an empty table; where authors deposit values in supplementary files",
    ),
    "too few titles": ('!Sample_title\t"a"\n' + TABLE, "!Sample_title has 1 entries for 3 samples"),
    "too few characteristics": (
        '!Sample_characteristics_ch1\t"a: b"\n' + TABLE,
        "!Sample_characteristics_ch1 has 1 entries for 3 samples",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_file_is_named_with_the_place(tmp_path: Path, kind: str) -> None:
    text, fragment = BAD[kind]
    with refused("GSE1_series_matrix.txt", fragment):
        certpca.read_geo(write(tmp_path, text))
    with refused("GSE1_series_matrix.txt", fragment):
        certpca.load_table(write(tmp_path, text))


def test_archive_cut_off(tmp_path: Path) -> None:
    lines = "".join(f'"p{row}"\t{row}\t{row**2}\t{row**3}\n' for row in range(2000))
    text = TABLE.replace("!series_matrix_table_end", lines + "!series_matrix_table_end")
    file = write(tmp_path, text, "series_matrix.txt.gz")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with refused("cannot be read as a series matrix"):
        certpca.read_geo(file)
    file.write_bytes(b"not gzip at all")
    with refused("cannot be read as a series matrix"):
        certpca.read_geo(file)


def test_missing_file(tmp_path: Path) -> None:
    with refused("there is no file", "nothing_series_matrix.txt"):
        certpca.read_geo(tmp_path / "nothing_series_matrix.txt")
