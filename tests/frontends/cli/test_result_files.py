"""What `--output` writes, by its ending."""

import json

import numpy as np
import pandas as pd
import pytest

import certpca
from certpca.frontends.cli.main import main

NAMES = [f"g{j}" for j in range(6)]
SAMPLES = [f"s{i}" for i in range(25)]


@pytest.fixture
def frame(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = rng.standard_normal((25, 6)) @ rng.standard_normal((6, 6))
    table = pd.DataFrame(values, columns=NAMES, index=SAMPLES)
    table.to_csv("data.csv")
    return table


def read(file):
    return pd.read_parquet(file) if file.endswith("parquet") else pd.read_csv(file, sep="\t" if "tsv" in file else ",")


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_loadings_components_and_scores_as_tables(frame, ending):
    found = certpca.decompose(frame, 2, 3, certify=True)
    assert main(["decompose", "data.csv", "-r", "2", "-k", "3", "--certify", "--output", f"set.{ending}"]) == 0
    loadings, scores = read(f"set.{ending}"), read(f"set.scores.{ending}")
    wide = loadings.pivot(index="feature", columns="component", values="loading").reindex(NAMES).fillna(0.0)
    np.testing.assert_allclose(wide.to_numpy(), found.loadings, atol=1e-12)
    assert scores["sample"].tolist() == SAMPLES
    np.testing.assert_allclose(scores[["component1", "component2"]], certpca.transform(frame, found), atol=1e-10)
    summary = read(f"set.components.{ending}")
    np.testing.assert_allclose(summary.adjusted_variance_ratio, found.adjusted_variance_ratio)
    assert (summary.gap < 0.01).all()


def test_several_files_at_once(frame, tmp_path):
    asked = [
        "solve",
        "data.csv",
        "-k",
        "3",
        "--certify",
        "--output",
        "a.json",
        "--output",
        "a.csv",
        "--output",
        "a.html",
    ]
    assert main(asked) == 0
    stored = certpca.load_solution("a.json")
    assert pd.read_csv("a.csv", float_precision="round_trip").loading.tolist() == stored.to_frame().loading.tolist()
    assert "certpca verify a.certificate.json data.csv" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert main(["verify", "a.certificate.json", "data.csv"]) == 0


def test_a_report_brings_the_result_it_names(frame, tmp_path, capsys):
    assert main(["decompose", "data.csv", "-r", "2", "-k", "3", "--together", "disjoint", "--output", "set.html"]) == 0
    assert len(certpca.load_components("set.json").components) == 2
    assert "data.csv" in (tmp_path / "set.html").read_text(encoding="utf-8")
    assert main(["choose", "data.csv", "--sparsities", "1:4", "--output", "choice.html"]) == 0
    assert certpca.load_path("choice.json").sparsities.tolist() == [1, 2, 3, 4]


def test_a_matrix_has_no_scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("matrix.npy", np.cov(np.random.default_rng(0).standard_normal((5, 40))))
    assert main(["solve", "matrix.npy", "--covariance", "-k", "2", "--output", "a.csv"]) == 0
    assert {file.name for file in tmp_path.glob("a*")} == {"a.csv", "a.components.csv"}


def test_path_and_choice_as_tables(frame):
    assert main(["path", "data.csv", "--sparsities", "1:3", "--output", "path.csv", "--output", "path.json"]) == 0
    along = certpca.load_path("path.json")
    pd.testing.assert_frame_equal(pd.read_csv("path.csv"), along.to_frame())
    assert pd.read_csv("path.sparsities.csv").sparsity.tolist() == [1, 2, 3]
    asked = ["choose", "data.csv", "--method", "cross-validation", "--folds", "3", "--sparsities", "1:4"]
    assert main([*asked, "--output", "choice.tsv", "--output", "choice.json"]) == 0
    table = pd.read_csv("choice.sparsities.tsv", sep="\t")
    choice = certpca.choose_sparsity(frame, range(1, 5), method="cross-validation", folds=3)
    np.testing.assert_allclose(table.score, choice.scores)
    assert table.sparsity[table.chosen].tolist() == [choice.sparsity]
    with open("choice.json", encoding="utf-8") as stream:  # noqa: PTH123
        assert json.load(stream)["choice"]["reason"] == choice.reason


def test_a_proof_that_no_file_keeps_is_told(frame, capsys):
    assert main(["solve", "data.csv", "-k", "2", "--certify", "--output", "a.csv"]) == 0
    assert "to keep it, add --output with a .json file" in capsys.readouterr().err
    assert main(["solve", "data.csv", "-k", "2", "--certify", "--output", "a.csv", "--output", "a.json"]) == 0
    assert "to keep it" not in capsys.readouterr().err
    assert main(["solve", "data.csv", "-k", "2", "--output", "a.csv"]) == 0
    assert "to keep it" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "file", "message"),
    [
        (["solve", "data.csv", "-k", "2"], "a.xlsx", "use .json, .csv, .tsv, .parquet, .html"),
        (["certify", "data.csv", "-k", "2"], "a.csv", "no room for the evidence; write a .json file"),
        (["certify", "data.csv", "-k", "2"], "a.html", "with `certpca report`"),
        (["certify", "data.csv", "-k", "2"], "a.txt", "use .json"),
        (["path", "data.csv", "--sparsities", "2"], "a.html", "with `certpca report`"),
        (["decompose", "data.csv", "-r", "1", "-k", "2"], "a.txt", "use .json, .csv"),
        (["choose", "data.csv"], "a.docx", "use .json, .csv"),
        (["transform", "a.json", "data.csv"], "a.html", "with `certpca report`"),
    ],
)
def test_an_ending_that_cannot_be_is_refused_before_anything_is_read(command, file, message, capsys, monkeypatch):
    monkeypatch.setattr("certpca.formats.tables.load_table", lambda *_, **__: pytest.fail("the data were read"))
    assert main([*command, "--output", file]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_parquet_without_its_library_is_refused_with_what_to_install(frame, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert main(["solve", "data.csv", "-k", "2", "--output", "a.parquet"]) == 2
    assert "pip install 'certpca[parquet]'" in capsys.readouterr().err
