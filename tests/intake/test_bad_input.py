"""Every kind of bad input is refused with a message that names the offender and says what to do."""

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import certpca
from certpca.intake.matrix_checks import extreme_eigenvalues
from certpca.runtime.errors import CertpcaError, InvalidDataError, InvalidProblemError


def refused(*fragments: str, error: type[CertpcaError] = InvalidDataError) -> Any:
    """Expect an error whose message holds all fragments, in order."""
    return pytest.raises(error, match="(?s)" + ".*".join(re.escape(part) for part in fragments))


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((12, 4))


# --- sparsity -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sparsity", [0, -1, 5, 2.0, 2.5, True, np.True_, "2", None, float("nan"), [2]])
def test_sparsity_out_of_range_or_not_whole(data: np.ndarray, sparsity: Any) -> None:
    with refused("whole number in 1..4 (the number of features)", f"got {sparsity!r}", error=InvalidProblemError):
        certpca.solve(data, sparsity)


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint16])
def test_any_integer_type_is_a_sparsity(data: np.ndarray, kind: Any) -> None:
    solution = certpca.solve(data, kind(2))
    assert solution.sparsity == 2
    assert type(solution.sparsity) is int


# --- missing and infinite values ----------------------------------------------------------------

FORMS: dict[str, Any] = {
    "float64": np.asarray,
    "float32": lambda values: values.astype(np.float32),
    "csr": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
}


@pytest.mark.parametrize("form", FORMS)
def test_nan_names_the_column_and_the_remedy(data: np.ndarray, form: str) -> None:
    data[3:5, 2] = np.nan
    with refused("column 2 has 2 missing values", "1 of 4 columns", "missing='mean'", "--missing mean"):
        certpca.from_data(FORMS[form](data))


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda values, columns: pl.DataFrame(values, schema=columns)])
def test_nan_in_a_dataframe_names_the_column_by_name(data: np.ndarray, frame: Any) -> None:
    data[0, 1] = np.nan
    with refused("column 1 ('height') has 1 missing values", "missing='mean'"):
        certpca.from_data(frame(data, columns=["age", "height", "weight", "pulse"]))


def test_null_in_nullable_columns_counts_as_missing() -> None:
    frames = [
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 4.0]}),
        pl.DataFrame({"a": [1, None, 3], "b": [1.0, 2.0, 4.0]}),
    ]
    for frame in frames:
        with refused("('a') has 1 missing"):
            certpca.from_data(frame)
        np.testing.assert_allclose(certpca.from_data(frame, missing="mean").diagonal(), [1.0, 7 / 3])


def test_masked_entries_count_as_missing(data: np.ndarray) -> None:
    masked = np.ma.masked_array(data, mask=data > 1.0)
    with refused("missing values", "missing='mean'"):
        certpca.from_data(masked)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [[np.inf], [-np.inf], [np.inf, -np.inf], [np.inf, np.nan]])
@pytest.mark.parametrize("missing", ["error", "mean"])
def test_infinity_names_the_column(data: np.ndarray, form: str, bad: list[float], missing: Any) -> None:
    data[: len(bad), 3] = bad
    with refused("column 3 holds infinite values", "replace them or mark them missing (NaN)"):
        certpca.from_data(FORMS[form](data), missing=missing)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_values_too_large_to_square_say_so(data: np.ndarray, form: Any) -> None:
    with refused("column 0 has the largest variance", "too large to square", "divide the data by a constant"):
        certpca.from_data(form(data * 1e200))


def test_column_without_any_value_is_named(data: np.ndarray) -> None:
    data[:, 1] = np.nan
    with refused("column 1 has no values at all", "drop it"):
        certpca.from_data(data, missing="mean")


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64])
def test_minus_nine_genotypes_are_missing(kind: Any) -> None:
    genotypes = np.array([[0, 1, 2], [2, -9, 0], [1, 1, -9], [0, 2, -9]], dtype=kind)
    with refused("column 1 has 1 missing values (coded -9)", "2 of 3 columns", "missing='mean'"):
        certpca.from_data(genotypes)
    assert certpca.from_data(genotypes, missing="mean").size == 3


@pytest.mark.parametrize("kind", [np.int8, np.int32])
def test_minus_nine_among_other_negatives_is_a_number(rng: np.random.Generator, kind: Any) -> None:
    numbers = rng.integers(-12, 12, size=(30, 4)).astype(kind)
    numbers[0, 0], numbers[1, 1] = -9, -3
    operator = certpca.from_data(numbers)
    np.testing.assert_allclose(operator.submatrix(np.arange(4)), np.cov(numbers, rowvar=False), atol=1e-10)


