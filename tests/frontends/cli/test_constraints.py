"""Constraints and sample weights on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main


@pytest.fixture
def table(tmp_path: Path, rng: np.random.Generator) -> Path:
    file = tmp_path / "data.csv"
    values = rng.standard_normal((30, 6)) * np.arange(1, 7)
    np.savetxt(file, values, delimiter=",", header="a,b,c,d,e,f", comments="")
    np.savetxt(tmp_path / "weights.txt", rng.random(30))
    np.save(tmp_path / "weights.npy", np.loadtxt(tmp_path / "weights.txt"))
    return file


def test_from_solve_to_verify_and_report(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result, weights = tmp_path / "result.json", str(tmp_path / "weights.txt")
    asked = ["--include", "a", "--exclude", "f,4", "--nonnegative", "--group", "b,c"]
    given = ["solve", str(table), "-k", "4", "--certify", "--output", str(result), "--sample-weight", weights]
    assert main([*given, *asked]) == 0
    assert "constraints" in capsys.readouterr().out
    solution = certpca.load_solution(result)
    assert solution.constraints == certpca.Constraints((0,), (4, 5), ((1, 2),), nonnegative=True)
    certificate = str(tmp_path / "result.certificate.json")
    assert main(["verify", certificate, str(table), *asked, "--sample-weight", str(tmp_path / "weights.npy")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No choice of 4 of the 6 features under constraints (feature 0 forced in;" in said
    assert "weighted covariance" in said
    assert main(["verify", certificate, str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["constraints"]["nonnegative"] is True
    page = tmp_path / "page.md"
    assert main(["report", str(result), "--data", str(table), "--sample-weight", weights, "--output", str(page)]) == 0
    assert "that keeps to the constraints (feature 0 forced in; 2 features (4, 5) left out" in page.read_text()


@pytest.mark.parametrize(
    "flags", [["--unconstrained"], ["--include", "b"], ["--sample-weight", "weights.txt"]], ids=str
)
def test_what_nobody_expects_is_refused(
    table: Path, tmp_path: Path, flags: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["certify", str(table), "-k", "2", "--include", "a", "--output", "c.json"]) == 0
    assert main(["verify", "c.json", str(table), *flags]) != 0
    assert "expected" in capsys.readouterr().err
    assert main(["verify", "c.json", str(table), "--include", "0"]) == 0


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--include", "aa"], "did you mean 'a'"),
        (["--sample-weight", "none.txt"], "there is no file"),
        (["--sample-weight", "data.csv"], "does not hold sample weights"),
        (["--covariance", "--sample-weight", "weights.txt"], "cannot be applied"),
        (["--include", "a", "--solver", "spannogram"], "does not follow include"),
    ],
    ids=str,
)
def test_mistakes_are_named(
    table: Path,
    tmp_path: Path,
    flags: list[str],
    why: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["solve", str(table), "-k", "2", *flags]) != 0
    assert why in capsys.readouterr().err


def test_a_name_with_a_comma_or_of_digits_is_a_name(tmp_path: Path, rng: np.random.Generator) -> None:
    file = tmp_path / "data.csv"
    rows = "\n".join(",".join(map(str, row)) for row in rng.standard_normal((20, 4)).tolist())
    file.write_text('"x, left","2",third,fourth\n' + rows + "\n")
    target = str(tmp_path / "r.json")
    assert main(["solve", str(file), "-k", "3", "--include", "x, left", "--include", "2", "--output", target]) == 0
    assert certpca.load_solution(target).constraints.include == (0, 1)
