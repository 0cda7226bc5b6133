"""What cannot be written is noticed before anything is read or computed, and nothing is left behind."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
import certpca.frontends.report  # before names are replaced that it imports
import certpca.plots
from certpca.frontends.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = np.random.default_rng(0).standard_normal((20, 6))
    np.savetxt(tmp_path / "data.csv", data, delimiter=",", header="a,b,c,d,e,f", comments="")
    certpca.save_solution(certpca.solve(data, 2, certify=True), tmp_path / "result.json")
    (tmp_path / "taken").mkdir()
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "solve": ["solve", "data.csv", "-k", "2"],
    "certify": ["certify", "data.csv", "-k", "2"],
    "path": ["path", "data.csv", "--sparsities", "2,3"],
    "report": ["report", "result.json", "--data", "data.csv"],
}
UNWRITABLE = {
    "nowhere/x.json": "there is no folder 'nowhere'",
    "taken": "it is a folder",
    "file/x.json": "there is no folder 'file'",
    "x" * 300 + ".html": "File name too long",
}
OPTIONS = [
    *[(name, "--output", target) for name in COMMANDS for target in UNWRITABLE],
    *[("path", "--plot", target) for target in UNWRITABLE],
]


def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the data were read, or something was computed")

    monkeypatch.setattr("certpca.formats.tables.load_table", refuse)
    for verb in ("solve", "certify", "verify"):
        monkeypatch.setattr(f"certpca.verbs.{verb}.{verb}", refuse)
    monkeypatch.setattr("certpca.verbs.path.path", refuse)


@pytest.mark.parametrize(("command", "option", "target"), OPTIONS)
def test_an_unwritable_file_is_noticed_first(
    command: str, option: str, target: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    before = sorted(os.listdir(folder))  # noqa: PTH208
    no_work(monkeypatch)
    assert main([*COMMANDS[command], option, target]) == 2
    err = capsys.readouterr().err
    assert "cannot write" in err
    assert UNWRITABLE[target] in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(folder)) == before  # noqa: PTH208


@pytest.mark.parametrize("command", ["solve", "certify", "path"])
def test_an_unusable_checkpoint_is_noticed_first(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    no_work(monkeypatch)
    for target in ("file", "file/deeper"):
        assert main([*COMMANDS[command], "--checkpoint", target]) == 2
        assert "is a file" in capsys.readouterr().err

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)  # the administrator may write to any folder
    for option in ("--checkpoint", "--output"):
        assert main([*COMMANDS[command], option, "new"]) == 2
        assert "Permission denied" in capsys.readouterr().err
    assert not (folder / "new").exists()


def test_a_figure_of_unknown_format_is_noticed_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    no_work(monkeypatch)
    assert main([*COMMANDS["path"], "--plot", "path.docx"]) == 2
    assert "Format 'docx' is not supported" in capsys.readouterr().err


def test_an_empty_name_is_no_name(folder: Path, capsys: Any) -> None:
    assert main([*COMMANDS["solve"], "--output", ""]) == 2
    assert "cannot write '.'" in capsys.readouterr().err


def test_what_is_writable_is_written(folder: Path) -> None:
    assert main([*COMMANDS["solve"], "--output", "new.json", "--checkpoint", "states"]) == 0
    assert main([*COMMANDS["path"], "--output", "along.json", "--plot", "along.png"]) == 0
    assert main([*COMMANDS["report"], "--output", "taken/r.html"]) == 0
    assert all((folder / name).exists() for name in ("new.json", "along.json", "along.png", "taken/r.html"))
