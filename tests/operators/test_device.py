"""Data moved to another device before the work starts; torch on the CPU stands in for a GPU."""

import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import certpca
from certpca.runtime.errors import InvalidProblemError, MissingDependencyError


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.integers(0, 3, (40, 90)), dtype=np.int8)


def test_results_are_those_of_the_host(data: np.ndarray) -> None:
    pytest.importorskip("torch")
    enough: dict[str, Any] = {"certify": True, "target_gap": 0.3, "budget": certpca.Budget(steps=20)}
    here = certpca.solve(data, 6, **enough)
    there = certpca.solve(data, 6, **enough, device="cpu")
    assert certpca.from_data(data, device="cpu").xp.__name__.endswith("torch")
    np.testing.assert_array_equal(here.support, there.support)
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.certificate is not None
    assert certpca.verify(there.certificate, data).upper_bound <= there.certificate.upper_bound


def test_matrices_too(data: np.ndarray) -> None:
    pytest.importorskip("torch")
    matrix = np.cov(data.T.astype(np.float64))
    here = certpca.solve(matrix, 6, covariance=True)
    there = certpca.solve(matrix, 6, covariance=True, device="cpu")
    assert there.objective == pytest.approx(here.objective, rel=1e-9)


def test_unknown_devices_are_named(data: np.ndarray) -> None:
    pytest.importorskip("torch")
    with pytest.raises(InvalidProblemError, match="cannot be moved to device 'nowhere'"):
        certpca.solve(data, 6, device="nowhere")


def test_sparse_data_stay_where_they_are(data: np.ndarray) -> None:
    with pytest.raises(InvalidProblemError, match="for dense arrays in memory"):
        certpca.solve(csr_array(data), 6, device="cpu")
    with pytest.raises(InvalidProblemError, match="for dense arrays in memory"):
        certpca.solve(csr_array(np.eye(5)), 2, covariance=True, device="cpu")


def test_without_any_library_for_devices(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    known = importlib.util.find_spec

    def hidden(name: str, package: Any = None) -> Any:
        return None if name in ("torch", "cupy") else known(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", hidden)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match="needs torch or"):
        certpca.from_data(data, device="cuda")
