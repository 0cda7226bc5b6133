"""Several components on disk: what is written is read again, and damage is named."""

import json
from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca.results.component_files import load_result
from certpca.runtime.errors import DataFileError


@pytest.mark.parametrize("together", ["greedy", "disjoint"])
@pytest.mark.parametrize("certify", [False, True])
def test_round_trip(tmp_path: Path, together: str, certify: bool) -> None:
    file = tmp_path / "components.json"
    found = certpca.decompose(certpca.pitprops(), 2, 3, together=together, certify=certify)
    certpca.save_components(found, file)
    loaded = certpca.load_components(file)
    np.testing.assert_array_equal(loaded.loadings, found.loadings)
    assert str(loaded) == str(found)
    assert loaded.status is found.status
    assert (loaded.certificate is None) == (found.certificate is None)
    if certify and together == "disjoint":
        assert loaded.certificate is not None
        assert certpca.verify(loaded.certificate, certpca.pitprops()).upper_bound <= loaded.upper_bound
        beside = certpca.load_certificate(tmp_path / "components.certificate.json")
        assert beside.upper_bound == loaded.upper_bound
    if certify and together == "greedy":
        for number, certificate in enumerate(loaded.certificates):
            assert certificate is not None
            certpca.verify(certificate, found.problem(number))


def test_either_kind_of_result(tmp_path: Path) -> None:
    certpca.save_solution(certpca.solve(certpca.pitprops(), 3), tmp_path / "one.json")
    certpca.save_components(certpca.decompose(certpca.pitprops(), 2, 3), tmp_path / "two.json")
    assert isinstance(load_result(tmp_path / "one.json"), certpca.Solution)
    assert isinstance(load_result(tmp_path / "two.json"), certpca.ComponentSet)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("together", "apart", "together"),
        ("explained_variance", [1.0], "one for each of 2 components"),
        ("components", [], "components"),
        ("deflation", None, "there for greedy components"),
        ("status", "FINE", "status"),
        ("trace", "much", "trace"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, value: object, message: str) -> None:
    file = tmp_path / "components.json"
    certpca.save_components(certpca.decompose(certpca.pitprops(), 2, 3), file)
    fields = json.loads(file.read_text())
    file.write_text(json.dumps({**fields, name: value}))
    with pytest.raises(DataFileError, match=message):
        certpca.load_components(file)


def test_another_file_is_none(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    certpca.save_solution(certpca.solve(certpca.pitprops(), 3), file)
    with pytest.raises(DataFileError, match="is not components written by certpca"):
        certpca.load_components(file)