def test_minus_nine_in_floats_is_a_number() -> None:
    numbers = np.array([[0.0, 1.0], [2.0, -9.0], [1.0, 1.0]])
    np.testing.assert_allclose(certpca.from_data(numbers).submatrix(np.arange(2)), np.cov(numbers, rowvar=False))


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("form", ["int8", "float32", "float64", "csr", "csc"])
def test_missing_mean_equals_filling_with_the_mean(rng: np.random.Generator, form: str, scale: bool) -> None:
    numbers = rng.integers(0, 3, size=(40, 6))
    holes = rng.random(numbers.shape) < 0.15
    with_nan = np.where(holes, np.nan, numbers.astype(np.float64))
    filled = np.where(holes, np.nanmean(with_nan, axis=0), with_nan)
    given: Any = {
        "int8": lambda: np.where(holes, -9, numbers).astype(np.int8),
        "float32": lambda: with_nan.astype(np.float32),
        "float64": lambda: with_nan,
        "csr": lambda: sp.csr_array(with_nan),
        "csc": lambda: sp.csc_array(with_nan),
    }[form]()
    operator = certpca.from_data(given, missing="mean", scale=scale)
    expected = np.corrcoef(filled, rowvar=False) if scale else np.cov(filled, rowvar=False)
    np.testing.assert_allclose(operator.submatrix(np.arange(6)), expected, atol=1e-6 if form == "float32" else 1e-12)
    np.testing.assert_allclose(operator.columns(np.arange(6)), expected, atol=1e-5)
    np.testing.assert_allclose(operator.matmat(np.eye(6)), expected, atol=1e-6 if form == "float32" else 1e-12)


def test_missing_mean_without_centring_is_refused(data: np.ndarray) -> None:
    data[0, 0] = np.nan
    with refused("missing='mean' needs center=True", "fill missing values before", error=InvalidProblemError):
        certpca.from_data(data, missing="mean", center=False)


def test_unknown_missing_option_lists_the_known_ones(data: np.ndarray) -> None:
    with refused('missing must be "error" or "mean"', "'median'", error=InvalidProblemError):
        certpca.from_data(data, missing="median")  # type: ignore[arg-type]


# --- matrices -----------------------------------------------------------------------------------

MATRIX_FORMS: dict[str, Any] = {"dense": np.asarray, "sparse": sp.csr_array}


@pytest.fixture
def matrix(rng: np.random.Generator) -> np.ndarray:
    factor = rng.standard_normal((8, 5))
    return factor.T @ factor


@pytest.mark.parametrize("form", MATRIX_FORMS.values(), ids=MATRIX_FORMS)
class TestMatrix:
    def test_asymmetry_names_both_entries(self, matrix: np.ndarray, form: Any) -> None:
        matrix[3, 1] = 77.0
        matrix[1, 3] = 0.5
        message = r"entry \((1, 3|3, 1)\) is .* but \((1, 3|3, 1)\) is .*leave covariance unset"
        with pytest.raises(InvalidDataError, match=message):
            certpca.from_matrix(form(matrix))

    def test_rounding_asymmetry_is_averaged_away(self, matrix: np.ndarray, form: Any) -> None:
        matrix[3, 1] += 1e-10
        columns = certpca.from_matrix(form(matrix)).columns(np.arange(5))
        np.testing.assert_array_equal(columns, columns.T)

    def test_clearly_negative_eigenvalue_is_named(self, form: Any) -> None:
        indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
        with refused("positive semidefinite", "eigenvalue -1 ", "the largest is 3", "set its negative eigenvalues"):
            certpca.from_matrix(form(indefinite))

    def test_negative_diagonal_entry_is_named(self, matrix: np.ndarray, form: Any) -> None:
        matrix[2, 2] = -4.0
        with refused("positive semidefinite", "a diagonal entry is negative", "entry (2, 2) is -4"):
            certpca.from_matrix(form(matrix))

    def test_slightly_indefinite_is_accepted(self, rng: np.random.Generator, form: Any) -> None:
        basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        nearly = basis @ np.diag([3.0, 1.0, 0.5, -1e-7]) @ basis.T
        assert certpca.from_matrix(form((nearly + nearly.T) / 2)).size == 4

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_entry_that_is_not_finite_is_named(self, matrix: np.ndarray, form: Any, bad: float) -> None:
        matrix[1, 4] = matrix[4, 1] = bad
        with pytest.raises(InvalidDataError, match=rf"must be finite: entry \((1, 4|4, 1)\) is {bad}"):
            certpca.from_matrix(form(matrix))

    def test_not_square(self, form: Any) -> None:
        with refused("square, got 3 x 2", "for samples x features leave covariance unset"):
            certpca.solve(form(np.ones((3, 2))), 1, covariance=True)

    def test_integers_become_floats(self, form: Any) -> None:
        operator = certpca.from_matrix(form(np.diag([1, 2, 3])))
        assert operator.dtype == np.float64
        assert operator.trace() == 6.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_indefinite_matrix_is_found_by_lanczos_too(form: Any) -> None:
    values = np.linspace(1.0, 2.0, 60)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))[0]
    values[0] = -1.0
    matrix = form((rotation * values) @ rotation.T)
    for dense_up_to in (10, 60):  # Lanczos' values are within its tolerance, and never exaggerate
        smallest, largest = extreme_eigenvalues(matrix, dense_up_to)
        assert (smallest, largest) == pytest.approx((-1.0, 2.0), rel=1e-2)
        assert smallest >= -1.0 - 1e-9
        assert largest <= 2.0 + 1e-9
    with refused("positive semidefinite", "eigenvalue -1"):
        certpca.from_matrix(matrix)


