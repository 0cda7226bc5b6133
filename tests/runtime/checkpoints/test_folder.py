"""The folder of a checkpoint: to whom it belongs, what damages it, and what a full disk does."""

import errno
import json
import os
import resource
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main
from certpca.genotypes.plink_writing import write_plink
from certpca.results.files import load_path, save_path
from certpca.runtime import checkpoint
from certpca.runtime.atomic_write import write_bytes_whole
from certpca.runtime.checkpoint import Checkpoint, CheckpointFolder, opened
from certpca.runtime.errors import DataFileError
from tests.runtime.checkpoints.problems import (
    RUNS,
    assert_as_if_uninterrupted,
    every_step,
    names_in,
    planted,
    uninterrupted,
)

NO_FACTS: Callable[[], dict[str, Any]] = dict


@pytest.fixture
def states(tmp_path: Path) -> Iterator[Checkpoint]:
    with opened(tmp_path / "states", NO_FACTS) as opened_states:
        assert opened_states is not None
        yield opened_states


# --- states --------------------------------------------------------------------------------------


def test_state_comes_back_exactly(states: Checkpoint) -> None:
    twice = np.arange(6.0).reshape(2, 3)
    state: dict[str, Any] = {
        "number": 0.1 + 0.2,
        "huge": float("inf"),
        "none": None,
        "list": [1, "two", [np.float64(3.5), np.int64(4), np.bool_(True)]],
        "arrays": {"a": twice, "b": twice, "fortran": np.asfortranarray(twice), "single": twice.astype(np.float32)},
        "empty": np.zeros((0, 3), dtype=np.intp),
    }
    states.store("some", state)
    back = states.load("some")
    for name, array in state["arrays"].items():
        np.testing.assert_array_equal(back["arrays"][name], array)
        assert back["arrays"][name].dtype == array.dtype
        assert back["arrays"][name].flags.f_contiguous == array.flags.f_contiguous
    assert back["arrays"]["a"] is back["arrays"]["b"]
    assert back["empty"].shape == (0, 3)
    assert {name: back[name] for name in ("number", "huge", "none")} == {
        "number": 0.1 + 0.2,
        "huge": float("inf"),
        "none": None,
    }
    assert back["list"] == [1, "two", [3.5, 4, True]]


def test_what_was_never_stored_is_none(states: Checkpoint) -> None:
    assert states.load("some") is None


def test_states_that_follow_quickly_are_left_out_unless_they_must_not(states: Checkpoint) -> None:
    states.store("some", 1)
    states.store("some", 2)
    assert states.load("some") == 1
    states.store("some", 3, now=True)
    assert states.load("some") == 3


