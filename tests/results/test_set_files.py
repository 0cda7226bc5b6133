"""Certificates of several components in files: what is written is what is read, and damage is named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import SetCertificate
from certpca.frontends.cli.main import main
from certpca.runtime.errors import DataFileError
from tests.bounds.sets.test_disjoint import proved


@pytest.fixture(scope="module")
def certificate() -> SetCertificate:
    return proved(certpca.pitprops(), "disjoint", (3, 2), 1e-6)


def test_files_keep_a_certificate(certificate: SetCertificate, tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    certpca.save_certificate(certificate, file)
    loaded = certpca.load_certificate(file)
    assert isinstance(loaded, SetCertificate)
    assert loaded.sparsities == (3, 2)
    assert loaded.tree == certificate.tree
    assert loaded.n_components == 2
    assert loaded.failure_probability == 0.0
    for name, value in certificate.evidence.items():
        np.testing.assert_array_equal(loaded.evidence[name], value)
    proof = certpca.verify(loaded, certpca.pitprops(), sparsities=(3, 2), together="disjoint")
    assert proof.n_components == 2
    assert proof.gap <= 1e-6


CHANGES: dict[str, tuple[Any, str]] = {
    "problem": ("apart", "problem"),
    "sparsities": ([3], "supports"),
    "supports": ([[0, 1], [2]], "loadings"),
    "loadings": ([[1.0], [1.0]], "loadings"),
    "size": (0, "size"),
    "kind": ("l0-dual", "unknown kind"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_no_such_file_holds_is_refused(name: str, certificate: SetCertificate, tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    certpca.save_certificate(certificate, file)
    fields = json.loads(file.read_text())
    fields[name], reason = CHANGES[name]
    file.write_text(json.dumps(fields))
    with pytest.raises(DataFileError, match=reason):
        certpca.load_certificate(file)


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        ({"together": "orthogonal"}, "expected orthogonal components"),
        ({"sparsities": (2, 3)}, "expected components of"),
        ({"sparsity": 3}, "expected sparsity 3"),
        ({"max_gap": -1.0}, "more than"),
    ],
    ids=str,
)
def test_another_claim_than_expected_is_refused(
    expected: dict[str, Any], reason: str, certificate: SetCertificate
) -> None:
    with pytest.raises(certpca.CertificateError, match=reason):
        certpca.verify(certificate, certpca.pitprops(), **expected)


def test_the_command_checks_it(certificate: SetCertificate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, data = tmp_path / "set.json", tmp_path / "matrix.npy"
    certpca.save_certificate(certificate, file)
    np.save(data, certpca.pitprops().submatrix(np.arange(13)))
    assert main(["verify", str(file), str(data)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "No 2 components of at most 3, 2 of the 13 features, no feature in two of them" in printed
    assert "proved optimal" in printed
    assert main(["verify", str(file), str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sparsities"] == [3, 2]