# --- constant data, tiny data -------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_constant_column_is_named_under_scaling_only(data: np.ndarray, form: Any) -> None:
    data[:, 1] = 0.1
    with refused("column 1 is constant (1 such columns)", "drop it", "scale=False"):
        certpca.from_data(form(data), scale=True)
    assert certpca.from_data(form(data), scale=False).diagonal()[1] == 0.0


def test_constant_column_is_named_by_name(data: np.ndarray) -> None:
    data[:, 2] = 3.0
    with refused("column 2 ('site') is constant"):
        certpca.from_data(pd.DataFrame(data, columns=["a", "b", "site", "d"]), scale=True)


def test_zero_column_is_named_where_not_centred(data: np.ndarray) -> None:
    data[:, 0] = 0.0
    with refused("column 0 is zero"):
        certpca.from_data(data, scale=True, center=False)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_all_columns_constant(form: Any) -> None:
    with refused("every column is constant", "no variance to explain", "check that features are columns"):
        certpca.from_data(form(np.tile([1.0, 2.0, 0.1], (5, 1))))
    with refused("every column is zero"):
        certpca.from_data(form(np.zeros((5, 3))), center=False)


def test_one_row_needs_center_false() -> None:
    with refused("at least two rows, got 1", "center=False"):
        certpca.from_data(np.array([[1.0, 2.0]]))
    assert certpca.solve(np.array([[3.0, 4.0]]), 1, center=False).objective == pytest.approx(16.0)


def test_one_column_has_one_answer() -> None:
    solution = certpca.solve(np.array([[1.0], [2.0], [6.0]]), 1)
    assert solution.support.tolist() == [0]
    assert solution.loadings.tolist() == [1.0]
    assert solution.objective == pytest.approx(7.0)
    assert solution.relative_objective == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame])
def test_empty_input_says_what_is_empty(shape: tuple[int, int], form: Any) -> None:
    with refused("must not be empty", f"got {shape[0]} rows and {shape[1]} columns"):
        certpca.from_data(form(np.zeros(shape)))


@pytest.mark.parametrize("ddof", [12, 13])
def test_ddof_must_leave_a_divisor(data: np.ndarray, ddof: int) -> None:
    with refused("ddof must be less than the number of rows (12)", f"got {ddof}", error=InvalidProblemError):
        certpca.from_data(data, ddof=ddof)


@pytest.mark.parametrize("ddof", [1.5, float("nan"), "1"])
def test_ddof_must_be_whole(data: np.ndarray, ddof: Any) -> None:
    with refused("ddof must be a whole number", repr(ddof), error=InvalidProblemError):
        certpca.from_data(data, ddof=ddof)


# --- what is not a table of numbers -------------------------------------------------------------


@pytest.mark.parametrize("text", [[["a", "b"], ["c", "d"]], "data.csv", np.array([["1", "2"]]), None])
def test_text_is_refused(text: Any) -> None:
    with refused("data must be numbers, got", "encode text and categories as numbers first"):
        certpca.from_data(text)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_complex_is_refused(form: Any) -> None:
    with refused("data must be real, got complex numbers (complex128)", "real part or the modulus"):
        certpca.from_data(form(np.eye(3) * 1j))


def test_object_array_is_refused() -> None:
    with refused("data must be numbers, got object"):
        certpca.from_data(np.array([[1, None], [2, 3]], dtype=object))


def test_ragged_list_is_refused() -> None:
    with refused("rectangular table of numbers", "inhomogeneous"):
        certpca.from_data([[1, 2], [3]])


def test_one_axis_suggests_reshape() -> None:
    with refused("two axes, got 1", "data.reshape(-1, 1)"):
        certpca.from_data([1.0, 2.0, 3.0])


