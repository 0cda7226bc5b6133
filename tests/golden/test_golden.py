"""What is shipped as valid is accepted with the bound it states; what was tampered with is refused for its reason."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Certificate, CertificateError
from certpca.checker.rules import rules
from certpca.checker.set_rules import rules as set_rules
from certpca.frontends.cli.main import main
from certpca.results.certificate import RANDOM, Source
from certpca.runtime.errors import DataFileError
from tests.brute_force import constrained_brute_force
from tests.golden.make import FOLDER, FORMAT
from tests.golden.refusals import TAMPERED
from tests.golden.valid import VALID, exact_matrix

LISTED: dict[str, Any] = json.loads((FOLDER / "list.json").read_text())
CASES: list[dict[str, Any]] = LISTED["cases"] + LISTED["later"]
ACCEPTED = [case for case in CASES if case["accepted"]]
REFUSED = [case for case in CASES if not case["accepted"]]
REASONS = [
    "claim",
    "objective",
    "decided",
    "data",
    "normalisation",
    "format",
    "field",
    "kind",
    "problem",
    "constraints",
    "loadings",
    "evidence",
    "tree",
    "cover",
]


def values_of(case: dict[str, Any]) -> Any:
    file = FOLDER / case["data"]
    return np.load(file) if file.suffix == ".npy" else np.loadtxt(file, delimiter=",", skiprows=1)


def named(case: dict[str, Any]) -> str:
    return str(case["certificate"])


def test_the_list_is_that_of_the_script() -> None:
    assert LISTED["format"] == FORMAT
    assert {case["certificate"] for case in ACCEPTED} == {f"{case.name}.json" for case in VALID}
    assert {case["certificate"] for case in REFUSED} == {f"refused-{case.name}.json" for case in TAMPERED}
    assert {case["kind"] for case in ACCEPTED} == set(rules()) | set(set_rules())  # every kind there is
    assert {case["reason"] for case in REFUSED} == set(REASONS)


def test_what_not_every_checker_knows_is_listed_apart() -> None:
    for case in ACCEPTED:
        fields = json.loads((FOLDER / named(case)).read_text())
        known = fields["format"].endswith(" 1") and "weights" not in fields["normalisation"]
        known &= fields["kind"] not in ("priced-regions", "shared-split")  # which were added later
        known &= "block" not in str(fields.get("tree"))  # as were counts
        assert known == (case in LISTED["cases"])
    assert all(
        case["from"] in {named(other) for other in LISTED["later"]} for case in LISTED["later"] if "from" in case
    )


def test_they_are_small_and_nothing_lies_beside_them() -> None:
    files = {file.name for file in FOLDER.iterdir()}
    assert sum((FOLDER / name).stat().st_size for name in files) <= 500_000
    held = [json.loads((FOLDER / named(case)).read_text()).get("evidence", {}).get("file") for case in CASES]
    known = {named(case) for case in CASES} | {case["data"] for case in CASES} | set(held)
    assert files - known == {"list.json", "README.md"}


@pytest.mark.parametrize("case", ACCEPTED, ids=named)
def test_valid_ones_are_accepted_with_the_bound_they_state(case: dict[str, Any]) -> None:
    certificate, values = certpca.load_certificate(FOLDER / named(case)), values_of(case)
    proof = certpca.verify(certificate, values)
    assert certificate.upper_bound == case["upper_bound"]
    assert proof.upper_bound <= case["upper_bound"]
    assert math.isclose(proof.objective, case["captured"], rel_tol=1e-9)
    if case["proved"] is None:
        assert certificate.kind.endswith(RANDOM)
    else:
        assert math.isclose(proof.upper_bound, case["proved"], rel_tol=1e-8)
        assert case["upper_bound"] <= case["proved"] * (1 + 2e-8)  # nothing is given away
    if isinstance(certificate, Certificate):
        matrix = exact_matrix(Source(values=values, **certificate.normalisation))
        judged = constrained_brute_force(matrix, certificate.sparsity, certificate.constraints)
        assert math.isclose(judged, case["optimum"], rel_tol=1e-9)
        assert proof.upper_bound >= judged * (1 - 1e-12)


@pytest.mark.parametrize("case", REFUSED, ids=named)
def test_tampered_ones_are_refused_for_their_reason(case: dict[str, Any]) -> None:
    with pytest.raises((CertificateError, DataFileError)) as refusal:
        certpca.verify(certpca.load_certificate(FOLDER / named(case)), values_of(case))
    assert case["says"] in str(refusal.value)
    original = next(entry for entry in ACCEPTED if entry["certificate"] == case["from"])
    assert (FOLDER / original["certificate"]).read_text() != (FOLDER / named(case)).read_text() or (
        original["data"] != case["data"]
    )


@pytest.mark.parametrize("case", [ACCEPTED[0], ACCEPTED[-1], REFUSED[0], REFUSED[-1]], ids=named)
def test_the_command_agrees(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["verify", str(FOLDER / named(case)), str(FOLDER / case["data"])])
    assert (status == 0) == case["accepted"]
    assert capsys.readouterr()


def test_a_table_of_text_is_read_by_the_command() -> None:
    table = next(case for case in ACCEPTED if Path(case["data"]).suffix == ".csv")
    assert main(["verify", str(FOLDER / named(table)), str(FOLDER / table["data"])]) == 0
