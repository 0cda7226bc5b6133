import array_api_strict
import numpy as np
import pytest

from certpca.bounds.l0_dual import secular as kernels
from certpca.runtime.arrays import to_vector


@pytest.fixture(params=[np.float64, np.float32])
def problem(request, rng):
    panel = rng.standard_normal((200, 12)).astype(request.param) * rng.uniform(0.01, 2, (200, 1)).astype(request.param)
    panel[5] = 0.0
    weights = rng.uniform(0, 1, 12) ** 6
    weights[3] = 0.0
    return panel, weights / weights.sum(), 0.8


def test_roots_solve_the_secular_equation(problem):
    panel, weights, level = problem
    theta, share, norm = kernels.secular(panel, weights, level, np.zeros(200))
    exact = panel.astype(float)
    dead = (exact**2).sum(axis=1) <= level * (1 + 1e-6)
    assert (theta[dead] == 0).all()
    left = (weights * exact[~dead] ** 2 / (theta[~dead, None] + level * weights)).sum(axis=1)
    # a feature can have no root where its length lies in directions without weight
    solvable = (exact**2)[:, weights > 0].sum(axis=1)[~dead] > level * 1.01
    np.testing.assert_allclose(left[solvable], 1.0, rtol=1e-4 if panel.dtype == np.float32 else 1e-9)
    y = exact / np.where(theta[:, None] > 0, theta[:, None] + level * weights, 1.0)
    np.testing.assert_allclose(norm[~dead], (weights * y**2).sum(axis=1)[~dead], rtol=1e-3)
    np.testing.assert_allclose((share * norm)[~dead], (weights**2 * y**2).sum(axis=1)[~dead], rtol=1e-3)


def test_compiled_and_plain_loops_agree(problem, monkeypatch):
    panel, weights, level = problem
    compiled = kernels.secular(panel, weights, level, np.zeros(200))
    rows = kernels.dual_rows(panel.copy(), weights, level, compiled[0], compiled[2])
    monkeypatch.setattr(kernels, "_compiled", lambda: None)
    plain = kernels.secular(panel, weights, level, np.zeros(200))
    tolerance = 1e-3 if panel.dtype == np.float32 else 1e-8
    for left, right in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(left, right, rtol=tolerance, atol=1e-12)
    np.testing.assert_allclose(
        kernels.dual_rows(panel.copy(), weights, level, plain[0], plain[2]), rows, rtol=tolerance, atol=1e-4
    )


def test_other_array_libraries_give_the_same_roots(problem):
    panel, weights, level = problem
    ours = kernels.secular(panel, weights, level, np.zeros(200))
    there = [array_api_strict.asarray(part) for part in (panel, weights, np.zeros(200))]
    theirs = kernels.secular(there[0], there[1], level, there[2])
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(to_vector(right), left, rtol=1e-3, atol=1e-12)
