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
