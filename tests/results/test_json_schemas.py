"""The schemas that ship say what the commands really write and print."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main
from certpca.results.json_schemas import ABOUT, DOCUMENTS, FOLDER, document, with_tables, written

PAGE = Path(__file__).parents[2] / "docs" / "json.md"


@pytest.fixture
def table(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = rng.standard_normal((30, 6)) @ rng.standard_normal((6, 6))
    np.savetxt("data.csv", data, delimiter=",", header="a,b,c,d,e,f", comments="")
    np.save("other.npy", data + 1e-3)


def holds(kind, value):
    schema = json.loads((FOLDER / f"{kind}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(value)
    return value


def stored(name):
    return json.loads(Path(name).read_text(encoding="utf-8"))


COMMANDS = {
    "solution": ["solve", "data.csv", "-k", "3", "--certify"],
    "components": ["decompose", "data.csv", "-r", "2", "-k", "3", "--certify"],
    "path": ["path", "data.csv", "--sparsities", "1:3", "--certify"],
    "certificate": ["certify", "data.csv", "-k", "3"],
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_what_commands_print_and_write(kind, table, capsys):
    assert main([*COMMANDS[kind], "--json", "--output", "made.json"]) == 0
    for value in (json.loads(capsys.readouterr().out), stored("made.json")):
        holds(kind, value)
        known = document(kind)["properties"]
        assert set(value) <= set(known)


def test_sets_and_their_certificates(table, capsys):
    asked = ["decompose", "data.csv", "-r", "2", "-k", "2", "--together", "disjoint", "--certify", "--json"]
    assert main([*asked, "--output", "set.json"]) == 0
    holds("components", json.loads(capsys.readouterr().out))
    holds("components", stored("set.json"))
    holds("set-certificate", stored("set.certificate.json"))
    assert main(["verify", "set.certificate.json", "data.csv", "--json"]) == 0
    holds("proof", json.loads(capsys.readouterr().out))


def test_choices_scores_info_and_verdicts(table, capsys):
    assert main(["choose", "data.csv", "--sparsities", "1:4", "--json"]) == 0
    assert "choice" in holds("path", json.loads(capsys.readouterr().out))
    assert main([*COMMANDS["solution"], "--json", "--output", "made.json"]) == 0
    assert main(["transform", "made.json", "data.csv", "--output", "scores.json", "--output", "scores.csv"]) == 0
    holds("scores", stored("scores.json"))
    capsys.readouterr()
    assert main(["info", "data.csv", "--json"]) == 0
    holds("info", json.loads(capsys.readouterr().out))
    assert main(["verify", "made.certificate.json", "data.csv", "--json"]) == 0
    holds("proof", json.loads(capsys.readouterr().out))
    assert main(["verify", "made.certificate.json", "other.npy", "--json"]) == 1
    holds("refusal", json.loads(capsys.readouterr().out))


@pytest.mark.parametrize(
    ("field", "value"), [("loadings", "none"), ("sparsity", 2.5), ("status", "fine"), ("size", 0), ("format", "other")]
)
def test_what_no_solution_says_is_refused_by_schema_and_loader(table, field, value):
    assert main([*COMMANDS["solution"], "--output", "made.json"]) == 0
    broken = stored("made.json") | {field: value}
    with pytest.raises(jsonschema.ValidationError):
        holds("solution", broken)
    Path("made.json").write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(certpca.DataFileError):
        certpca.load_solution("made.json")


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_files_and_pages_are_what_the_checks_make(kind, capsys):
    jsonschema.Draft202012Validator.check_schema(document(kind))
    assert (FOLDER / f"{kind}.json").read_text(encoding="utf-8") == written(kind), "run certpca.results.json_schemas"
    assert main(["schema", kind]) == 0
    assert capsys.readouterr().out == written(kind)


def test_the_page_has_the_same_tables():
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, "run python -m certpca.results.json_schemas"
    used = {field for kind in DOCUMENTS for field in document(kind)["properties"]}
    assert set(ABOUT) == used


def test_an_unknown_kind_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["schema", "poem"])
    assert stop.value.code == 2
    assert "solution" in capsys.readouterr().err
