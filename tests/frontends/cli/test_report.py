"""The command `certpca report`."""

import json

import numpy as np
import pytest

from certpca.frontends.cli.main import main


@pytest.fixture
def files(rng, tmp_path, monkeypatch):
    """A table with labels and a certified result for it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    data = rng.standard_normal((30, 6)) @ np.diag([3.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    labels = np.array(["one", "two", "three"] * 10)
    np.savez("data.npz", X=data, names=np.array(list("abcdef")), group=labels, other=np.zeros(2))
    text = "\n".join(",".join(map(repr, row)) for row in [list("abcdef"), *data.tolist()]).replace("'", "")
    (tmp_path / "data.csv").write_text(text)
    (tmp_path / "labels.txt").write_text("group\n" + "\n".join(labels))
    lines = [f"s{j}\t{label}\t{j % 7}\tx" for j, label in enumerate(labels)]
    (tmp_path / "meta.tsv").write_text("\n".join(["id\tkind\tage\tsame", *lines]) + "\n")
    (tmp_path / "short.csv").write_text("kind\na\nb\n")
    (tmp_path / "ragged.csv").write_text("kind,age\n" + "a,1\n" * 29 + "b\n")
    (tmp_path / "twice.csv").write_text("kind,kind\n" + "a,1\n" * 30)
    (tmp_path / "empty.csv").write_text("\n")
    assert main(["solve", "data.npz", "-k", "3", "--certify", "--json", "--output", "result.json"]) == 0
    return tmp_path


def test_default_is_a_page_beside_the_result(files, capsys):
    capsys.readouterr()
    assert main(["report", "result.json"]) == 0
    assert capsys.readouterr().out == "wrote result.html\n"
    text = (files / "result.html").read_text(encoding="utf-8")
    assert "certpca verify result.certificate.json DATA" in text
    assert "not re-checked here" in text


def test_printed_command_verifies(files, capsys):
    assert main(["report", "result.json", "--data", "data.npz", "--array", "X", "--output", "a.md"]) == 0
    line = next(line for line in (files / "a.md").read_text().splitlines() if line.startswith("certpca verify"))
    assert line == "certpca verify result.certificate.json data.npz --array X"
    assert main(line.split()[1:]) == 0


@pytest.mark.parametrize("labels", ["group", "labels.txt"])
def test_data_labels_and_path(files, labels):
    assert main(["path", "data.npz", "--sparsities", "1,3,6", "--certify", "--output", "path.json"]) == 0
    flags = ["--data", "data.npz", "--labels", labels, "--path", "path.json", "--output", "report.html"]
    assert main(["report", "result.json", *flags]) == 0
    text = (files / "report.html").read_text(encoding="utf-8")
    for said in ("verified now against data.npz", "one (10)", 'id="path-title"', 'id="scores-title"'):
        assert said.lower() in text.lower()


def test_metadata_give_labels_names_and_what_components_go_with(files):
    flags = [
        "--data",
        "data.npz",
        "--metadata",
        "meta.tsv",
        "--labels",
        "kind",
        "--sample-names",
        "id",
        "--subsamples",
        "4",
    ]
    assert main(["report", "result.json", *flags, "--output", "report.html"]) == 0
    text = (files / "report.html").read_text(encoding="utf-8")
    for said in ("one (10)", "<title>s7: two</title>", 'id="metadata-title"', "same for all samples: id, same."):
        assert said in text
    assert "Best in this sample" in text
    assert "of 4 half-samples" in text


def test_several_components_have_labels_and_metadata(files):
    assert main(["decompose", "data.npz", "-r", "2", "-k", "2", "--output", "set.json"]) == 0
    flags = ["--data", "data.npz", "--metadata", "meta.tsv", "--labels", "kind", "--genes"]
    assert main(["report", "set.json", *flags, "--output", "report.html"]) == 0
    text = (files / "report.html").read_text(encoding="utf-8")
    for said in ("one (10)", 'id="scores-title"', 'id="metadata-title"', "gene/?term=a%5Bsym%5D"):
        assert said in text


def test_parts_that_several_components_do_not_have(files, capsys):
    assert main(["decompose", "data.npz", "-r", "2", "-k", "2", "--output", "set.json"]) == 0
    assert main(["report", "set.json", "--data", "data.npz", "--subsamples", "4"]) == 2
    assert "--subsamples has no effect in a report on several components" in capsys.readouterr().err


def test_column_of_a_csv_file_can_be_the_labels(files):
    rounded = "\n".join(f"{cells},{j % 3}" for j, cells in enumerate((files / "data.csv").read_text().splitlines()))
    (files / "labelled.csv").write_text(rounded.replace("a,b,c,d,e,f,0", "a,b,c,d,e,f,kind", 1))
    assert main(["solve", "labelled.csv", "-k", "2", "--json", "--output", "with.json"]) == 0
    assert main(["report", "with.json", "--data", "labelled.csv", "--labels", "kind"]) == 0
    assert "2 (10)" in (files / "with.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("form", "start"), [("markdown", b"# "), ("png", b"\x89PNG"), ("svg", b"<?xml"), ("html", b"<!DOCTYPE html>")]
)
def test_every_format(files, form, start):
    endings = {"markdown": "md"}
    assert main(["report", "result.json", "--format", form]) == 0
    assert (files / f"result.{endings.get(form, form)}").read_bytes().startswith(start)


def test_other_data_are_refused_with_a_status_of_their_own(files, rng, capsys):
    np.save("other.npy", rng.standard_normal((30, 6)))
    assert main(["report", "result.json", "--data", "other.npy"]) == 1
    assert "refused" in capsys.readouterr().err
    assert "Refused" in (files / "result.html").read_text(encoding="utf-8")


def test_tampered_result_is_refused(files):
    fields = json.loads((files / "result.json").read_text())
    fields["objective"] *= 1.001
    fields["explained_variance_ratio"] *= 1.001
    (files / "result.json").write_text(json.dumps(fields))
    assert main(["report", "result.json", "--data", "data.npz"]) == 1


def test_tampered_bound_is_refused(files):
    fields = json.loads((files / "result.json").read_text())
    fields["certificate"]["upper_bound"] *= 0.9
    (files / "result.json").write_text(json.dumps(fields))
    assert main(["report", "result.json", "--data", "data.npz"]) == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--labels", "group"], "--labels is about the data"),
        (["--sparsities", "2"], "--sparsities is about the data"),
        (["--correlation"], "--correlation is about the data"),
        (["--missing", "mean"], "--missing is about the data"),
        (["--data", "nowhere.csv"], "there is no file 'nowhere.csv'"),
        (["--path", "result.json"], "is not a path written by certpca"),
        (["--data", "data.npz", "--labels", "nothing"], "has no column 'nothing'; it has names, group, other"),
        (["--data", "data.npz", "--labels", "other"], "holds 2 labels, but there are 30 samples"),
        (["--data", "data.npz", "--labels", "X"], "has no column 'X'; it has names, group, other"),
        (["--data", "data.npz", "--labels", "data.csv"], "one label on each line"),
        (["--output", "report.pdf"], "says no format"),
        (["--output", "nowhere/report.html"], "there is no folder"),
        (["--metadata", "meta.tsv"], "--metadata is about the data"),
        (["--sample-names", "group"], "--sample-names is about the data"),
        (["--subsamples", "4"], "--subsamples is about the data"),
        (["--data", "data.npz", "--subsamples", "5"], "subsamples must be an even number"),
        (["--data", "data.npz", "--metadata", "nowhere.csv"], "metadata cannot be read from 'nowhere.csv'"),
        (["--data", "data.npz", "--metadata", "short.csv"], "has 2 lines below its names, but there are 30 samples"),
        (["--data", "data.npz", "--metadata", "ragged.csv"], "line 31 of 'ragged.csv' has 1 values, its first line 2"),
        (["--data", "data.npz", "--metadata", "twice.csv"], "two columns named 'kind'; rename one"),
        (["--data", "data.npz", "--metadata", "empty.csv"], "it is empty"),
        (["--data", "data.npz", "--metadata", "meta.tsv", "--labels", "sex"], "has no column 'sex'"),
        (["--data", "data.npz", "--sample-names", "other"], "holds 2 labels, but there are 30 samples"),
        (["--largest", "0"], "largest must be a whole number of at least 1"),
    ],
)
def test_bad_input_is_one_line_and_no_file(files, capsys, flags, message):
    before = {file.name for file in files.iterdir()}
    capsys.readouterr()
    assert main(["report", "result.json", *flags]) == 2
    error = capsys.readouterr().err.removeprefix("data.npz: 30 × 6\n")
    assert message in error
    assert error.count("\n") == 1
    assert {file.name for file in files.iterdir()} == before


@pytest.mark.parametrize("content", ["", "{", '{"format": "certpca solution 1"}', "[]"])
def test_corrupt_result(files, capsys, content):
    (files / "broken.json").write_text(content)
    assert main(["report", "broken.json"]) == 2
    assert "broken.json" in capsys.readouterr().err
    assert not (files / "broken.html").exists()
