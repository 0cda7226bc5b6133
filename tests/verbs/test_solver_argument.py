"""Every verb that searches lets the solver search that it is given."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import certpca
from certpca.runtime.errors import InvalidProblemError

DATA = np.random.default_rng(0).standard_normal((20, 8))
VERBS: dict[str, Callable[..., Any]] = {
    "solve": lambda solver: certpca.solve(DATA, 3, solver),
    "certify": lambda solver: certpca.certify(DATA, 3, solver),
    "path": lambda solver: certpca.path(DATA, [2, 3], solver),
    "decompose": lambda solver: certpca.decompose(DATA, 2, 3, solver),
    "elbow": lambda solver: certpca.choose_sparsity(DATA, [2, 3], solver),
    "folds": lambda solver: certpca.choose_sparsity(DATA, [2, 3], solver, method="cross-validation", folds=3),
}
ASKED = {
    "solve": [3],
    "certify": [3],
    "path": [2, 3],
    "decompose": [3, 3],
    "elbow": [2, 3],
    "folds": 4 * [2, 3],  # all rows, and what each fold leaves
}


class Asked:
    """Keeps what it was asked for."""

    name: ClassVar[str] = "asked"
    paper_name: ClassVar[str] = ""
    runs_on_device: ClassVar[bool] = False

    def __init__(self, wider: int = 0) -> None:
        self.sparsities: list[int] = []
        self._wider = wider

    def propose(self, operator: Any, sparsity: int, progress: Any, rng: np.random.Generator) -> certpca.Candidate:
        self.sparsities.append(sparsity)
        support = np.argsort(-operator.diagonal())[: sparsity + self._wider]
        return certpca.Candidate(np.sort(support), certpca.Status.CONVERGED)


@pytest.mark.parametrize("verb", VERBS)
def test_the_solver_is_asked(verb: str) -> None:
    solver = Asked()
    VERBS[verb](solver)
    assert solver.sparsities == ASKED[verb]


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_name_is_refused(verb: str) -> None:
    with pytest.raises(InvalidProblemError, match="did you mean 'spannogram'"):
        VERBS[verb]("spanogram")


@pytest.mark.parametrize("verb", ["certify", "path"])
def test_more_loadings_than_asked_for_are_refused(verb: str) -> None:
    with pytest.raises(InvalidProblemError, match=r"at most \d loadings are asked for, but asked returned \d"):
        VERBS[verb](Asked(wider=2))


def test_a_path_is_what_its_solver_finds() -> None:
    found = certpca.path(DATA, [2, 3, 5], "coordinatewise")
    alone = [certpca.solve(DATA, sparsity, "coordinatewise") for sparsity in (2, 3, 5)]
    assert [solution.solver for solution in found.solutions] == ["coordinatewise"] * 3
    np.testing.assert_allclose(found.objectives, [solution.objective for solution in alone])


def test_a_registered_solver_has_a_name_at_any_time() -> None:
    from certpca.solvers import base

    assert "asked" not in certpca.available_solvers()
    certpca.register(Asked)
    try:
        assert certpca.solve(DATA, 2, "asked").solver == "asked"
    finally:
        del base._registry["asked"]
    with pytest.raises(InvalidProblemError, match="a solver needs name, paper_name, runs_on_device, propose"):
        certpca.register(int)
