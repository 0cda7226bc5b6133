from itertools import product

import numpy as np
import pytest

import certpca


@pytest.mark.parametrize("seed", range(8))
def test_no_swap_improves_the_answer(seed):
    """The refitted value of every neighbour is at most what the closed form would have taken."""
    matrix = np.cov(np.random.default_rng(seed).standard_normal((20, 15)).T)
    solution = certpca.solve(matrix, 5, "coordinatewise", covariance=True)
    x = solution.component
    image, value = matrix @ x, solution.objective
    for leaving, entering in product(solution.support, np.flatnonzero(x == 0)):
        rest = x.copy()
        rest[leaving] = 0.0
        rest /= np.linalg.norm(rest)
        unit = np.zeros(15)
        unit[entering] = 1.0
        plane = np.stack([rest, unit], axis=1)
        assert np.linalg.eigvalsh(plane.T @ matrix @ plane)[-1] <= value * (1 + 1e-8)
    assert image @ x == pytest.approx(value)
