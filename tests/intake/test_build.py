"""Operators stand for the matrices their docstrings promise, whatever the data come as."""

import re
from pathlib import Path
from typing import Any

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.operators import Factor, HostView, Operator, on_host
from certpca.operators.explicit import factor_of_matrix
from certpca.operators.kernel import KernelOperator, named_kernel
from certpca.readers.moments import row_blocks
from certpca.runtime.arrays import to_vector
from certpca.runtime.errors import InvalidProblemError

ROWS, SIZE = 30, 6
EVERYTHING = np.arange(SIZE)


def _frame(values: np.ndarray) -> Any:
    return pd.DataFrame(values, columns=[f"c{i}" for i in range(values.shape[1])])


def _memory_map(values: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "data.npy", values)
    loaded: np.ndarray = np.load(folder / "data.npy", mmap_mode="r")
    return loaded


# From small non-negative integers, which every number type can hold, to what a user may have.
KINDS: dict[str, Any] = {
    "float64": lambda values: values.astype(np.float64),
    "float32": lambda values: values.astype(np.float32),
    "int8": lambda values: values.astype(np.int8),
    "uint8": lambda values: values.astype(np.uint8),
    "int32": lambda values: values.astype(np.int32),
    "uint64": lambda values: values.astype(np.uint64),
    "fortran": lambda values: np.asfortranarray(values, dtype=np.float64),
    "strided": lambda values: np.repeat(values.astype(np.float64), 2, axis=1)[:, ::2],
    "lists": lambda values: values.tolist(),
    "csr_array": lambda values: sp.csr_array(values.astype(np.float64)),
    "csc_array": lambda values: sp.csc_array(values.astype(np.float64)),
    "csr_matrix": lambda values: sp.csr_matrix(values.astype(np.float64)),
    "csc_matrix": lambda values: sp.csc_matrix(values.astype(np.float64)),
    "csr_float32": lambda values: sp.csr_array(values.astype(np.float32)),
    "csr_int8": lambda values: sp.csr_array(values.astype(np.int8)),
    "coo_array": lambda values: sp.coo_array(values.astype(np.float64)),
    "pandas": lambda values: _frame(values.astype(np.float64)),
    "pandas_nullable": lambda values: _frame(values).astype("Int64"),
    "polars": lambda values: pl.DataFrame(values, schema=[f"c{i}" for i in range(values.shape[1])]),
    "strict_float64": lambda values: array_api_strict.asarray(values.astype(np.float64)),
    "strict_float32": lambda values: array_api_strict.asarray(values.astype(np.float32)),
    "strict_int8": lambda values: array_api_strict.asarray(values.astype(np.int8)),
}

MODES: dict[str, tuple[dict[str, Any], Any]] = {
    "covariance": ({}, lambda x: np.cov(x, rowvar=False)),
    "correlation": ({"scale": True}, lambda x: np.corrcoef(x, rowvar=False)),
    "second moment": ({"center": False}, lambda x: x.T @ x / len(x)),
    "cosine": ({"center": False, "scale": True}, lambda x: _gram(x / np.linalg.norm(x, axis=0))),
    "ddof 0": ({"ddof": 0}, lambda x: np.cov(x, rowvar=False, ddof=0)),
    "ddof 3 uncentred": ({"center": False, "ddof": 3}, lambda x: x.T @ x / (len(x) - 3)),
}


def _gram(x: np.ndarray) -> np.ndarray:
    return np.asarray(x.T @ x)


@pytest.fixture
def counts(rng: np.random.Generator) -> np.ndarray:
    """Small integers with some structure, many of them zero."""
    return rng.poisson(1.0, size=(ROWS, SIZE)) + rng.integers(0, 3, size=(ROWS, 1))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_gives_the_promised_matrix(counts: np.ndarray, kind: str, mode: str) -> None:
    options, formula = MODES[mode]
    expected = formula(counts.astype(np.float64))
    operator = certpca.from_data(KINDS[kind](counts), **options)
    single = operator.xp.finfo(operator.dtype).bits == 32
    close: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-5} if single else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(operator.submatrix(EVERYTHING), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(to_vector(operator.columns(EVERYTHING)), expected, **close)
    np.testing.assert_allclose(to_vector(operator.matmat(operator.adopt(np.eye(SIZE)))), expected, **close)
    np.testing.assert_allclose(to_vector(operator.diagonal()), np.diag(expected), **close)
    assert operator.trace() == pytest.approx(np.trace(expected), rel=1e-12)
    certpca.verify_operator(operator)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int8])
