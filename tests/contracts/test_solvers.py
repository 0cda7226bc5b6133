"""Contracts of every solver, on every operator."""

import numpy as np
import pytest

import certpca
from tests.brute_force import brute_force
from tests.contracts.catalogue import OPERATORS, planted_counts

SOLVERS = sorted(certpca.available_solvers())


@pytest.fixture(scope="module")
def problem():
    data, planted = planted_counts()
    return np.cov(data.T), planted


@pytest.mark.parametrize("kind", sorted(OPERATORS))
@pytest.mark.parametrize("solver", SOLVERS)
def test_finds_the_planted_support_on_every_operator(solver, kind, problem, tmp_path):
    matrix, planted = problem
    solution = certpca.solve(OPERATORS[kind](planted_counts()[0], tmp_path), planted.size, solver)
    assert solution.support.tolist() == planted.tolist()
    block = matrix[np.ix_(planted, planted)]
    assert solution.objective == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-6)
    assert solution.loadings @ block @ solution.loadings == pytest.approx(solution.objective, rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sparsity", [1, 2, 5, 11, 12])
@pytest.mark.parametrize("seed", range(3))
def test_stays_within_sparsity_and_below_the_optimum(solver, sparsity, seed):
    rng = np.random.default_rng(seed)
    matrix = np.cov(rng.standard_normal((8, 12)).T)  # rank-deficient
    solution = certpca.solve(matrix, sparsity, solver, covariance=True)
    assert 1 <= solution.support.size <= sparsity
    assert (np.diff(solution.support) > 0).all()
    assert np.linalg.norm(solution.loadings) == pytest.approx(1.0, abs=1e-12)
    assert (solution.loadings != 0).all()
    assert solution.loadings[np.abs(solution.loadings).argmax()] > 0
    optimum = brute_force(matrix, sparsity)[0]
    assert solution.objective <= optimum * (1 + 1e-9)
    form = solution.component @ matrix @ solution.component
    assert solution.objective == pytest.approx(form, rel=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_seed_same_answer(solver, rng):
    matrix = np.cov(rng.standard_normal((30, 25)).T)
    first = certpca.solve(matrix, 6, solver, rng=5, covariance=True)
    second = certpca.solve(matrix, 6, solver, rng=5, covariance=True)
    np.testing.assert_array_equal(first.loadings, second.loadings)
    np.testing.assert_array_equal(first.support, second.support)


@pytest.mark.parametrize("solver", SOLVERS)
def test_permuted_input_gives_the_permuted_support(solver, problem, rng):
    matrix, planted = problem
    order = rng.permutation(matrix.shape[0])
    solution = certpca.solve(matrix[np.ix_(order, order)], planted.size, solver, covariance=True)
    assert np.sort(order[solution.support]).tolist() == planted.tolist()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("factor", [1e-150, 1e-12, 1e12, 1e150])
def test_scaled_input_gives_the_scaled_objective(solver, factor, problem):
    matrix, planted = problem
    plain = certpca.solve(matrix, planted.size, solver, covariance=True)
    scaled = certpca.solve(matrix * factor, planted.size, solver, covariance=True)
    assert scaled.support.tolist() == plain.support.tolist()
    assert scaled.objective == pytest.approx(plain.objective * factor, rel=1e-8)
    assert scaled.relative_objective == pytest.approx(plain.relative_objective, rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_step_still_gives_a_valid_answer(solver, rng):
    matrix = np.cov(rng.standard_normal((40, 30)).T)
    solution = certpca.solve(matrix, 5, solver, budget=certpca.Budget(steps=1), covariance=True)
    assert 1 <= solution.support.size <= 5
    assert solution.objective > 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("matrix", [np.zeros((5, 5)), np.eye(5), np.ones((5, 5)), np.diag([0.0, 0, 0, 0, 3])])
@pytest.mark.parametrize("sparsity", [1, 3, 5])
def test_degenerate_matrices_have_an_answer(solver, matrix, sparsity):
    solution = certpca.solve(matrix, sparsity, solver, covariance=True)
    assert solution.objective == pytest.approx(brute_force(matrix, sparsity)[0], abs=1e-9)
    assert np.isfinite(solution.loadings).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_duplicated_features_do_no_harm(solver, rng):
    data = rng.standard_normal((30, 6))
    solution = certpca.solve(np.concatenate([data, data], axis=1), 4, solver)
    assert 1 <= solution.support.size <= 4
    assert solution.objective <= np.linalg.eigvalsh(np.cov(data.T))[-1] * 2.0001
