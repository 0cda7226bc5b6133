"""Runs end when they are told to, with an answer."""

import math
import os
import signal
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Budget, Solution, Status, Step
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError

# Solvers that work in many steps, so that there is something to cut short.
STEPWISE = ["auto", "coordinatewise", "decomposition", "spannogram", "truncated-power"]


@pytest.fixture
def problem() -> Any:
    """Pure noise: the hardest to be done with quickly."""
    return certpca.from_data(np.random.default_rng(0).standard_normal((40, 120)))


def assert_valid(solution: Solution) -> None:
    assert 1 <= solution.support.size <= solution.sparsity
    assert np.linalg.norm(solution.loadings) == pytest.approx(1.0)
    assert solution.objective > 0
    assert (np.diff(solution.support) > 0).all()


# --- the budget itself --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits", [{"seconds": 0}, {"seconds": -1.0}, {"seconds": math.nan}, {"steps": 0}, {"steps": math.nan}]
)
def test_budget_without_room_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(InvalidProblemError, match="a budget needs seconds > 0 and steps >= 1, got"):
        Budget(**limits)


def test_budget_is_unlimited_by_default() -> None:
    progress = Progress()
    assert all(progress.tick(float(step)) for step in range(1000))


def test_progress_counts_steps() -> None:
    progress = Progress(Budget(steps=3))
    assert [progress.tick(1.0) for _ in range(3)] == [True, True, False]
    assert progress.exhausted
    assert not progress.interrupted


def test_progress_watches_the_clock() -> None:
    progress = Progress(Budget(seconds=1e-9))
    assert progress.exhausted
    assert not progress.tick(1.0)


def test_history_keeps_improvements_only() -> None:
    progress = Progress()
    for objective, bound in [(1.0, math.inf), (0.5, math.inf), (1.0, 9.0), (2.0, 11.0), (1.5, 8.0)]:
        progress.tick(objective, bound)
    known = [(step.objective, step.upper_bound) for step in progress.history]
    assert known == [(1.0, math.inf), (1.0, 9.0), (2.0, 9.0), (2.0, 8.0)]


# --- in a run -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", STEPWISE)
def test_step_limit_returns_the_best_so_far(problem: Any, solver: str) -> None:
    seen: list[Step] = []
    solution = certpca.solve(problem, 10, solver, budget=Budget(steps=1), listener=seen.append)
    assert len(seen) == 1
    assert solution.status is Status.OUT_OF_BUDGET
    assert "allow more time or steps" in solution.status.value
    assert_valid(solution)


@pytest.mark.parametrize("solver", certpca.available_solvers())
def test_tiny_time_limit_still_gives_an_answer(problem: Any, solver: str) -> None:
    solution = certpca.solve(problem, 10, solver, budget=Budget(seconds=1e-6))
    assert solution.status is Status.OUT_OF_BUDGET
    assert_valid(solution)


@pytest.mark.parametrize("solver", certpca.available_solvers())
def test_history_never_gets_worse_and_never_exceeds_the_answer(problem: Any, solver: str) -> None:
    solution = certpca.solve(problem, 10, solver)
    objectives = [step.objective for step in solution.history]
    seconds = [step.seconds for step in solution.history]
    assert objectives == sorted(objectives)
    assert seconds == sorted(seconds)
    assert seconds[-1] <= solution.seconds
    assert objectives[-1] <= solution.objective * (1 + 1e-9)


def test_more_steps_are_never_worse(problem: Any) -> None:
    found = [certpca.solve(problem, 10, "coordinatewise", budget=Budget(steps=n)).objective for n in (1, 2, 4, 8)]
    assert found == sorted(found)


def test_generous_budget_changes_nothing(problem: Any) -> None:
    free, limited = (certpca.solve(problem, 10, budget=budget) for budget in (None, Budget(3600, 10**9)))
    np.testing.assert_array_equal(free.support, limited.support)
    assert limited.status is Status.CONVERGED


# --- listeners ----------------------------------------------------------------------------------


def test_listener_hears_steps_in_order(problem: Any) -> None:
    seen: list[Step] = []
    certpca.solve(problem, 10, listener=seen.append)
    assert len(seen) > 2
    assert all(later.objective >= earlier.objective for earlier, later in pairwise(seen))


@pytest.mark.parametrize("solver", STEPWISE)
def test_listener_returning_false_ends_the_run(problem: Any, solver: str) -> None:
    calls: list[Step] = []

    def stop(step: Step) -> bool:
        calls.append(step)
        return False

    solution = certpca.solve(problem, 10, solver, listener=stop)
    assert len(calls) == 1
    assert solution.status is Status.INTERRUPTED
    assert_valid(solution)


@pytest.mark.parametrize("answer", [None, 0, "", True])
def test_other_answers_of_a_listener_do_not_end_the_run(problem: Any, answer: object) -> None:
    assert certpca.solve(problem, 10, listener=lambda step: answer).status is Status.CONVERGED


def test_error_in_a_listener_reaches_the_caller(problem: Any) -> None:
    def fail(step: Step) -> None:
        message = "from the listener"
        raise RuntimeError(message)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="from the listener"):
        certpca.solve(problem, 10, listener=fail)
    assert signal.getsignal(signal.SIGINT) is before


# --- Ctrl-C -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", STEPWISE)
def test_first_ctrl_c_ends_the_run_with_an_answer(problem: Any, solver: str) -> None:
    before = signal.getsignal(signal.SIGINT)
    calls: list[Step] = []

    def press(step: Step) -> None:
        calls.append(step)
        os.kill(os.getpid(), signal.SIGINT)

    solution = certpca.solve(problem, 10, solver, listener=press)
    assert len(calls) == 1
    assert solution.status is Status.INTERRUPTED
    assert_valid(solution)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def usual_handler() -> Iterator[None]:
    """Restore Python's own handler: a process started in the background may ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_handler")
def test_second_ctrl_c_raises(problem: Any) -> None:
    before = signal.getsignal(signal.SIGINT)

    def press_twice(step: Step) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        certpca.solve(problem, 10, listener=press_twice)
    assert signal.getsignal(signal.SIGINT) is before


def test_handler_of_the_program_is_restored(problem: Any) -> None:
    before = signal.getsignal(signal.SIGINT)
    mine = lambda number, frame: None  # noqa: E731
    signal.signal(signal.SIGINT, mine)
    try:
        certpca.solve(problem, 5)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


def test_solve_works_in_another_thread(problem: Any) -> None:
    answers: list[Solution] = []
    thread = threading.Thread(target=lambda: answers.append(certpca.solve(problem, 10)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(answers[0].support, certpca.solve(problem, 10).support)


def test_steps_that_are_left_are_counted():
    progress = Progress(Budget(steps=3))
    left = [progress.steps_left]
    while progress.tick(1.0):
        left.append(progress.steps_left)
    assert [*left, progress.steps_left] == [3, 2, 1, 0]
    assert Progress().steps_left == math.inf
