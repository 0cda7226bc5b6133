"""Both checkers say the same: of every golden certificate, and of certificates of random problems, altered or not."""

import json
from typing import Any

import numpy as np
import pytest
from benchmarks.checkers.agreement import cases_of

import certpca
from certpca import CertificateError
from certpca.checker.rules import rules
from certpca.checker.set_rules import rules as set_rules
from certpca.exact.certpca_exact import RULES, SET_RULES, Refused, check_file, main, read_table
from tests.golden.make import FOLDER

LISTED: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "list.json").read_text())
KINDS = {"priced-counts.json", "priced-regions.json", "shared-split.json"}
KNOWN = [case for case in LISTED["later"] if KINDS & {case["certificate"], case.get("from")}]
CASES = LISTED["cases"] + KNOWN
UNKNOWN = [case for case in LISTED["later"] if case not in KNOWN]  # constraints and weights
DISAGREE = ("only the first accepts", "only the second accepts")


def test_it_knows_every_kind_there_is() -> None:
    assert set(RULES) == set(rules())
    assert set(SET_RULES) == set(set_rules())
    for kind, (_, _, problems) in SET_RULES.items():
        assert set(problems) == set(set_rules()[kind].PROBLEMS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["certificate"]))
def test_every_golden_certificate_gets_the_verdict_it_should(case: dict[str, Any]) -> None:
    file, table = FOLDER / case["certificate"], read_table(FOLDER / case["data"])
    if not case["accepted"]:
        with pytest.raises(Refused):
            check_file(file, table)
        return
    (verdict,) = check_file(file, table)
    assert verdict.bound <= case["upper_bound"]
    assert verdict.captured == pytest.approx(case["captured"], rel=1e-9)
    if case.get("optimum") is not None:
        assert verdict.bound >= case["optimum"] * (1 - 1e-12)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_kinds_that_came_later_are_among_them_valid_and_tampered(kind: str) -> None:
    assert {case["accepted"] for case in KNOWN if kind in (case["certificate"], case.get("from"))} == {True, False}


@pytest.mark.parametrize("case", UNKNOWN, ids=lambda case: str(case["certificate"]))
def test_constraints_and_weights_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        check_file(FOLDER / case["certificate"], read_table(FOLDER / case["data"]))


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_get_the_same_verdict(seed: int) -> None:
    for said in cases_of(seed, altered=3):
        assert not said["false"], said
        assert said["verdict"] not in DISAGREE, said


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}])
def test_verify_lets_both_confirm(options: dict[str, Any]) -> None:
    values = np.round(np.random.default_rng(3).standard_normal((9, 6)), 2)
    certificate = certpca.certify(values, 3, **options)
    assert "whole numbers" in certpca.verify(certificate, values, exact=True).arithmetic
    assert "whole numbers" not in certpca.verify(certificate, values).arithmetic


def test_verify_takes_sparse_tables_and_readers_too(tmp_path: Any) -> None:
    from scipy.sparse import csr_array

    values = np.random.default_rng(4).poisson(0.7, (30, 6)).astype(np.float64)
    certificate = certpca.certify(values, 2)
    assert certpca.verify(certificate, csr_array(values), exact=True).objective > 0
    file = tmp_path / "values.npy"
    np.save(file, values)
    operator = certpca.from_data(np.load(file, mmap_mode="r"))
    assert certpca.verify(certificate, operator, exact=True).objective > 0


def test_what_is_too_large_is_refused_with_advice() -> None:
    values = np.random.default_rng(5).standard_normal((3, 2100))
    certificate = certpca.certify(values, 2, time_limit=1)
    with pytest.raises(CertificateError, match=r"at most 2,048 features.*verify without exact"):
        certpca.verify(certificate, values, exact=True)


def test_the_command_line_says_so_and_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    from certpca.frontends.cli.main import main as certpca_main

    table = str(FOLDER / "table.csv")
    assert certpca_main(["verify", "--exact", str(FOLDER / "table.json"), table]) == 0
    assert "confirmed in whole numbers" in capsys.readouterr().out
    assert main([str(FOLDER / "table.json"), table]) == 0
    assert "confirmed by search-tree" in capsys.readouterr().out
    assert main([str(FOLDER / "refused-lower-bound.json"), str(FOLDER / "wide.npy")]) == 1
    assert "NOT CONFIRMED: the claim is" in capsys.readouterr().out
    assert main([str(FOLDER / "absent.json"), table]) == 2
    assert main([]) == 2
