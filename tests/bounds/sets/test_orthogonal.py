"""Prices of directions bound orthogonal components, and their trees hold for matrices that are not semidefinite."""

import numpy as np
import pytest

import certpca
from certpca.bounds.sets.directions.search import DirectionSearch
from tests.bounds.sets.test_disjoint import proved


@pytest.mark.parametrize(("sparsities", "bound"), [((5, 5), 5.86), ((5, 4, 4), 7.71)], ids=str)
def test_pit_props_have_a_bound_near_the_best_known(sparsities: tuple[int, ...], bound: float) -> None:
    """A fortieth above the best that is known; the sum of single bounds is more than a tenth above."""
    operator = certpca.pitprops()
    certificate = proved(operator, "orthogonal", sparsities, 1e-3)
    assert certificate.kind == "matrix-prices"
    assert certificate.upper_bound <= bound
    assert certpca.verify(certificate, operator).upper_bound <= certificate.upper_bound


def test_without_sparsity_the_bound_is_the_sum_of_eigenvalues(rng: np.random.Generator) -> None:
    matrix = np.cov(rng.standard_normal((30, 6)).T)
    values, vectors = np.linalg.eigh(matrix)
    search = DirectionSearch(matrix, (6, 6), vectors[:, -2:], lambda: False)
    search.run()
    assert search.bound >= values[-2:].sum() * (1 - 1e-9)
    assert search.bound <= values[-2:].sum() * (1 + 1e-3)


def test_what_is_left_is_semidefinite_after_the_shift(rng: np.random.Generator) -> None:
    matrix = np.cov(rng.standard_normal((30, 6)).T)
    search = DirectionSearch(matrix, (2, 3), np.eye(6)[:, :2], lambda: True)
    assert np.linalg.eigvalsh(search.rest(search.directions))[0] >= -1e-12


def test_directions_that_vanished_come_back(rng: np.random.Generator) -> None:
    """At V = 0 the slope by V is zero, though the bound, r times the best, is far above the sum of eigenvalues."""
    matrix = np.cov(rng.standard_normal((30, 6)).T)
    values, vectors = np.linalg.eigh(matrix)
    search = DirectionSearch(matrix, (6, 6, 6), vectors[:, -3:], lambda: False)
    search.directions = np.zeros_like(search.directions)
    assert search.estimate(search.directions) == pytest.approx(3 * values[-1])
    search.run()
    assert search.bound <= values[-3:].sum() * (1 + 1e-3)
