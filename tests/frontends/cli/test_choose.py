"""The command `certpca choose`."""

import json

import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main


@pytest.fixture
def table(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = rng.standard_normal((40, 8)) + 3 * rng.standard_normal((40, 1)) * (np.arange(8) < 3)
    np.save("data.npy", data)
    return data


def test_it_recommends_what_the_verb_does_and_says_why(table, capsys):
    choice = certpca.choose_sparsity(table, range(1, 9))
    assert main(["choose", "data.npy", "--sparsities", "1:8", "--plot", "choice.png"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == choice.reason
    assert main(["choose", "data.npy", "--sparsities", "1:8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["choice"]["sparsity"] == choice.sparsity
    assert [solution["sparsity"] for solution in told["solutions"]] == list(range(1, 9))


def test_the_figure_is_drawn(table, tmp_path):
    assert main(["choose", "data.npy", "--method", "stability", "--subsamples", "4", "--plot", "choice.png"]) == 0
    assert (tmp_path / "choice.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--folds", "5"], "folds=5 would have no effect"),
        (["--stable", "0.5"], "stable=0.5 would have no effect"),
        (["--method", "cross-validation", "--folds", "1"], "folds must be a whole number of at least 2, got 1"),
        (["--method", "stability", "--stable", "2"], "stable must lie in (0, 1]"),
        (["--sparsities", "3:12"], "sparsity must be a whole number in 1..8"),
        (["--method", "crystal-ball"], "invalid choice: 'crystal-ball'"),
        (["--target-gap", "0.1"], "target_gap=0.1 would have no effect"),
    ],
)
def test_bad_options_are_refused_with_advice(table, flags, message, capsys):
    try:
        status = main(["choose", "data.npy", *flags])
    except SystemExit as stop:
        status = int(stop.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err


def test_rows_are_needed_where_they_are_taken_apart(table, capsys):
    np.save("matrix.npy", np.cov(table.T))
    assert main(["choose", "matrix.npy", "--covariance", "--method", "stability"]) == 2
    assert 'use method="elbow"' in capsys.readouterr().err
