"""AnnData files give what the same data in memory give, within a memory budget; damage is named."""

import errno
import json
import os
import sys
import tempfile
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import certpca
from certpca.frontends.cli.main import main
from certpca.operators.covariance import DenseCovariance, SparseCovariance
from certpca.operators.streamed import StreamedCovariance
from certpca.runtime.errors import DataFileError, InvalidDataError, InvalidProblemError, MissingDependencyError
from tests.formats.layouts import TINY, counts, h5ad, put_frame, put_matrix

h5py = pytest.importorskip("h5py", reason="AnnData files need h5py")

FORMS: dict[str, Any] = {
    "csr": (sp.csr_array, {}),
    "csc": (sp.csc_array, {}),
    "csr float32": (lambda table: sp.csr_array(table.astype(np.float32)), {}),
    "csr integers": (lambda table: sp.csr_array(table.astype(np.int64)), {}),
    "rows": (np.asarray, {}),
    "rows in chunks": (np.asarray, {"chunks": (7, 60), "compression": "gzip"}),
    "columns in chunks": (np.asarray, {"chunks": (120, 1), "compression": "gzip"}),
    "squares": (lambda table: table.astype(np.int16), {"chunks": (16, 16), "compression": "lzf"}),
    "big-endian": (lambda table: table.astype(">f4"), {}),
    "booleans": (lambda table: table > 0, {}),
}


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_same_matrix_as_in_memory(tmp_path: Path, rng: Any, form: str, scale: bool) -> None:
    make, storage = FORMS[form]
    matrix = make(counts(rng))
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", matrix, **storage), memory=TINY)
    operator, expected = certpca.from_data(reader, scale=scale), certpca.from_data(matrix, scale=scale)
    assert isinstance(operator, StreamedCovariance)
    assert operator.dtype == expected.dtype
    certpca.verify_operator(operator)
    panel = rng.standard_normal((operator.size, 5))
    np.testing.assert_allclose(operator.matmat(panel), expected.matmat(panel), rtol=1e-10, atol=1e-10)
    assert operator.matmat(panel.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(operator.diagonal(), expected.diagonal(), rtol=1e-6)
    assert operator.trace() == pytest.approx(expected.trace(), rel=1e-12)
    some = np.array([31, 3, 5])
    np.testing.assert_allclose(operator.submatrix(some), expected.submatrix(some), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("memory", [TINY, 1.0])
@pytest.mark.parametrize("form", FORMS)
def test_same_solution_and_certificate(tmp_path: Path, rng: Any, form: str, memory: float) -> None:
    make, storage = FORMS[form]
    matrix = make(counts(rng))
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", matrix, **storage), memory=memory)
    mine = certpca.solve(reader, 6, certify=True, target_gap=0.1)
    theirs = certpca.solve(matrix, 6, certify=True, target_gap=0.1)
    np.testing.assert_array_equal(mine.support, theirs.support)
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert mine.names == tuple(f"g{index}" for index in mine.support)
    assert mine.certificate is not None
    assert theirs.certificate is not None
    assert mine.certificate.fingerprint == theirs.certificate.fingerprint
    assert certpca.verify(mine.certificate, matrix).upper_bound == certpca.verify(mine.certificate, reader).upper_bound
    certpca.verify(theirs.certificate, reader)
    along, expected = certpca.path(reader, [3, 6]), certpca.path(matrix, [3, 6])
    np.testing.assert_allclose(along.objectives, expected.objectives, rtol=1e-9)


def test_a_certificate_of_another_file_is_refused(tmp_path: Path, rng: Any) -> None:
    table = counts(rng)
    certificate = certpca.certify(certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", sp.csr_array(table))), 5, target_gap=0.5)
    table[3, 3] += 1
    with pytest.raises(certpca.CertificateError, match="other data"):
        certpca.verify(certificate, certpca.read_h5ad(h5ad(tmp_path / "b.h5ad", sp.csr_array(table)), memory=TINY))


def test_layers_raw_and_what_is_said_about_samples(tmp_path: Path, rng: Any) -> None:
    table = counts(rng)
    file = h5ad(tmp_path / "a.h5ad", table, {"log": np.log1p(table), "sparse": sp.csc_array(table)})
    with h5py.File(file, "a") as root:
        raw = root.create_group("raw")
        put_matrix(raw, "X", sp.csr_array(np.hstack([table, table])))
        put_frame(raw, "var", [f"r{index}" for index in range(120)])
        nullable = root["obs"].create_group("maybe")
        nullable["values"], nullable["mask"] = np.arange(120), np.arange(120) < 2
    for layer in ("log", "layers/log"):
        np.testing.assert_array_equal(certpca.read_h5ad(file, layer=layer)[:, 2:9], np.log1p(table)[:, 2:9])
    for layer in ("raw", "raw/X"):
        wide = certpca.read_h5ad(file, layer=layer)
        assert wide.shape == (120, 120)
        assert wide.names is not None
        assert wide.names[119] == "r119"
    reader = certpca.read_h5ad(file)
    assert reader.names is not None
    assert reader.names[:2] == ("g0", "g1")
    assert reader.sample_names is not None
    assert reader.sample_names[-1] == "c119"
    assert set(reader.obs) == {"depth", "kind", "maybe"}
    assert reader.obs["depth"][7] == 7
    assert reader.obs["kind"][:6].tolist() == ["", "b", "t", "", "b", "t"]
    assert np.isnan(reader.obs["maybe"][:3]).tolist() == [True, True, False]
    with pytest.raises(DataFileError, match=r"has no counts; it has X, layers/log, layers/sparse, raw/X"):
        certpca.read_h5ad(file, layer="counts")


def test_files_of_earlier_versions(tmp_path: Path, rng: Any) -> None:
    table = sp.csr_array(counts(rng))
    with h5py.File(tmp_path / "a.h5ad", "w") as root:
        group = root.create_group("X")
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csr", table.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(table, part)
        root["var"] = np.array(
            [(f"g{index}".encode(), index) for index in range(60)], dtype=[("index", "S4"), ("n", "i8")]
        )
        obs = root.create_group("obs")
        obs["kind"], obs["__categories/kind"] = np.array([0, 1] * 60), np.array([b"x", b"y"])
    reader = certpca.read_h5ad(tmp_path / "a.h5ad")
    assert reader.names is not None
    assert reader.names[59] == "g59"
    assert reader.obs["kind"][:3].tolist() == ["x", "y", "x"]
    np.testing.assert_array_equal(reader[:, :].toarray(), table.toarray())


# --- missing values -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "rows"])
@pytest.mark.parametrize("memory", [TINY, 1.0])
def test_missing_values_take_the_mean(tmp_path: Path, rng: Any, form: str, memory: float) -> None:
    table = counts(rng)
    table[4, 6] = table[80, 6] = table[7, 40] = np.nan
    matrix = FORMS[form][0](table)
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", matrix), memory=memory)
    with pytest.raises(InvalidDataError, match=r"column 6 \('g6'\) has 2 missing values"):
        certpca.solve(reader, 5)
    mine = certpca.solve(reader, 5, missing="mean", certify=True)
    theirs = certpca.solve(matrix, 5, missing="mean", certify=True)
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert mine.certificate is not None
    certpca.verify(mine.certificate, matrix)
    panel = rng.standard_normal((60, 3))
    operator = certpca.from_data(reader, missing="mean")
    np.testing.assert_allclose(
        operator.matmat(panel), certpca.from_data(matrix, missing="mean").matmat(panel), atol=1e-10
    )
    few = np.arange(3, 50)
    np.testing.assert_allclose(
        operator.restrict(few).matmat(panel[few]), operator.submatrix(few) @ panel[few], atol=1e-9
    )


@pytest.mark.parametrize("chunks", [(10, 60), (120, 1)])
def test_missing_genotypes_are_coded_as_in_memory(tmp_path: Path, rng: Any, chunks: Any) -> None:
    table = counts(rng).astype(np.int8)
    table[5, 5] = -9
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", table, chunks=chunks), memory=TINY)
    certificate = certpca.certify(reader, 5, missing="mean", target_gap=0.5)
    certpca.verify(certificate, table)
    table[6, 6] = -1  # then -9 is a number like others
    other = certpca.read_h5ad(h5ad(tmp_path / "b.h5ad", table, chunks=chunks), memory=TINY)
    assert other.missing_code() is None
    assert certpca.solve(other, 5).objective == pytest.approx(certpca.solve(table, 5).objective, rel=1e-9)


@pytest.mark.parametrize("form", ["csr", "csc", "rows"])
@pytest.mark.parametrize("memory", [TINY, 1.0])
def test_infinite_values_are_refused(tmp_path: Path, rng: Any, form: str, memory: float) -> None:
    table = counts(rng)
    table[9, 9] = np.inf
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", FORMS[form][0](table)), memory=memory)
    with pytest.raises(InvalidDataError, match=r"column 9 \('g9'\) holds infinite values"):
        certpca.solve(reader, 5)


@pytest.mark.parametrize("form", ["csr", "rows"])
def test_constant_columns_have_no_variance(tmp_path: Path, rng: Any, form: str) -> None:
    table = counts(rng)
    table[:, 3] = 0.1  # sums of it round
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", FORMS[form][0](table)), memory=TINY)
    assert certpca.from_data(reader).diagonal()[3] == 0.0


# --- passes, memory and copies ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "walks"), [("csr", 1), ("csc", 2), ("rows", 1), ("rows in chunks", 1), ("columns in chunks", 2)]
)
@pytest.mark.parametrize("width", [1, 16])
def test_passes_of_checking_and_of_a_product(tmp_path: Path, rng: Any, form: str, walks: int, width: int) -> None:
    make, storage = FORMS[form]
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", make(counts(rng)), **storage), memory=TINY)
    assert reader.passes == 0
    operator = certpca.from_data(reader)
    assert reader.passes == pytest.approx(1)
    operator.matmat(rng.standard_normal((operator.size, width)))
    assert reader.passes == pytest.approx(1 + walks)


@pytest.mark.parametrize(
    ("form", "kind"), [("csr", SparseCovariance), ("csc", SparseCovariance), ("rows", DenseCovariance)]
)
def test_what_fits_is_loaded_once(tmp_path: Path, rng: Any, form: str, kind: type) -> None:
    reader: Any = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", FORMS[form][0](counts(rng))))
    assert isinstance(certpca.from_data(reader), kind)
    solution = certpca.solve(reader, 5, certify=True)
    assert solution.certificate is not None
    certpca.verify(solution.certificate, reader)
    assert reader.passes == 1
    assert not reader.is_copied
    assert certpca.choose_sparsity(reader, [2, 4], method="cross-validation").sparsity in (2, 4)


@pytest.mark.parametrize("form", ["csr", "rows in chunks", "squares"])
def test_files_by_rows_are_copied_once_for_many_columns(
    tmp_path: Path, rng: Any, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    make, storage = FORMS[form]
    matrix = make(counts(rng))
    reader: Any = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", matrix, **storage), memory=TINY)
    table = matrix.toarray() if sp.issparse(matrix) else matrix

    def dense(columns: Any) -> Any:
        block = reader[:, columns]
        return block.toarray() if sp.issparse(block) else block

    np.testing.assert_array_equal(dense(slice(4, 9)), table[:, 4:9])
    np.testing.assert_array_equal(dense([50, 3, 4, -1]), table[:, [50, 3, 4, -1]])
    assert not reader.is_copied
    for start in range(0, 60, 5):
        np.testing.assert_array_equal(dense(slice(start, start + 5)), table[:, start : start + 5])
    assert reader.is_copied
    before = reader.passes
    np.testing.assert_array_equal(dense([50, 3, 4, 3]), table[:, [50, 3, 4, 3]])
    np.testing.assert_array_equal(dense(slice(None, None, 7)), table[:, ::7])
    assert reader.passes - before == pytest.approx(13 / 60)
    operator, expected, panel = certpca.from_data(reader), certpca.from_data(matrix), rng.standard_normal((60, 3))
    np.testing.assert_allclose(operator.matmat(panel), expected.matmat(panel), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(operator.columns(np.arange(4)), expected.columns(np.arange(4)), rtol=1e-4, atol=1e-4)
    assert list(scratch.iterdir()) == []  # the copy has no name, so nothing can be left behind


def test_columns_that_lie_together_are_not_copied(tmp_path: Path, rng: Any) -> None:
    table = counts(rng)
    files: list[tuple[str, Any, dict[str, Any]]] = [("a", sp.csc_array(table), {}), ("b", table, {"chunks": (20, 1)})]
    for name, matrix, storage in files:
        reader: Any = certpca.read_h5ad(h5ad(tmp_path / f"{name}.h5ad", matrix, **storage), memory=TINY)
        solution = certpca.solve(reader, 5, certify=True)
        assert solution.certificate is not None
        certpca.verify(solution.certificate, reader)
        assert not reader.is_copied


def test_no_room_for_the_copy(tmp_path: Path, rng: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", sp.csr_array(counts(rng))), memory=TINY)
    with pytest.raises(DataFileError, match=r"GiB in .*no room \(No space left on device\); set TMPDIR"):
        certpca.certify(reader, 5)


@pytest.mark.parametrize("form", ["csr", "csc", "rows in chunks", "columns in chunks"])
def test_blocks_keep_to_the_budget(tmp_path: Path, form: str) -> None:
    rows, size, budget = 6000, 300, 2 << 20
    table = np.random.default_rng(0).poisson(0.3, (rows, size)).astype(np.float64)  # 14 MB, the sparse entries 6 MB
    make, storage = FORMS[form]
    if storage:
        storage = {**storage, "chunks": (100, size) if form.startswith("rows") else (rows, 2)}
    file = h5ad(tmp_path / "a.h5ad", make(table), **storage)
    del table
    reader = certpca.read_h5ad(file, memory=budget / 2**30)
    reader.moments(center=True)  # what is loaded at the first call is not counted
    panel = np.ones((size, 1))
    tracemalloc.start()
    try:
        reader.moments(center=True)
        reader.normal_product(panel, np.zeros(1), np.zeros(size))
        reader.times(panel, None)
        for start in range(0, size, 10):
            reader[:, start : start + 10]
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    products = 8 * (rows + 40 * size)
    assert peak < budget + products
    assert held < 1 << 20


# --- entries in odd order -----------------------------------------------------------------------


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("memory", [TINY, 1.0])
def test_entries_out_of_order_and_entries_twice(tmp_path: Path, form: Any, memory: float) -> None:
    starts, places = np.array([0, 3, 4, 7]), np.array([2, 0, 2, 1, 2, 1, 0])
    matrix = form((np.arange(1.0, 8.0), places, starts), shape=(3, 3))
    reader = certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", matrix), memory=memory)
    np.testing.assert_allclose(certpca.from_data(reader).submatrix(np.arange(3)), np.cov(matrix.toarray().T), 1e-14)
    np.testing.assert_array_equal(reader[:, :].toarray(), matrix.toarray())


# --- what is refused ----------------------------------------------------------------------------


def damaged(tmp_path: Path, rng: Any, **parts: Any) -> Path:
    """Write a CSR file with some of its parts replaced."""
    file = h5ad(tmp_path / "bad.h5ad", sp.csr_array(counts(rng)))
    with h5py.File(file, "a") as root:
        for name, values in parts.items():
            del root["X"][name]
            if values is not None:
                root["X"][name] = values
    return file


DAMAGE: dict[str, tuple[Any, str]] = {
    "indptr too short": ({"indptr": np.arange(5)}, "indptr must have 121 entries for 120 rows, got 5"),
    "indptr falls": (
        {"indptr": np.r_[0, 5, 3, np.zeros(118, int)]},
        "indptr must rise from 0 to the number of entries",
    ),
    "indptr ends early": ({"indptr": np.zeros(121, int)}, "indptr must rise from 0"),
    "indptr of fractions": ({"indptr": np.zeros(121)}, "must be whole numbers"),
    "fewer indices than entries": ({"indices": np.arange(7)}, "entries and 7 indices"),
    "no indices": ({"indices": None}, "it has no indices"),
    "data with two axes": ({"data": np.zeros((3, 2))}, r"must be a list of numbers, its shape is \(3, 2\)"),
    "data of text": ({"data": np.array([b"a", b"b"])}, "must be real numbers"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_sparse_files(tmp_path: Path, rng: Any, kind: str) -> None:
    parts, message = DAMAGE[kind]
    with pytest.raises(DataFileError, match=rf"bad\.h5ad', X.*{message}"):
        certpca.read_h5ad(damaged(tmp_path, rng, **parts))


@pytest.mark.parametrize("index", [60, -1])
@pytest.mark.parametrize("memory", [TINY, 1.0])
def test_indices_outside_the_table(tmp_path: Path, rng: Any, index: int, memory: float) -> None:
    indices = sp.csr_array(counts(rng)).indices.copy()
    file = damaged(tmp_path, np.random.default_rng(0))
    with h5py.File(file, "a") as root:
        indices = root["X"]["indices"][:]
        indices[-1] = index
        root["X"]["indices"][:] = indices
    with pytest.raises(DataFileError, match="indices outside its 60 columns"):
        certpca.solve(certpca.read_h5ad(file, memory=memory), 5)


@pytest.mark.parametrize("attribute", ["shape", "encoding-type"])
def test_attributes_that_are_gone(tmp_path: Path, rng: Any, attribute: str) -> None:
    file = damaged(tmp_path, rng)
    with h5py.File(file, "a") as root:
        del root["X"].attrs[attribute]
    message = {"shape": "does not say how many rows", "encoding-type": "neither a table nor a sparse matrix"}[attribute]
    with pytest.raises(DataFileError, match=message):
        certpca.read_h5ad(file)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="there is no file"):
        certpca.read_h5ad(tmp_path / "nowhere.h5ad")
    with pytest.raises(DataFileError, match="is a folder"):
        certpca.read_h5ad(tmp_path)
    for content in (b"", b"this is no HDF5 file, whatever its name says"):
        (tmp_path / "a.h5ad").write_bytes(content)
        with pytest.raises(DataFileError, match="is not an HDF5 file, or only a part of one"):
            certpca.read_h5ad(tmp_path / "a.h5ad")


def test_a_file_that_is_cut_off(tmp_path: Path, rng: Any) -> None:
    file = h5ad(tmp_path / "a.h5ad", counts(rng))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataFileError, match=r"is not an HDF5 file, or only a part of one.*truncated"):
        certpca.read_h5ad(file)


@pytest.mark.parametrize("memory", [TINY, 1.0])
def test_a_chunk_that_cannot_be_decompressed(tmp_path: Path, rng: Any, memory: float) -> None:
    file = h5ad(tmp_path / "a.h5ad", counts(rng), chunks=(40, 60), compression="gzip")
    with h5py.File(file) as root:
        place = root["X"].id.get_chunk_info(1).byte_offset
    content = bytearray(file.read_bytes())
    content[place : place + 50] = b"x" * 50
    file.write_bytes(content)
    with pytest.raises(DataFileError, match=r"a\.h5ad', X cannot be read, the file is damaged"):
        certpca.solve(certpca.read_h5ad(file, memory=memory), 5)


def test_tables_that_are_none(tmp_path: Path, rng: Any) -> None:
    with h5py.File(tmp_path / "a.h5ad", "w") as root:
        root["layers/counts"] = counts(rng)
    with pytest.raises(DataFileError, match=r"has no X; it has layers/counts; say which one with layer= \(--array\)"):
        certpca.read_h5ad(tmp_path / "a.h5ad")
    assert certpca.read_h5ad(tmp_path / "a.h5ad", layer="counts").names is None
    with h5py.File(tmp_path / "b.h5ad", "w") as root:
        root["something"] = 3
    with pytest.raises(DataFileError, match="has no X; it has no tables at all"):
        certpca.read_h5ad(tmp_path / "b.h5ad")
    for name, values, message in (
        ("c", np.zeros(5), "a table with rows and columns"),
        ("d", np.zeros((0, 3)), "a table with rows and columns"),
        ("e", np.array([["a", "b"]], dtype=object), "must be real numbers"),
        ("f", np.zeros((2, 2), dtype=complex), "must be real numbers"),
    ):
        with h5py.File(tmp_path / f"{name}.h5ad", "w") as root:
            root["X"] = values
        with pytest.raises(DataFileError, match=rf"{name}\.h5ad', X: .*{message}"):
            certpca.read_h5ad(tmp_path / f"{name}.h5ad")


def test_an_empty_sparse_table(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="must not be empty, got 0 rows and 4 columns"):
        certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", sp.csr_array((0, 4))))
    with pytest.raises(InvalidDataError, match="every column is constant"):
        certpca.solve(certpca.read_h5ad(h5ad(tmp_path / "b.h5ad", sp.csr_array((3, 4)))), 2)


def test_names_that_do_not_fit(tmp_path: Path, rng: Any) -> None:
    file = h5ad(tmp_path / "a.h5ad", counts(rng))
    with h5py.File(file, "a") as root:
        del root["var"]
        put_frame(root, "var", ["a", "b"])
    with pytest.raises(DataFileError, match="var names 2 columns, but the table has 60"):
        certpca.read_h5ad(file)


def test_without_h5py(tmp_path: Path, rng: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = h5ad(tmp_path / "a.h5ad", counts(rng))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match=r"certpca\[h5ad\]"):
        certpca.load_table(file)


@pytest.mark.parametrize("memory", [0.0, -1.0, float("nan")])
def test_memory_must_be_positive(tmp_path: Path, rng: Any, memory: float) -> None:
    with pytest.raises(InvalidProblemError, match="memory must be a positive number of GiB"):
        certpca.read_h5ad(h5ad(tmp_path / "a.h5ad", counts(rng)), memory=memory)


# --- the command --------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["0.00001", "1"])
def test_the_command(tmp_path: Path, rng: Any, capsys: Any, memory: str) -> None:
    table = counts(rng)
    file = str(h5ad(tmp_path / "a.h5ad", sp.csr_array(table), {"log": np.log1p(table)}))
    output = str(tmp_path / "certificate.json")
    assert main(["solve", file, "-k", "4", "--memory", memory, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"][0].startswith("g")
    chosen = ["--array", "log", "--memory", memory]
    assert main(["certify", file, "-k", "4", "--target-gap", "0.5", "--output", output, *chosen]) == 0
    assert main(["verify", output, file, *chosen]) == 0
    assert main(["verify", output, file, "--memory", memory]) == 0  # the certificate knows which table it is about
    assert main(["verify", output, file, "--array", "X", "--memory", memory]) == 1
    assert main(["path", file, "--sparsities", "2,4", *chosen]) == 0
    capsys.readouterr()
    assert main(["solve", file, "-k", "4", "--array", "none"]) == 2
    assert "has no none; it has X, layers/log" in capsys.readouterr().err


# --- AnnData objects ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_objects_in_memory(rng: Any, make: Any) -> None:
    table = counts(rng)
    annotated = SimpleNamespace(X=make(table), var_names=[f"g{index}" for index in range(60)], isbacked=False)
    solution, expected = certpca.solve(annotated, 5, certify=True), certpca.solve(make(table), 5, certify=True)
    assert solution.objective == expected.objective
    assert solution.names == tuple(f"g{index}" for index in expected.support)
    assert solution.certificate is not None
    certpca.verify(solution.certificate, annotated)


def test_objects_without_numbers_in_memory() -> None:
    names = ["a", "b"]
    with pytest.raises(InvalidDataError, match=r"backed by a file; pass certpca\.read_h5ad\('x\.h5ad'\)"):
        certpca.solve(SimpleNamespace(X=object(), var_names=names, isbacked=True, filename=Path("x.h5ad")), 1)
    with pytest.raises(InvalidDataError, match="has no X; pass a layer"):
        certpca.solve(SimpleNamespace(X=None, var_names=names), 1)


@pytest.mark.filterwarnings("ignore")  # of that package about itself
@pytest.mark.parametrize("form", ["csr", "csc", "rows"])
def test_files_of_the_anndata_package(tmp_path: Path, rng: Any, form: str) -> None:
    anndata = pytest.importorskip("anndata", reason="compares with files that the anndata package writes")
    matrix = FORMS[form][0](counts(rng))
    anndata.AnnData(matrix).write_h5ad(tmp_path / "a.h5ad", compression="gzip")
    solution = certpca.solve(certpca.read_h5ad(tmp_path / "a.h5ad", memory=TINY), 5)
    assert solution.objective == pytest.approx(certpca.solve(matrix, 5).objective, rel=1e-9)


def test_many_cells_are_walked_over_once(tmp_path: Path, rng: Any) -> None:
    cells = sp.random_array((900, 25), density=0.2, rng=rng, format="csr")
    h5ad(tmp_path / "cells.h5ad", cells)
    reader = certpca.read_h5ad(tmp_path / "cells.h5ad", memory=1e-4)
    operator = certpca.from_data(reader)
    before = reader.passes
    solution = certpca.solve(operator, 4)
    assert reader.passes - before == pytest.approx(1)
    assert solution.objective == pytest.approx(certpca.solve(cells, 4).objective, rel=1e-12)


def test_labels_of_a_report_come_from_the_file(tmp_path: Path, rng: Any) -> None:
    from certpca.frontends.report import read_labels

    file = h5ad(tmp_path / "cells.h5ad", counts(rng))
    held = certpca.read_h5ad(file).obs
    name = next(iter(held))
    assert read_labels(name, file, 120) == tuple(str(value) for value in held[name])
    with pytest.raises(DataFileError, match=f"no column 'nobody'; it has .*{name}"):
        read_labels("nobody", file, 120)
