"""Makers of certificates are found by themselves, and each kind has one here and a rule in the checker."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca.bounds import makers as package
from certpca.bounds.l0_dual.problem import DualProblem
from certpca.bounds.makers import makers
from certpca.checker.rules import rules

# Comes before the dual and ends the search with a bound that is valid but loose.
MAKER = '''
"""An example."""

ORDER = 15
KINDS = ("largest-eigenvalue",)


def applies(search):
    """Say yes."""
    return True


def seconds(search):
    """Say how long it takes."""
    return 0.001


def make(search):
    """Offer a bound, and end the search."""
    search.offer(search.proved("largest-eigenvalue", {}))
    search.over = True
'''


@pytest.fixture
def one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "example.py").write_text(MAKER)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    makers.cache_clear()
    yield
    makers.cache_clear()


def test_every_kind_has_a_maker_and_a_rule() -> None:
    assert {kind for maker in makers() for kind in maker.KINDS} == set(rules())


def test_makers_are_tried_in_one_order() -> None:
    orders = [maker.ORDER for maker in makers()]
    assert orders == sorted(set(orders))


@pytest.mark.usefixtures("one_more")
def test_a_file_is_a_maker(rng: np.random.Generator) -> None:
    data = rng.standard_normal((30, 300))
    certificate = certpca.certify(data, 60)
    assert certificate.kind == "largest-eigenvalue"
    assert certpca.verify(certificate, data).upper_bound <= certificate.upper_bound


def test_without_that_file_more_is_proved(rng: np.random.Generator) -> None:
    certificate = certpca.certify(rng.standard_normal((30, 300)), 60, branching=False)
    assert certificate.kind == "l0-dual"


def test_few_features_are_searched_before_a_dual_point_is_made(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(DualProblem, "__init__", refuse)
    data = rng.standard_normal((80, 220))
    data[:, :9] += 1.5 * rng.standard_normal((80, 1))
    certificate = certpca.certify(data, 6, target_gap=1e-6)
    assert certificate.kind == "search-tree"
    assert certificate.gap <= 1e-6
