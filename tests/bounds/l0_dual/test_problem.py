from itertools import islice

import array_api_strict
import numpy as np
import pytest

import certpca
from certpca.bounds.l0_dual.central_path import improve
from certpca.bounds.l0_dual.problem import DualProblem


def points(operator, sparsity, count, **settings):
    problem = DualProblem(operator, sparsity, **settings)
    return list(islice(improve(problem, problem.start()), count))


@pytest.mark.parametrize("sparsity", [3, 10, 25])
def test_value_and_bound_close_in_on_the_relaxation(sparsity, rng):
    found = points(certpca.from_data(rng.standard_normal((20, 60))), sparsity, 40)
    bound, value = min(point.bound for point in found), max(point.value for point in found)
    assert value <= bound * (1 + 1e-9)
    assert bound - value <= 2e-3 * bound


def test_psi_is_the_value_of_its_own_minimum_over_levels(rng):
    """Compare with a grid of levels, each with secular equations solved by bisection."""
    data = rng.standard_normal((6, 15))
    operator = certpca.from_data(data)
    problem = DualProblem(operator, 4)
    point = next(iter(improve(problem, problem.start())))
    density = point.density()
    p, q = np.linalg.eigh(density)
    columns = q.T @ ((data - data.mean(axis=0)) / np.sqrt(5))

    def total(level):
        value = 4 * level
        for a in columns.T:
            if a @ a <= level:
                continue
            low, high = 0.0, float(a @ a)
            for _ in range(200):
                middle = (low + high) / 2
                low, high = (middle, high) if (p * a**2 / (middle + level * p)).sum() > 1 else (low, middle)
            value += high
        return value

    grid = min(total(level) for level in np.linspace(1e-6, (columns**2).sum(axis=0).max(), 400))
    assert point.value <= grid * (1 + 1e-6)
    assert point.value == pytest.approx(grid, rel=1e-2)


def test_runs_on_any_array_library(rng):
    data = rng.standard_normal((15, 40))
    plain = points(certpca.from_data(data), 6, 8)
    strict = points(certpca.from_data(array_api_strict.asarray(data)), 6, 8)
    assert strict[-1].bound == pytest.approx(plain[-1].bound, rel=1e-6)


@pytest.mark.parametrize("form", ["data", "matrix", "directions"])
def test_single_precision_is_used_for_large_problems(rng, form):
    """That is, from a number of entries on, and with the same outcome but for what single precision loses."""
    data = rng.standard_normal((20, 60))
    operator = certpca.from_matrix(np.cov(data.T)) if form == "matrix" else certpca.from_data(data)
    directions = np.linalg.qr(rng.standard_normal((20, 15)))[0] if form == "directions" else None
    entries = 60 * {"data": 20, "matrix": 60, "directions": 15}[form]
    bounds = []
    for single_from, dtype in ((entries - 1, np.float32), (entries, np.float64)):
        problem = DualProblem(operator, 6, directions, single_from=single_from)
        assert problem.rows.dtype == dtype
        assert problem.rows.whole().dtype == dtype
        bounds.append(min(point.bound for point in islice(improve(problem, problem.start()), 15)))
    assert bounds[0] != bounds[1]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-3)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_numbers_that_single_precision_cannot_square_stay_double(rng, scale):
    operator = certpca.from_data(scale * rng.standard_normal((20, 60)))
    assert DualProblem(operator, 6, single_from=0).rows.dtype == np.float64
