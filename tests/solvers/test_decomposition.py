import numpy as np
import pytest

import certpca
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import solver_named
from certpca.solvers.decomposition import _coordinate_ascent
from tests.brute_force import brute_force


@pytest.mark.parametrize("subproblem", ["eigen", "coordinate-descent"])
def test_both_subproblem_methods_reach_the_optimum_of_small_matrices(subproblem):
    hits = 0
    for seed in range(20):
        matrix = np.cov(np.random.default_rng(seed).standard_normal((15, 11)).T)
        solver = solver_named("decomposition", subproblem=subproblem)
        reached = certpca.solve(matrix, 4, solver, covariance=True).objective
        hits += reached >= brute_force(matrix, 4)[0] * (1 - 1e-9)
    # One block covers all of 11 features, so every search is global.
    assert hits == 20


def test_coordinate_ascent_reaches_the_largest_eigenvalue(rng):
    factors = rng.standard_normal((50, 7, 5))
    problems = factors.transpose(0, 2, 1) @ factors
    values, points = _coordinate_ascent(problems, np.ones((50, 5)))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(problems)[:, -1], rtol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0)


@pytest.mark.parametrize("bad", [{"random_part": 0, "swapped_part": 1}, {"random_part": 20}, {"subproblem": "x"}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(InvalidProblemError):
        solver_named("decomposition", **bad)
