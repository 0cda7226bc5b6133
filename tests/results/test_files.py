"""Solutions survive the disk exactly, and files are written whole or not at all."""

import errno
import json
import math
import os
import stat
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Solution, Status, load_solution, save_solution
from certpca.results.codec import solution_to_dict
from certpca.results.files import load_path, save_path
from certpca.runtime.atomic_write import write_text_whole
from certpca.runtime.budget import Step
from certpca.runtime.errors import DataFileError

# A certificate has files of its own.
STORED = [field.name for field in fields(Solution) if field.name != "certificate"]


@pytest.fixture
def solution() -> Solution:
    return certpca.solve(certpca.pitprops(), 4, "spannogram")


def assert_same(left: Solution, right: Solution) -> None:
    for field in fields(Solution):
        one, other = getattr(left, field.name), getattr(right, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        else:
            assert one == other, field.name


def test_every_field_comes_back_exactly(solution: Solution, tmp_path: Path) -> None:
    save_solution(solution, tmp_path / "a.json")
    assert_same(load_solution(tmp_path / "a.json"), solution)
    assert solution.history
    assert solution.details


@pytest.mark.parametrize("status", Status)
def test_every_status_and_step_comes_back(solution: Solution, tmp_path: Path, status: Status) -> None:
    history = (Step(0.1, 1.0), Step(0.2, 1 / 3, 2 / 3))
    changed = replace(solution, status=status, names=None, history=history)
    save_solution(changed, str(tmp_path / "a.json"))
    assert_same(load_solution(str(tmp_path / "a.json")), changed)


def test_file_is_strict_json_with_every_field(solution: Solution, tmp_path: Path) -> None:
    save_solution(solution, tmp_path / "a.json")

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert set(STORED) - {"constraints"} <= set(written)  # these are there where they are asked for
    assert written["upper_bound"] is None
    assert written["status"] == "CONVERGED"
    assert written["message"] == solution.status.value
    assert math.isinf(load_solution(tmp_path / "a.json").upper_bound)


def test_names_in_any_script_come_back(tmp_path: Path, rng: np.random.Generator) -> None:
    solution = certpca.solve(rng.standard_normal((9, 2)), 2, names=["größe", '"γ"\n'])
    save_solution(solution, tmp_path / "a.json")
    assert load_solution(tmp_path / "a.json").names == ("größe", '"γ"\n')


# --- bad files ----------------------------------------------------------------------------------


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"there is no file .*nowhere\.json"):
        load_solution(tmp_path / "nowhere.json")


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="cannot be read as a solution"):
        load_solution(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"not json", b"\xff\xfe\x00", b'{"format": "certpca solution 1"'])
def test_file_that_is_not_json(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DataFileError, match="cannot be read as a solution"):
        load_solution(tmp_path / "a.json")


