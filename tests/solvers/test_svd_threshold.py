import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
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
    assert solution.support.size <= max(1, sparsity * count / epsilon**2)
    assert (solution.status is Status.WIDER_SUPPORT) == (expected.size > sparsity)
    # Theorem: objective >= Z* - 3 epsilon tr A.
    optimum = brute_force(matrix, sparsity)[0]
    assert solution.objective >= optimum - 3 * epsilon * np.trace(matrix) - 1e-9


@pytest.mark.parametrize("settings_", [{"components": 0}, {"epsilon": 0.0}, {"epsilon": 1.5}, {"method": "magic"}])
def test_bad_settings_are_refused(settings_):
    with pytest.raises(InvalidProblemError):
        solver_named("svd-threshold", **settings_)
