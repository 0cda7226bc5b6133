"""Solvers that users register, at any time."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import base


class LastFeatures:
    """Take the last features (an example)."""

    name: ClassVar[str] = "last-features"
    paper_name: ClassVar[str] = ""
    runs_on_device: ClassVar[bool] = False

    def propose(self, operator: Any, sparsity: int, progress: Any, rng: Any) -> certpca.Candidate:
        return certpca.Candidate(np.arange(operator.size - sparsity, operator.size), certpca.Status.CONVERGED)


@pytest.fixture
def registered() -> Iterator[None]:
    certpca.available_solvers()  # whoever asked before does not keep others out
    certpca.register(LastFeatures)
    yield
    del base._registry[LastFeatures.name]


@pytest.mark.usefixtures("registered")
def test_found_by_name_wherever_solvers_are(rng: np.random.Generator, capsys: pytest.CaptureFixture[str]) -> None:
    data = rng.standard_normal((20, 6))
    assert certpca.solve(data, 2, "last-features").support.tolist() == [4, 5]
    assert certpca.path(data, [1, 2], "last-features").solutions[1].solver == "last-features"
    assert main(["solvers"]) == 0
    assert "Take the last features" in capsys.readouterr().out
    with pytest.raises(InvalidProblemError, match="did you mean 'last-features'"):
        certpca.solve(data, 2, "last-feature")


def test_unknown_before_and_after(rng: np.random.Generator) -> None:
    assert "last-features" not in certpca.available_solvers()
    with pytest.raises(InvalidProblemError, match="solver must be one of"):
        certpca.solve(rng.standard_normal((20, 6)), 2, "last-features")