def test_memory_mapped_file_is_not_read_into_memory(counts: np.ndarray, tmp_path: Path, kind: Any) -> None:
    mapped = _memory_map(counts.astype(kind), tmp_path)
    operator = certpca.from_data(mapped)
    assert np.shares_memory(operator._data, mapped)
    np.testing.assert_allclose(operator.submatrix(EVERYTHING), np.cov(counts, rowvar=False), rtol=1e-12)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.float32, np.float64])
def test_dense_data_are_neither_copied_nor_widened(counts: np.ndarray, kind: Any) -> None:
    data = counts.astype(kind)
    operator = certpca.from_data(data, scale=True)
    assert operator._data.dtype == kind
    assert np.shares_memory(operator._data, data)


def test_restricting_int8_keeps_int8(counts: np.ndarray) -> None:
    part: Any = certpca.from_data(counts.astype(np.int8)).restrict(np.array([1, 4]))
    assert part._data.dtype == np.int8


def test_sparse_data_stay_sparse(counts: np.ndarray) -> None:
    operator = certpca.from_data(sp.csr_array(counts.astype(np.float64)), scale=True)
    assert sp.issparse(operator._data)
    assert operator._data.nnz == np.count_nonzero(counts)


def test_float64_panels_get_float64_accuracy_from_int8(counts: np.ndarray) -> None:
    operator = certpca.from_data(counts.astype(np.int8))
    assert operator.dtype == np.float32
    np.testing.assert_allclose(operator.matmat(np.eye(SIZE)), np.cov(counts, rowvar=False), rtol=1e-13, atol=1e-14)


def test_float32_data_far_from_zero_work_in_float64(rng: np.random.Generator) -> None:
    data = (1e4 + rng.standard_normal((50, 3))).astype(np.float32)
    operator = certpca.from_data(data)
    assert operator.dtype == np.float64
    np.testing.assert_allclose(operator.matmat(np.eye(3)), np.cov(data.astype(float), rowvar=False), rtol=1e-6)


def _pieces(data: Any) -> list[np.ndarray]:
    """Return every array a caller's object is made of."""
    if sp.issparse(data):
        return [data.data, data.indices, data.indptr]
    return [np.asarray(data)]


@pytest.mark.parametrize("kind", ["float64", "float32", "int8", "csr_array", "csc_array", "pandas", "polars"])
@pytest.mark.parametrize("holes", [False, True])
def test_callers_data_are_never_modified(counts: np.ndarray, kind: str, holes: bool) -> None:
    data = KINDS[kind](counts)
    if holes and kind == "int8":
        data[0, 0] = -9
    elif holes and kind in ("float64", "float32"):
        data[0, 0] = np.nan
    before = [piece.copy() for piece in _pieces(data)]
    certpca.solve(data, 2, scale=True, missing="mean")
    for old, new in zip(before, _pieces(data), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("verb", [certpca.from_data, certpca.from_matrix])
def test_sparse_duplicates_are_summed_in_a_copy(verb: Any) -> None:
    given = sp.csc_array(
        (np.array([1.0, 2.0, 0.5, 0.5, 1.0]), np.array([1, 0, 1, 1, 0]), np.array([0, 2, 5])), shape=(2, 2)
    )
    given.data[[0, 4]] = 1.0
    before = [piece.copy() for piece in _pieces(given)]
    dense = given.toarray()
    operator = verb(given) if verb is certpca.from_matrix else verb(given, center=False)
    expected = dense if verb is certpca.from_matrix else dense.T @ dense / 2
    np.testing.assert_allclose(operator.submatrix(np.arange(2)), expected)
    for old, new in zip(before, _pieces(given), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, array_api_strict.asarray])
