"""Large matrices: contenders chosen by walks over the data lead to what a search of all features finds."""

from typing import Any

import numpy as np
import pytest

import certpca
from certpca.runtime.budget import Progress
from certpca.search.joint import find
from certpca.search.joint.contenders import doubling
from certpca.search.joint.find import find_together, rank_up_to
from certpca.search.joint.shared import thresholded_rows
from certpca.search.joint.stages import Budgets


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    """Samples with three groups of features that go together, among noise."""
    scores = rng.standard_normal((80, 3))
    data = 0.7 * rng.standard_normal((80, 600))
    for group in range(3):
        data[:, 40 * group : 40 * group + 20] += scores[:, [group]]
    return data


def _value(operator: certpca.Operator, loadings: np.ndarray) -> float:
    return float((loadings * np.asarray(operator.matmat(loadings))).sum())


@pytest.mark.parametrize("problem", ["disjoint", "orthogonal", "uncorrelated", "shared"])
def test_contenders_lead_to_as_much(data: np.ndarray, problem: str, monkeypatch: Any) -> None:
    operator, budgets = certpca.from_data(data), Budgets((8, 8, 8))
    monkeypatch.setattr(find, "IN_MEMORY", 100)  # as if there were too many features for memory
    loadings = find_together(operator, problem, budgets, 0, Progress())
    value = _value(operator, loadings)
    planted = np.zeros((600, 3))
    for group in range(3):
        planted[40 * group : 40 * group + (8 if problem != "shared" else 3), group] = 1
    planted /= np.linalg.norm(planted, axis=0)
    assert value > _value(operator, planted)
    assert ((loadings != 0).sum(axis=0) <= 8).all()
    products = loadings.T @ loadings
    if problem == "uncorrelated":
        products = loadings.T @ np.asarray(operator.matmat(loadings))
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-10


def test_a_limit_leaves_a_whole_set(data: np.ndarray, monkeypatch: Any) -> None:
    monkeypatch.setattr(find, "IN_MEMORY", 100)
    progress = Progress(certpca.Budget(seconds=1e-6))
    loadings = find_together(certpca.from_data(data), "disjoint", Budgets((8, 8)), 0, progress)
    assert (loadings != 0).sum(axis=0).tolist() == [8, 8]


def test_a_limit_leaves_a_shared_set_that_no_thresholding_betters(data: np.ndarray, monkeypatch: Any) -> None:
    monkeypatch.setattr(find, "IN_MEMORY", 100)
    operator, progress = certpca.from_data(data), Progress(certpca.Budget(seconds=1e-6))
    loadings = find_together(operator, "shared", Budgets((40, 40, 40)), 0, progress)
    images, support = np.asarray(operator.matmat(loadings)), np.flatnonzero(loadings.any(axis=1))
    again = thresholded_rows(images, support, 40)
    other = np.linalg.eigvalsh(operator.submatrix(np.sort(again)))[-3:].sum()
    assert other <= _value(operator, loadings) * (1 + 1e-3)


def test_budgets_double() -> None:
    assert [stage.counts for stage in doubling(Budgets((5, 9)), "disjoint")] == [
        (1, 1),
        (2, 2),
        (4, 4),
        (5, 8),
        (5, 9),
    ]


def test_ranks(rng: np.random.Generator) -> None:
    data = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 9))
    assert rank_up_to(certpca.from_data(data), 3) == 2
    assert rank_up_to(certpca.from_data(data), 1) == 1
    assert rank_up_to(certpca.from_matrix(np.zeros((3, 3))), 2) == 0
