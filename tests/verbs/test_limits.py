"""A limit on time holds for the whole of a call. The clock is a fake one that only work with the data moves."""

import io
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Budget, Status
from certpca.bounds import proof_costs
from certpca.bounds.l0_dual.problem import DualProblem
from certpca.bounds.proof_costs import ProofCosts
from certpca.bounds.sdp.splitting import Splitting as AlternatingDirections
from certpca.bounds.stalling import Stall
from certpca.checker import dual_points, screening
from certpca.checker.rules import l0_dual, l0_tree, rules
from certpca.frontends.cli.terminal import print_solution
from certpca.frontends.estimators import sparse_pca
from certpca.operators.covariance import DenseCovariance
from certpca.runtime.budget import DEFAULT_SECONDS, Progress, begun
from certpca.runtime.limits import limits, with_limits

SIZE = 600  # features: enough for supports that are too wide for LAPACK


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def slow(self, patch: pytest.MonkeyPatch, where: Any, name: str, seconds: Any) -> None:
        """Let a function or method take so many seconds, or as many as a function of its arguments says."""
        done: Callable[..., Any] = getattr(where, name)

        def slowly(*arguments: Any, **options: Any) -> Any:
            self.now += seconds(*arguments) if callable(seconds) else seconds
            return done(*arguments, **options)

        patch.setattr(where, name, slowly)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr("certpca.runtime.budget.clock", fake)
    return fake