def test_callers_matrix_is_never_modified(rng: np.random.Generator, form: Any) -> None:
    factor = rng.standard_normal((9, 5))
    matrix = factor.T @ factor
    matrix[0, 1] += 1e-11
    before = matrix.copy()
    certpca.solve(form(matrix), 2, covariance=True)
    np.testing.assert_array_equal(matrix, before)


def test_names_come_from_frames_and_may_be_overruled(counts: np.ndarray) -> None:
    frame = _frame(counts)
    assert certpca.from_data(frame).names == ("c0", "c1", "c2", "c3", "c4", "c5")
    assert certpca.from_data(frame, names=range(6)).names == ("0", "1", "2", "3", "4", "5")
    assert certpca.from_data(counts).names is None
    assert certpca.from_data(frame).names_of(np.array([4, 1])) == ("c4", "c1")
    assert certpca.from_matrix(frame.cov()).names == certpca.from_data(frame).names


def test_description_says_which_matrix(counts: np.ndarray) -> None:
    assert certpca.from_data(counts).description == "covariance matrix (centred, divided by 29) of 30 x 6 data"
    uncentred = certpca.from_data(sp.csr_array(counts), center=False, scale=True)
    assert uncentred.description == "correlation matrix (uncentred, divided by 30) of 30 x 6 sparse data"


def test_standardisation_is_what_was_done(counts: np.ndarray) -> None:
    mean, scale = certpca.from_data(counts, scale=True).standardisation()
    np.testing.assert_allclose(mean, counts.mean(axis=0))
    np.testing.assert_allclose(scale, counts.std(axis=0, ddof=1))


# --- explicit matrices --------------------------------------------------------------------------

MATRIX_KINDS: dict[str, Any] = {
    "float64": np.asarray,
    "float32": lambda matrix: matrix.astype(np.float32),
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "pandas": pd.DataFrame,
    "strict": array_api_strict.asarray,
    "lists": lambda matrix: matrix.tolist(),
}


@pytest.mark.parametrize("kind", MATRIX_KINDS)
def test_matrix_is_taken_as_it_is(counts: np.ndarray, kind: str) -> None:
    expected = np.cov(counts, rowvar=False)
    operator = certpca.from_matrix(MATRIX_KINDS[kind](expected))
    close: dict[str, Any] = {"rtol": 1e-6} if kind == "float32" else {"rtol": 1e-14}
    np.testing.assert_allclose(operator.submatrix(EVERYTHING), expected, **close)
    np.testing.assert_allclose(to_vector(operator.columns(EVERYTHING)), expected, **close)
    certpca.verify_operator(operator)


# --- kernels ------------------------------------------------------------------------------------


def _centred(kernel: np.ndarray) -> np.ndarray:
    centring = np.eye(len(kernel)) - 1 / len(kernel)
    return np.asarray(centring @ kernel @ centring)


def _laplacian(left: Any, right: Any) -> np.ndarray:
    return np.asarray(np.exp(-np.abs(left[:, None, :] - right[None, :, :]).sum(axis=2)))


KERNELS: dict[str, tuple[Any, dict[str, float], Any]] = {
    "linear": ("linear", {}, lambda x: x @ x.T),
    "rbf": ("rbf", {"gamma": 0.3}, lambda x: np.exp(-0.3 * ((x[:, None] - x[None]) ** 2).sum(axis=2))),
    "polynomial": ("polynomial", {"gamma": 0.5, "degree": 2, "coef0": 1.5}, lambda x: (0.5 * x @ x.T + 1.5) ** 2),
    "function": (_laplacian, {}, lambda x: _laplacian(x, x)),
}


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("height", [4, 15])
def test_kernel_matrix(rng: np.random.Generator, kernel: str, center: bool, height: int) -> None:
    samples = rng.standard_normal((15, 3))
    name, parameters, formula = KERNELS[kernel]
    expected = _centred(formula(samples)) if center else formula(samples)
    function = named_kernel(name, parameters) if isinstance(name, str) else name
    operator: Operator = KernelOperator(samples, function, centred=center, block_bytes=8 * 15 * height)
    if height == 15:
        operator = certpca.from_kernel(samples, name, center=center, **parameters)
    everything = np.arange(15)
    assert operator.size == 15
    for found in (operator.matmat(np.eye(15)), operator.columns(everything), operator.submatrix(everything)):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(operator.diagonal(), np.diag(expected), atol=1e-10)
    certpca.verify_operator(operator)


