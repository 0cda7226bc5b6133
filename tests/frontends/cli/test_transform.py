"""The command `certpca transform`."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import certpca
from certpca.frontends.cli.main import main

NAMES = [f"g{j}" for j in range(6)]


@pytest.fixture
def frame(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(rng.standard_normal((30, 6)) @ rng.standard_normal((6, 6)), columns=NAMES)
    table.index = [f"s{i}" for i in table.index]
    table[:20].to_csv("old.csv")
    table[NAMES[::-1]][20:].to_csv("new.csv")  # columns in another order
    assert main(["decompose", "old.csv", "-r", "2", "-k", "3", "--correlation", "--output", "set.json"]) == 0
    return table


def test_scores_of_new_samples_are_printed_or_written(frame, capsys):
    model = certpca.SparsePCA(n_components=2, sparsity=3, scale=True).fit(frame[:20].to_numpy())
    expected = model.transform(frame[20:].to_numpy())
    capsys.readouterr()
    assert main(["transform", "set.json", "new.csv"]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert printed["sample"].tolist() == frame.index[20:].tolist()
    np.testing.assert_allclose(printed[["component1", "component2"]], expected, atol=1e-10)
    asked = ["transform", "set.json", "new.csv", "--method", "regression"]
    assert main([*asked, "--output", "s.parquet", "--output", "s.json"]) == 0
    assert capsys.readouterr().out == "10 samples, 2 components\n"
    model.set_params(method="regression")
    expected = model.transform(frame[20:].to_numpy())
    np.testing.assert_allclose(pd.read_parquet("s.parquet")[["component1", "component2"]], expected, atol=1e-10)
    with open("s.json", encoding="utf-8") as stream:  # noqa: PTH123
        np.testing.assert_allclose(json.load(stream)["scores"], expected, atol=1e-10)


def test_json_alone(frame, capsys):
    capsys.readouterr()
    assert main(["transform", "set.json", "new.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert np.shape(told["scores"]) == (10, 2)
    assert told["understood"].startswith("10 × 6")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json", "new.csv"], "there is no file 'nowhere.json'"),
        (["new.csv", "new.csv"], "cannot be read as a solution or components"),
        (["set.json", "new.csv", "--drop", "g0,g1,g2,g3"], "features of the components are not among the columns"),
        (["set.json", "new.csv", "--method", "magic"], "invalid choice: 'magic'"),
        (["set.json", "holes.csv"], "use missing='mean'"),
        (["matrix.json", "new.csv"], "scores need one that was found from samples x features"),
    ],
)
def test_what_cannot_be_scored_is_refused(frame, arguments, message, capsys):
    holes = frame[20:].copy()
    holes.iloc[0] = np.nan
    holes.to_csv("holes.csv")
    certpca.save_solution(certpca.solve(certpca.pitprops(), 2), "matrix.json")
    try:
        status = main(["transform", *arguments])
    except SystemExit as stop:
        status = int(stop.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err


def test_missing_values_may_take_the_mean_of_the_training_data(frame, capsys):
    holes = frame[20:].copy()
    holes.iloc[0] = np.nan
    holes.to_csv("holes.csv")
    capsys.readouterr()
    assert main(["transform", "set.json", "holes.csv", "--missing", "mean"]) == 0
    first = pd.read_csv(io.StringIO(capsys.readouterr().out)).iloc[0]
    np.testing.assert_allclose(first[["component1", "component2"]].to_numpy(float), 0, atol=1e-12)
