"""`certpca verify` says what was checked, applies what was done to the file, and refuses what nobody expects."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main
from certpca.results.errors import CertificateError
from certpca.runtime.errors import UnknownArgumentError
from certpca.runtime.rounded import up


@pytest.fixture
def table(tmp_path: Path, rng: np.random.Generator) -> Path:
    file = tmp_path / "data.csv"
    np.savetxt(file, rng.standard_normal((30, 8)) * np.arange(1, 9), delimiter=",", header="abcdefgh", comments="")
    file.write_text(",".join("abcdefgh") + "\n" + "\n".join(file.read_text().splitlines()[1:]) + "\n")
    return file


def certified(file: Path, tmp_path: Path, *flags: str) -> Path:
    target = tmp_path / "certificate.json"
    assert main(["certify", str(file), "-k", "3", "--target-gap", "0.05", "--output", str(target), *flags]) == 0
    return target


def changed(certificate: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    fields = json.loads(certificate.read_text())
    change(fields)
    certificate.write_text(json.dumps(fields))
    return certificate


# --- what was checked is said from what was checked ----------------------------------------------


def test_words_of_the_certificate_are_not_repeated(table: Path, tmp_path: Path, capsys: Any) -> None:
    certificate = certified(table, tmp_path, "--correlation")
    changed(certificate, lambda fields: fields.update(matrix="covariance matrix (centred, divided by 29) of the world"))
    capsys.readouterr()
    assert main(["verify", str(certificate), str(table)]) == 0
    said = capsys.readouterr().out
    assert "correlation matrix (centred, divided by 29) of 30 x 8 data" in said
    assert "world" not in said
    assert main(["verify", str(certificate), str(table), "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["matrix"] == "correlation matrix (centred, divided by 29) of 30 x 8 data"
    assert fields["normalisation"]["scale"] is True


def test_gap_and_bound_are_those_proved_not_those_claimed(table: Path, tmp_path: Path, capsys: Any) -> None:
    certificate = changed(certified(table, tmp_path), lambda fields: fields.update(upper_bound=1e9, objective=0.0))
    capsys.readouterr()
    assert main(["verify", str(certificate), str(table)]) == 0
    sentence = capsys.readouterr().out.split("matrix")[0]
    proof = certpca.verify(certpca.load_certificate(certificate), certpca.load_table(table).data)
    assert f"captures more than {up(proof.upper_bound)}" in sentence
    assert float(up(proof.upper_bound)) < 1000


@pytest.mark.parametrize(
    "forged",
    [
        {"divisor": 1e12},
        {"divisor": 28.5},
        {"divisor": 31.0},
        {"divisor": True},
        {"divisor": "29"},
        {"scale": 1},
        {"scale": "yes"},
        {"center": 1},
        {"center": [True]},
        {"missing": [[1.0, 2.0]]},
        {"missing": 2, "fill_missing": True},
        {"missing": -9, "fill_missing": True},
        {"fill_missing": "mean"},
        {"kind": "matrix"},
        {"kind": ["data"]},
        {"extra": 1},
    ],
    ids=str,
)
def test_other_ways_to_a_matrix_are_refused_even_with_a_fitting_hash(
    rng: np.random.Generator, forged: dict[str, Any]
) -> None:
    """As a forger would: the certificate is made for what it says, with its own hash."""
    from dataclasses import replace

    from certpca.checker import fingerprint
    from certpca.results.certificate import Source

    data = rng.standard_normal((30, 8))
    honest = certpca.certify(data, 3)
    normalisation = {**honest.normalisation, **forged}
    try:
        digest = fingerprint(Source(values=data, **normalisation))
    except (TypeError, ValueError):
        digest = honest.fingerprint
    trial = replace(honest, kind="trace", evidence={}, upper_bound=1e30, objective=0.0, outside=0, inside=0)
    with pytest.raises(CertificateError, match="refused"):
        certpca.verify(replace(trial, normalisation=normalisation, fingerprint=digest), data)


# --- what the reader expects -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "expected", "status"),
    [
        ([], ["--unscaled"], 0),
        ([], ["--correlation"], 1),
        ([], ["--uncentred"], 1),
        ([], ["--covariance"], 1),
        ([], ["-k", "3"], 0),
        ([], ["-k", "4"], 1),
        ([], ["--max-gap", "0.05"], 0),
        ([], ["--max-gap", "-1"], 1),
        ([], ["--missing", "error"], 0),
        (["--correlation"], ["--correlation"], 0),
        (["--correlation"], ["--unscaled"], 1),
        (["--uncentred"], ["--uncentred"], 0),
        (["--uncentred"], ["--unscaled"], 1),
    ],
)
def test_expectations(
    table: Path, tmp_path: Path, capsys: Any, made: list[str], expected: list[str], status: int
) -> None:
    certificate = certified(table, tmp_path, *made)
    assert main(["verify", str(certificate), str(table), *expected]) == status
    if status:
        assert "expected" in capsys.readouterr().err


def test_expectations_in_python(rng: np.random.Generator) -> None:
    data = rng.standard_normal((20, 6))
    data[3, 2] = np.nan
    certificate = certpca.certify(data, 2, scale=True, missing="mean")
    proof = certpca.verify(certificate, data, scale=True, center=True, missing="mean", sparsity=2, covariance=False)
    assert "missing values (NaN) taken as column means" in proof.matrix
    refusals: list[dict[str, Any]] = [{"scale": False}, {"center": False}, {"missing": "error"}, {"sparsity": 3}]
    for expected in [*refusals, {"covariance": True}, {"max_gap": -1.0}]:
        with pytest.raises(CertificateError, match="expected"):
            certpca.verify(certificate, data, **expected)
    with pytest.raises(UnknownArgumentError, match="verify has no argument"):
        certpca.verify(certificate, data, sparsty=2)  # type: ignore[call-overload]
    other = certpca.certify(np.nan_to_num(data), 2, ddof=0)
    with pytest.raises(CertificateError, match="less 1"):
        certpca.verify(other, np.nan_to_num(data), ddof=1)


# --- from the file to the matrix --------------------------------------------------------------------


@pytest.fixture
def genotypes(tmp_path: Path, rng: np.random.Generator) -> Path:
    counts = rng.binomial(2, rng.uniform(0.01, 0.5, 40), (60, 40)).astype(np.int8)
    counts[rng.random(counts.shape) < 0.02] = -9
    certpca.write_plink(tmp_path / "cohort.bed", counts)
    return tmp_path / "cohort.bed"


def printed_command(report: Path) -> list[str]:
    block = re.search(r"```sh\n(.*)\n```", report.read_text(encoding="utf-8"))
    assert block is not None
    command, *arguments = shlex.split(block[1])
    assert command == "certpca"
    return arguments


@pytest.mark.parametrize("certify", [True, False])
def test_command_of_the_report_works_after_filters(
    genotypes: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, certify: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "kept.txt"
    kept.write_text("".join(f"{line}\n" for line in (tmp_path / "cohort.fam").read_text().splitlines()[:50]))
    kept.write_text("".join(f"{' '.join(line.split()[:2])}\n" for line in kept.read_text().splitlines()))
    filters = ["--maf", "0.05", "--max-missing", "0.1", "--keep", str(kept), "--every", "2"]
    prepared = ["--hardy-weinberg", "--missing", "mean"]
    result = tmp_path / "result.json"
    assert (
        main(
            ["solve", str(genotypes), "-k", "4", "--output", str(result), *filters, *prepared, *["--certify"] * certify]
        )
        == 0
    )
    kept.unlink()  # the result records who was kept
    report = tmp_path / "report.md"
    assert main(["report", str(result), "--data", str(genotypes), "--output", str(report), *prepared]) == 0
    capsys.readouterr()
    assert main(printed_command(report)) == 0
    if certify:
        said = capsys.readouterr().out
        assert "--maf 0.05 --max-missing 0.1 --every 2" in said
        assert "(50 entries)" in said


def test_options_that_contradict_the_certificate_are_refused(genotypes: Path, tmp_path: Path, capsys: Any) -> None:
    certificate = certified(genotypes, tmp_path, "--maf", "0.05", "--missing", "mean")
    assert main(["verify", str(certificate), str(genotypes), "--maf", "0.2"]) == 1
    assert "its file was read with --maf 0.05" in capsys.readouterr().err


@pytest.mark.parametrize("reading", [{"names": "/etc/passwd"}, {"maf": "much"}, {"x": True}, ["maf"], {"every": 0}])
def test_nonsense_about_reading_is_refused(genotypes: Path, tmp_path: Path, capsys: Any, reading: Any) -> None:
    certificate = certified(genotypes, tmp_path, "--maf", "0.05", "--missing", "mean")
    changed(certificate, lambda fields: fields.update(reading=reading))
    capsys.readouterr()
    assert main(["verify", str(certificate), str(genotypes)]) == 2
    assert capsys.readouterr().err.startswith("certpca: ")


def test_readers_record_their_filters_in_python_too(genotypes: Path) -> None:
    data = certpca.read_plink(genotypes, maf=0.1)
    solution = certpca.solve(data, 3, missing="mean", certify=True)
    assert solution.certificate is not None
    assert solution.reading == solution.certificate.reading == {"maf": 0.1}


def test_a_reader_that_goes_away_loses_no_result(table: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    result = tmp_path / "result.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "certpca.frontends.cli.main", "solve", str(table), "-k", "3", "--output", str(result)],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()  # before anything was printed
    assert process.wait(timeout=120) in (0, 1)  # rich, which prints tables, ends with 1
    assert certpca.load_solution(result).sparsity == 3
