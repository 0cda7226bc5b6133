import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.results.status import Status
from certpca.solvers import solver_named
from tests.brute_force import brute_force


@given(seed=st.integers(0, 10_000), rank=st.integers(1, 3), size=st.integers(2, 11), data=st.data())
@settings(max_examples=150, deadline=None)
def test_low_rank_matrices_are_solved_exactly(seed, rank, size, data):
    sparsity = data.draw(st.integers(1, size))
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((size, rank))
    if data.draw(st.booleans()):
        rows = np.round(rows)  # ties and duplicates
    matrix = rows @ rows.T
    solution = certpca.solve(matrix, sparsity, solver_named("spannogram", rank=rank), covariance=True)
    assert solution.status is Status.CONVERGED
    optimum = brute_force(matrix, sparsity)[0]
    assert solution.objective == pytest.approx(optimum, rel=1e-8, abs=1e-9)


def test_higher_ranks_are_sampled_and_say_so(rng):
    matrix = np.cov(rng.standard_normal((30, 12)).T)
    solution = certpca.solve(matrix, 4, solver_named("spannogram", rank=5, samples=128), covariance=True)
    assert solution.status is Status.SAMPLED


def test_too_few_cells_say_so(rng):
    matrix = np.cov(rng.standard_normal((40, 30)).T)
    solution = certpca.solve(matrix, 9, solver_named("spannogram", max_cells=8), covariance=True)
    assert solution.status is Status.SAMPLED
    assert solution.support.size == 9


def test_exact_at_thousands_of_features(rng):
    """Nothing sampled beats the answer that is called exact."""
    rows = rng.standard_normal((3000, 3)) * [3.0, 2.5, 2.0]
    solution = certpca.solve(rows.T, 60, solver_named("spannogram"), center=False, ddof=2)
    assert solution.status is Status.CONVERGED
    best = 0.0
    for direction in rng.standard_normal((3000, 3)):
        chosen = rows[np.argsort(-np.abs(rows @ direction))[:60]]
        best = max(best, np.linalg.eigvalsh(chosen.T @ chosen)[-1])
    assert solution.objective >= best * (1 - 1e-9)
