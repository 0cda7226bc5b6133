import numpy as np
import pytest
from scipy import sparse

import certpca
from certpca.solvers.auto import _apart
from tests.brute_force import brute_force


def test_reaches_the_optimum_of_random_small_matrices():
    missed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(3, 20))
        matrix = np.cov((rng.standard_normal((rows, 10)) * rng.uniform(0.5, 2, 10)).T)
        sparsity = int(rng.integers(1, 10))
        reached = certpca.solve(matrix, sparsity, covariance=True).objective
        missed += reached < brute_force(matrix, sparsity)[0] * (1 - 1e-9)
    assert missed == 0


@pytest.mark.parametrize("seed", range(3))
def test_finds_a_small_block_the_leading_eigenvector_does_not_see(seed):
    """A dense leading component hides a block of few, strongly correlated features."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((200, 2000)) + 1.2 * rng.standard_normal((200, 1))
    block = np.sort(rng.choice(2000, 15, replace=False))
    data[:, block] = rng.standard_normal((200, 1)) * 2 + 0.3 * rng.standard_normal((200, 15))
    data -= data.mean(axis=0)
    found = certpca.solve(data, 15)
    thresholded = certpca.solve(data, 15, "svd-threshold")
    assert found.support.tolist() == block.tolist()
    assert thresholded.objective < found.objective * 0.8


def test_effort_finds_no_less():
    rng = np.random.default_rng(8)
    data = rng.standard_normal((60, 900)) * np.exp(0.3 * rng.standard_normal(900))
    plain = certpca.solve(data, 12)
    more = certpca.solve(data, 12, certpca.solver_named("auto", effort=3))
    assert more.objective >= plain.objective * (1 - 1e-9)


@pytest.mark.parametrize("effort", [0, -1])
def test_effort_must_be_positive(effort):
    with pytest.raises(certpca.InvalidProblemError, match="effort must be positive"):
        certpca.solver_named("auto", effort=effort)


def test_ends_early_where_nothing_better_is_left():
    """One direction explains nearly everything, so that its largest entries are the answer."""
    rng = np.random.default_rng(2)
    direction = rng.standard_normal(600) + 3.0
    data = np.outer(rng.standard_normal(100), direction) + 1e-4 * rng.standard_normal((100, 600))
    steps: list[certpca.Step] = []
    found = certpca.solve(data, 20, listener=steps.append)
    assert found.support.tolist() == np.sort(np.argsort(-np.abs(direction))[:20]).tolist()
    assert len(steps) <= 1


def test_features_of_little_variance_can_be_chosen_in_the_end():
    """Supports are looked for among features of some variance, and then improved among all."""
    rng = np.random.default_rng(3)
    data = rng.standard_normal((300, 2000)) * 0.01
    hidden = rng.standard_normal(300)
    data[:, :4] += np.outer(hidden, [2.0, 2.0, 2.0, 2.0])
    data[:, 4:9] += np.outer(hidden, [0.2] * 5)
    assert certpca.solve(data, 9).support.tolist() == list(range(9))


@pytest.mark.parametrize("steps", range(1, 25, 3))
def test_any_limit_on_steps_leaves_an_answer(steps):
    rng = np.random.default_rng(6)
    data = rng.standard_normal((40, 700))
    found = certpca.solve(data, 10, budget=certpca.Budget(steps=steps))
    assert found.support.size == 10
    assert found.objective > 0


def test_supports_that_are_nearly_the_same_go_on_as_one() -> None:
    wide = np.arange(128)
    near, far = np.append(wide[:-2], [200, 201]), np.append(wide[:-3], [200, 201, 202])
    assert _apart([wide, near, far], 64) == [0, 2]
    narrow = np.arange(10)
    assert _apart([narrow, np.append(narrow[:-1], 20), narrow], 64) == [0, 1]


def test_tables_kept_by_columns_give_the_same_answer(rng: np.random.Generator) -> None:
    table = rng.standard_normal((80, 700)).astype(np.float32)
    table[:, :6] += 2 * table[:, :1]
    by_rows, by_columns = (certpca.solve(order(table), 6) for order in (np.ascontiguousarray, np.asfortranarray))
    np.testing.assert_array_equal(by_rows.support, by_columns.support)
    assert by_rows.objective == pytest.approx(by_columns.objective, rel=1e-9)


@pytest.mark.parametrize("many", [40, 700])
def test_sparse_data_with_few_features_of_much_variance(rng, many):
    """Fewer eigenvectors are found first; where features turn out to be many, all of them are."""
    data = rng.poisson(0.05, (300, 2500)).astype(np.float32)
    data[:, :many] += rng.poisson(1.0, (300, 1)) * (rng.random((300, many)) < 0.5)
    data[:, :20] *= 3.0
    thin, dense = certpca.from_data(sparse.csc_array(data)), certpca.from_data(data)
    found, expected = certpca.solve(thin, 40), certpca.solve(dense, 40)
    assert found.objective >= expected.objective * (1 - 1e-9)
    assert found.relative_objective == pytest.approx(expected.relative_objective, rel=1e-5)


@pytest.mark.parametrize("whole_numbers", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_matrix_formed_in_single_precision_costs_no_digits(seed, whole_numbers, monkeypatch):
    """What is returned is fitted, and compared, in double precision."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((60, 150)) * rng.uniform(0.3, 2.0, 150)
    data = np.rint(2 * data).astype(np.int8) if whole_numbers else data
    operator = certpca.from_data(data)
    rough = certpca.solve(operator, 6)
    backwards = np.arange(150)[::-1]
    assert operator.rough_submatrix(backwards) == pytest.approx(
        operator.submatrix(backwards), abs=1e-5 * operator.trace()
    )
    monkeypatch.setattr(type(operator), "rough_submatrix", lambda *_: None)
    exact = certpca.solve(operator, 6)
    assert rough.objective >= exact.objective * (1 - 1e-12)
    block = operator.submatrix(rough.support)
    assert rough.objective == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-12)
    assert rough.objective / rough.relative_objective == pytest.approx(
        exact.objective / exact.relative_objective, rel=1e-9
    )
