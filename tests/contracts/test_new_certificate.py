"""A new kind of certificate is two files. Those of CONTRIBUTING.md are put in place here, and nothing else is."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import certpca
import certpca.bounds.makers
import certpca.checker.rules
from certpca import CertificateError
from certpca.checker.rules import rules
from certpca.frontends.cli.main import main
from certpca.frontends.report.words import kind_in_words
from certpca.results.evidence import digest_of
from certpca.runtime.errors import DataFileError

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
KIND = "weighted-rows"
PAIRS, SPARSITY = 8, 2
FILES = {"rules": certpca.checker.rules, "makers": certpca.bounds.makers}


def examples() -> list[str]:
    section = PAGE.read_text(encoding="utf-8").split("## Adding a certificate")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


@pytest.fixture(scope="module")
def two_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The rule and the maker, in folders of their own that count as parts of the rooms."""
    assert KIND not in rules()
    assert kind_in_words(KIND) == "see the documentation"
    with pytest.MonkeyPatch.context() as patch:
        for source, (name, room) in zip(examples(), FILES.items(), strict=True):
            folder = tmp_path_factory.mktemp(name)
            (folder / "weighted_rows.py").write_text(source, encoding="utf-8")
            patch.setattr(room, "__path__", [*room.__path__, str(folder)])
        certpca.bounds.makers.makers.cache_clear()
        yield
    certpca.bounds.makers.makers.cache_clear()
    for room in FILES.values():
        sys.modules.pop(f"{room.__name__}.weighted_rows", None)
        vars(room).pop("weighted_rows", None)


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    """Pairs that are equally good, with something in common that makes the largest eigenvalue useless."""
    return np.asarray(np.kron(np.eye(PAIRS), [[1.0, 1.0], [1.0, 4.0]]) + 0.1)


@pytest.fixture(scope="module")
def certificate(matrix: np.ndarray, two_files: None) -> certpca.Certificate:
    return certpca.certify(matrix, SPARSITY, target_gap=1e-4, branching=False, covariance=True)


def test_certify_finds_it_and_the_checker_proves_it(certificate: certpca.Certificate, matrix: np.ndarray) -> None:
    best = np.linalg.eigvalsh(matrix[:2, :2])[-1]
    assert certificate.kind == KIND
    assert best * (1 - 1e-12) <= certpca.verify(certificate, matrix).upper_bound <= certificate.upper_bound
    assert certificate.gap < 1e-6
    assert kind_in_words(KIND).startswith("a weight for each feature")


def test_units_of_the_data_do_not_matter(matrix: np.ndarray, two_files: None) -> None:
    large = matrix * 2.0**200
    made = certpca.certify(large, SPARSITY, target_gap=1e-4, branching=False, covariance=True)
    assert made.kind == KIND
    certpca.verify(made, large)


@pytest.mark.usefixtures("two_files")
@pytest.mark.parametrize("seed", range(20))
def test_whatever_weights_are_stored_prove_no_more_than_is_true(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((12, 7))
    found = certpca.certify(data, 3, target_gap=1e-6)
    claim = replace(found, kind=KIND, tree=None, outside=0, inside=0, evidence={"weights": rng.uniform(1e-3, 1, 7)})
    proved = certpca.checker.examine(claim, certpca.from_data(data).source()).upper_bound
    assert proved >= found.objective * (1 - 1e-9)


def test_it_is_stored_read_and_verified(certificate: certpca.Certificate, matrix: np.ndarray, tmp_path: Path) -> None:
    certpca.save_certificate(certificate, tmp_path / "c.json")
    np.save(tmp_path / "d.npy", matrix)
    back = certpca.load_certificate(tmp_path / "c.json")
    np.testing.assert_array_equal(back.evidence["weights"], certificate.evidence["weights"])
    assert main(["verify", str(tmp_path / "c.json"), str(tmp_path / "d.npy")]) == 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda made: {"upper_bound": made.upper_bound * 0.999}, "its evidence proves only"),
        (lambda made: {"evidence": {"weights": np.ones(2 * PAIRS)}}, "its evidence proves only"),
        (lambda made: {"evidence": {"weights": -made.evidence["weights"]}}, "out of range"),
        (lambda made: {"evidence": {"weights": made.evidence["weights"][1:]}}, "not one for each feature"),
        (lambda made: {"evidence": {"weights": made.evidence["weights"] * np.nan}}, "not finite"),
        (lambda made: {"evidence": {}}, "lacks 'weights'"),
    ],
)
def test_it_is_refused_when_tampered_with(
    change: object, why: str, certificate: certpca.Certificate, matrix: np.ndarray
) -> None:
    assert callable(change)
    with pytest.raises(CertificateError, match=why):
        certpca.verify(replace(certificate, **change(certificate)), matrix)


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"weights": np.ones(2 * PAIRS + 1)}, "does not fit 16 features"),
        ({"weights": np.ones(2 * PAIRS, dtype=int)}, "type int"),
        ({"weights": np.ones(2 * PAIRS), "spare": np.ones(3)}, "'spare.npy'"),
    ],
)
def test_a_file_that_the_rule_does_not_declare_is_not_unpacked(
    arrays: dict[str, np.ndarray], why: str, certificate: certpca.Certificate, tmp_path: Path
) -> None:
    certpca.save_certificate(certificate, tmp_path / "c.json")
    np.savez(tmp_path / "forged.npz", **arrays)  # type: ignore[arg-type]
    with (tmp_path / "forged.npz").open("rb") as stream:
        entry = {"file": "forged.npz", "digest": digest_of(stream)}
    fields = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "c.json").write_text(json.dumps({**fields, "evidence": entry}))
    with pytest.raises(DataFileError, match=why):
        certpca.load_certificate(tmp_path / "c.json")
