"""A table says how it was read, so that the same settings give the same numbers and names from the same file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite

import certpca
from certpca import load_table
from certpca.formats.settings import reading_from_json
from certpca.readers.base import Reader
from certpca.runtime.errors import InvalidDataError, InvalidProblemError

NAMES = [f"f{index}" for index in range(6)]
SERIES = '!Series_title\t"a"\n!series_matrix_table_begin\n"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"\n'
CHOICES: dict[str, dict[str, Any]] = {
    "everything": {},
    "columns": {"columns": ["f4", "f1", "f2"]},
    "positions": {"columns": ["5", "2:4"], "drop": "3"},
    "drop": {"drop": ["f0", "f3"]},
    "transpose": {"transpose": True},
    "names": {"names": list("uvwxyz")},
    "all": {"columns": "1:3", "drop": ["f1"], "transpose": True, "names": [f"s{index}" for index in range(8)]},
}


@pytest.fixture
def numbers(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 3, (8, 6)).astype(float)


def written(folder: Path, ending: str, numbers: np.ndarray) -> Path:
    """Write a table in a format; those that have names get them."""
    file = folder / f"a.{ending}"
    frame = pd.DataFrame(numbers, columns=NAMES)
    if ending == "csv":
        frame.to_csv(file, index=False)
    elif ending == "npy":
        np.save(file, numbers)
    elif ending == "npz":
        np.savez(file, X=numbers, names=np.array(NAMES))
    elif ending == "parquet":
        frame.to_parquet(file)
    elif ending == "mtx":
        mmwrite(file, sp.csr_array(numbers))
    elif ending == "zarr":
        zarr = pytest.importorskip("zarr")
        group = zarr.open(str(file), mode="w")
        for name, values in (("X", numbers), ("other", numbers + 1)):
            group.create_array(name, shape=values.shape, dtype="float64")[:] = values
    elif ending == "h5ad":
        h5py = pytest.importorskip("h5py")
        with h5py.File(file, "w") as root:
            root.attrs["encoding-type"] = "anndata"
            root["X"], root["layers/counts"], root["var/_index"] = numbers, numbers + 1, NAMES
            root["var"].attrs["_index"] = "_index"
    elif ending == "bed":
        certpca.write_plink(file, numbers.astype(np.int8), names=NAMES)
    else:
        file = folder / "GSE1_series_matrix.txt"
        rows = ["\t".join([f'"{name}"', *map(str, row)]) for name, row in zip(NAMES, numbers.T[:, :3], strict=True)]
        file.write_text(SERIES + "\n".join(rows) + "\n!series_matrix_table_end\n")
    return file


def values(table: Any) -> np.ndarray:
    data = table.data
    data = data[:, :] if isinstance(data, Reader) else data
    return data.toarray() if sp.issparse(data) else np.asarray(data)


def comes_back(file: Path, settings: dict[str, Any], **memory: Any) -> Any:
    """Read a table, then again as it says, by way of JSON; return the first."""
    table = load_table(file, **settings, **memory)
    reading = json.loads(json.dumps(table.reading))
    assert reading == table.reading, "plain JSON"
    again = load_table(file, **reading_from_json(reading))
    np.testing.assert_array_equal(values(again), values(table))
    assert again.names == table.names
    assert again.reading == table.reading
    if isinstance(table.data, Reader):
        assert table.data.reading == table.reading
    return table


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "parquet", "mtx", "zarr", "h5ad", "series_matrix.txt"])
@pytest.mark.parametrize("kind", CHOICES)
def test_every_format_comes_back_as_it_was_read(tmp_path: Path, numbers: np.ndarray, ending: str, kind: str) -> None:
    settings = CHOICES[kind]
    named = ending not in ("npy", "mtx", "zarr")
    if not named:
        settings = {name: value for name, value in settings.items() if name not in ("columns", "drop")} | (
            {"columns": ["5", "2:3"]} if "columns" in settings else {}
        )
    samples = 3 if ending.startswith("series") else 8
    if kind == "all":
        settings = settings | {"names": [f"s{index}" for index in range(samples)]}
    table = comes_back(written(tmp_path, ending, numbers), settings)
    assert set(table.reading) == set(settings)
    expected = numbers[:samples]
    places = {
        "columns": [4, 1, 2],
        "positions": [4, 1, 3],
        "drop": [1, 2, 4, 5],
        "all": [0, 2],
    }
    if named:
        expected = expected[:, places.get(kind, range(6))]
    elif "columns" in settings:
        expected = expected[:, [4, 1, 2]]
    np.testing.assert_array_equal(values(table), expected.T if settings.get("transpose") else expected)


@pytest.mark.parametrize("ending", ["npz", "zarr", "h5ad"])
def test_the_array_chosen_is_part_of_it(tmp_path: Path, numbers: np.ndarray, ending: str) -> None:
    file = written(tmp_path, ending, numbers)
    if ending == "npz":
        np.savez(file, X=numbers, other=numbers + 1)
    name = "counts" if ending == "h5ad" else "other"
    table = comes_back(file, {"array": name})
    assert table.reading == {"array": name}
    np.testing.assert_array_equal(values(table), numbers + 1)


def test_filters_of_genotypes_are_part_of_it_and_lists_of_samples_are_no_files(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    genotypes = rng.integers(0, 3, (12, 30)).astype(np.int8)
    genotypes[:, 7], genotypes[:9, 8] = 0, -9
    file = tmp_path / "a.bed"
    certpca.write_plink(file, genotypes)
    (tmp_path / "keep.txt").write_text("s1\ns2\ns2 s2\ns3\ns5\ns6\ns7\ns8\ns9\n")
    settings: dict[str, Any] = {
        "keep": tmp_path / "keep.txt",
        "remove": iter(["s3"]),
        "maf": np.float32(0.125),
        "max_missing": 0.5,
        "every": np.int64(3),
        "chromosomes": (0,),
    }
    table = load_table(file, **settings)
    assert table.reading["keep"] == ["s1", "s2", ["s2", "s2"], "s3", "s5", "s6", "s7", "s8", "s9"]
    assert table.reading["remove"] == ["s3"]
    (tmp_path / "keep.txt").unlink()
    again = comes_back(file, dict(table.reading))
    np.testing.assert_array_equal(values(again), values(table))
    assert table.data.shape[0] == 7
    assert 0 < table.data.shape[1] <= 10
    assert set(table.reading) == set(settings)


def test_genotypes_without_filters_say_nothing(tmp_path: Path, numbers: np.ndarray) -> None:
    assert comes_back(written(tmp_path, "bed", numbers), {"maf": 0.0, "every": 1}).reading == {}


def test_readers_of_files_say_it_too(tmp_path: Path, numbers: np.ndarray) -> None:
    parquet = written(tmp_path, "parquet", numbers)
    assert certpca.open_npy(written(tmp_path, "npy", numbers)).reading == {}
    assert certpca.read_plink(written(tmp_path, "bed", numbers), every=2).reading == {"every": 2}
    assert certpca.read_h5ad(written(tmp_path, "h5ad", numbers), layer="counts").reading == {"array": "counts"}
    assert certpca.read_zarr(written(tmp_path, "zarr", numbers), array="X").reading == {"array": "X"}
    assert certpca.read_parquet(parquet).reading == {}
    chosen = certpca.read_parquet(parquet, columns=["f3", "f1", "f0"], leave_out="f1")
    assert chosen.reading == {"columns": ["f3", "f1", "f0"], "drop": ["f1"]}
    np.testing.assert_array_equal(load_table(parquet, **chosen.reading).data, chosen[:, :])


@pytest.mark.parametrize("settings", [{"transpose": True}, {"columns": ["2:4"]}, {"drop": ["1", "6"]}])
def test_a_map_stays_in_its_file_as_far_as_columns_lie_together(
    tmp_path: Path, numbers: np.ndarray, settings: dict[str, Any]
) -> None:
    table = comes_back(written(tmp_path, "npy", numbers), settings, memory=1e-5)
    assert isinstance(table.data, Reader)


@pytest.mark.parametrize(("ending", "memory"), [("npy", 0.1), ("h5ad", 1e-7), ("zarr", 1e-7), ("bed", 1.0)])
def test_what_is_streamed_cannot_be_rearranged(tmp_path: Path, numbers: np.ndarray, ending: str, memory: float) -> None:
    file = written(tmp_path, ending, numbers)
    with pytest.raises(InvalidProblemError, match="is streamed, so that its columns cannot be chosen"):
        load_table(file, columns=["1", "3"], memory=memory)


@pytest.mark.parametrize("form", ["coo", "csr", "dia", "lil"])
def test_sparse_tables_of_any_form(tmp_path: Path, numbers: np.ndarray, form: str) -> None:
    if form == "lil":
        mmwrite(tmp_path / "a.mtx", sp.csr_array(numbers))
        file = tmp_path / "a.mtx"
    else:
        sp.save_npz(tmp_path / "a.npz", sp.csr_array(numbers).asformat(form))
        file = tmp_path / "a.npz"
    table = comes_back(file, {"columns": ["5", "1:2"], "transpose": True, "names": [f"s{index}" for index in range(8)]})
    np.testing.assert_array_equal(values(table), numbers[:, [4, 0, 1]].T)


def test_what_is_no_table_cannot_be_rearranged(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(5.0))
    assert load_table(tmp_path / "a.npy").understood == "5"
    for settings in ({"drop": "1"}, {"transpose": True}, {"names": ["a"]}):
        with pytest.raises(InvalidDataError, match="must be a table with two axes, got 1"):
            load_table(tmp_path / "a.npy", **settings)


def test_names_from_a_file(tmp_path: Path, numbers: np.ndarray) -> None:
    (tmp_path / "names.txt").write_text("\ufeffa one\r\nb\r\n c \r\nd\r\ne\r\nf\r\n\r\n")
    table = comes_back(written(tmp_path, "npy", numbers), {"names": tmp_path / "names.txt"})
    assert table.names == ("a one", "b", "c", "d", "e", "f")
    with pytest.raises(InvalidDataError, match="one entry for each of the 8 features, got 6"):
        load_table(tmp_path / "a.npy", names=str(tmp_path / "names.txt"), transpose=True)
    with pytest.raises(OSError, match=r"names cannot be read from .*nowhere.txt.*No such file"):
        load_table(tmp_path / "a.npy", names=tmp_path / "nowhere.txt")


BAD_CHOICES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown name": ({"columns": ["f9"]}, "has no column 'f9'; it has f0, f1"),
    "position too large": ({"drop": "3:9"}, r"positions of columns lie in 1\.\.6, got '3:9'"),
    "position zero": ({"drop": "0"}, r"positions of columns lie in 1\.\.6"),
    "turned around": ({"columns": "4:2"}, r"positions of columns lie in 1\.\.6"),
    "twice": ({"columns": ["f1", "2"]}, "a column is asked for twice"),
    "runs that overlap": ({"drop": ["1:3", "2:4"]}, r"a column is asked for twice \('2:4' repeats one\)"),
    "without end": ({"columns": ["1:6"] * 1_000_000}, "a column is asked for twice"),
    "nothing left": ({"drop": ["1:6"]}, "no columns that are left"),
    "a number": ({"columns": [3]}, "columns must be text, got 3"),
    "header": ({"header": True}, "header must be 'yes', 'no' or 'auto', got True"),
    "array": ({"array": "X"}, r"array: only for files with several tables"),
    "genotypes": ({"every": 2}, r"every: only for PLINK files"),
}


@pytest.mark.parametrize("kind", BAD_CHOICES)
def test_choices_that_have_no_meaning(tmp_path: Path, numbers: np.ndarray, kind: str) -> None:
    settings, message = BAD_CHOICES[kind]
    with pytest.raises((InvalidProblemError, OSError), match=message):
        load_table(written(tmp_path, "csv", numbers), **settings)


UNTRUSTED: dict[str, tuple[object, str]] = {
    "a list": ([], "must be a mapping of settings, got list"),
    "nothing": (None, "must be a mapping"),
    "unknown": ({"shell": "rm"}, "'shell' is no setting for reading a table; there are columns, drop"),
    "memory": ({"memory": 1e9}, "'memory' is no setting"),
    "a path": ({"path": "/etc/passwd"}, "'path' is no setting"),
    "no text as a name": ({3: 1}, "3 is no setting"),
    "a file of samples": ({"keep": "/etc/passwd"}, "keep must be a list"),
    "a file of names": ({"names": "/etc/passwd"}, "names must be a list"),
    "no samples": ({"keep": []}, "keep must be a list of 1 to"),
    "three to a sample": ({"remove": [["a", "b", "c"]]}, "remove must be names, or pairs"),
    "number as a sample": ({"remove": [1]}, "remove must be text, got 1"),
    "nested": ({"remove": [["a", ["b"]]]}, "remove must be text"),
    "text as number": ({"maf": "0.1"}, "maf must be a number from 0 to 1, got '0.1'"),
    "flag as number": ({"maf": True}, "maf must be a number"),
    "nan": ({"max_missing": float("nan")}, "max_missing must be a number"),
    "infinity": ({"max_missing": float("inf")}, "max_missing must be a number"),
    "huge": ({"maf": 10**5000}, "maf must be a number"),
    "fraction": ({"every": 2.0}, "every must be a whole number"),
    "zero": ({"every": 0}, "every must be a whole number"),
    "huge step": ({"every": 10**400}, "every must be a whole number"),
    "flag": ({"transpose": 1}, "transpose must be true or false, got 1"),
    "header": ({"header": ["yes"]}, "header must be 'yes'"),
    "array": ({"array": ["X"]}, "array must be text"),
    "long": ({"array": "x" * 100_000}, r"array must be text of at most 16384 characters, got 'xxx"),
    "columns": ({"columns": "a"}, "columns must be a list"),
    "chromosomes": ({"chromosomes": [1]}, "chromosomes must be text"),
}


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_settings_from_a_file_that_nobody_vouches_for(kind: str) -> None:
    found, message = UNTRUSTED[kind]
    with pytest.raises(InvalidProblemError, match=message) as caught:
        reading_from_json(found)
    assert len(str(caught.value)) < 400
