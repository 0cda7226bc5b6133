"""The league table's judge, tuning and inputs: they decide who wins, so they are tested as the product is."""

import numpy as np
import pytest
from benchmarks.peers.figure import group_of
from benchmarks.peers.objective import Judge, Verdict
from benchmarks.peers.problem import Problem, centred, from_matrix, load, sparse, uncentred
from benchmarks.peers.results import League
from benchmarks.peers.run import solvers
from benchmarks.peers.semidefinite import dual_bound, violation
from benchmarks.peers.timing import Effort, soft_threshold, tuned
from scipy.sparse import csr_array

from certpca.datasets.examples import pitprops_matrix


@pytest.fixture
def data() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((30, 8)) * np.arange(1, 9)


def test_judge_reports_the_share_of_the_largest_eigenvalue() -> None:
    judge = Judge(from_matrix(pitprops_matrix()))
    vector = np.zeros(13)
    vector[[0, 1]] = 1.0
    verdict = judge.verdict(vector, 2)
    assert isinstance(verdict, Verdict)
    # Two variables with correlation 0.954: 1.954, and equal loadings are the best ones.
    assert verdict.raw == pytest.approx(1.954 / 4.218633, rel=1e-6)
    assert verdict.refitted == pytest.approx(verdict.raw)


def test_refitting_never_captures_less(data: np.ndarray) -> None:
    judge = Judge(centred(data))
    verdict = judge.verdict(np.array([0, 0, 0, 0, 5.0, 0, 1.0, -2.0]), 3)
    assert isinstance(verdict, Verdict)
    assert verdict.raw < verdict.refitted <= 1


@pytest.mark.parametrize("vector", [np.ones(8), np.zeros(8), np.full(8, np.nan), np.ones(3)])
def test_judge_refuses_what_is_no_answer(data: np.ndarray, vector: np.ndarray) -> None:
    assert str(Judge(centred(data)).verdict(vector, 3)).startswith("no answer")


def test_sparse_data_mean_the_same_as_dense(data: np.ndarray, tmp_path) -> None:
    holes = np.where(np.abs(data) > 2, data, 0.0).astype(np.float32)
    thin, thick = sparse(csr_array(holes)), centred(holes)
    np.testing.assert_allclose(thin.matrix(), thick.matrix(), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(thin.dense(), thick.dense(), atol=1e-5)
    assert thin.leading(1e-10)[0] == pytest.approx(thick.leading(1e-10)[0], rel=1e-6)
    thin.save(tmp_path / "problem")
    np.testing.assert_array_equal(load(tmp_path / "problem").dense(), thin.dense())


def test_contrasts_keep_the_matrix_and_leave_no_means(data: np.ndarray) -> None:
    made = uncentred(data + 7)
    np.testing.assert_allclose(made.matrix(), (data + 7).T @ (data + 7))
    np.testing.assert_allclose(made.values.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("start", [1e-3, 1.0, 1e3])
def test_tuning_reaches_the_sparsity_from_anywhere(start: float) -> None:
    levels = np.arange(1.0, 41.0)

    def fit(penalty: float) -> np.ndarray:
        return np.maximum(levels - penalty, 0.0)

    answer = tuned(fit, start, 10, Effort(60.0, 0.0))
    assert np.count_nonzero(answer.vector) == 10


def test_tuning_stops_at_a_tie_that_no_penalty_breaks() -> None:
    def fit(penalty: float) -> np.ndarray:
        return np.where(penalty < 2.0, np.ones(40), np.r_[np.ones(3), np.zeros(37)])

    answer = tuned(fit, 1.0, 10, Effort(60.0, 0.0))
    assert np.count_nonzero(answer.vector) == 3


def test_first_penalty_thresholds_the_leading_component(data: np.ndarray) -> None:
    problem = centred(data)
    largest, penalty = soft_threshold(problem, 3)
    left = np.linalg.svd(problem.values, full_matrices=False)[0][:, 0]
    assert np.count_nonzero(np.abs(problem.values.T @ left) > penalty * (1 + 1e-6)) == 3
    assert largest == pytest.approx(np.linalg.eigvalsh(problem.matrix())[-1])


def test_violations_of_the_relaxation_are_seen() -> None:
    feasible = np.diag([0.5, 0.5])
    assert violation(feasible, 1) == 0
    assert violation(feasible * 1.1, 2) == pytest.approx(0.1)
    assert violation(np.array([[0.5, 0.6], [0.6, 0.5]]), 2) == pytest.approx(0.1)
    assert violation(np.full((2, 2), 0.5), 1) == pytest.approx(1.0)


def test_dual_bound_holds_for_any_dual_variables() -> None:
    matrix = pitprops_matrix()
    rng = np.random.default_rng(0)
    for _ in range(20):
        slack = rng.standard_normal((13, 13))
        assert dual_bound(matrix, slack, rng.standard_normal(), 7) >= 3.9961


def test_losses_are_found() -> None:
    def row(solver: str, refitted: float, seconds: float) -> dict[str, object]:
        return {
            "outcome": "answered",
            "solver": solver,
            "refitted": refitted,
            "seconds": seconds,
            "tuning_seconds": 1.0,
        }

    own, more, quick, slow = row("certpca_auto", 0.9, 5), row("a", 0.91, 9), row("b", 0.9, 1), row("c", 0.9, 8)
    league = League("case", [own, more, quick, slow])
    assert league.better(own) == [more]
    assert league.faster(own) == [quick]
    assert league.quickest_near(own) == quick


def test_matrix_is_given_back_by_its_data() -> None:
    problem: Problem = from_matrix(pitprops_matrix())
    np.testing.assert_allclose(problem.matrix(), pitprops_matrix(), atol=1e-12)


def test_every_peer_has_a_place_in_the_picture() -> None:
    for solver in solvers():
        assert solver.startswith("certpca") or group_of(solver)
