import numpy as np
import pytest

import certpca
from tests.brute_force import brute_force


def test_reaches_the_optimum_of_random_small_matrices():
    missed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(3, 20))
        matrix = np.cov((rng.standard_normal((rows, 10)) * rng.uniform(0.5, 2, 10)).T)
        sparsity = int(rng.integers(1, 10))
        reached = certpca.solve(matrix, sparsity, covariance=True).objective
        missed += reached < brute_force(matrix, sparsity)[0] * (1 - 1e-9)
    assert missed == 0


@pytest.mark.parametrize("seed", range(3))
def test_finds_a_small_block_the_leading_eigenvector_does_not_see(seed):
    """A dense leading component hides a block of few, strongly correlated features."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((200, 2000)) + 1.2 * rng.standard_normal((200, 1))
    block = np.sort(rng.choice(2000, 15, replace=False))
    data[:, block] = rng.standard_normal((200, 1)) * 2 + 0.3 * rng.standard_normal((200, 15))
    data -= data.mean(axis=0)
    found = certpca.solve(data, 15)
    thresholded = certpca.solve(data, 15, "svd-threshold")
    assert found.support.tolist() == block.tolist()
    assert thresholded.objective < found.objective * 0.8
