"""Truncated power iterations with loadings of one sign."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import certpca

SOLVER = certpca.solver_named("truncated-power", nonnegative=True)


def best_nonnegative(matrix: np.ndarray, sparsity: int) -> float:
    """Enumerate supports; on each, the optimum is a leading eigenvector of one sign on some part of it."""
    best = float(np.diagonal(matrix).max())
    for size in range(2, sparsity + 1):
        for support in combinations(range(matrix.shape[0]), size):
            values, axes = np.linalg.eigh(matrix[np.ix_(support, support)])
            for value, axis in zip(values, axes.T, strict=True):
                if (axis >= -1e-12).all() or (axis <= 1e-12).all():
                    best = max(best, float(value))
    return best


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sparsity=st.integers(1, 4))
def test_loadings_have_one_sign_and_stay_below_the_optimum(seed: int, sparsity: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.cov(rng.standard_normal((9, 6)).T)
    solution = certpca.solve(matrix, sparsity, SOLVER, covariance=True, certify=True)
    assert (solution.loadings > 0).all()
    assert solution.support.size <= sparsity
    assert np.isclose(np.linalg.norm(solution.loadings), 1.0)
    optimum = best_nonnegative(matrix, sparsity)
    assert optimum * 0.6 <= solution.objective <= optimum * (1 + 1e-9)
    assert solution.upper_bound >= optimum * (1 - 1e-9)


def test_a_block_of_positive_correlations_is_found_whole(rng: np.random.Generator) -> None:
    data = rng.standard_normal((400, 60))
    data[:, :8] += 2 * rng.standard_normal((400, 1))
    signs = np.where(np.arange(12) % 2, 1, -1)
    data[:, 8:20] += 2.2 * rng.standard_normal((400, 1)) * signs  # stronger, but of two signs
    free = certpca.solve(data, 8)
    positive = certpca.solve(data, 8, SOLVER)
    assert (free.loadings < 0).any()
    assert positive.support.tolist() == list(range(8))
    assert (positive.loadings > 0).all()
    assert positive.objective <= free.objective


def test_no_better_loadings_nearby(rng: np.random.Generator) -> None:
    matrix = np.cov(rng.standard_normal((30, 12)).T)
    solution = certpca.solve(matrix, 5, SOLVER, covariance=True)
    part = matrix[np.ix_(solution.support, solution.support)]
    result = minimize(
        lambda x: -(x @ part @ x) / (x @ x), solution.loadings, bounds=[(1e-9, 1)] * solution.support.size
    )
    assert -result.fun <= solution.objective * (1 + 1e-6)


def test_everything_negative_leaves_one_feature() -> None:
    matrix = 2 * np.eye(4) - 0.5
    solution = certpca.solve(matrix, 3, SOLVER, covariance=True)
    assert solution.support.size == 1
    assert solution.objective == pytest.approx(1.5)


def test_zero_matrix() -> None:
    solution = certpca.solve(np.zeros((3, 3)), 2, SOLVER, covariance=True)
    assert solution.objective == 0.0


def test_out_of_time_still_gives_loadings_of_one_sign(rng: np.random.Generator) -> None:
    data = rng.standard_normal((40, 300))
    solution = certpca.solve(data, 10, SOLVER, budget=certpca.Budget(steps=2))
    assert solution.status is certpca.Status.OUT_OF_BUDGET
    assert (solution.loadings > 0).all()
