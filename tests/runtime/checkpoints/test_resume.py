"""A run that is killed, interrupted or out of time goes on where it was, and ends as if nothing had happened."""

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import certpca
from certpca.runtime import checkpoint
from certpca.runtime.atomic_write import write_bytes_whole
from tests.runtime.checkpoints.problems import (
    RUNS,
    assert_as_if_uninterrupted,
    assert_proves_as_much,
    every_step,
    names_in,
    uninterrupted,
)

ROOT = Path(__file__).parents[3]


class Killed(BaseException):
    """Ends a run in this process at once."""


def work(name: str, folder: Path, *way: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.runtime.checkpoints.worker", name, str(folder), *way]
    return subprocess.Popen(command, cwd=ROOT)


# --- kill -9 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "state", "steps"),
    [
        ("cover", "proof.regions", "3"),
        ("shrunk", "proof.shrunk", "4"),
        ("tree", "proof.tree", "2"),
        ("branch-and-bound", "search.tree", "3"),
        ("path", "k4.certificate", "5"),
    ],
)
def test_killed_in_the_middle_of(name: str, state: str, steps: str, tmp_path: Path) -> None:
    folder = tmp_path / "states"
    assert work(name, folder, "step", state, steps).wait(60) == -9
    assert state in names_in(folder)
    assert not names_in(folder) & {"proof.certificate", "k12.certificate"}  # it had not finished
    assert_as_if_uninterrupted(RUNS[name](checkpoint=folder), name)


@pytest.mark.parametrize("way", ["rename", "flush"])
def test_killed_while_a_file_is_written(way: str, tmp_path: Path) -> None:
    folder = tmp_path / "states"
    assert work("shrunk", folder, way, "", str(random.Random(0).randint(8, 30))).wait(60) == -9
    assert len(list(folder.glob(".*.part"))) == 1
    assert_as_if_uninterrupted(RUNS["shrunk"](checkpoint=folder), "shrunk")
    assert not list(folder.glob(".*"))


def test_killed_while_the_first_file_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "states"
    assert work("shrunk", folder, "rename", "", "1").wait(60) == -9
    assert sorted(file.suffix for file in folder.iterdir()) == ["", ".part"]
    assert_as_if_uninterrupted(RUNS["shrunk"](checkpoint=folder), "shrunk")


