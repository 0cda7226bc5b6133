"""Files are old or new, never between; leftovers of the dead go; what cannot be written is noticed beforehand."""

import errno
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca import Solution
from certpca.results.files import load_path, save_path
from certpca.runtime.atomic_write import (
    ABANDONED,
    UNFINISHED,
    _prefix,
    require_writable,
    require_writable_folder,
    write_bytes_whole,
    write_text_whole,
)
from certpca.runtime.errors import DataFileError

WRITER = Path(__file__).with_name("killed_writer.py")


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.asarray(rng.standard_normal((30, 60)) + rng.standard_normal((30, 4)) @ rng.standard_normal((4, 60)))


@pytest.fixture(scope="module")
def results(data: np.ndarray) -> list[Solution]:
    found = []
    for sparsity in (10, 15):
        solution = certpca.solve(data, sparsity)
        certificate = certpca.certify(data, sparsity, solution=solution, target_gap=1e-4, branching=False)
        assert certificate.evidence
        found.append(replace(solution, certificate=certificate))
    return found


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def evidence_in(file: Path) -> str:
    return str(json.loads(file.read_text())["certificate"]["evidence"]["file"])


# --- two files, one result --------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need processes that fork")
def test_a_killed_writer_leaves_the_old_result_or_the_new_one(tmp_path: Path) -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(WRITER), str(tmp_path), "40", "7"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    old, new, left = map(int, done.stdout.split())
    assert old + new == 40
    assert left > 0  # there was something to be removed at the end


