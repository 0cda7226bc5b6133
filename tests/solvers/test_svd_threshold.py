import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.bounds.guarantees import svd_width
from certpca.results.status import Status
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import solver_named
from tests.brute_force import brute_force


@pytest.mark.parametrize("method", ["krylov", "lanczos", "exact"])
@pytest.mark.parametrize("components", [1, 2, 4])
def test_eigenvector_methods_agree(method, components, rng):
    matrix = np.cov((rng.standard_normal((50, 20)) * np.linspace(3, 1, 20)).T)
    matrix = matrix @ matrix.T
    solver = solver_named("svd-threshold", method=method, components=components)
    solution = certpca.solve(matrix, 5, solver, covariance=True, refit=False)
    values, vectors = np.linalg.eigh(matrix)
    leading = vectors[:, ::-1][:, :components]
    expected = np.sort(np.argsort(-(leading**2).sum(axis=1))[:5])
    assert solution.support.tolist() == expected.tolist()
    selected = np.sqrt(values[::-1][:components])[:, None] * leading[expected].T
    own = np.linalg.svd(selected)[2][0]
    np.testing.assert_allclose(np.abs(solution.loadings), np.abs(own), atol=1e-6)


@given(seed=st.integers(0, 10_000), epsilon=st.sampled_from([0.3, 0.5, 0.7, 1.0]), sparsity=st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_epsilon_mode_is_the_algorithm_box_and_keeps_its_theorem(seed, epsilon, sparsity):
    rng = np.random.default_rng(seed)
    matrix = np.cov((rng.standard_normal((12, 9)) * rng.uniform(0.1, 3, 9)).T)
    count = min(math.ceil(1 / epsilon), 9)
    solver = solver_named("svd-threshold", epsilon=epsilon, method="exact")
    solution = certpca.solve(matrix, sparsity, solver, covariance=True, refit=False)
    vectors = np.linalg.eigh(matrix)[1][:, ::-1][:, :count]
    rows = (vectors**2).sum(axis=1)
    expected = np.flatnonzero(rows >= epsilon**2 / sparsity)
    if expected.size:
        assert solution.support.tolist() == expected.tolist()
    assert solution.details["selected"] == expected.size <= svd_width(sparsity, epsilon)
    assert solution.details["most_selected"] == math.floor(count * sparsity / epsilon**2 + 1e-9) or count == 9
    assert (solution.status is Status.NOTHING_SELECTED) == (expected.size == 0)
    assert (solution.status is Status.WIDER_SUPPORT) == (expected.size > sparsity)
    # Theorem: objective >= Z* - 3 epsilon tr A.
    optimum = brute_force(matrix, sparsity)[0]
    assert solution.objective >= optimum - 3 * epsilon * np.trace(matrix) - 1e-9


def test_an_empty_selection_is_told():
    matrix = 0.5 * np.eye(50) + 0.5  # every row of the leading eigenvector has squared norm 1/50
    solution = certpca.solve(matrix, 2, solver_named("svd-threshold", epsilon=1.0), covariance=True)
    assert solution.status is Status.NOTHING_SELECTED
    assert solution.details["selected"] == 0
    assert solution.support.size == 1


@pytest.mark.parametrize("method", ["krylov", "exact"])
def test_null_vectors_select_nothing(method, rng):
    """Rank two: with them, rows of vectors that are not determined would be long enough."""
    factor = np.zeros((2, 30))
    factor[:, :4] = rng.standard_normal((2, 4))
    solver = solver_named("svd-threshold", epsilon=0.1, method=method)
    solution = certpca.solve(factor.T @ factor, 3, solver, covariance=True, refit=False)
    assert solution.details["components"] == 2
    assert solution.support.tolist() == [0, 1, 2, 3]


def test_a_wider_support_is_certified_for_its_width(rng):
    data = rng.standard_normal((30, 40))
    wide = solver_named("svd-threshold", epsilon=0.3)
    solution = certpca.solve(data, 2, wide, certify=True, target_gap=0.3)
    assert solution.support.size > 2
    assert solution.certificate is not None
    assert solution.certificate.sparsity == solution.support.size
    assert solution.gap <= 0.3
    certpca.verify(solution.certificate, data)


@pytest.mark.parametrize("settings_", [{"components": 0}, {"epsilon": 0.0}, {"epsilon": 1.5}, {"method": "magic"}])
def test_bad_settings_are_refused(settings_):
    with pytest.raises(InvalidProblemError):
        solver_named("svd-threshold", **settings_)