@pytest.mark.parametrize("center", [False, True])
def test_precomputed_kernel(rng: np.random.Generator, center: bool) -> None:
    samples = rng.standard_normal((8, 3))
    kernel = samples @ samples.T
    operator = certpca.from_kernel(kernel, "precomputed", center=center)
    expected = _centred(kernel) if center else kernel
    np.testing.assert_allclose(operator.submatrix(np.arange(8)), expected, atol=1e-12)
    certpca.verify_operator(operator)


def test_sparse_samples_give_the_same_kernel(rng: np.random.Generator) -> None:
    samples = rng.poisson(0.5, size=(10, 4)).astype(float)
    dense, sparse = certpca.from_kernel(samples), certpca.from_kernel(sp.csr_array(samples))
    np.testing.assert_allclose(sparse.columns(np.arange(10)), dense.columns(np.arange(10)), atol=1e-12)


def test_kernel_names_are_those_of_samples(rng: np.random.Generator) -> None:
    assert certpca.from_kernel(rng.standard_normal((3, 2)), names=["x", "y", "z"]).names == ("x", "y", "z")


# --- derived verbs ------------------------------------------------------------------------------


def _operators(counts: np.ndarray) -> dict[str, Operator]:
    floats = counts.astype(np.float64)
    covariance = np.cov(floats, rowvar=False)
    strict = array_api_strict.asarray(floats)
    return {
        "dense data": certpca.from_data(floats),
        "int8 data": certpca.from_data(counts.astype(np.int8)),
        "sparse data": certpca.from_data(sp.csr_array(floats)),
        "strict data": certpca.from_data(strict),
        "matrix": certpca.from_matrix(covariance),
        "sparse matrix": certpca.from_matrix(sp.csc_array(covariance)),
        "strict matrix": certpca.from_matrix(array_api_strict.asarray(covariance)),
        "kernel": certpca.from_kernel(_centred_columns(floats).T / np.sqrt(ROWS - 1), "linear", center=False),
        "host view": on_host(certpca.from_data(strict)),
        "restricted": Operator.restrict(certpca.from_data(np.hstack([floats, floats])), EVERYTHING),
    }


def _centred_columns(values: np.ndarray) -> np.ndarray:
    centred: np.ndarray = values - values.mean(axis=0)
    return centred


OPERATORS = tuple(_operators(np.eye(ROWS, SIZE)))


@pytest.mark.parametrize("kind", OPERATORS)
def test_factor_blocks_reproduce_the_matrix(counts: np.ndarray, kind: str) -> None:
    operator = _operators(counts)[kind]
    factor = operator.factor()
    blocks = list(factor.blocks(4, operator.xp.float64))
    assert [columns for columns, _ in blocks] == [slice(0, 4), slice(4, 6)]
    whole = np.concatenate([to_vector(block) for _, block in blocks], axis=1)
    assert whole.shape == (factor.depth, SIZE)
    np.testing.assert_allclose(whole.T @ whole, np.cov(counts, rowvar=False), atol=1e-10)


@pytest.mark.parametrize("kind", OPERATORS)
def test_submatrix_restriction_and_form_agree(counts: np.ndarray, kind: str) -> None:
    operator = _operators(counts)[kind]
    expected = np.cov(counts, rowvar=False)
    support = np.array([1, 2, 5])
    part = expected[np.ix_(support, support)]
    np.testing.assert_allclose(operator.submatrix(support), part, atol=1e-10)
    loadings = np.array([0.6, -0.48, 0.64])
    assert operator.quadratic_form(support, loadings) == pytest.approx(loadings @ part @ loadings, rel=1e-10)
    restricted = operator.restrict(support)
    assert restricted.size == 3
    np.testing.assert_allclose(restricted.submatrix(np.arange(3)), part, atol=1e-10)
    np.testing.assert_allclose(restricted.restrict(np.array([2])).submatrix(np.arange(1)), part[2:, 2:], atol=1e-10)
    certpca.verify_operator(restricted)