def test_overwriting_keeps_the_old_evidence_until_the_new_result_is_in_place(
    results: list[Solution], data: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the process died between any two of its renames."""
    file = tmp_path / "r.json"
    for allowed in range(3):
        certpca.save_solution(results[0], file)
        done = 0

        def dying(self: Path, target: Path, allowed: int = allowed) -> Path:
            nonlocal done
            if done == allowed:
                raise KeyboardInterrupt
            done += 1
            os.replace(self, target)  # noqa: PTH105
            return target

        with monkeypatch.context() as patch:
            patch.setattr("pathlib.Path.replace", dying)
            with pytest.raises(KeyboardInterrupt):
                certpca.save_solution(results[1], file)
        back = certpca.load_solution(file)
        assert back.sparsity == results[0].sparsity
        assert back.certificate is not None
        assert certpca.verify(back.certificate, data).sparsity == results[0].sparsity
        beside = certpca.load_certificate(tmp_path / "r.certificate.json")
        assert certpca.verify(beside, data).upper_bound <= beside.upper_bound


def test_superseded_evidence_is_removed(results: list[Solution], tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    for solution in (*results, results[0]):
        certpca.save_solution(solution, file)
        assert names(tmp_path) == sorted([evidence_in(file), "r.certificate.json", "r.json"])
    certpca.save_solution(replace(results[0], certificate=None), file)
    assert names(tmp_path) == ["r.json"]


def test_files_of_others_stay(results: list[Solution], data: np.ndarray, tmp_path: Path) -> None:
    """Data of the same name, other results in the folder, and what only looks like evidence."""
    np.savez(tmp_path / "r.npz", data=data)
    for name in ("r.certificate.npz", "r.0123456789abcdeg.npz", "r.x.0123456789abcdef.npz", "notes.certificate.json"):
        (tmp_path / name).write_text("mine")
    others = names(tmp_path)
    certpca.save_solution(results[0], tmp_path / "r.x.json")
    assert results[1].certificate is not None
    certpca.save_certificate(results[1].certificate, tmp_path / "r")
    certpca.save_certificate(results[1].certificate, tmp_path / "s.json")
    for solution in (*results, *results):
        certpca.save_solution(solution, tmp_path / "r.json")
    assert set(others) - {"r.x.0123456789abcdef.npz"} <= set(names(tmp_path))
    assert certpca.load_solution(tmp_path / "r.x.json").certificate is not None
    first, second = certpca.load_certificate(tmp_path / "r"), certpca.load_certificate(tmp_path / "s.json")
    assert isinstance(first, certpca.Certificate)
    assert isinstance(second, certpca.Certificate)
    assert first.sparsity == second.sparsity


def test_a_certificate_saved_over_that_of_a_result_leaves_the_result_whole(
    results: list[Solution], tmp_path: Path
) -> None:
    certpca.save_solution(results[0], tmp_path / "r.json")
    assert results[1].certificate is not None
    certpca.save_certificate(results[1].certificate, tmp_path / "r.certificate.json")
    assert certpca.load_solution(tmp_path / "r.json").upper_bound == results[0].upper_bound
    stored = certpca.load_certificate(tmp_path / "r.certificate.json")
    assert isinstance(stored, certpca.Certificate)
    assert stored.sparsity == 15
    certpca.save_solution(results[1], tmp_path / "r.json")
    assert len(names(tmp_path)) == 3


def test_a_path_with_other_sparsities_takes_the_place_of_the_old_one(results: list[Solution], tmp_path: Path) -> None:
    save_path(certpca.Path(tuple(results)), tmp_path / "p.json")
    assert len(names(tmp_path)) == 5
    save_path(certpca.Path((results[1],)), tmp_path / "p.json")
    assert [name for name in names(tmp_path) if not name.endswith(".npz")] == ["p.15.certificate.json", "p.json"]
    assert len(names(tmp_path)) == 3
    assert load_path(tmp_path / "p.json").solutions[0].certificate is not None


def test_certificates_of_earlier_versions_are_read_and_replaced(
    results: list[Solution], data: np.ndarray, tmp_path: Path
) -> None:
    """These named the evidence after the certificate, and a result only named the file of its certificate."""
    file, beside = tmp_path / "r.json", tmp_path / "r.certificate.json"
    certpca.save_solution(results[0], file)
    fields = json.loads(file.read_text())
    (tmp_path / evidence_in(file)).replace(tmp_path / "r.certificate.npz")
    certificate = {
        **fields["certificate"],
        "evidence": {**fields["certificate"]["evidence"], "file": "r.certificate.npz"},
    }
    beside.write_text(json.dumps(certificate))
    file.write_text(json.dumps({**fields, "certificate": beside.name}))
    back = certpca.load_solution(file)
    assert back.certificate is not None
    assert certpca.verify(back.certificate, data).upper_bound <= results[0].upper_bound
    certpca.save_solution(results[1], file)
    assert names(tmp_path) == sorted([evidence_in(file), "r.certificate.json", "r.json"])


# --- leftovers --------------------------------------------------------------------------------------------------------


def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_what_dead_writers_left_goes_and_what_live_ones_write_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.txt"
    mine = tmp_path / f"{_prefix(target)}12345678{UNFINISHED}"
    other = tmp_path / f"{_prefix(tmp_path / 'b.txt')}12345678{UNFINISHED}"
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", os.getppid)
        parent = tmp_path / f"{_prefix(target)}12345678{UNFINISHED}"
    with monkeypatch.context() as patch:
        gone = dead_process()
        patch.setattr(os, "getpid", lambda: gone)
        dead = tmp_path / f"{_prefix(target)}12345678{UNFINISHED}"
    elsewhere = tmp_path / f".a.txt.ffffffff-{gone}.12345678{UNFINISHED}"  # another machine has other processes
    earlier = tmp_path / f".a.txt.k3s9d0a_{UNFINISHED}"  # of a version that did not name its process
    old = tmp_path / f".a.txt.abcdefgh{UNFINISHED}"
    for file in (mine, parent, other, dead, elsewhere, earlier, old):
        file.write_text("part")
    os.utime(old, (0, time.time() - ABANDONED - 10))
    write_text_whole(target, "whole")
    assert names(tmp_path) == sorted(file.name for file in (target, mine, parent, other, elsewhere, earlier))
    assert target.read_text() == "whole"


def test_two_processes_may_write_the_same_file(tmp_path: Path) -> None:
    script = (
        "import sys; from certpca.runtime.atomic_write import write_text_whole\n"
        "for _ in range(150): write_text_whole(sys.argv[1], sys.argv[2] * 1000)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "a.txt"), letter], env=environment)
        for letter in "xy"
    ]
    assert [process.wait() for process in running] == [0, 0]
    assert names(tmp_path) == ["a.txt"]
    assert set((tmp_path / "a.txt").read_text()) in ({"x"}, {"y"})


def test_a_leftover_that_cannot_be_removed_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = dead_process()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: gone)
        dead = tmp_path / f"{_prefix(tmp_path / 'a.txt')}12345678{UNFINISHED}"
    dead.mkdir()
    write_text_whole(tmp_path / "a.txt", "whole")
    assert (tmp_path / "a.txt").read_text() == "whole"


# --- before the work --------------------------------------------------------------------------------------------------


def test_what_can_be_written_passes_and_leaves_nothing(tmp_path: Path) -> None:
    require_writable(tmp_path / "a.json")
    require_writable_folder(tmp_path / "new" / "deeper")
    require_writable_folder(tmp_path)
    assert names(tmp_path) == []
    (tmp_path / "a.json").write_text("old")
    require_writable(tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text() == "old"


def test_what_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for target, why in (
        ("nowhere/a.json", "there is no folder"),
        ("file/a.json", "there is no folder"),
        ("folder", "it is a folder"),
        ("", "it is a folder"),
        ("a\0b", "null"),
        ("x" * 250, "name too long"),
    ):
        with pytest.raises(DataFileError, match=rf"(?i)cannot write .*{why}"):
            require_writable(tmp_path / target)
    with pytest.raises(DataFileError, match="is a file"):
        require_writable_folder(tmp_path / "file" / "deeper")

    def refuse(**_: object) -> None:
        raise PermissionError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)  # the administrator may write to any folder
    for check in (require_writable, require_writable_folder):
        with pytest.raises(DataFileError, match="Read-only file system"):
            check(tmp_path / "a")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(DataFileError, match="not a regular file"):
            require_writable(tmp_path / name)


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(stream: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DataFileError, match="No space left"):
        write_bytes_whole(tmp_path / "a", fail)
    assert names(tmp_path) == []