@pytest.fixture
def slow_data(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Noise, which keeps every solver busy; a product with it takes a second, one with a part of it less."""
    for name in ("matmat", "columns", "images", "captured", "transposed_times"):
        clock.slow(monkeypatch, DenseCovariance, name, lambda operator, *_: operator.size / SIZE)
    clock.slow(monkeypatch, AlternatingDirections, "_advance", 1.0)
    clock.slow(monkeypatch, DualProblem, "evaluate", 1.0)
    return np.random.default_rng(0).standard_normal((40, SIZE))


# --- the clock of a call ------------------------------------------------------------------------


def test_parts_share_one_deadline(clock: Clock) -> None:
    whole = Progress(Budget(seconds=12))
    clock.now = 2.0
    part = whole.part(0.5)
    assert part.remaining == 5.0
    assert part.part().deadline == part.deadline == 7.0
    clock.now = 8.0
    assert part.late()
    assert not whole.late()
    assert whole.part().remaining == 4.0
    assert whole.part(0.5).part(0.5).remaining == 1.0
    clock.now = 13.0
    assert whole.part().remaining == 0.0


def test_what_is_set_aside_is_left_for_what_follows(clock: Clock) -> None:
    progress = Progress(Budget(seconds=10))
    clock.now = 7.0
    with progress.setting_aside(2):
        assert not progress.exhausted
        assert progress.part().remaining == 1.0
        with progress.setting_aside(2):
            assert progress.exhausted
    assert not progress.exhausted
    assert not progress.late(2.5)
    assert progress.late(3.0)


def test_whoever_is_told_to_stop_is_cut_short_and_so_is_the_whole(clock: Clock) -> None:
    whole = Progress(Budget(seconds=10))
    first, second = whole.part(0.1), whole.part(0.5)
    clock.now = 2.0
    assert second.tick(1.0) is not False
    assert not whole.cut_short
    assert not second.cut_short
    assert first.late()
    assert first.cut_short
    assert whole.cut_short
    assert not second.cut_short


def test_a_part_goes_on_with_history_and_seconds(clock: Clock) -> None:
    whole = Progress(Budget(seconds=100))
    search = whole.part(after=whole)
    clock.now = 5.0
    search.tick(1.0)
    proof = whole.part(after=search)
    clock.now = 7.0
    proof.tick(1.0, 3.0)
    assert [(step.seconds, step.upper_bound) for step in proof.history] == [(5.0, math.inf), (7.0, 3.0)]
    assert whole.part().history == ()


def test_one_listener_ends_all_parts() -> None:
    whole = Progress(listener=lambda step: False)
    other = whole.part()
    whole.part().tick(1.0)
    assert other.interrupted
    assert whole.exhausted


def test_proofs_have_a_limit_by_default_and_a_budget_of_nothing_has_none() -> None:
    assert begun(None, None, proving=True).allowed == DEFAULT_SECONDS == 600
    assert begun(None, None).allowed == math.inf
    assert begun(Budget(), None, proving=True).allowed == math.inf
    part = Progress()
    assert begun(part, None, proving=True) is part


# --- searches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", sorted(set(certpca.available_solvers()) - {"branch-and-bound"}))
@pytest.mark.parametrize("sparsity", [10, 550])
def test_solvers_end_inside_their_long_steps(clock: Clock, slow_data: Any, solver: str, sparsity: int) -> None:
    solution = certpca.solve(slow_data, sparsity, solver, budget=Budget(seconds=6))
    assert clock.now <= 6 + 6
    assert solution.support.size == sparsity or solver == "sdp-threshold"
    assert solution.status is (Status.OUT_OF_BUDGET if clock.now >= 6 else Status.CONVERGED)
    assert 0 < solution.relative_objective <= 1 or math.isnan(solution.relative_objective)


def test_relaxation_ends_inside_its_long_steps(clock: Clock, slow_data: Any) -> None:
    found = certpca.solve_sdp(slow_data, 10, target_gap=1e-9, budget=Budget(seconds=20))
    assert clock.now <= 24
    assert found.status is Status.OUT_OF_BUDGET
    assert found.lower <= found.upper


@pytest.mark.parametrize("seconds", [1e-6, 3.0, 30.0])
@pytest.mark.parametrize("certify", [False, True])
def test_every_component_exists_whatever_the_limit(clock: Clock, slow_data: Any, seconds: float, certify: bool) -> None:
    found = certpca.decompose(slow_data, 3, 10, certify=certify, budget=Budget(seconds=seconds))
    assert len(found.components) == 3
    assert clock.now <= seconds + 15
    assert all(part.support.size == 10 for part in found.components)
    assert {part.status for part in found.components} <= {Status.OUT_OF_BUDGET, Status.CONVERGED}
    if seconds < 10:
        assert found.components[2].status is Status.OUT_OF_BUDGET


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model", [certpca.SparsePCA(n_components=3, sparsity=10), certpca.SparseKernelPCA(n_components=3, sparsity=10)]
)
def test_estimators_have_the_shape_that_was_asked_for(slow_data: Any, model: Any) -> None:
    scores = model.set_params(time_limit=1e-6).fit_transform(slow_data)
    assert scores.shape == (40, 3)
    assert model.n_components_ == 3
    assert np.isfinite(scores).all()


def test_time_before_the_search_counts(clock: Clock, slow_data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock.slow(monkeypatch, sparse_pca, "from_data", 50.0)
    with pytest.warns(UserWarning, match="stopped at the budget"):
        certpca.SparsePCA(sparsity=10, time_limit=20.0).fit(slow_data)
    assert clock.now <= 55


@pytest.mark.parametrize("seconds", [1e-6, 10.0, 40.0])
def test_a_path_shares_its_time(clock: Clock, slow_data: Any, seconds: float) -> None:
    found = certpca.path(slow_data, [5, 10, 20, 550], budget=Budget(seconds=seconds))
    assert clock.now <= seconds + 14
    assert [solution.support.size for solution in found.solutions] == [5, 10, 20, 550]
    assert {solution.status for solution in found.solutions} == {Status.OUT_OF_BUDGET}
    assert (np.diff(found.objectives) >= 0).all()


@pytest.mark.parametrize(("method", "parts"), [("cross-validation", "folds"), ("stability", "halves")])
def test_parts_of_the_rows_share_the_time(clock: Clock, slow_data: Any, method: Any, parts: str) -> None:
    short = certpca.choose_sparsity(slow_data, [5, 20], method=method, budget=Budget(seconds=20))
    assert clock.now <= 40
    assert f" of {5 if parts == 'folds' else 20} {parts}" in short.reason
    assert short.reason.endswith("The limit was reached before the others.")
    clock.now = 0.0
    long = certpca.choose_sparsity(slow_data[:, :40], [5, 20], method=method, budget=Budget(seconds=100_000))
    assert "limit" not in long.reason
    assert np.isfinite(short.scores).all()


@pytest.mark.usefixtures("slow_data")
def test_what_there_was_no_time_for_is_not_told(tmp_path: Path) -> None:
    data = np.random.default_rng(0).standard_normal((200, SIZE))  # with fewer samples eigenvalues come at once
    solution = certpca.solve(data, 10, budget=Budget(seconds=1e-6))
    assert math.isnan(solution.relative_objective)
    certpca.save_solution(solution, tmp_path / "result.json")
    assert math.isnan(certpca.load_solution(tmp_path / "result.json").relative_objective)
    shown = io.StringIO()
    print_solution(solution, shown)
    assert "dense component" not in shown.getvalue()
    assert "nan" not in shown.getvalue()


# --- proofs -------------------------------------------------------------------------------------


@pytest.fixture
def costly_proofs(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The checker takes five seconds for each dual point, and that is known; a step towards one takes one."""
    clock.slow(monkeypatch, dual_points, "dual_vectors", 0.0)
    for rule in (l0_dual, l0_tree, screening):
        clock.slow(monkeypatch, rule, "point_of", 5.0)
    clock.slow(monkeypatch, DualProblem, "evaluate", 1.0)
    monkeypatch.setattr(ProofCosts, "dual", lambda self, features=None, **how: 5.0)
    monkeypatch.setattr(ProofCosts, "step", lambda self: 1.0)
    monkeypatch.setattr(ProofCosts, "learn", lambda self, predicted, took: None)
    with with_limits(always_optimal=0, searched_supports=0):  # over directions, not over features
        yield


NOISE = np.random.default_rng(1).standard_normal((12, 40))


@pytest.mark.usefixtures("costly_proofs")
@pytest.mark.parametrize("seconds", [0.5, 7.0, 20.0, 60.0, 200.0])
def test_time_for_the_proof_is_set_aside(clock: Clock, seconds: float) -> None:
    certificate = certpca.certify(NOISE, 5, target_gap=1e-4, budget=Budget(seconds=seconds))
    assert clock.now <= seconds + 1
    assert certificate.status is Status.OUT_OF_BUDGET
    assert certificate.kind in (("trace", "row-sums") if seconds < 6 else ("l0-dual", "l0-tree"))
    assert certificate.kind == "l0-tree" or seconds < 200
    certpca.verify(certificate, NOISE)


@pytest.mark.usefixtures("costly_proofs")
def test_more_time_gives_no_worse_bounds() -> None:
    bounds = [
        certpca.certify(NOISE, 5, target_gap=1e-4, budget=Budget(seconds=s)).upper_bound for s in (1, 20, 60, 200)
    ]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.usefixtures("costly_proofs")
@pytest.mark.parametrize("seconds", [15.0, 40.0])
def test_no_bound_of_a_path_lies_above_the_largest_eigenvalue(clock: Clock, seconds: float) -> None:
    found = certpca.path(NOISE, [2, 5, 10, 20, 40], certify=True, target_gap=1e-4, budget=Budget(seconds=seconds))
    assert clock.now <= seconds + 1
    largest = np.linalg.eigvalsh(np.cov(NOISE, rowvar=False))[-1]
    assert all(solution.upper_bound <= largest * (1 + 1e-6) for solution in found.solutions)


@pytest.mark.usefixtures("costly_proofs")
def test_solve_with_a_proof_says_that_the_limit_ended_it(clock: Clock) -> None:
    solution = certpca.solve(NOISE, 5, certify=True, target_gap=1e-4, budget=Budget(seconds=20))
    assert clock.now <= 21
    assert solution.status is Status.OUT_OF_BUDGET
    assert solution.certificate is not None


@pytest.mark.usefixtures("costly_proofs")
def test_without_a_budget_a_proof_ends_at_the_default_limit(clock: Clock) -> None:
    with with_limits(patience=math.inf):
        solution = certpca.solve(NOISE, 5, certify=True, target_gap=1e-7)
    assert 500 < clock.now <= DEFAULT_SECONDS
    assert solution.status is Status.OUT_OF_BUDGET


def test_a_proof_that_nobody_could_wait_for_is_not_begun(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProofCosts, "preparing", lambda self: 1000.0)
    solution = certpca.solve(NOISE, 5, certify=True, budget=Budget(seconds=5))
    assert solution.certificate is None
    assert solution.status is Status.OUT_OF_BUDGET
    assert certpca.certify(NOISE, 5, budget=Budget(seconds=5)).kind in rules()


@pytest.mark.parametrize("kind", ["sdp-dual", "largest-eigenvalue", "trace"])
def test_the_relaxation_is_proved_by_what_there_is_time_for(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(self: Any, asked: str, evidence: Any) -> float:
        return 0.0 if asked == kind else 1e6

    monkeypatch.setattr(ProofCosts, "of", seconds)
    data = np.random.default_rng(0).standard_normal((20, 30)) @ np.diag(np.linspace(1, 3, 30))
    solution = certpca.solve(data, 15, "sdp-threshold", budget=Budget(seconds=1000))
    assert solution.certificate is not None
    assert solution.certificate.kind == kind
    assert solution.details["alpha"] >= 1
    assert solution.details["sdp_upper"] >= solution.details["sdp_lower"] * (1 - 1e-9)
    certpca.verify(solution.certificate, data)


# --- costs --------------------------------------------------------------------------------------


def test_costs_grow_with_the_work_and_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProofCosts, "_rate", 1e9)
    small, large = (
        ProofCosts(certpca.from_data(np.random.default_rng(0).standard_normal((rows, 400)))) for rows in (20, 200)
    )
    for name in ("dual", "step", "posing", "preparing"):
        assert getattr(large, name)() > getattr(small, name)() > 0
    assert large.closed_form("largest-eigenvalue") > large.closed_form("trace")
    assert large.dual(10) < large.dual() < large.dual(roots=False)
    before = large.dual()
    large.learn(1.0, 0.01)  # remembered by the checker
    assert large.dual() == before
    large.learn(1.0, 4.0)
    assert large.dual() == pytest.approx(4 * proof_costs.MARGIN * before)
    large.known.add("largest-eigenvalue")
    assert large.closed_form("largest-eigenvalue") == 0.0


def test_sparse_data_are_cheap_until_they_are_deflated() -> None:
    from scipy import sparse

    table = sparse.random_array((300, 500), density=0.01, random_state=0, format="csc")
    problem = certpca.from_data(table)
    deflated = certpca.operators.deflation.deflate(problem, np.arange(3), np.full(3, 3**-0.5))
    assert ProofCosts(problem).preparing() < ProofCosts(deflated).preparing() / 5


# --- bounds that stand still --------------------------------------------------------------------


def test_a_bound_that_stands_still_is_given_up(clock: Clock) -> None:
    progress = Progress()
    stall, bound = Stall(progress), 3.0
    for second in range(1, 200):
        clock.now = float(second)
        bound = 2.0 + 1.0 / min(second, 5)  # flat since second five
        if stall.over(1.0, bound):
            break
    assert clock.now == limits().patience
    assert progress.stalled


def test_a_bound_that_falls_slowly_is_not_given_up(clock: Clock) -> None:
    stall = Stall(Progress())
    for second in range(1, 2000):
        clock.now = float(second)
        assert not stall.over(1.0, 1.0 + 1.0 / (1 + 0.1 * math.log(second)))


def test_few_long_steps_are_not_given_up(clock: Clock) -> None:
    stall = Stall(Progress())
    for step in range(6):
        clock.now += 100.0
        assert not stall.over(1.0, 2.0), step


@pytest.mark.usefixtures("costly_proofs")
def test_certify_says_that_it_stalled() -> None:
    with with_limits(least_progress=0.9):  # nothing is fast enough
        certificate = certpca.certify(NOISE, 5, target_gap=1e-7, budget=Budget())
        solution = certpca.solve(NOISE, 5, certify=True, target_gap=1e-7, budget=Budget())
    assert certificate.status is Status.STALLED
    assert solution.status is Status.STALLED