def test_host_view_is_only_put_around_other_libraries(counts: np.ndarray) -> None:
    dense = certpca.from_data(counts)
    assert on_host(dense) is dense
    view = on_host(certpca.from_data(array_api_strict.asarray(counts)))
    assert isinstance(view, HostView)
    assert isinstance(view.columns(EVERYTHING), np.ndarray)


def test_factor_of_a_huge_matrix_is_refused_with_advice() -> None:
    refusal = r"of size 8193 .* allowed up to 8192; give the data themselves"
    with pytest.raises(InvalidProblemError, match=refusal):
        certpca.from_matrix(sp.eye_array(8193, format="csc")).factor()
    with pytest.raises(InvalidProblemError, match=refusal):
        factor_of_matrix(np.broadcast_to(0.0, (8193, 8193)), np, "matrix")  # of one number


def test_walking_in_many_blocks_changes_nothing(rng: np.random.Generator) -> None:
    counts = rng.poisson(1.0, size=(120_000, SIZE)) + rng.integers(0, 3, size=(120_000, 1))
    assert len(list(row_blocks(counts))) > 1
    with_holes = counts.astype(np.int8)
    with_holes[0, 0] = -9
    for data in (counts.astype(np.float32), counts.astype(np.int8), counts.astype(np.int32), with_holes):
        operator = certpca.from_data(data, missing="mean")
        numbers = data.astype(float)
        holes = numbers == -9
        numbers[holes] = numbers[~holes[:, 0], 0].mean()
        np.testing.assert_allclose(operator.matmat(np.eye(SIZE)), np.cov(numbers, rowvar=False), atol=1e-12)


# --- properties ---------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(3, 12),
    size=st.integers(1, 10),
    kind=st.sampled_from([name for name in KINDS if name != "lists"]),
    mode=st.sampled_from(list(MODES)),
)
def test_operators_on_random_data_keep_their_promises(seed: int, rows: int, size: int, kind: str, mode: str) -> None:
    values = np.random.default_rng(seed).poisson(2.0, size=(rows, size))
    values[0], values[1] = 3, 0  # no column is constant
    options = MODES[mode][0]
    if rows > options.get("ddof", 0):
        certpca.verify_operator(certpca.from_data(KINDS[kind](values), **options), rng=seed)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    exponents=st.lists(st.integers(-8, 8), min_size=5, max_size=5),
    shift=st.floats(-100, 100),
)
def test_correlation_does_not_depend_on_units(seed: int, exponents: list[int], shift: float) -> None:
    data = np.random.default_rng(seed).standard_normal((12, 5))
    other = data * 10.0 ** np.array(exponents) + shift * 10.0 ** np.array(exponents)
    everything = np.arange(5)
    expected = certpca.from_data(data, scale=True).submatrix(everything)
    np.testing.assert_allclose(certpca.from_data(other, scale=True).submatrix(everything), expected, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(1e-6, 1e6), center=st.booleans())
def test_covariance_scales_with_the_square_of_the_unit(seed: int, factor: float, center: bool) -> None:
    data = np.random.default_rng(seed).standard_normal((9, 4))
    everything = np.arange(4)
    expected = factor**2 * certpca.from_data(data, center=center).submatrix(everything)
    found = certpca.from_data(factor * data, center=center).submatrix(everything)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * factor**2)


# --- verify_operator ----------------------------------------------------------------------------


