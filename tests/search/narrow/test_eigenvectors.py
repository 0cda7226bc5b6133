"""Eigenvectors found by compiled loops are those of LAPACK."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certpca.search.narrow import NarrowSearch
from certpca.search.narrow.eigenvectors import leading_of_part


def part_of(matrix, start):
    size = len(matrix)
    vector = np.array(start, dtype=float)
    value = leading_of_part(matrix, np.empty((size, size)), np.zeros((2, size)), vector)
    return value, vector


@given(seed=st.integers(0, 10_000), size=st.integers(1, 32), rank=st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_the_largest_of_a_part(seed, size, rank):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((rank, size))
    matrix = factor.T @ factor
    value, vector = part_of(matrix, rng.standard_normal(size))
    assert value == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-13)
    assert np.linalg.norm(vector) == pytest.approx(1.0)
    np.testing.assert_allclose(matrix @ vector, value * vector, atol=1e-11 * value)


@pytest.mark.parametrize("size", [1, 2, 9, 32])
@pytest.mark.parametrize("kind", ["identity", "ones", "zero", "twice", "near"])
def test_equal_eigenvalues_and_none(size, kind):
    matrix = {
        "identity": np.eye(size),
        "ones": np.ones((size, size)),
        "zero": np.zeros((size, size)),
        "twice": np.diag([2.0, 2.0, *np.ones(size)][:size]),
        "near": np.diag(1.0 + 1e-12 * np.arange(size)),
    }[kind]
    for start in (np.ones(size), np.zeros(size), np.eye(size)[-1]):
        value, vector = part_of(matrix, start)
        assert value == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-11, abs=1e-300)
        assert np.linalg.norm(vector) == pytest.approx(1.0)


def test_a_start_without_the_leading_direction_finds_it():
    matrix = np.diag([1.0, 2.0, 3.0, 4.0])
    matrix[0, 1] = matrix[1, 0] = 0.5
    value, vector = part_of(matrix, [1.0, 1.0, 0.0, 0.0])
    assert value == pytest.approx(4.0)
    assert abs(vector[3]) == pytest.approx(1.0)


@pytest.mark.parametrize("size", [2, 3, 13, 96, 97, 300])
def test_two_of_a_matrix(size, rng):
    factor = rng.standard_normal((size + 5, size)) @ np.diag(1.1 ** -np.arange(size))
    matrix = factor.T @ factor
    pairs = NarrowSearch(matrix, 1).leading(rng)
    values, vectors = np.linalg.eigh(matrix)
    assert pairs.largest_is_accurate
    assert pairs.values[0] == pytest.approx(values[-1], rel=1e-10)
    assert pairs.values[1] == pytest.approx(values[-2], rel=1e-2)
    assert abs(pairs.vectors[:, 0] @ vectors[:, -1]) == pytest.approx(1.0, abs=1e-6)
    assert pairs.vectors.shape == (size, 2)


def test_what_is_not_found_in_time_is_not_called_accurate(rng):
    """The largest of many eigenvalues that are nearly the same."""
    matrix = np.diag(1.0 + 1e-7 * np.arange(500.0) ** 2 / 500**2)
    turned, _ = np.linalg.qr(rng.standard_normal((500, 500)))
    pairs = NarrowSearch(turned @ matrix @ turned.T, 1).leading(rng)
    accurate = pairs.values[0] >= np.diag(matrix).max() * (1 - 1e-9)
    assert accurate or not pairs.largest_is_accurate


def test_a_matrix_of_zeros_has_none(rng):
    pairs = NarrowSearch(np.zeros((5, 5)), 2).leading(rng)
    assert pairs.values.tolist() == [0.0, 0.0]
    assert np.isfinite(pairs.vectors).all()
