"""The leading eigenvectors of matrices in memory, whichever method finds them."""

import numpy as np
import pytest

from certpca.search.joint.leading import leading_pairs


@pytest.mark.parametrize(("size", "count"), [(5, 9), (40, 3), (100, 2), (130, 1), (300, 4), (300, 60)])
def test_pairs_are_those_of_all_eigenvectors(rng, size, count):
    root = rng.standard_normal((size, size))
    matrix = root @ root.T
    values, vectors = leading_pairs(matrix, count)
    expected = np.linalg.eigvalsh(matrix)[::-1][:count]
    assert np.allclose(values, expected, rtol=1e-10)
    assert np.allclose(matrix @ vectors, vectors * values, atol=1e-8 * expected[0])
    assert np.allclose(vectors.T @ vectors, np.eye(min(size, count)), atol=1e-9)


def test_a_leading_vector_orthogonal_to_ones_is_found():
    vector = np.tile([1.0, -1.0], 100) / np.sqrt(200)
    matrix = 2.0 * np.outer(vector, vector) + np.full((200, 200), 1 / 200)
    values, vectors = leading_pairs(matrix, 1)
    assert values[0] == pytest.approx(2.0)
    assert abs(vectors[:, 0] @ vector) == pytest.approx(1.0)


@pytest.mark.parametrize("size", [70, 200])
def test_equal_eigenvalues_and_nothing_at_all(size):
    for matrix in (np.eye(size), np.zeros((size, size))):
        values, vectors = leading_pairs(matrix, 3)
        assert np.allclose(values, matrix[0, 0])
        assert np.allclose(vectors.T @ vectors, np.eye(3), atol=1e-9)
