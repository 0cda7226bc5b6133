"""Deflated matrices equal their formulas, keep their promises, and can be certified where they are semidefinite."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import certpca
from certpca.operators import Operator
from certpca.operators.base import LARGEST_FORMED_SIZE
from certpca.operators.deflation import deflate
from certpca.operators.deflations import DEFLATIONS, semidefinite_ones
from certpca.runtime.arrays import to_vector
from certpca.runtime.errors import InvalidProblemError
from tests.contracts.catalogue import OPERATORS, planted_counts

KINDS = ["explicit", "explicit-sparse", "float32", "int8", "csr", "strict", "host-view", "kernel", "restricted"]
COMPONENTS = [
    (np.array([1, 4, 7]), np.array([0.6, 0.64, -0.48])),
    (np.array([0, 4, 9]), np.array([0.8, -0.36, 0.48])),
]


def dense(matrix: np.ndarray, method: str, count: int = 2) -> np.ndarray:
    """Deflate by the formulas of the publication."""
    directions: list[np.ndarray] = []
    for support, loadings in COMPONENTS[:count]:
        x = np.zeros(len(matrix))
        x[support] = loadings
        if method == "orthogonal-hotelling":
            for q in directions:
                x = x - (x @ q) * q
            x /= np.linalg.norm(x)
        directions.append(x)
        g, rest = matrix @ x, np.eye(len(matrix)) - np.outer(x, x)
        if method == "schur":
            matrix = matrix - np.outer(g, g) / (x @ g)
        elif method == "projection":
            matrix = rest @ matrix @ rest
        else:
            matrix = matrix - (x @ g) * np.outer(x, x)
    return matrix


def deflated(operator: Operator, method: str, count: int = 2) -> Operator:
    earlier = np.zeros((operator.size, count))
    for j, (support, loadings) in enumerate(COMPONENTS[:count]):
        operator = deflate(operator, support, loadings, method, earlier[:, :j])
        earlier[support, j] = loadings
    return operator


@pytest.fixture(scope="module")
def matrix() -> Any:
    return np.cov(planted_counts()[0].T)


@pytest.fixture(params=KINDS)
def operator(request: Any, tmp_path: Any) -> Any:
    return OPERATORS[request.param](planted_counts()[0], tmp_path)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("method", DEFLATIONS)
def test_equals_the_formula(operator: Operator, matrix: np.ndarray, method: str, count: int) -> None:
    left, expected = deflated(operator, method, count), dense(matrix, method, count)
    everything, some = np.arange(12), np.array([2, 4, 11])
    np.testing.assert_allclose(left.submatrix(everything), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(left.submatrix(some), expected[np.ix_(some, some)], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(to_vector(left.columns(some)), expected[:, some], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(to_vector(left.diagonal()), np.diag(expected), rtol=1e-4, atol=1e-5)
    panel = np.random.default_rng(0).standard_normal((12, 3))
    there = left.xp.asarray(panel, dtype=left.xp.float64, device=left.device)
    np.testing.assert_allclose(to_vector(left.matmat(there)), expected @ panel, rtol=1e-9, atol=1e-9)
    assert left.trace() == pytest.approx(np.trace(expected), rel=1e-9)
    loadings = np.array([0.6, 0.0, -0.8])
    form = loadings @ expected[np.ix_(some, some)] @ loadings
    assert left.quadratic_form(some, loadings) == pytest.approx(form, rel=1e-9)
    assert left.dtype == operator.dtype


@pytest.mark.parametrize("method", semidefinite_ones())
def test_semidefinite_ones_keep_every_promise(operator: Operator, method: str) -> None:
    left = deflated(operator, method)
    certpca.verify_operator(left)
    certpca.verify_operator(left.restrict(np.array([0, 2, 4, 7, 8])))
    values = np.linalg.eigvalsh(left.submatrix(np.arange(12)))
    assert values[0] > -1e-12 * values[-1]


@pytest.mark.parametrize("method", semidefinite_ones())
@pytest.mark.parametrize("rows", [8, 60])
@pytest.mark.parametrize("kind", ["explicit", "int8", "strict"])
def test_a_certificate_is_proved_and_checked(kind: str, rows: int, method: str, tmp_path: Any) -> None:
    left = deflated(OPERATORS[kind](planted_counts(rows)[0], tmp_path), method)
    certificate = certpca.certify(left, 3, target_gap=1e-6)
    assert certpca.verify(certificate, left).gap < 1e-6
    again = deflated(OPERATORS[kind](planted_counts(rows)[0], tmp_path), method)
    assert certpca.verify(certificate, again).upper_bound <= certificate.upper_bound
    # Few samples: the checker gets the deflated data, which are smaller than the matrix.
    assert left.source().kind == ("data" if rows == 8 and kind != "explicit" else "matrix")


@pytest.mark.parametrize("method", semidefinite_ones())
def test_beyond_the_largest_formed_size_the_data_are_the_source(method: str, rng: np.random.Generator) -> None:
    size = LARGEST_FORMED_SIZE + 8
    data = scipy.sparse.random_array((30, size), density=0.02, rng=rng, format="csc")
    left = deflate(certpca.from_data(data), *COMPONENTS[0], method)
    source = left.source()
    assert (source.kind, source.values.shape, source.center) == ("data", (30, size), False)
    some = np.array([1, 4, 5, 8000])
    values = source.values[:, some]
    np.testing.assert_allclose(values.T @ values, left.submatrix(some), atol=1e-14)
    solution = certpca.solve(left, 3, "svd-threshold")
    certificate = certpca.certify(left, 3, solution=solution, target_gap=0.5, budget=certpca.Budget(steps=2))
    assert certpca.verify(certificate, left).objective == pytest.approx(solution.objective, rel=1e-6)


@pytest.mark.parametrize("method", ["hotelling", "orthogonal-hotelling"])
def test_what_can_be_indefinite_is_solved_but_not_certified(operator: Operator, method: str) -> None:
    left = deflated(operator, method)
    for solver in ("auto", "truncated-power", "coordinatewise"):
        assert certpca.solve(left, 3, solver).objective > 0
    for refused in (left.factor, left.source, left.restrict(np.arange(5)).source, deflated(left, "schur").source):
        with pytest.raises(InvalidProblemError, match="deflation='schur' or 'projection'"):
            refused()


@pytest.mark.parametrize("solver", certpca.available_solvers())
def test_every_solver_works_on_an_indefinite_matrix(solver: str) -> None:
    matrix = np.full((6, 6), 0.9) + 0.1 * np.eye(6)
    indefinite = certpca.from_matrix(matrix)
    for index in range(3):
        indefinite = deflate(indefinite, np.array([index]), np.ones(1), "hotelling")
    assert np.linalg.eigvalsh(indefinite.submatrix(np.arange(6)))[0] < -0.5
    try:
        solution = certpca.solve(indefinite, 2, solver)
    except InvalidProblemError as refused:
        assert "deflation='schur'" in str(refused)  # noqa: PT017
    else:
        assert solution.objective == pytest.approx(1.9)


def test_the_description_counts() -> None:
    left = deflated(certpca.pitprops(), "schur")
    assert left.description.endswith("less 2 components (schur)")
    assert left.names == certpca.pitprops().names


@pytest.mark.parametrize("method", DEFLATIONS)
def test_a_component_without_variance_changes_nothing(method: str) -> None:
    operator = certpca.from_matrix(np.diag([2.0, 0.0]))
    assert deflate(operator, np.array([1]), np.ones(1), method) is operator


def test_a_dependent_component_has_no_orthogonal_part() -> None:
    operator, (support, loadings) = certpca.pitprops(), COMPONENTS[0]
    earlier = np.zeros((13, 2))
    earlier[support] = loadings[:, None]  # twice the same
    assert deflate(operator, support, loadings, "orthogonal-hotelling", earlier) is operator


def test_unknown_deflation() -> None:
    with pytest.raises(InvalidProblemError, match=r"deflation must be one of schur, projection, .*got 'gauss'"):
        deflate(certpca.pitprops(), *COMPONENTS[0], "gauss")
