"""Sparse matrices whose arrays do not fit together: an error at the door and, by itself, a refusal by the checker."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import certpca
from certpca.checker import Examiner, check
from certpca.formats.tables import load_table
from certpca.readers.sparse_format import by_columns, sound_sparse
from certpca.results.certificate import Source
from certpca.results.errors import CertificateError
from certpca.runtime.errors import CertpcaError, DataFileError, InvalidDataError

ROWS, SIZE = 30, 12


def counts() -> np.ndarray:
    return np.random.default_rng(1).poisson(0.4, (ROWS, SIZE)).astype(np.float64)


def _set(name: str, place: int, value: int) -> Any:
    def damage(matrix: Any) -> None:
        getattr(matrix, name)[place] = value

    return damage


def _replace(name: str, change: Any) -> Any:
    def damage(matrix: Any) -> None:
        setattr(matrix, name, change(getattr(matrix, name)))

    return damage


def _shape(rows: int, size: int) -> Any:
    def damage(matrix: Any) -> None:
        matrix._shape = (rows, size)

    return damage


COMPRESSED = {
    "index-out-of-range": _set("indices", 3, 10**6),
    "index-just-outside": _set("indices", 3, 10**3),
    "index-negative": _set("indices", 3, -1),
    "index-very-negative": _set("indices", 3, -(10**6)),
    "indptr-beyond-the-entries": _set("indptr", -1, 10**6),
    "indptr-falls": _set("indptr", 2, 10**6),
    "indptr-negative": _set("indptr", 1, -5),
    "indptr-does-not-begin-at-zero": _set("indptr", 0, 4),
    "indptr-short": _replace("indptr", lambda part: part[:-2]),
    "indptr-long": _replace("indptr", lambda part: np.append(part, part[-1])),
    "indptr-empty": _replace("indptr", lambda part: part[:0]),
    "indptr-floats": _replace("indptr", lambda part: part.astype(float)),
    "indptr-table": _replace("indptr", lambda part: part[:, None]),
    "indices-short": _replace("indices", lambda part: part[:-3]),
    "indices-floats": _replace("indices", lambda part: part.astype(float)),
    "data-short": _replace("data", lambda part: part[:-3]),
    "data-table": _replace("data", lambda part: part[:, None]),
    "data-none": _replace("data", lambda part: None),
    "data-text": _replace("data", lambda part: part.astype(str)),
    "shape-wider": _shape(ROWS + 5, SIZE + 5),
    "shape-huge": _shape(2**50, 2**50),
    "shape-negative": _shape(-3, SIZE),
}
COORDINATES = {
    "row-out-of-range": lambda matrix: matrix.row.__setitem__(2, 10**6),
    "row-negative": lambda matrix: matrix.row.__setitem__(2, -2),
    "column-out-of-range": lambda matrix: matrix.col.__setitem__(2, SIZE),
    "column-negative": lambda matrix: matrix.col.__setitem__(2, -SIZE - 1),
    "rows-short": lambda matrix: setattr(matrix, "coords", (matrix.row[:-1], matrix.col)),
    "columns-floats": lambda matrix: setattr(matrix, "coords", (matrix.row, matrix.col.astype(float))),
    "data-short": lambda matrix: setattr(matrix, "data", matrix.data[:-1]),
    "shape-narrow": _shape(ROWS, 3),
    "shape-huge": _shape(ROWS, 2**50),
}
BLOCKS = {
    "index-out-of-range": _set("indices", 1, 10**6),
    "index-negative": _set("indices", 1, -1),
    "indptr-beyond-the-entries": _set("indptr", -1, 10**6),
    "indptr-falls": _set("indptr", 2, 10**6),
    "shape-not-of-blocks": _shape(ROWS + 1, SIZE),
}
DIAGONALS = {
    "offsets-short": _replace("offsets", lambda part: part[:-1]),
    "offsets-floats": _replace("offsets", lambda part: part.astype(float)),
    "data-flat": _replace("data", np.ravel),
}


def _lists_out_of_range(matrix: Any) -> None:
    matrix.rows[0] = [10**6]
    matrix.data[0] = [1.0]


LISTS = {
    "index-out-of-range": _lists_out_of_range,
    "more-entries-than-indices": lambda matrix: matrix.data[0].extend([1.0] * 1000),
    "rows-short": _replace("rows", lambda part: part[:-1]),
}
CASES = [
    *((form, name, damage) for form in ("csr", "csc") for name, damage in COMPRESSED.items()),
    *(("coo", name, damage) for name, damage in COORDINATES.items()),
    *(("bsr", name, damage) for name, damage in BLOCKS.items()),
    *(("dia", name, damage) for name, damage in DIAGONALS.items()),
    *(("lil", name, damage) for name, damage in LISTS.items()),
]
NAMES = [f"{form}-{name}" for form, name, _ in CASES]


def damaged(form: str, damage: Any, *, old: bool = False, values: Any = None) -> Any:
    """Make a sparse matrix and then change its arrays, which SciPy does not look at again."""
    make = getattr(sp, f"{form}_{'matrix' if old else 'array'}")
    matrix = make(counts() if values is None else values)
    damage(matrix)
    return matrix


@pytest.mark.parametrize("old", [False, True], ids=["array", "matrix"])
@pytest.mark.parametrize(("form", "name", "damage"), CASES, ids=NAMES)
def test_data_are_refused_at_the_door(form: str, name: str, damage: Any, old: bool) -> None:
    bad = damaged(form, damage, old=old)
    for verb in (
        lambda: certpca.from_data(bad),
        lambda: certpca.solve(bad, 3),
        lambda: certpca.certify(bad, 3, scale=True),
        lambda: certpca.path(bad, [2, 3]),
        lambda: certpca.choose_sparsity(bad, [2, 3], method="stability"),
        lambda: certpca.from_kernel(bad, "linear"),
        lambda: certpca.SparsePCA(sparsity=3).fit(bad),
        lambda: certpca.SparseKernelPCA(sparsity=3).fit(bad),
    ):
        with pytest.raises(InvalidDataError, match=r"sparse matrix|numbers"):
            verb()


@pytest.mark.parametrize(("form", "name", "damage"), CASES, ids=NAMES)
def test_matrices_are_refused_at_the_door(form: str, name: str, damage: Any) -> None:
    bad = damaged(form, damage, values=np.cov(counts().T) if form != "bsr" else np.cov(counts(), rowvar=True))
    with pytest.raises(InvalidDataError):
        certpca.from_matrix(bad)


@pytest.mark.parametrize("kind", ["data", "matrix"])
@pytest.mark.parametrize(("form", "name", "damage"), CASES, ids=NAMES)
def test_the_checker_refuses_by_itself(form: str, name: str, damage: Any, kind: str) -> None:
    """The checker shares no code with what looks at data first, so it must see to it that nothing else is read."""
    whole = counts()[: SIZE if kind == "matrix" else None]
    if kind == "matrix":
        whole = whole.T @ whole
    sound = getattr(sp, f"{form}_array")(whole)
    certificate = certpca.certify(sound, 3, covariance=True) if kind == "matrix" else certpca.certify(sound, 3)
    source = Source(values=sound, **certificate.normalisation)
    assert check(certificate, source).upper_bound <= certificate.upper_bound
    damage(sound)
    with pytest.raises(CertificateError):
        check(certificate, source)
    with pytest.raises(CertificateError):
        _ = Examiner(source).fingerprint
    with pytest.raises(CertpcaError):
        certpca.verify(certificate, sound)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_scores_of_damaged_samples_are_refused(form: str) -> None:
    fitted = certpca.SparsePCA(sparsity=3).fit(counts())
    bad = damaged(form, COORDINATES["row-out-of-range"] if form == "coo" else COMPRESSED["index-negative"])
    with pytest.raises(InvalidDataError):
        fitted.transform(bad)
    with pytest.raises(InvalidDataError):
        fitted.score(bad)


# SciPy turns whole numbers that are stored as floats into indices when it reads them.
NOT_IN_FILES = ("data-none", "indptr-floats", "indices-floats", "columns-floats")

# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in COMPRESSED if name not in NOT_IN_FILES])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_npz_archives(tmp_path: Path, form: str, name: str) -> None:
    bad = damaged(form, COMPRESSED[name])
    parts = {"data": bad.data, "indices": bad.indices, "indptr": bad.indptr}
    np.savez(tmp_path / "bad.npz", format=np.array(form.encode()), shape=np.array(bad._shape), **parts)
    with pytest.raises((DataFileError, InvalidDataError), match=r"bad\.npz|numbers"):
        certpca.solve(load_table(tmp_path / "bad.npz").data, 3)


@pytest.mark.parametrize("name", [name for name in COORDINATES if name not in NOT_IN_FILES])
def test_npz_archives_of_coordinates(tmp_path: Path, name: str) -> None:
    bad = damaged("coo", COORDINATES[name])
    parts = {"data": bad.data, "row": bad.row, "col": bad.col}
    np.savez(tmp_path / "bad.npz", format=np.array(b"coo"), shape=np.array(bad._shape), **parts)
    with pytest.raises(DataFileError, match=r"bad\.npz"):
        certpca.solve(load_table(tmp_path / "bad.npz").data, 3)


HEADER = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "3 3 2\n1 1 2.0\n4 1 1.0\n",
        HEADER + "3 3 2\n1 1 2.0\n1 0 1.0\n",
        HEADER + "3 3 2\n1 1 2.0\n-1 1 1.0\n",
        HEADER + "3 3 5\n1 1 2.0\n",
        HEADER + "-3 3 1\n1 1 2.0\n",
        HEADER + "3 1125899906842624 1\n1 1 2.0\n",
        HEADER + "1125899906842624 3 1\n1 1 2.0\n",
        HEADER + "99999999999999999999999 3 1\n1 1 2.0\n",
        HEADER + "3 3 1125899906842624\n1 1 2.0\n",
        "%%MatrixMarket matrix array real general\n33554432 33554432\n1.0\n",
        HEADER + "3 3 1\n1 1 text\n",
    ],
)
def test_matrix_market_files(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.mtx").write_text(text)
    with pytest.raises(DataFileError, match=r"bad\.mtx"):
        certpca.solve(load_table(tmp_path / "bad.mtx").data, 1)


@pytest.mark.parametrize("shape", [(2**50, SIZE), (ROWS, 2**50)])
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_annotated_files_that_claim_a_huge_shape(tmp_path: Path, kind: str, form: str, shape: tuple[int, int]) -> None:
    library = pytest.importorskip("h5py" if kind == "h5ad" else "zarr")
    file = tmp_path / f"bad.{kind}"
    root = library.File(file, "w") if kind == "h5ad" else library.open_group(str(file), mode="w")
    matrix = getattr(sp, f"{form}_array")(counts())
    group = root.create_group("X")
    group.attrs["encoding-type"] = f"{form}_matrix"
    group.attrs["shape"] = list(shape)
    for part in ("data", "indices", "indptr"):
        values = getattr(matrix, part)
        group.create_dataset(part, data=values) if kind == "h5ad" else group.create_array(part, data=values)
    root.create_group("var")
    if kind == "h5ad":
        root.close()
    with pytest.raises(DataFileError, match="bad"):
        certpca.solve(load_table(file).data, 3)


# --- what is sound --------------------------------------------------------------------------------------------------


def repeated(form: str, kind: Any = np.float64) -> Any:
    """Make a matrix with entries out of order and stored up to five times, whose sums depend on the order of adding."""
    rng = np.random.default_rng(3)
    row, column = rng.integers(0, ROWS, 600), rng.integers(0, SIZE, 600)
    data = (rng.standard_normal(600) * 10.0 ** rng.integers(-8, 8, 600)).astype(kind)
    if np.dtype(kind).kind == "i":
        data = rng.integers(-100, 100, 600).astype(kind)  # sums leave the range of bytes
    if form == "coo":
        return sp.coo_array((data, (row, column)), shape=(ROWS, SIZE))
    along, across, size = (column, row, SIZE) if form == "csc" else (row, column, ROWS)
    order = np.argsort(along, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(along, minlength=size))])
    make = sp.csc_array if form == "csc" else sp.csr_array
    return make((data[order], across[order], starts), shape=(ROWS, SIZE))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int8])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_repeated_entries_are_one_matrix_for_all(form: str, kind: Any) -> None:
    matrix = repeated(form, kind)
    before = [matrix.data.copy(), matrix.nnz]
    operator = certpca.from_data(matrix)
    dense = np.zeros((ROWS, SIZE))
    entries = matrix.tocoo()
    np.add.at(dense, (entries.row, entries.col), entries.data.astype(np.float64))
    np.testing.assert_array_equal(operator.source().values.toarray(), dense)
    np.testing.assert_allclose(operator.submatrix(np.arange(SIZE)), np.cov(dense.T), rtol=1e-9, atol=1e-9 * dense.max())
    certificate = certpca.certify(matrix, 4)
    assert certificate.fingerprint == certpca.certify(dense, 4).fingerprint
    for held in (matrix, dense, operator):
        assert certpca.verify(certificate, held).upper_bound <= certificate.upper_bound
    np.testing.assert_array_equal(matrix.data, before[0])  # the caller's own
    assert matrix.nnz == before[1]


def test_flags_that_say_repeated_entries_are_not_there() -> None:
    matrix = repeated("csc")
    plain = certpca.from_data(repeated("csc")).diagonal()
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    np.testing.assert_array_equal(certpca.from_data(matrix).diagonal(), plain)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_every_sound_form_is_the_same_matrix(form: str) -> None:
    whole = counts()
    matrix = getattr(sp, f"{form}_array")(whole)
    np.testing.assert_array_equal(sound_sparse(matrix).toarray(), whole)
    np.testing.assert_array_equal(by_columns(sound_sparse(matrix)).toarray(), whole)
    certificate = certpca.certify(whole, 4)
    assert certpca.verify(certificate, matrix).upper_bound <= certificate.upper_bound


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_room_behind_the_entries_is_not_read(form: str) -> None:
    matrix = getattr(sp, f"{form}_array")(counts())
    used = matrix.nnz
    matrix.indices = np.append(matrix.indices, [10**6, -5]).astype(matrix.indices.dtype)
    matrix.data = np.append(matrix.data, [np.nan, np.inf])
    certificate = certpca.certify(matrix, 4)
    assert certificate.fingerprint == certpca.certify(counts(), 4).fingerprint
    assert certpca.verify(certificate, matrix).upper_bound <= certificate.upper_bound
    assert matrix.data.size == used + 2


def test_wide_and_unsigned_indices() -> None:
    matrix = sp.csr_array(counts())
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.uint32)
    np.testing.assert_array_equal(
        certpca.from_data(matrix).diagonal(), certpca.from_data(sp.csr_array(counts())).diagonal()
    )


def test_not_a_number_among_entries_is_missing() -> None:
    matrix = sp.csr_array(counts())
    matrix.data[2] = np.nan
    with pytest.raises(InvalidDataError, match="missing"):
        certpca.solve(matrix, 3)
    certificate = certpca.certify(matrix, 3, missing="mean")
    assert certpca.verify(certificate, matrix).upper_bound <= certificate.upper_bound
    matrix.data[2] = np.inf
    with pytest.raises(InvalidDataError, match="infinite"):
        certpca.solve(matrix, 3)


def test_complex_entries_are_refused_by_the_checker() -> None:
    certificate = certpca.certify(sp.csr_array(counts()), 3)
    for values in (sp.csr_array(counts() + 1j), counts() + 1j):
        with pytest.raises(CertificateError):
            check(replace(certificate), Source(values=values, **certificate.normalisation))


def test_files_of_scipy_are_read(tmp_path: Path) -> None:
    for form in ("csr", "csc", "coo", "bsr", "dia"):
        sp.save_npz(tmp_path / f"{form}.npz", getattr(sp, f"{form}_array")(counts()))
        np.testing.assert_array_equal(load_table(tmp_path / f"{form}.npz").data.toarray(), counts())
    scipy.io.mmwrite(tmp_path / "counts.mtx", sp.coo_array(counts()))
    np.testing.assert_array_equal(load_table(tmp_path / "counts.mtx").data.toarray(), counts())