@pytest.mark.parametrize("content", ["[]", "3", "null", "{}", '{"format": "certpca solution 99"}', '"text"'])
def test_foreign_json(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(
        DataFileError,
        match=r"is not a solution written by certpca .'certpca solution 1' or 'certpca solution 2' is missing",
    ):
        load_solution(tmp_path / "a.json")


@pytest.mark.parametrize(
    "damage",
    [
        {"support": "abc"},
        {"support": [0]},
        {"support": [[0, 1], [2, 3]]},
        {"loadings": None},
        {"objective": "much"},
        {"objective": None},
        {"size": None},
        {"status": "BORED"},
        {"history": [[1.0]]},
        {"history": 3},
        {"details": 7},
        {"names": 3},
        {"names": ["a"]},
        {"support": [0, 1, 2, 13]},
        {"support": [-1, 0, 1, 2]},
        {"mean": [0.0]},
        {"mean": [0.0] * 4, "scale": [1.0] * 3},
        {"mean": [0.0] * 4, "scale": [1.0, 1.0, 1.0, 0.0]},
        {"mean": ["0"] * 4, "scale": [1.0] * 4},
    ],
)
def test_damaged_field(solution: Solution, tmp_path: Path, damage: dict[str, Any]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(solution_to_dict(solution) | damage))
    with pytest.raises(DataFileError, match="is damaged"):
        load_solution(tmp_path / "a.json")


# Older files lack some.
@pytest.mark.parametrize("field", sorted(set(STORED) - {"reading", "constraints", "mean", "scale"}))
def test_lost_field(solution: Solution, tmp_path: Path, field: str) -> None:
    rest = solution_to_dict(solution)
    del rest[field]
    (tmp_path / "a.json").write_text(json.dumps(rest))
    with pytest.raises(DataFileError, match=f"is damaged: .*{field}"):
        load_solution(tmp_path / "a.json")


# --- whole or not at all ------------------------------------------------------------------------


def test_old_file_is_replaced_and_nothing_is_left_over(solution: Solution, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old")
    save_solution(solution, tmp_path / "a.json")
    assert load_solution(tmp_path / "a.json").objective == solution.objective
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace", "pathlib.Path.chmod"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()])
def test_failure_while_writing_keeps_the_old_file(
    solution: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, error: BaseException
) -> None:
    (tmp_path / "a.json").write_text("old")

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(failing, fail)
        if isinstance(error, OSError):
            with pytest.raises(DataFileError, match=r"cannot write .*a\.json.*No space left on device"):
                save_solution(solution, tmp_path / "a.json")
        else:
            with pytest.raises(KeyboardInterrupt):
                save_solution(solution, tmp_path / "a.json")
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "old"


def test_folder_that_does_not_exist(solution: Solution, tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"cannot write .*nowhere/a\.json.*No such file or directory"):
        save_solution(solution, tmp_path / "nowhere" / "a.json")


def test_target_that_is_a_folder(solution: Solution, tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(DataFileError, match=r"cannot write .*a\.json.*directory"):
        save_solution(solution, tmp_path / "a.json")
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_read_only_folder(solution: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("tempfile.mkstemp", refuse)  # the administrator may write to any folder
    with pytest.raises(DataFileError, match=r"cannot write .*a\.json.*Permission denied"):
        save_solution(solution, tmp_path / "a.json")


def test_new_file_is_as_open_as_the_user_wants(tmp_path: Path) -> None:
    previous = os.umask(0o027)
    try:
        write_text_whole(tmp_path / "a.txt", "text")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


# --- paths --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def along() -> certpca.Path:
    return certpca.path(certpca.pitprops(), [2, 5, 7], certify=True)


def test_path_comes_back_exactly_and_its_certificates_hold(along: certpca.Path, tmp_path: Path) -> None:
    save_path(along, tmp_path / "path.json")
    back = load_path(tmp_path / "path.json")
    assert back.seconds == along.seconds
    for left, right in zip(back.solutions, along.solutions, strict=True):
        assert left.certificate is not None
        assert right.certificate is not None
        assert certpca.verify(left.certificate, certpca.pitprops()).upper_bound <= right.upper_bound
        assert_same(replace(left, certificate=None), replace(right, certificate=None))
    np.testing.assert_array_equal(back.upper_bounds, along.upper_bounds)


def test_path_without_certificates(tmp_path: Path) -> None:
    plain = certpca.path(certpca.pitprops(), [2, 3])
    save_path(plain, str(tmp_path / "path.json"))
    assert [file.name for file in tmp_path.iterdir()] == ["path.json"]
    assert np.isinf(load_path(str(tmp_path / "path.json")).upper_bounds).all()


@pytest.mark.parametrize("damage", [{"solutions": []}, {"solutions": [3]}, {"seconds": "x"}, {"solutions": None}])
def test_damaged_path(along: certpca.Path, tmp_path: Path, damage: dict[str, Any]) -> None:
    save_path(along, tmp_path / "path.json")
    fields = json.loads((tmp_path / "path.json").read_text())
    (tmp_path / "path.json").write_text(json.dumps(fields | damage))
    with pytest.raises(DataFileError, match="is damaged"):
        load_path(tmp_path / "path.json")


def test_path_whose_sparsities_do_not_increase(along: certpca.Path, tmp_path: Path) -> None:
    save_path(certpca.Path(along.solutions[::-1]), tmp_path / "path.json")
    with pytest.raises(DataFileError, match="must increase"):
        load_path(tmp_path / "path.json")


def test_path_holds_its_certificates_but_not_their_evidence(along: certpca.Path, tmp_path: Path) -> None:
    save_path(along, tmp_path / "path.json")
    (tmp_path / "path.5.certificate.json").unlink()
    np.testing.assert_array_equal(load_path(tmp_path / "path.json").upper_bounds, along.upper_bounds)
    evidence = sorted(tmp_path.glob("path.*.npz"))
    assert evidence
    evidence[0].unlink()
    with pytest.raises(DataFileError, match=rf"there is no file .*{evidence[0].name}"):
        load_path(tmp_path / "path.json")


def test_solution_is_not_a_path(solution: Solution, tmp_path: Path) -> None:
    save_solution(solution, tmp_path / "a.json")
    with pytest.raises(DataFileError, match="is not a path written by certpca"):
        load_path(tmp_path / "a.json")


def test_a_result_read_as_a_certificate_names_the_certificate_beside_it(tmp_path):
    solution = certpca.solve(certpca.pitprops(), 3, certify=True)
    certpca.save_solution(solution, tmp_path / "result.json")
    told = r"it holds 'certpca solution \d'; you may want .*result\.certificate\.json"
    with pytest.raises(DataFileError, match=told):
        certpca.load_certificate(tmp_path / "result.json")
    (tmp_path / "result.certificate.json").unlink()
    with pytest.raises(DataFileError, match=r"it holds 'certpca solution \d'$"):
        certpca.load_certificate(tmp_path / "result.json")
