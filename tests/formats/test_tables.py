"""Files come back as the numbers and names they hold, or with an error that points at the problem."""

import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite

from certpca import load_table
from certpca.runtime.errors import DataFileError, MissingDependencyError

NUMBERS = np.array([[1.0, 2.5], [-3.0, 4e-3], [5.0, 6.0]])
ROWS = "1,2.5\n-3,4e-3\n5,6\n"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def refused(*fragments: str) -> Any:
    """Expect a file error whose message holds all fragments, in order."""
    return pytest.raises(DataFileError, match="(?s)" + ".*".join(re.escape(part) for part in fragments))


# --- text ---------------------------------------------------------------------------------------

TEXTS: dict[str, tuple[str, str, tuple[str, ...] | None]] = {
    "no header": ("a.csv", ROWS, None),
    "header": ("a.csv", "x,y\n" + ROWS, ("x", "y")),
    "spaces in header": ("a.csv", " x , y \n" + ROWS, ("x", "y")),
    "labels": ("a.csv", "id,x,y\nr1,1,2.5\nr2,-3,4e-3\nr3,5,6\n", ("x", "y")),
    "labels without a corner": ("a.csv", "x,y\nr1,1,2.5\nr2,-3,4e-3\nr3,5,6\n", ("x", "y")),
    "labels under an empty corner": ("a.csv", ",x,y\nr1,1,2.5\nr2,-3,4e-3\nr3,5,6\n", ("x", "y")),
    "labels without a header": ("a.csv", "r1,1,2.5\nr2,-3,4e-3\nr3,5,6\n", None),
    "labels with commas": ("a.csv", 'id,x,y\n"r,1",1,2.5\n"r,2",-3,4e-3\n"r,3",5,6\n', ("x", "y")),
    "quoted": ("a.csv", '"x, cm","y"\n"1","2.5"\n"-3","4e-3"\n"5","6"\n', ("x, cm", "y")),
    "quoted over two lines": ("a.csv", '"x\ncm",y\n' + ROWS, ("x\ncm", "y")),
    "byte order mark": ("a.csv", "\ufeffx,y\n" + ROWS, ("x", "y")),
    "byte order mark, no header": ("a.csv", "\ufeff" + ROWS, None),
    "Windows line ends": ("a.csv", ("x,y\n" + ROWS).replace("\n", "\r\n"), ("x", "y")),
    "no newline at the end": ("a.csv", "x,y\n" + ROWS.rstrip(), ("x", "y")),
    "blank lines before": ("a.csv", "\n\nx,y\n" + ROWS, ("x", "y")),
    "blank line after the header": ("a.csv", "x,y\n\n" + ROWS, ("x", "y")),
    "blank lines and labels": ("a.csv", "id,x,y\n\nr1,1,2.5\n\nr2,-3,4e-3\nr3,5,6\n\n", ("x", "y")),
    "blank lines between and after": ("a.csv", "x,y\n1,2.5\n\n-3,4e-3\n  \n5,6\n\n\n", ("x", "y")),
    "upper-case ending": ("A.CSV", "x,y\n" + ROWS, ("x", "y")),
    "names with accents": ("a.csv", "größe,γ\n" + ROWS, ("größe", "γ")),
    "hash in a name": ("a.csv", "#x,y#2\n" + ROWS, ("#x", "y#2")),
    "tsv": ("a.tsv", "x\ty\n" + ROWS.replace(",", "\t"), ("x", "y")),
    "tsv with spaces in names": ("a.tsv", "x one\ty two\n" + ROWS.replace(",", "\t"), ("x one", "y two")),
    "txt with spaces": ("a.txt", "x y\n" + ROWS.replace(",", "   "), ("x", "y")),
    "txt with spaces around": ("a.txt", " x y \n 1 2.5 \n -3 4e-3 \n 5 6 \n", ("x", "y")),
    "txt with tabs": ("a.txt", "x\ty\n" + ROWS.replace(",", "\t"), ("x", "y")),
    "txt with commas": ("a.txt", "x,y\n" + ROWS, ("x", "y")),
    "txt with labels": ("a.txt", "x y\nr1 1 2.5\nr2 -3 4e-3\nr3 5 6\n", ("x", "y")),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_text_table(tmp_path: Path, kind: str) -> None:
    name, content, names = TEXTS[kind]
    table = load_table(write(tmp_path, name, content))
    np.testing.assert_array_equal(table.data, NUMBERS)
    assert table.data.dtype == np.float64
    assert table.names == names


@pytest.mark.parametrize("word", ["", "NA", "nan", "NaN", "n/a", "null", "None", ".", " "])
@pytest.mark.parametrize("labels", [False, True])
def test_missing_cells_become_nan(tmp_path: Path, word: str, labels: bool) -> None:
    lines = ["x,y,z", f"1,2,{word}", f"{word},4,5", "6,7,8"]
    if labels:
        lines = [f"{label},{line}" for label, line in zip(["id", "a", "b", "c"], lines, strict=True)]
    table = load_table(write(tmp_path, "a.csv", "\n".join(lines) + "\n"))
    np.testing.assert_array_equal(table.data, [[1, 2, np.nan], [np.nan, 4, 5], [6, 7, 8]])
    assert table.names == ("x", "y", "z")


@pytest.mark.parametrize(("content", "names"), [("x\n1\n2\n", ("x",)), ("1\n2\n", None)])
def test_single_column(tmp_path: Path, content: str, names: Any) -> None:
    table = load_table(write(tmp_path, "a.csv", content))
    assert table.data.tolist() == [[1.0], [2.0]]
    assert table.names == names


def test_single_row(tmp_path: Path) -> None:
    assert load_table(write(tmp_path, "a.csv", "1,2,3\n")).data.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("label", [True, False])
def test_pandas_csv_comes_back_exactly(tmp_path: Path, rng: np.random.Generator, label: bool) -> None:
    frame = pd.DataFrame(rng.standard_normal((20, 3)), columns=["a", "b", "c"], index=[f"s{i}" for i in range(20)])
    frame.to_csv(tmp_path / "a.csv", index=label)
    table = load_table(tmp_path / "a.csv")
    np.testing.assert_array_equal(table.data, frame.to_numpy())
    assert table.names == ("a", "b", "c")


BAD_TEXTS: dict[str, tuple[str, list[str]]] = {
    "short line": ("x,y\n1,2\n3\n", ["line 3: 1 cells where others have 2"]),
    "long line": ("x,y\n1,2\n3,4,5\n", ["line 3: 3 cells where others have 2"]),
    "short line after a blank one": ("x,y\n1,2\n\n3\n", ["line 4: 1 cells"]),
    "short line with labels": ("id,x,y\na,1,2\nb,3\n", ["line 3: 2 cells where others have 3"]),
    "long line with labels": ("id,x,y\na,1,2\nb,3,4,5\n", ["line 3: 4 cells where others have 3"]),
    "text cell": ("x,y\n1,2\n3,red\n", ["line 3, column 'y': 'red' is not a number", "--drop y"]),
    "text cell after a name of two lines": ('"x\n1",y\n1,2\n3,red\n', ["line 4, column 'y': 'red'"]),
    "text cell with labels": ("id,x,y\na,1,2\nb,red,3\n", ["line 3, column 'x': 'red' is not a number"]),
    "hash in a cell": ("x,y\n1,2\n3,4#5\n", ["line 3, column 'y': '4#5' is not a number"]),
    "header too long": ("a,b,c,d\n1,2\n3,4\n", ["names 4 columns in its first line but has 2"]),
    "header only": ("x,y\n", ["has a header but no rows of numbers"]),
    "blank lines only": ("\n\n \n", ["has no rows of numbers"]),
}


@pytest.mark.parametrize("kind", BAD_TEXTS)
def test_bad_text_names_the_place(tmp_path: Path, kind: str) -> None:
    content, fragments = BAD_TEXTS[kind]
    with refused("bad.csv", *fragments):
        load_table(write(tmp_path, "bad.csv", content))


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    table = load_table(write(tmp_path, "a.csv", "größe,b\n1,2\n".encode("latin-1")))
    assert (table.names, table.understood) == (("größe", "b"), "1 × 2, header, Windows-1252")
    assert load_table(write(tmp_path, "a.csv", b"x\x81,b\n1,2\n")).understood == "1 × 2, header, Latin-1"
    late = "a,größe\n".encode() + b"1,2\n" * 100_000 + b"# gr\xf6\xdfe\n3,4\n"
    assert load_table(write(tmp_path, "a.csv", late)).data.shape == (100_001, 2)


def test_binary_garbage_named_csv(tmp_path: Path) -> None:
    with refused("a.csv"):
        load_table(write(tmp_path, "a.csv", b"7" * 200_000 + b"x"))


# --- NumPy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int8])
def test_npy_is_memory_mapped_in_its_own_type(tmp_path: Path, kind: Any) -> None:
    np.save(tmp_path / "a.npy", NUMBERS.astype(kind))
    table = load_table(str(tmp_path / "a.npy"))
    np.testing.assert_array_equal(table.data, NUMBERS.astype(kind))
    assert isinstance(table.data, np.memmap)
    assert table.data.dtype == kind
    assert table.names is None


def test_npz_with_one_table(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", whatever=NUMBERS, year=np.array(2020))
    np.testing.assert_array_equal(load_table(tmp_path / "a.npz").data, NUMBERS)


@pytest.mark.parametrize("known", ["X", "A", "G", "data", "matrix", "arr_0"])
def test_npz_prefers_usual_names(tmp_path: Path, known: str) -> None:
    arrays: dict[str, Any] = {"other": np.zeros((2, 2)), known: NUMBERS}
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    np.testing.assert_array_equal(load_table(tmp_path / "a.npz").data, NUMBERS)


@pytest.mark.parametrize("key", ["names", "columns", "features", "genes", "snps", "vocab"])
def test_npz_names_of_columns(tmp_path: Path, key: str) -> None:
    arrays: dict[str, Any] = {"X": NUMBERS, key: np.array(["x", "y"])}
    np.savez(tmp_path / "a.npz", **arrays)
    assert load_table(tmp_path / "a.npz").names == ("x", "y")


def test_npz_names_of_another_length_are_not_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=NUMBERS, names=np.array(["r1", "r2", "r3"]))
    assert load_table(tmp_path / "a.npz").names is None


def test_npz_with_python_objects_beside_the_table(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=NUMBERS, names=np.array(["x", "y"], dtype=object))
    np.testing.assert_array_equal(load_table(tmp_path / "a.npz").data, NUMBERS)


def test_npz_array_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", first=np.zeros((2, 2)), second=NUMBERS)
    np.testing.assert_array_equal(load_table(tmp_path / "a.npz", array="second").data, NUMBERS)
    with refused("has the arrays first, second", "array= (--array)"):
        load_table(tmp_path / "a.npz")
    with refused("has no array 'third'", "it has first, second"):
        load_table(tmp_path / "a.npz", array="third")


def test_npz_without_a_table_lists_what_it_has(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", vector=np.zeros(3), text=np.array(["a"]))
    with refused("has the arrays vector, text"):
        load_table(tmp_path / "a.npz")


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_npz_of_scipy_sparse_stays_sparse(tmp_path: Path, form: Any) -> None:
    sp.save_npz(tmp_path / "a.npz", form(NUMBERS))
    table = load_table(tmp_path / "a.npz")
    assert sp.issparse(table.data)
    np.testing.assert_array_equal(table.data.toarray(), NUMBERS)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.mtx", "a.mtx.gz", "a.parquet"])
def test_garbage_is_refused_without_talk_of_pickles(tmp_path: Path, name: str) -> None:
    with refused(name) as caught:
        load_table(write(tmp_path, name, b"this is certainly not what the name promises"))
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_first_half_of_a_file(tmp_path: Path, rng: np.random.Generator, name: str) -> None:
    (np.save if name.endswith("y") else np.savez)(tmp_path / name, rng.standard_normal((50, 20)))
    whole = (tmp_path / name).read_bytes()
    with refused(name):
        load_table(write(tmp_path, f"cut-{name}", whole[: len(whole) // 2]))


@pytest.mark.parametrize("compressed", [False, True])
def test_npz_with_changed_bytes(tmp_path: Path, rng: np.random.Generator, compressed: bool) -> None:
    save = np.savez_compressed if compressed else np.savez
    save(tmp_path / "a.npz", X=rng.standard_normal((50, 20)))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    for position in range(200, len(content) - 200, 7):
        content[position] ^= 0x55
    assert zipfile.is_zipfile(write(tmp_path, "bad.npz", bytes(content)))
    with refused("bad.npz", "cannot be read as .npz"):
        load_table(tmp_path / "bad.npz")


def test_npz_renamed_npy(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=NUMBERS)
    with refused("cannot be read as .npy", "magic string"):
        load_table((tmp_path / "a.npz").rename(tmp_path / "b.npy"))


# --- parquet and Matrix Market ------------------------------------------------------------------


def test_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "n": [1, 2, 3], "flag": [True, False, True]})
    frame.to_parquet(tmp_path / "a.parquet")
    table = load_table(tmp_path / "a.parquet")
    np.testing.assert_array_equal(table.data, frame.to_numpy(dtype=float))
    assert table.names == ("x", "n", "flag")


def test_parquet_nulls_become_nan(tmp_path: Path) -> None:
    pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64"), "y": [1.0, 2.0, 3.0]}).to_parquet(tmp_path / "a.parquet")
    np.testing.assert_array_equal(load_table(tmp_path / "a.parquet").data, [[1, 1], [np.nan, 2], [3, 3]])


def test_parquet_text_column_is_named(tmp_path: Path) -> None:
    pd.DataFrame({"x": [1.0], "city": ["Rome"]}).to_parquet(tmp_path / "a.parquet")
    with refused("column 'city' holds", "string, not numbers", "drop or encode it"):
        load_table(tmp_path / "a.parquet")


def test_parquet_without_pyarrow_says_how_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "a.parquet", b"anything")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"reading .parquet files needs pyarrow.*certpca\[parquet\]"):
        load_table(file)


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_sparse_matrix_market_stays_sparse(tmp_path: Path, name: str) -> None:
    mmwrite(tmp_path / "a.mtx", sp.csr_array(NUMBERS))
    if name.endswith("gz"):
        import gzip

        write(tmp_path, name, gzip.compress((tmp_path / "a.mtx").read_bytes()))
    table = load_table(tmp_path / name)
    assert table.data.format == "csc"
    np.testing.assert_array_equal(table.data.toarray(), NUMBERS)


def test_dense_matrix_market(tmp_path: Path) -> None:
    mmwrite(tmp_path / "a.mtx", NUMBERS)
    np.testing.assert_array_equal(load_table(tmp_path / "a.mtx").data, NUMBERS)


# --- files that are not there -------------------------------------------------------------------


def test_missing_file(tmp_path: Path) -> None:
    with refused("there is no file", "nowhere.csv"):
        load_table(tmp_path / "nowhere.csv")


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with refused("is a folder, a file is needed"):
        load_table(tmp_path / "a.csv")


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "mtx", "parquet", "txt"])
def test_empty_file(tmp_path: Path, ending: str) -> None:
    with refused(f"a.{ending}' is empty"):
        load_table(write(tmp_path, f"a.{ending}", b""))


@pytest.mark.parametrize("name", ["a.xlsx", "a", "csv", "a.csv.bak"])
def test_unknown_ending_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    with refused(
        "has an unknown format",
        "known endings are .bed (PLINK); .csv, .tsv, .tab, .txt, .dat, .data (text tables, also packed: .gz, .xz, "
        ".bz2, .zst); .h5ad (AnnData); .mtx (Matrix Market, also packed: .gz); .npy (NumPy); .npz",
    ):
        load_table(tmp_path / name)


def test_file_errors_are_os_errors(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no file"):
        load_table(tmp_path / "a.csv")