@pytest.mark.parametrize("axes", [0, 3])
def test_wrong_number_of_axes(axes: int) -> None:
    with refused(f"two axes, got {axes}"):
        certpca.from_data(np.ones((2,) * axes))


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (pd.DataFrame({"age": [1, 2], "city": ["x", "y"]}), str(pd.DataFrame({"city": ["x"]}).dtypes["city"])),
        (pd.DataFrame({"age": [1, 2], "city": pd.Categorical(["x", "y"])}), "category"),
        (pd.DataFrame({"age": [1, 2], "city": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "datetime64"),
        (pl.DataFrame({"age": [1, 2], "city": ["x", "y"]}), "String"),
    ],
    ids=["pandas-text", "pandas-category", "pandas-date", "polars-text"],
)
def test_dataframe_column_that_is_not_numbers_is_named(frame: Any, kind: str) -> None:
    with refused("column 'city' holds", kind, "drop it or encode it"):
        certpca.from_data(frame)


def test_dataframe_with_repeated_names_is_accepted(data: np.ndarray) -> None:
    assert certpca.from_data(pd.DataFrame(data, columns=list("abba"))).names == ("a", "b", "b", "a")


@pytest.mark.parametrize("count", [3, 5])
def test_wrong_number_of_names(data: np.ndarray, count: int) -> None:
    with refused("one entry for each of the 4 features", f"got {count}"):
        certpca.from_data(data, names=["n"] * count)
    with refused("one entry for each of the 4 features", f"got {count}"):
        certpca.from_matrix(np.eye(4), names=["n"] * count)


# --- options that do not fit --------------------------------------------------------------------


def test_options_with_an_operator_are_refused() -> None:
    with refused("an operator is already prepared; center, scale cannot be applied", error=InvalidProblemError):
        certpca.solve(certpca.pitprops(), 2, scale=True, center=True)


def test_data_options_with_a_matrix_are_refused() -> None:
    with refused("covariance=True", "as it is; missing, scale cannot", error=InvalidProblemError):
        certpca.solve(np.eye(3), 2, covariance=True, scale=True, missing="mean")


def test_covariance_false_means_data(data: np.ndarray) -> None:
    assert certpca.solve(data, 2, covariance=False).objective == certpca.solve(data, 2).objective


# --- unusual number types -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, pd.DataFrame, lambda values: pl.DataFrame(values, schema=["a", "b", "c"])]
)
def test_booleans_are_zeros_and_ones(rng: np.random.Generator, form: Any) -> None:
    flags = rng.random((20, 3)) < 0.5
    operator = certpca.from_data(form(flags))
    np.testing.assert_allclose(operator.submatrix(np.arange(3)), np.cov(flags.astype(float), rowvar=False))


@pytest.mark.parametrize("kind", [np.float16, np.longdouble])
def test_unusual_floats_are_converted(data: np.ndarray, kind: Any) -> None:
    unusual = data.astype(kind)
    operator = certpca.from_data(unusual)
    assert operator.dtype in (np.float32, np.float64)
    np.testing.assert_allclose(operator.submatrix(np.arange(4)), np.cov(unusual.astype(float), rowvar=False), rtol=1e-6)


# --- kernels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "parameters", "fragments"),
    [
        ("sigmoid", {}, ["one of linear, rbf, polynomial or a function", "'sigmoid'"]),
        ("rbf", {"degree": 2}, ["the rbf kernel takes gamma, got degree"]),
        ("linear", {"gamma": 2}, ["the linear kernel takes no parameters, got gamma"]),
        ("rbf", {"gamma": -1.0}, ["gamma must be positive, got -1.0"]),
        ("polynomial", {"degree": 0.5}, ["degree must be a positive whole number, got 0.5"]),
        ("polynomial", {"coef0": -1.0}, ["only for coef0 >= 0, got -1.0"]),
        (np.inner, {"gamma": 1.0}, ["only named kernels take parameters; gamma"]),
        ("precomputed", {"gamma": 1.0}, ["only named kernels take parameters; gamma"]),
    ],
)
def test_bad_kernels(data: np.ndarray, kernel: Any, parameters: dict[str, Any], fragments: list[str]) -> None:
    with refused(*fragments, error=InvalidProblemError):
        certpca.from_kernel(data, kernel, **parameters)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_kernel_samples_must_be_finite(data: np.ndarray, form: Any) -> None:
    data[0, 0] = np.nan
    with refused("kernel samples must be finite", "fill or drop missing values"):
        certpca.from_kernel(form(data))


def test_kernel_function_must_return_a_finite_matrix(data: np.ndarray) -> None:
    with refused("must return a matrix of shape (12, 12)", "got shape (3,)"):
        certpca.from_kernel(data, lambda left, right: np.ones(3))
    with refused("not finite", "check its parameters"):
        certpca.from_kernel(data, lambda left, right: np.full((len(left), len(right)), np.inf))