def test_storing_takes_a_small_share_of_the_time(states: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def slowly(*arguments: Any) -> None:
        clock[0] += 5.0  # as long as storing takes
        write_bytes_whole(*arguments)

    monkeypatch.setattr(checkpoint, "write_bytes_whole", slowly)
    states.store("some", "first")
    for wait, stored in [(49.0, "first"), (2.0, "second")]:
        clock[0] += wait
        states.store("some", "second")
        assert states.load("some") == stored


def test_parts_share_no_names_and_finish_alone(states: Checkpoint) -> None:
    first, second = states.part("k1"), states.part("k12")
    for part in (first, second):
        part.store("root", 1)
    first.finish("certificate", 2)
    assert first.load("root") is None
    assert first.load("certificate") == 2
    assert second.load("root") == 1


# --- whose it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"sparsity": 5}, r"sparsity was 4 there and is 5 now"),
        ({"target_gap": 0.5}, r"target gap was 0\.01 there and is 0\.5 now"),
        ({"branching": False}, r"branching was True there and is False now"),
        ({"rng": 1}, r"seed was 0 there and is 1 now"),
        ({"data": planted(20, 12, 2, 1.0)}, r"data was '\w+' there and is '\w+' now"),
        ({"scale": True}, r"data was '\w+' there and is '\w+' now"),
    ],
)
def test_other_run_is_refused(change: dict[str, Any], fact: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": planted(20, 12, 1, 1.0), "sparsity": 4, "checkpoint": tmp_path}
    certpca.certify(**asked)
    with pytest.raises(DataFileError, match=f"belongs to another run: {fact}; go on with the same, or name another"):
        certpca.certify(**(asked | change))
    certpca.certify(**asked)


def test_other_command_solver_solution_and_warm_start_are_refused(tmp_path: Path) -> None:
    data = planted(20, 12, 1, 1.0)
    solution = certpca.solve(data, 4, checkpoint=tmp_path / "solve")
    with pytest.raises(DataFileError, match=r"solver was 'Auto\(.*starts=192.*' there and is 'Auto\(.*starts=7.*now"):
        certpca.solve(data, 4, certpca.solver_named("auto", starts=7), checkpoint=tmp_path / "solve")
    with pytest.raises(DataFileError, match=r"command was 'solve' there and is 'certify' now"):
        certpca.certify(data, 4, checkpoint=tmp_path / "solve")
    certificate = certpca.certify(data, 4, checkpoint=tmp_path / "certify")
    with pytest.raises(DataFileError, match=r"solution was None there"):
        certpca.certify(data, 4, solution=solution, checkpoint=tmp_path / "certify")
    with pytest.raises(DataFileError, match=r"warm was None there"):
        certpca.certify(data, 4, warm=certificate, checkpoint=tmp_path / "certify")
    certpca.path(data, [2, 4], checkpoint=tmp_path / "path")
    with pytest.raises(DataFileError, match=r"sparsities was \[2, 4\] there and is \[2, 4, 5\] now"):
        certpca.path(data, [2, 4, 5], checkpoint=tmp_path / "path")


def test_generator_in_another_state_is_another_run(tmp_path: Path) -> None:
    data = planted(20, 12, 1, 1.0)
    certpca.solve(data, 4, rng=np.random.default_rng(3), checkpoint=tmp_path)
    certpca.solve(data, 4, rng=np.random.default_rng(3), checkpoint=tmp_path)
    with pytest.raises(DataFileError, match="seed was"):
        certpca.solve(data, 4, rng=np.random.default_rng(4), checkpoint=tmp_path)


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    refused = pytest.raises(DataFileError, match="is in use by another run; wait for it or name another")
    with opened(tmp_path, NO_FACTS), refused:
        opened(tmp_path, NO_FACTS).__enter__()
    with opened(tmp_path, NO_FACTS) as again:
        assert again is not None


def test_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("text")
    with pytest.raises(DataFileError, match=r"holds other files, such as 'thesis\.tex'; name a new or empty one"):
        RUNS["tree"](checkpoint=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    certpca.solve(planted(20, 12, 1, 1.0), 4, checkpoint=str(tmp_path / "a" / "b"))
    assert names_in(tmp_path / "a" / "b") == {"search.candidate"}


def test_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(DataFileError, match=r"the checkpoint folder .*file' cannot be used: File exists"):
        RUNS["tree"](checkpoint=tmp_path / "file")


def test_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", refuse)  # the administrator may write to any folder
    with pytest.raises(DataFileError, match=r"the checkpoint folder .* cannot be used: Permission denied"):
        RUNS["tree"](checkpoint=tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write to any folder")
def test_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(DataFileError, match=r"the checkpoint folder .* cannot be used: Permission denied"):
        RUNS["tree"](checkpoint=tmp_path)


# --- damage --------------------------------------------------------------------------------------


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def _emptied(content: bytes) -> bytes:
    return content[:0]


@pytest.mark.parametrize("damage", [_cut, _flipped, _emptied])
@pytest.mark.parametrize("file", ["run.json", "proof.root.npz"])
def test_damaged_file(file: str, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    RUNS["tree"](checkpoint=tmp_path, listener=lambda step: "proof.root" not in names_in(tmp_path))
    target = tmp_path / file
    target.write_bytes(damage(target.read_bytes()))
    with pytest.raises(
        DataFileError, match=f"{file}' in the checkpoint .* is damaged .*; remove the folder|another run"
    ):
        RUNS["tree"](checkpoint=tmp_path)


@pytest.mark.parametrize("content", ["[]", "3", "null", '"text"'])
def test_run_that_is_not_described(content: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(DataFileError, match=r"run\.json' in the checkpoint .* is damaged"):
        RUNS["tree"](checkpoint=tmp_path)


def test_pickles_are_not_read(states: Checkpoint, tmp_path: Path) -> None:
    with (tmp_path / "states" / "some.npz").open("wb") as stream:
        np.savez(stream, plain=np.array([{}], dtype=object))
    with pytest.raises(DataFileError, match=r"some\.npz' in the checkpoint .* is damaged"):
        states.load("some")


def test_missing_file_that_another_refers_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RUNS["cover"](checkpoint=tmp_path, listener=lambda step: "proof.regions" not in names_in(tmp_path))
    (tmp_path / "proof.regions-kept-0.npz").unlink()
    with pytest.raises(
        DataFileError, match=r"proof\.regions\.npz' .* is damaged \(what it refers to is missing\); remove the folder"
    ):
        RUNS["cover"](checkpoint=tmp_path)


def test_checkpoint_of_another_format(tmp_path: Path) -> None:
    RUNS["tree"](checkpoint=tmp_path)
    facts = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(facts | {"format": "certpca checkpoint 1"}))
    with pytest.raises(DataFileError, match="format was 'certpca checkpoint 1' there"):
        RUNS["tree"](checkpoint=tmp_path)


# --- a full disk ---------------------------------------------------------------------------------


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file grow beyond a size: writing more fails as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_costs_checkpoints_but_not_the_answer(tmp_path: Path) -> None:
    uninterrupted("cover")  # compiles what might otherwise be written to disk now
    told = "the run goes on without checkpoints, those stored so far are kept"
    with pytest.warns(RuntimeWarning, match=told) as heard, room_for(11000):
        answer = RUNS["cover"](checkpoint=CheckpointFolder(tmp_path, pause=0.0))
    assert len(heard) == 1
    assert_as_if_uninterrupted(answer, "cover")
    assert names_in(tmp_path) == {"search.candidate", "proof.levels"}
    assert not list(tmp_path.glob(".*"))
    assert_as_if_uninterrupted(RUNS["cover"](checkpoint=tmp_path), "cover")


def test_disk_that_fills_up_keeps_the_old_states(tmp_path: Path) -> None:
    flush, left = os.fsync, 12

    def full(handle: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(handle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.warns(RuntimeWarning, match="No space left on device"):
            assert_as_if_uninterrupted(RUNS["cover"](checkpoint=every_step(tmp_path)), "cover")
    assert {"search.candidate", "proof.levels"} <= names_in(tmp_path)
    assert "proof.regions" not in names_in(tmp_path)
    assert_as_if_uninterrupted(RUNS["cover"](checkpoint=tmp_path), "cover")


def test_full_disk_at_the_beginning_is_an_error(tmp_path: Path) -> None:
    with room_for(10), pytest.raises(DataFileError, match=r"cannot write .*run\.json"):
        RUNS["tree"](checkpoint=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["lock"]


def _written(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_full_disk_while_results_are_written_keeps_earlier_ones(tmp_path: Path) -> None:
    small = certpca.path(planted(20, 12, 1, 1.0), [2, 4], certify=True)
    large = uninterrupted("path")
    certificate = uninterrupted("shrunk")
    genotypes = np.random.default_rng(0).integers(0, 3, (400, 200))
    writers: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]] = {
        "certificate.json": (
            lambda file: certpca.save_certificate(small.solutions[0].certificate, file),  # type: ignore[arg-type]
            lambda file: certpca.save_certificate(certificate, file),
        ),
        "solution.json": (
            lambda file: certpca.save_solution(small.solutions[0], file),
            lambda file: certpca.save_solution(large.solutions[0], file),
        ),
        "path.json": (lambda file: save_path(small, file), lambda file: save_path(large, file)),
        "genotypes.bed": (
            lambda file: write_plink(file, genotypes[:9, :9]),
            lambda file: write_plink(file, genotypes),
        ),
    }
    for name, (write_small, write_large) in writers.items():
        folder = tmp_path / name
        folder.mkdir()
        write_small(folder / name)
        before = _written(folder)
        with room_for(1000), pytest.raises(DataFileError, match=r"cannot write .*: File too large"):
            write_large(folder / name)
        assert _written(folder) == before
    assert load_path(tmp_path / "path.json" / "path.json").sparsities.tolist() == [2, 4]


# --- the command ---------------------------------------------------------------------------------


def test_command_goes_on_from_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "data.npy", planted(25, 60, 2, 1.0))
    file, folder = str(tmp_path / "data.npy"), tmp_path / "states"
    for command, more in [
        ("solve", ["-k", "5", "--solver", "branch-and-bound"]),
        ("certify", ["-k", "5"]),
        ("path", ["--sparsities", "3,5", "--certify"]),
    ]:
        line = [command, file, *more, "--checkpoint", str(folder / command), "--json"]
        answers = []
        for _ in range(2):
            assert main(line) == 0
            answers.append(json.loads(capsys.readouterr().out))
        parts = [answer.get("solutions", [answer]) for answer in answers]
        assert [part["upper_bound"] for part in parts[0]] == [part["upper_bound"] for part in parts[1]]
        assert names_in(folder / command)
    assert main(["certify", file, "-k", "6", "--checkpoint", str(folder / "certify")]) == 2
    assert "sparsity was 5 there and is 6 now" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["certify", "path", "branch-and-bound"])
def test_changed_claims_are_not_believed(tmp_path: Path, rng: Any, what: str) -> None:
    data = rng.standard_normal((40, 12))
    folder = tmp_path / "states"

    def run() -> Any:
        if what == "certify":
            return certpca.certify(data, 3, checkpoint=folder)
        if what == "path":
            return certpca.path(data, [2, 3], certify=True, checkpoint=folder)
        return certpca.solve(data, 3, what, checkpoint=folder)

    run()
    changed = 0
    for file in folder.glob("*.npz"):
        with np.load(file) as archive:
            held = dict(archive)
        fields = json.loads(held["plain"].tobytes())

        def lower(value: Any) -> Any:
            nonlocal changed
            if isinstance(value, dict):
                if "upper_bound" in value and "kind" in value:
                    changed += 1
                    value["upper_bound"] *= 0.99
                return {name: lower(part) for name, part in value.items()}
            return [lower(part) for part in value] if isinstance(value, list) else value

        held["plain"] = np.frombuffer(json.dumps(lower(fields)).encode(), dtype=np.uint8)
        np.savez(file, **held)
    assert changed
    with pytest.raises(DataFileError, match="does not hold"):
        run()
