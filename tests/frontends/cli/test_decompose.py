"""The command `certpca decompose`, and what report and verify make of its files."""

import json

import numpy as np
import pytest

from certpca.frontends.cli.main import main
from certpca.results.component_files import load_components


@pytest.fixture
def table(rng, tmp_path):
    np.save(tmp_path / "data.npy", rng.standard_normal((30, 8)) @ rng.standard_normal((8, 8)))
    return str(tmp_path / "data.npy")


def test_from_the_set_to_its_report_and_proof(table, tmp_path, capsys):
    result, figure = str(tmp_path / "set.json"), tmp_path / "set.png"
    asked = ["decompose", table, "-r", "2", "-k", "3,2", "--together", "disjoint", "--certify"]
    assert main([*asked, "--output", result, "--plot", str(figure)]) == 0
    printed = capsys.readouterr().out
    assert "2 components of 8 features, chosen together, no feature in two of them" in printed
    assert "sum of the variances" in printed
    assert "proved" in printed
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert load_components(result).sparsities == (3, 2)
    assert main(["verify", str(tmp_path / "set.certificate.json"), table]) == 0
    assert "The certificate holds. No 2 components" in capsys.readouterr().out
    assert main(["report", result, "--data", table, "--output", str(tmp_path / "set.html")]) == 0
    page = (tmp_path / "set.html").read_text(encoding="utf-8")
    assert "verified" in page
    assert "gap of the set" in page
    assert main(["report", result, "--output", str(tmp_path / "set.svg")]) == 0


def test_a_report_refuses_other_data_and_raised_numbers(table, tmp_path, rng, capsys):
    result, target = tmp_path / "set.json", str(tmp_path / "set.md")
    asked = ["decompose", table, "-r", "2", "-k", "2", "--together", "orthogonal", "--certify"]
    assert main([*asked, "--output", str(result)]) == 0
    np.save(tmp_path / "other.npy", rng.standard_normal((30, 8)))
    assert main(["report", str(result), "--data", str(tmp_path / "other.npy"), "--output", target]) == 1
    assert "refused" in capsys.readouterr().err
    assert "Refused" in (tmp_path / "set.md").read_text(encoding="utf-8")
    fields = json.loads(result.read_text())
    fields["explained_variance"][0] *= 100
    result.write_text(json.dumps(fields))
    assert main(["report", str(result), "--output", target]) == 1
    assert "more than the upper bound" in capsys.readouterr().err


def test_loadings_that_break_the_condition_are_refused(table, tmp_path, capsys):
    result = tmp_path / "set.json"
    assert main(["decompose", table, "-r", "2", "-k", "3", "--together", "orthogonal", "--output", str(result)]) == 0
    fields = json.loads(result.read_text())
    for name in ("support", "loadings", "objective", "explained_variance_ratio"):
        fields["components"][1][name] = fields["components"][0][name]
    fields["explained_variance"][1] = fields["explained_variance"][0]
    result.write_text(json.dumps(fields))
    assert main(["report", str(result), "--data", table, "--output", str(tmp_path / "set.md")]) == 1
    assert "the loadings are not orthogonal" in capsys.readouterr().err


def test_greedy_steps_are_called_steps(table, tmp_path, capsys):
    result = str(tmp_path / "steps.json")
    assert main(["decompose", table, "-r", "2", "-k", "3", "--certify", "--output", result]) == 0
    assert "gap of step" in capsys.readouterr().out
    assert main(["report", result, "--data", table, "--output", str(tmp_path / "steps.md")]) == 0
    text = (tmp_path / "steps.md").read_text(encoding="utf-8")
    assert "Of the set as a whole nothing is proved" in text
    assert "No certificate of the set" in text


def test_json_and_a_total(table, capsys):
    assert main(["decompose", table, "-r", "2", "--total", "5", "--together", "disjoint", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert sum(fields["sparsities"]) == 5
    assert fields["objective"] == pytest.approx(sum(fields["explained_variance"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "-k, or --total"),
        (["-k", "3", "--total", "5"], "-k, or --total"),
        (["-k", "3,3,3"], "one for each of 2 components, got 3"),
        (["-k", "5", "--together", "disjoint"], "up to 4 each would fit"),
        (["-k", "3", "--together", "shared", "--solver", "spannogram"], "would have no effect"),
        (["-k", "3", "--plot", "figure.xyz"], "not supported"),
    ],
)
def test_bad_questions_are_one_line(table, capsys, arguments, message):
    assert main(["decompose", table, "-r", "2", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert message in lines[-1]


def test_reports_on_sets_have_no_path(table, tmp_path, capsys):
    result = str(tmp_path / "set.json")
    assert main(["decompose", table, "-r", "2", "-k", "3", "--output", result]) == 0
    assert main(["report", result, "--data", table, "--sparsities", "2,3"]) == 2
    assert "no effect in a report on several components" in capsys.readouterr().err
