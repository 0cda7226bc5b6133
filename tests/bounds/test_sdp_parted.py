"""Dense steps on some features, and dual matrices completed on the others: an interior-point solver judges both."""

from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Budget, Status
from certpca.bounds.sdp import active_set, solve
from certpca.bounds.sdp.dense_steps import from_direction
from certpca.bounds.sdp.parted import PartedDual, _perron
from certpca.bounds.sdp.splitting import Splitting
from tests.bounds.test_sdp import check_solutions, interior_point


@pytest.fixture(autouse=True)
def _as_if_there_were_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "FEW", 0)
    monkeypatch.setattr(solve, "LARGEST_SHARE", 1.0)


def narrow_and_wide(seed: int, size: int = 44) -> np.ndarray:
    """Few strongly linked features and many weakly linked ones: between their widths the solution mixes both."""
    rng = np.random.default_rng(seed)
    samples = 0.6 * rng.standard_normal((60, size))
    samples[:, :4] += 1.5 * rng.standard_normal((60, 1))
    samples[:, 6:26] += 0.9 * rng.standard_normal((60, 1)) * rng.uniform(0.8, 1.0, 20)
    return np.asarray(np.cov(samples.T))


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # to the interior-point solver's own last digits
@pytest.mark.parametrize("seed", range(3))
def test_solutions_of_rank_two_agree_with_an_interior_point_solver(seed: int) -> None:
    matrix, sparsities = narrow_and_wide(seed), (5, 8, 11)
    operator = certpca.from_matrix(matrix)
    ranks = []
    for sparsity, expected in zip(sparsities, interior_point(matrix, sparsities), strict=True):
        found = certpca.solve_sdp(operator, sparsity, target_gap=1e-5)
        assert found.status is Status.CONVERGED
        assert found.lower == pytest.approx(expected, rel=2e-5)
        assert found.upper == pytest.approx(expected, rel=2e-5)
        check_solutions(matrix, operator, sparsity, found)
        if isinstance(found.dual, PartedDual):
            assert found.dual.features.size < operator.size
            ranks.append(found.weights.size)
        solution = certpca.solve(operator, sparsity, certpca.solver_named("sdp-threshold", target_gap=1e-5))
        assert solution.upper_bound == pytest.approx(expected, rel=2e-5)
        assert solution.certificate is not None
        certpca.verify(solution.certificate, matrix)
    assert max(ranks) >= 2


def test_features_come_in_where_the_bound_lacks_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun with the narrow group alone, it ends where it does with a better start."""
    matrix = narrow_and_wide(0)
    expected = certpca.solve_sdp(matrix, 8, covariance=True, target_gap=1e-5)

    def first(*given: Any) -> Any:
        direction, clipped = given[3:5]
        features = np.union1d(direction.support, np.arange(4))
        return features, from_direction(direction, clipped, features)

    monkeypatch.setattr(active_set, "_first", first)
    found = certpca.solve_sdp(matrix, 8, covariance=True, target_gap=1e-5)
    assert found.status is Status.CONVERGED
    assert found.upper == pytest.approx(expected.upper, rel=2e-5)


def test_memory_is_compared_after_features_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve features above the level and 88 below need what twelve need."""
    monkeypatch.setattr(solve, "FEW", 1536)
    places = np.arange(12)
    matrix = 1e-4 * np.eye(100)
    matrix[:12, :12] = 0.9 ** np.abs(places[:, None] - places)
    enough = Splitting.memory(12) / 2**30
    assert enough < Splitting.memory(100) / 2**30
    found = certpca.solve_sdp(matrix, 4, covariance=True, memory=enough * 1.01)
    assert found.status is Status.CONVERGED
    assert found.needed_memory == Splitting.memory(12)
    refused = certpca.solve_sdp(matrix, 4, covariance=True, memory=enough * 0.99)
    assert refused.status is Status.TOO_LARGE
    assert refused.needed_memory == Splitting.memory(12)
    assert refused.upper >= found.lower


def test_too_little_memory_for_the_features_of_a_solution_is_a_status() -> None:
    matrix = narrow_and_wide(0)
    found = certpca.solve_sdp(matrix, 8, covariance=True, memory=1e-6)
    assert found.status is Status.TOO_LARGE
    assert found.needed_memory > 1e-6 * 2**30
    solution = certpca.solve(matrix, 8, certpca.solver_named("sdp-threshold", memory=1e-6), covariance=True)
    assert "alpha_z1" not in solution.details  # nothing was solved, so there is no Z₁
    assert solution.details["alpha"] > 1


@pytest.mark.parametrize("steps", [1, 14, 40, 60, 80])
def test_small_budgets_leave_a_valid_bound(steps: int) -> None:
    matrix = narrow_and_wide(1)
    best = certpca.solve_sdp(matrix, 8, covariance=True, target_gap=1e-6).lower
    found = certpca.solve_sdp(matrix, 8, covariance=True, target_gap=1e-9, budget=Budget(steps=steps))
    assert found.upper >= best * (1 - 1e-9)
    told: list[float] = []

    def listen(step: certpca.Step) -> bool:
        told.append(step.upper_bound)
        return True

    certpca.solve_sdp(matrix, 8, covariance=True, listener=listen)
    assert min(told) >= best * (1 - 1e-6)  # what holds for some features is not told as a bound for all


def test_a_neighbour_is_a_start() -> None:
    matrix = narrow_and_wide(2)
    before = certpca.solve_sdp(matrix, 8, covariance=True, target_gap=1e-5)
    assert isinstance(before.dual, PartedDual)
    cold = certpca.solve_sdp(matrix, 9, covariance=True, target_gap=1e-5)
    warm = certpca.solve_sdp(matrix, 9, covariance=True, target_gap=1e-5, warm=before)
    assert warm.status is Status.CONVERGED
    assert warm.upper == pytest.approx(cold.upper, rel=2e-5)


def test_other_units_change_nothing() -> None:
    matrix = narrow_and_wide(0)
    plain, large = (certpca.solve_sdp(factor * matrix, 8, covariance=True) for factor in (1.0, 2.0**80))
    assert isinstance(large.dual, PartedDual)
    assert large.upper == pytest.approx(2.0**80 * plain.upper, rel=1e-4)
    check_solutions(2.0**80 * matrix, certpca.from_matrix(2.0**80 * matrix), 8, large)


def test_weights_of_rows_come_near_the_spectral_radius() -> None:
    from scipy import sparse

    rng = np.random.default_rng(0)
    blocks = [np.abs(rng.standard_normal((size, size))) for size in (5, 3, 1)]
    matrix = np.zeros((10, 10))  # the last row is empty
    start = 0
    for block in blocks:
        stop = start + block.shape[0]
        matrix[start:stop, start:stop] = block + block.T
        start = stop
    bound, weights = _perron(sparse.csr_array(matrix))
    assert (weights > 0).all()
    assert bound == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-2)
    assert bound >= np.linalg.eigvalsh(matrix)[-1] * (1 - 1e-12)
