import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.search.krylov import _exact, leading_eigenpairs, leading_on_support


@given(seed=st.integers(0, 10_000), size=st.integers(1, 40), count=st.integers(1, 6), rank=st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_krylov_meets_its_stated_accuracy(seed, size, count, rank):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((min(rank, size), size)) * rng.uniform(0.01, 1.0, size)
    matrix = factor.T @ factor
    pairs = leading_eigenpairs(certpca.from_matrix(matrix), count)
    exact = np.linalg.eigvalsh(matrix)[::-1][: pairs.values.size]
    top = exact[0]
    assert pairs.values.size == min(count, size)
    np.testing.assert_allclose(pairs.values, exact, atol=1e-7 * top)
    residual = np.linalg.norm(matrix @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert residual.max() <= 1e-7 * top
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(pairs.values.size), atol=1e-8)


def test_krylov_runs_on_any_array_library(rng):
    data = rng.standard_normal((30, 50))
    strict = leading_eigenpairs(certpca.from_data(array_api_strict.asarray(data)), 3)
    plain = leading_eigenpairs(certpca.from_data(data), 3)
    np.testing.assert_allclose(strict.values, plain.values, rtol=1e-10)


@pytest.mark.parametrize("method", ["krylov", "lanczos", "exact"])
def test_repeated_eigenvalues(method):
    matrix = np.diag([3.0, 3.0, 3.0, 1.0, 1.0, 0.0, 0.0])
    pairs = leading_eigenpairs(certpca.from_matrix(matrix), 3, method=method)
    np.testing.assert_allclose(pairs.values, 3.0)


def test_exact_uses_the_factor_of_wide_data(rng):
    data = rng.standard_normal((20, 100))
    pairs = _exact(certpca.from_data(data), 2, limit=64)
    values, vectors = np.linalg.eigh(np.cov(data.T))
    np.testing.assert_allclose(pairs.values, values[::-1][:2], rtol=1e-10)
    assert abs(pairs.vectors[:, 0] @ vectors[:, -1]) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["int8", "float32", "sparse"])
def test_large_supports_are_refitted_in_float64(kind, rng):
    import scipy.sparse

    data = rng.integers(0, 3, size=(100, 700)).astype(np.int8)
    held = {"int8": data, "float32": data.astype(np.float32), "sparse": scipy.sparse.csr_array(data)}[kind]
    support = np.arange(0, 700)[50:650]
    value, vector = leading_on_support(certpca.from_data(held), support)
    exact = np.linalg.eigvalsh(np.cov(data[:, support].T.astype(float)))[-1]
    assert value == pytest.approx(exact, rel=1e-10)
    assert np.linalg.norm(vector) == pytest.approx(1.0)


def test_a_matrix_on_which_the_partial_routine_of_lapack_finds_nothing():
    """Found by hypothesis: scipy's eigh with subset_by_index returned no eigenvalue at all."""
    rows = np.round(np.random.default_rng(142).standard_normal((3, 3)))
    value, vector = leading_on_support(certpca.from_matrix(rows @ rows.T), np.arange(3))
    assert value == pytest.approx(np.linalg.eigvalsh(rows @ rows.T)[-1])
    assert np.linalg.norm(vector) == pytest.approx(1.0)


def test_one_vector_at_a_time_finds_several(rng):
    data = rng.standard_normal((60, 40)) * np.geomspace(3.0, 0.1, 40)
    operator = certpca.from_data(data)
    pairs = leading_eigenpairs(operator, 3, width=1)
    exact = np.linalg.eigvalsh(np.cov(data.T))[::-1][:3]
    np.testing.assert_allclose(pairs.values, exact, rtol=1e-8)
    assert pairs.residual <= 1e-8


def test_eigenvalues_in_single_precision_are_more_accurate_than_vectors(rng):
    data = (rng.standard_normal((300, 3000)) * np.geomspace(3.0, 0.1, 3000)).astype(np.float32)
    operator = certpca.from_data(data)
    assert operator.dtype == np.float32
    found = leading_eigenpairs(operator, 2, accuracy=1e-5).values[0]
    exact = leading_eigenpairs(operator, 1, method="exact").values[0]
    assert found == pytest.approx(exact, rel=1e-7)
