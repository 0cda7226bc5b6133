"""What the pictures of bounds show is true: every form lies above what any choice of features captures."""

import numpy as np
import pytest

from experiments import geometry, plane


def along(form, where):
    return np.einsum("ti,ij,tj->t", where, form, where)


@pytest.fixture
def features(rng):
    return rng.standard_normal((7, 2))


def test_forms_lie_above_every_choice(features):
    where = plane.directions(91)
    edge = plane.top_sums(features, 2, where)
    number, matrix = plane.number_bound(features, 2), plane.matrix_bound(features, 2)
    assert (along(number.form, where) >= edge - 1e-9).all()
    assert (along(matrix.form, where) >= edge - 1e-9).all()
    optimum = max(plane.best_by_count(features, 2, ()))
    assert optimum <= matrix.value * (1 + 1e-9)
    assert matrix.value <= number.value * 1.01  # a number is a matrix too; both are found by trying
    assert matrix.value <= 1.5 * optimum


def test_a_form_for_a_wedge_lies_above_in_the_wedge(features):
    wedge = geometry._wedge(features, 2, 6)
    angles = geometry._inside(wedge)
    where = np.c_[np.cos(angles), np.sin(angles)]
    assert (along(np.array(wedge["form"]), where) >= plane.top_sums(features, geometry.SPARSITY, where) - 1e-9).all()


def test_cells_of_counts_bound_their_supports(features):
    best = plane.best_by_count(features, 3, (0, 1, 2))
    for low, high in ((0, 3), (0, 1), (2, 3)):
        cell = plane.count_cell(features, 3, (0, 1, 2), low, high)
        assert len(cell.values) == high - low + 1
        assert all(value >= best[low + n] - 1e-9 for n, value in enumerate(cell.values))


def test_the_sum_of_squares_along_the_best_direction_is_an_eigenvalue(features):
    where = plane.directions(20001)
    assert plane.top_sums(features, 3, where).max() == pytest.approx(
        max(plane.best_by_count(features, 3, ())), rel=1e-6
    )