class Broken(Operator):
    """A matrix operator in which any verb can be replaced."""

    def __init__(self, matrix: np.ndarray, **verbs: Any) -> None:
        self._matrix, self._verbs = matrix, verbs
        self.size = len(matrix)
        self.xp, self.dtype, self.device = np, np.dtype(np.float64), "cpu"

    def _verb(self, name: str, default: Any) -> Any:
        return self._verbs.get(name, default)

    def adopt(self, panel: Any) -> Any:
        return np.asarray(panel, dtype=np.float64)

    def matmat(self, panel: Any) -> Any:
        return self._verb("matmat", lambda p: self._matrix @ p)(panel)

    def columns(self, indices: Any) -> Any:
        return self._verb("columns", lambda i: self._matrix[:, i])(indices)

    def diagonal(self) -> Any:
        return self._verb("diagonal", lambda: np.diag(self._matrix))()

    def submatrix(self, indices: Any) -> Any:
        return self._verb("submatrix", lambda i: self._matrix[np.ix_(i, i)])(indices)

    def trace(self) -> float:
        return float(self._verb("trace", lambda: np.trace(self._matrix))())

    def restrict(self, indices: Any) -> Operator:
        restricted: Operator = self._verb("restrict", super().restrict)(indices)
        return restricted

    def factor(self) -> Factor:
        root = self._verb("root", lambda: np.linalg.cholesky(self._matrix).T)()
        return Factor(len(root), self.size, lambda columns, dtype: root[:, columns].astype(dtype))


GOOD = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.0]])
ASYMMETRIC = np.array([[2.0, 0.5, 0.1], [0.0, 3.0, 0.2], [0.1, 0.2, 1.0]])
INDEFINITE = np.array([[1.0, 5.0, 0.0], [5.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

BROKEN: dict[str, tuple[Operator, str]] = {
    "columns": (
        Broken(GOOD, columns=lambda i: 2 * GOOD[:, i]),
        "columns must equal products with unit vectors; the largest difference is 3",
    ),
    "shape": (Broken(GOOD, columns=lambda i: GOOD[i][:2]), "has shape (2, 3), expected (3, 3)"),
    "diagonal": (Broken(GOOD, diagonal=lambda: np.ones(3)), "the diagonal must agree with the columns"),
    "submatrix": (Broken(GOOD, submatrix=lambda i: np.eye(len(i))), "a submatrix must equal rows of the columns"),
    "asymmetric": (Broken(ASYMMETRIC), "a submatrix must be symmetric"),
    "trace": (Broken(GOOD, trace=lambda: 5.0), "the trace must be the sum of the diagonal"),
    "indefinite": (Broken(INDEFINITE), "it is not positive semidefinite, a probe gave -"),
    "restriction": (
        Broken(GOOD, restrict=lambda i: Broken(np.eye(len(i)))),
        "a restriction must be the submatrix",
    ),
    "factor": (Broken(GOOD, root=lambda: np.eye(3)), "the factor must reproduce the columns"),
    "nan": (Broken(GOOD, columns=lambda i: np.full((3, len(i)), np.nan)), "the largest difference is nan"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_verify_operator_names_the_broken_promise(kind: str) -> None:
    operator, message = BROKEN[kind]
    with pytest.raises(InvalidProblemError, match="operator breaks its promise: .*" + re.escape(message)):
        certpca.verify_operator(operator)


def test_verify_operator_finds_asymmetry_that_submatrices_hide() -> None:
    wide = np.diag(np.arange(1.0, 41.0))
    wide[:, -1] += 5.0  # eight random columns are unlikely to show it

    def symmetric_part(indices: Any) -> Any:
        return ((wide + wide.T) / 2)[np.ix_(indices, indices)]

    hidden = Broken(wide, submatrix=symmetric_part)
    with pytest.raises(InvalidProblemError, match="symmetric"):
        certpca.verify_operator(hidden, rng=1)


def test_verify_operator_accepts_good_operators_and_a_looser_tolerance() -> None:
    certpca.verify_operator(Broken(GOOD))
    almost = Broken(GOOD, diagonal=lambda: np.diag(GOOD) + 1e-6)
    with pytest.raises(InvalidProblemError, match="diagonal"):
        certpca.verify_operator(almost)
    certpca.verify_operator(almost, tolerance=1e-4)
