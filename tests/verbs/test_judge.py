"""An answer is evaluated once by the judge, and once by the checker."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.checker import Examiner
from certpca.operators.base import Operator


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Note which supports were evaluated by anybody but the checker."""
    seen: list[tuple[int, ...]] = []
    kinds = type(certpca.from_data(np.eye(3))).__mro__
    owner: Any = next(kind for kind in kinds if "quadratic_form" in vars(kind))
    original = owner.quadratic_form

    def noted(operator: Operator, support: Any, loadings: Any) -> float:
        seen.append(tuple(support))
        return float(original(operator, support, loadings))

    monkeypatch.setattr(owner, "quadratic_form", noted)
    return seen


RUNS: dict[str, Callable[[np.ndarray], Any]] = {
    "solve": lambda data: certpca.solve(data, 4),
    "solve and prove": lambda data: certpca.solve(data, 4, certify=True),
    "branch and bound": lambda data: certpca.solve(data, 4, "branch-and-bound"),
}


@pytest.mark.parametrize("run", RUNS)
def test_once(run: str, evaluations: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    solution = RUNS[run](rng.standard_normal((30, 20)))
    assert evaluations == [tuple(solution.support)]


def test_each_sparsity_of_a_path_once_more(evaluations: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    found = certpca.path(rng.standard_normal((30, 20)), [2, 4, 6], certify=True)
    first, *others = evaluations  # the middle is searched like any other problem
    assert others == [tuple(solution.support) for solution in found.solutions]
    assert first in others


def test_the_checker_evaluates_by_itself(evaluations: list[tuple[int, ...]], rng: np.random.Generator) -> None:
    data = rng.standard_normal((30, 20))
    certificate = certpca.certify(data, 4)
    evaluations.clear()
    proof = Examiner(certpca.from_data(data).source()).check(certificate)
    assert proof.objective == pytest.approx(certificate.objective)
    assert not evaluations
