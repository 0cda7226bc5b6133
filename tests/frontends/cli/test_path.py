"""The command `certpca path`."""

import json

import numpy as np
import pytest

from certpca.frontends.cli.main import main
from certpca.results.files import load_path


@pytest.fixture
def table(rng, tmp_path):
    np.save(tmp_path / "data.npy", rng.standard_normal((30, 12)))
    return str(tmp_path / "data.npy")


def test_table_and_figure(table, tmp_path, capsys):
    figure = tmp_path / "path.png"
    assert main(["path", table, "--sparsities", "2,5,9", "--certify", "--plot", str(figure)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["sparsity", "objective", "explained", "in", "out", "gap"]
    assert [int(line.split()[0]) for line in lines[1:]] == [2, 5, 9]
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_json_lists_the_solutions(table, capsys):
    assert main(["path", table, "--sparsities", "4,2", "--json"]) == 0
    solutions = json.loads(capsys.readouterr().out)["solutions"]
    assert [solution["sparsity"] for solution in solutions] == [2, 4]
    assert solutions[0]["objective"] <= solutions[1]["objective"]


def test_another_solver_searches_each_sparsity(table, capsys):
    flags = ["--solver", "truncated-power", "--set", "nonnegative=true"]
    assert main(["path", table, "--sparsities", "4,2", "--json", *flags]) == 0
    solutions = json.loads(capsys.readouterr().out)["solutions"]
    assert [solution["solver"] for solution in solutions] == ["truncated-power"] * 2
    assert main(["path", table, "--sparsities", "4,2", "--solver", "truncated-powr"]) == 2
    assert "did you mean 'truncated-power'?" in capsys.readouterr().err


def test_path_is_written_for_later(table, tmp_path, capsys):
    assert main(["path", table, "--sparsities", "2,5", "--certify", "--output", str(tmp_path / "path.json")]) == 0
    assert "objective" in capsys.readouterr().out
    found = load_path(tmp_path / "path.json")
    assert found.sparsities.tolist() == [2, 5]
    assert np.isfinite(found.upper_bounds).all()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--sparsities", "2,40"], "sparsity must be a whole number in 1..12"),
        (["--sparsities", "2", "--plot", "path.docx"], "path.docx"),
        (["--sparsities", "2", "--target-gap", "0.1"], "target_gap=0.1 would have no effect"),
    ],
)
def test_bad_input_is_one_line(table, capsys, flags, message):
    assert main(["path", table, *flags]) == 2
    assert message in capsys.readouterr().err


def test_malformed_list_points_to_the_help(table, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["path", table, "--sparsities", "2;3"])
    assert "--sparsities" in capsys.readouterr().err