def test_killed_at_any_moment_by_somebody_else(tmp_path: Path) -> None:
    folder = tmp_path / "states"
    process = work("tree", folder, "wait")
    deadline = time.monotonic() + 60
    while "proof.root" not in names_in(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(random.SystemRandom().uniform(0.0, 0.5))
    with pytest.raises(certpca.CertpcaError, match="is in use by another run"):
        RUNS["tree"](checkpoint=folder)
    process.kill()
    process.wait(60)
    assert "proof.certificate" not in names_in(folder)
    assert_as_if_uninterrupted(RUNS["tree"](checkpoint=folder), "tree")


# --- again and again, in one process ------------------------------------------------------------


def dying_after(stores: int) -> Callable[..., None]:
    """Return a stand-in for writing that works so many times."""
    left = stores

    def write(*arguments: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        write_bytes_whole(*arguments)

    return write


@pytest.mark.parametrize(
    ("name", "stores"),
    [
        ("cover", 41),
        ("shrunk", 7),
        ("tree", 19),
        ("reduced", 4),
        ("semidefinite", 3),
        ("branch-and-bound", 5),
        ("certified", 13),
        ("device", 19),
        ("path", 30),
        ("path-of-one-solver", 5),
        ("components", 5),
        ("choice", 7),
    ],
)
def test_dies_again_and_again(name: str, stores: int, tmp_path: Path) -> None:
    deaths, answer = 0, None
    while answer is None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint, "write_bytes_whole", dying_after(stores))
            try:
                answer = RUNS[name](checkpoint=every_step(tmp_path))
            except Killed:
                deaths += 1
                assert deaths < 100
    assert deaths > 0
    assert_as_if_uninterrupted(answer, name)
    if isinstance(answer, certpca.Certificate):
        assert answer.tree == uninterrupted(name).tree


# --- ended early ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "state"), [("cover", "proof.certificate"), ("branch-and-bound", "search.candidate")])
def test_interrupted_again_and_again(name: str, state: str, tmp_path: Path) -> None:
    for _ in range(50):
        steps: list[certpca.Step] = []

        def enough(step: certpca.Step, heard: list[certpca.Step] = steps) -> bool:
            heard.append(step)
            return sum(step.upper_bound < float("inf") for step in heard) < 7

        answer = RUNS[name](checkpoint=every_step(tmp_path), listener=enough)
        certificate = answer if isinstance(answer, certpca.Certificate) else answer.certificate
        assert certificate.upper_bound >= uninterrupted(name).upper_bound * (1 - 1e-9)
        if state in names_in(tmp_path):
            break
    assert_as_if_uninterrupted(RUNS[name](checkpoint=tmp_path), name)
    assert state in names_in(tmp_path)


def test_time_limit_is_for_each_run_and_seconds_add_up(tmp_path: Path) -> None:
    def slowly(step: certpca.Step) -> None:
        time.sleep(0.02 * (step.upper_bound < float("inf")))

    first = RUNS["tree"](checkpoint=tmp_path, budget=certpca.Budget(seconds=0.5), listener=slowly)
    assert "proof.certificate" not in names_in(tmp_path)
    second = RUNS["tree"](checkpoint=tmp_path)
    assert_proves_as_much(second, "tree")
    assert second.seconds > first.seconds > 0.4


def test_less_time_does_not_make_the_bound_worse(tmp_path: Path) -> None:
    def until_the_cover(step: certpca.Step) -> bool:
        return "proof.regions" not in names_in(tmp_path)

    first = RUNS["cover"](checkpoint=tmp_path, listener=until_the_cover)
    second = RUNS["cover"](checkpoint=tmp_path, listener=lambda step: False)
    assert second.upper_bound == first.upper_bound > uninterrupted("cover").upper_bound
    assert_as_if_uninterrupted(RUNS["cover"](checkpoint=tmp_path), "cover")


def test_history_goes_on(tmp_path: Path) -> None:
    def until_the_root(step: certpca.Step) -> bool:
        return step.upper_bound == float("inf") or "proof.root-certificate" not in names_in(tmp_path)

    first = RUNS["certified"](checkpoint=tmp_path, listener=until_the_root)
    second = RUNS["certified"](checkpoint=tmp_path)
    assert first.status is certpca.Status.INTERRUPTED
    assert len(second.history) >= len(first.history) > 2
    assert [step.upper_bound for step in second.history[: len(first.history) - 1]] == [
        step.upper_bound for step in first.history[:-1]
    ]
    assert_as_if_uninterrupted(second, "certified")


# --- finished ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree", "branch-and-bound", "path", "certified"])
def test_finished_run_answers_at_once_and_keeps_only_what_that_takes(name: str, tmp_path: Path) -> None:
    first = RUNS[name](checkpoint=tmp_path)
    heard: list[certpca.Step] = []
    again = RUNS[name](checkpoint=tmp_path, listener=heard.append)
    assert_as_if_uninterrupted(first, name)
    assert_as_if_uninterrupted(again, name)
    assert not heard
    assert all(state.rpartition(".")[2] in {"certificate", "candidate", "search"} for state in names_in(tmp_path))


def test_certificate_of_a_resumed_run_holds(tmp_path: Path) -> None:
    from tests.runtime.checkpoints.problems import planted

    RUNS["shrunk"](checkpoint=tmp_path, listener=lambda step: step.upper_bound == float("inf"))
    certificate = RUNS["shrunk"](checkpoint=tmp_path)
    proof = certpca.verify(certificate, planted(25, 500, 3, 1.5))
    assert proof.upper_bound <= certificate.upper_bound
