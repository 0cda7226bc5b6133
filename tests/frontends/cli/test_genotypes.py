"""Genotypes on the command line: filters are recorded, and what verifies or reports reads the same matrix again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main


@pytest.fixture
def cohort(tmp_path: Path, rng: np.random.Generator) -> Path:
    """Write 60 samples and 90 variants in linked groups of three, a third of them on X."""
    founders = rng.binomial(2, rng.uniform(0.1, 0.5, 30), (60, 30))
    table = np.repeat(founders, 3, axis=1)
    changed = rng.random(table.shape) < 0.05
    table[changed] = rng.integers(0, 3, int(changed.sum()))
    table[rng.random(table.shape) < 0.01] = -9
    certpca.write_plink(
        tmp_path / "cohort",
        table,
        chromosomes=[1] * 30 + [6] * 30 + [23] * 30,
        positions=[30_000_000 + 10_000 * number for number in range(90)],
        alleles=[("A", "G")] * 90,
    )
    return tmp_path / "cohort.bed"


FILTERS = ["--clump-r2", "0.3", "--clump-kb", "50", "--exclude-regions", "6:30300000-30390000", "--missing", "mean"]


def test_filters_are_read_again(cohort: Path, tmp_path: Path, capsys: Any) -> None:
    result, page = tmp_path / "result.json", tmp_path / "page.html"
    assert main(["solve", str(cohort), "-k", "4", "--certify", "--output", str(result), *FILTERS]) == 0
    said = capsys.readouterr().err
    assert "30 of 90 variants on chromosomes 23 left out (--chromosomes all keeps them)" in said
    assert "10 left out in excluded regions" in said
    assert "left out by clumping" in said
    stored = certpca.load_solution(result)
    assert stored.reading == {
        "chromosomes": ["autosomes"],
        "exclude_regions": ["6:30300000-30390000"],
        "clump_r2": 0.3,
        "clump_kb": 50.0,
    }
    certificate = tmp_path / "result.certificate.json"
    assert main(["verify", str(certificate), str(cohort)]) == 0
    assert "--clump-r2 0.3" in capsys.readouterr().out
    assert main(["report", str(result), "--data", str(cohort), "--missing", "mean", "--output", str(page)]) == 0
    assert main(["verify", str(certificate), str(cohort), "--clump-r2", "0.9"]) == 1


def test_results_that_say_nothing_of_chromosomes_are_of_all(cohort: Path, tmp_path: Path, capsys: Any) -> None:
    """Results of earlier versions do not mention sex chromosomes, which they had read."""
    result = tmp_path / "result.json"
    options = ["-k", "3", "--certify", "--missing", "mean", "--output", str(result)]
    assert main(["solve", str(cohort), "--chromosomes", "all", *options]) == 0
    certificate = tmp_path / "result.certificate.json"
    fields = json.loads(certificate.read_text())
    assert fields["reading"] == {"chromosomes": ["all"]}
    fields["reading"] = {}
    certificate.write_text(json.dumps(fields))
    capsys.readouterr()
    assert main(["verify", str(certificate), str(cohort)]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--exclude-regions", "hg17"], "a genome build (hg18, hg19, hg38)"),
        (["--clump-r2", "1.2"], "clump_r2 is the largest squared correlation"),
        (["--clump-kb", "100"], "clump_kb=100.0 would have no effect"),
        (["--clump-r2", "0.2", "--clump-kb", "9", "--clump-variants", "9"], "not both"),
        (["--chromosomes", "9"], "no variant is on chromosome '9'"),
    ],
)
def test_bad_filters_are_refused_with_advice(cohort: Path, capsys: Any, options: list[str], message: str) -> None:
    assert main(["solve", str(cohort), "-k", "2", "--missing", "mean", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def panel_files(cohort: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Solve, and write the markers of the result."""
    result, markers = tmp_path / "result.json", tmp_path / "markers.tsv"
    assert main(["solve", str(cohort), "-k", "4", "--certify", "--output", str(result), *FILTERS]) == 0
    assert main(["markers", str(result), str(cohort), "--output", str(markers)]) == 0
    return result, markers


def test_markers_are_listed_scored_and_drawn(cohort: Path, panel_files: Any, tmp_path: Path, capsys: Any) -> None:
    result, markers = panel_files
    scores, picture, projected = (tmp_path / name for name in ("own.eigenvec", "m.png", "other.eigenvec"))
    capsys.readouterr()
    assert main(["markers", str(result), str(cohort), "--eigenvec", str(scores), "--plot", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "in every optimum" in said
    assert "of 4 loadings proved in every best choice" in said
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["project", str(markers), str(cohort), "--output", str(projected)]) == 0
    assert "60 samples scored on 4 of 4 markers (4 same alleles)" in capsys.readouterr().out
    assert projected.read_text() == scores.read_text()
    assert main(["project", str(markers), str(cohort), "--json", "--match", "name"]) == 0
    assert json.loads(capsys.readouterr().out)["markers"] == {"same alleles": 4}
    assert main(["markers", str(result), str(cohort), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["markers"]
    assert {row["in_every_optimum"][0] for row in rows} <= {"yes", "no"}


def test_markers_and_projections_are_refused_with_advice(
    cohort: Path, panel_files: Any, tmp_path: Path, capsys: Any
) -> None:
    result, markers = panel_files
    text = tmp_path / "table.csv"
    text.write_text("a,b\n1,2\n3,5\n")
    capsys.readouterr()
    for arguments, message in (
        (["markers", str(result), str(cohort), "--missing", "mean", "--correlation"], "become a matrix in another way"),
        (["markers", str(result), str(cohort), "--clump-r2", "0.9"], "read them with the filters of the result"),
        (["project", str(markers), str(text)], "samples to project are genotypes"),
        (["project", str(result), str(cohort)], "is no table of markers"),
        (["project", str(tmp_path / "no.tsv"), str(cohort)], "there is no file"),
        (["markers", str(result), str(cohort), "--plot", str(tmp_path / "a.xyz")], "Format 'xyz' is not supported"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
