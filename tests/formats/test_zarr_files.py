"""Zarr stores give what the same data in memory give, whichever way they are laid out."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import certpca
from certpca.frontends.cli.main import main
from certpca.operators.streamed import StreamedCovariance
from certpca.runtime.errors import DataFileError, InvalidDataError, MissingDependencyError
from tests.formats.layouts import TINY, counts, fill_anndata, put, require_within_budget

zarr = pytest.importorskip("zarr", "3", reason="stores are written with zarr 3")

FORMATS = (2, 3)
CHUNKS: dict[str, tuple[Any, bool]] = {
    "rows": ((7, 60), False),
    "columns": ((120, 1), True),
    "squares": ((16, 16), False),
    "one": ((120, 60), False),
}


def array_store(path: Path, table: Any, chunks: Any = (16, 60), version: int = 3) -> Path:
    """Write a store that is a single array."""
    array = zarr.create_array(str(path), shape=table.shape, dtype=table.dtype, chunks=chunks, zarr_format=version)
    array[...] = table
    return path


def anndata_store(path: Path, matrix: Any, layers: Any = None, version: int = 3) -> Path:
    """Write a store as AnnData lays it out."""
    fill_anndata(zarr.open_group(str(path), mode="w", zarr_format=version), matrix, layers)
    return path


def same_answers(reader: Any, matrix: Any, version: int) -> None:
    """Compare solutions and certificates with those of data in memory; in one format by the search that reads most."""
    solver = "auto" if version == 3 else "svd-threshold"
    mine = certpca.solve(reader, 6, solver, certify=True, target_gap=0.1)
    theirs = certpca.solve(matrix, 6, solver, certify=True, target_gap=0.1)
    np.testing.assert_array_equal(mine.support, theirs.support)
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert mine.certificate is not None
    assert theirs.certificate is not None
    assert mine.certificate.fingerprint == theirs.certificate.fingerprint
    certpca.verify(mine.certificate, matrix)
    certpca.verify(theirs.certificate, reader)


@pytest.mark.parametrize("kind", CHUNKS)
@pytest.mark.parametrize("version", FORMATS)
def test_a_single_array(tmp_path: Path, rng: Any, kind: str, version: int) -> None:
    chunks, by_columns = CHUNKS[kind]
    table = counts(rng).astype(np.float32)
    reader = certpca.read_zarr(array_store(tmp_path / "a.zarr", table, chunks, version), memory=TINY)
    assert reader.names is None
    assert reader.by_columns is by_columns
    operator = certpca.from_data(reader)
    assert isinstance(operator, StreamedCovariance)
    certpca.verify_operator(operator)
    same_answers(reader, table, version)


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("memory", [TINY, 1.0])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, np.asarray])
def test_anndata_stores(tmp_path: Path, rng: Any, make: Any, memory: float, version: int) -> None:
    matrix = make(counts(rng))
    store = anndata_store(tmp_path / "a.zarr", matrix, {"double": sp.csr_array(2 * counts(rng))}, version)
    reader = certpca.read_zarr(store, memory=memory)
    assert reader.names is not None
    assert reader.names[3] == "g3"
    assert reader.sample_names is not None
    assert reader.sample_names[3] == "c3"
    assert reader.obs["kind"][:3].tolist() == ["", "b", "t"]
    same_answers(reader, matrix, version)
    assert certpca.read_zarr(store, array="double").shape == matrix.shape
    with pytest.raises(DataFileError, match="has no other; it has X, layers/double"):
        certpca.read_zarr(store, array="other")


@pytest.mark.parametrize("version", FORMATS)
def test_a_group_with_a_table_and_names(tmp_path: Path, rng: Any, version: int) -> None:
    table = counts(rng)
    root = zarr.open_group(str(tmp_path / "a.zarr"), mode="w", zarr_format=version)
    put(root, "measured", table, chunks=(30, 30))
    put(root, "genes", [f"g{index}" for index in range(60)])
    put(root, "weights", np.ones(120))
    reader = certpca.read_zarr(tmp_path / "a.zarr", memory=TINY)
    assert reader.names is not None
    assert reader.names[-1] == "g59"
    np.testing.assert_array_equal(reader[:, [4, 40]], table[:, [4, 40]])
    put(root, "other", table)
    with pytest.raises(DataFileError, match=r"genes, measured, other, weights; say which one with array= \(--array\)"):
        certpca.read_zarr(tmp_path / "a.zarr")
    assert certpca.read_zarr(tmp_path / "a.zarr", array="other").names == reader.names
    with pytest.raises(DataFileError, match="has no array 'third'"):
        certpca.read_zarr(tmp_path / "a.zarr", array="third")
    put(root, "X", table[:, :7])
    assert certpca.read_zarr(tmp_path / "a.zarr").shape == (120, 7)


@pytest.mark.parametrize(("kind", "walks"), [("rows", 1), ("columns", 2), ("one", 1)])
def test_passes_of_a_product(tmp_path: Path, rng: Any, kind: str, walks: int) -> None:
    reader = certpca.read_zarr(array_store(tmp_path / "a.zarr", counts(rng), CHUNKS[kind][0]), memory=TINY)
    operator = certpca.from_data(reader)
    assert reader.passes == pytest.approx(1)
    operator.matmat(rng.standard_normal((60, 4)))
    assert reader.passes == pytest.approx(1 + walks)


@pytest.mark.parametrize("chunks", [(100, 300), (6000, 2)])
def test_blocks_keep_to_the_budget(tmp_path: Path, chunks: Any) -> None:
    rows, size, budget = 6000, 300, 4 << 20
    table = np.random.default_rng(0).poisson(0.3, (rows, size)).astype(np.float64)  # 14 MB
    reader = certpca.read_zarr(array_store(tmp_path / "a.zarr", table, chunks), memory=budget / 2**30)
    del table
    reader.normal_product(np.ones((size, 1)), np.zeros(1), None)  # what is loaded at the first call is not counted
    require_within_budget(reader, budget)


def test_what_fits_is_loaded_once(tmp_path: Path, rng: Any) -> None:
    reader = certpca.read_zarr(array_store(tmp_path / "a.zarr", counts(rng)))
    solution = certpca.solve(reader, 5, certify=True)
    assert solution.certificate is not None
    certpca.verify(solution.certificate, reader)
    assert reader.passes == 1


# --- what is refused ----------------------------------------------------------------------------


def test_stores_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="there is no file or folder"):
        certpca.read_zarr(tmp_path / "nowhere.zarr")
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(DataFileError, match="cannot be read as a Zarr store"):
        certpca.read_zarr(tmp_path / "a.zarr")
    (tmp_path / "b.zarr").write_text("no store")
    with pytest.raises(DataFileError, match="cannot be read as a Zarr store"):
        certpca.read_zarr(tmp_path / "b.zarr")
    zarr.open_group(str(tmp_path / "c.zarr"), mode="w")
    with pytest.raises(DataFileError, match=r"has the arrays \(none\)"):
        certpca.read_zarr(tmp_path / "c.zarr")


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((2, 2), dtype=complex)])
def test_arrays_that_are_no_tables(tmp_path: Path, values: Any) -> None:
    store = array_store(tmp_path / "a.zarr", values, values.shape)
    with pytest.raises(DataFileError, match=r"a\.zarr': data must be"):
        certpca.read_zarr(store)


def test_a_single_array_has_no_others(tmp_path: Path, rng: Any) -> None:
    with pytest.raises(DataFileError, match="is a single array; there is none named 'X'"):
        certpca.read_zarr(array_store(tmp_path / "a.zarr", counts(rng)), array="X")


@pytest.mark.parametrize("memory", [TINY, 1.0])
def test_a_chunk_that_cannot_be_decompressed(tmp_path: Path, rng: Any, memory: float) -> None:
    store = array_store(tmp_path / "a.zarr", counts(rng), (40, 60))
    chunk = store / "c" / "1" / "0"
    assert chunk.exists()
    chunk.write_bytes(b"x" * 50)
    with pytest.raises(DataFileError, match=r"a\.zarr' cannot be read, the file is damaged"):
        certpca.solve(certpca.read_zarr(store, memory=memory), 5)


def test_infinite_and_missing_values(tmp_path: Path, rng: Any) -> None:
    table = counts(rng)
    table[3, 4] = np.nan
    reader = certpca.read_zarr(array_store(tmp_path / "a.zarr", table), memory=TINY)
    with pytest.raises(InvalidDataError, match="column 4 has 1 missing values"):
        certpca.solve(reader, 5)
    expected = certpca.solve(table, 5, missing="mean").objective
    assert certpca.solve(reader, 5, missing="mean").objective == pytest.approx(expected, rel=1e-9)
    table[3, 4] = -np.inf
    with pytest.raises(InvalidDataError, match="column 4 holds infinite values"):
        certpca.solve(certpca.read_zarr(array_store(tmp_path / "b.zarr", table), memory=TINY), 5)


def test_without_zarr(tmp_path: Path, rng: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = array_store(tmp_path / "a.zarr", counts(rng))
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(MissingDependencyError, match=r"certpca\[zarr\]"):
        certpca.load_table(store)


def test_the_command_takes_a_folder(tmp_path: Path, rng: Any, capsys: Any) -> None:
    store, output = str(anndata_store(tmp_path / "a.zarr", sp.csr_array(counts(rng)))), str(tmp_path / "c.json")
    assert main(["certify", store, "-k", "4", "--memory", "0.00001", "--target-gap", "0.5", "--output", output]) == 0
    assert main(["verify", output, store]) == 0
    capsys.readouterr()
    assert main(["solve", store, "-k", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"][0].startswith("g")
