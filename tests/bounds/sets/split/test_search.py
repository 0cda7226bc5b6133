import numpy as np
import pytest

import certpca
from certpca.bounds.goals import Shared
from certpca.bounds.sets.split.point import evaluated
from certpca.bounds.sets.split.search import SplitSearch, orthonormal_complement


def spiked_noise(rng, samples=40, size=300, strength=6.0):
    """Return features of noise, of which some lean on two directions."""
    leaning = np.where(rng.random((2, size)) < 0.1, rng.random((2, size)), 0.0)
    return rng.standard_normal((samples, size)) + strength * rng.standard_normal((samples, 2)) @ leaning


def search_on(data, apart, components=2, sparsity=20):
    operator = certpca.from_data(data, center=False).near_one()
    features = Shared(operator).features
    directions = np.linalg.svd(features.combined(operator.adopt(np.eye(operator.size))))[0][:, :apart]
    return SplitSearch(features, directions, components, sparsity), features


@pytest.mark.parametrize("price", [0.0, 0.01, 0.4, 0.999, 1.5])
def test_no_direction_sees_more_than_its_price_beyond_the_sum(price, rng):
    """For each feature alone Y + wI ⪰ bbᵀ, but for single precision."""
    rest = rng.standard_normal((6, 9)).astype(np.float32)
    prices = price * (rest.astype(np.float64) ** 2).sum(axis=1)
    weights = rng.uniform(1e-3, 1.0, size=9)
    for row, own in zip(rest, prices, strict=True):
        found = evaluated(row[None, :], weights, np.array([own]))
        short = np.outer(row, row) - found.total - own * np.eye(9)
        assert np.linalg.eigvalsh(short)[-1] <= 1e-5 * float(row @ row)
        assert 0.0 <= found.shares[0] <= 1.0 + 1e-6
        if price > 1:
            assert not found.total.any()


def test_roots_solve_their_equations(rng):
    rest = rng.standard_normal((50, 12)).astype(np.float32)
    weights = rng.exponential(size=12) + 0.01
    prices = 0.3 * (rest.astype(np.float64) ** 2).sum(axis=1)
    roots = evaluated(rest, weights, prices).roots[:, None]
    assert (weights * rest**2 / (roots + weights)).sum(axis=1) == pytest.approx(prices, rel=1e-4)


def test_steps_bring_the_bound_down_and_never_below_what_is_captured(rng):
    data = spiked_noise(rng, strength=1.0)
    search, _ = search_on(data, 1)
    at = search.start()
    bounds = [at.best.bound]
    for _ in range(12):
        at = search.step(at)
        bounds.append(at.best.bound)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 0.9 * bounds[0]
    found = certpca.decompose(data, 2, 20, together="shared", certify=True, center=False, target_gap=0.5)
    scale = certpca.from_data(data, center=False).trace() / certpca.from_data(data, center=False).near_one().trace()
    assert at.best.bound * scale >= found.objective


def test_the_density_has_weights_up_to_one_that_add_up(rng):
    search, features = search_on(spiked_noise(rng), 1, components=3)
    for logs in (np.zeros(features.depth - 1), 30 * rng.standard_normal(features.depth - 1)):
        weights = search._weights(logs)
        assert weights.max() <= 1 + 1e-12
        assert weights.min() > 0
        assert weights.sum() == pytest.approx(3.0, rel=0.05)
    assert (search._weights(np.zeros(2)) == 1.0).all()


def test_the_complement_is_orthonormal_and_complete(rng):
    directions = np.linalg.qr(rng.standard_normal((9, 4)))[0]
    whole = np.concatenate([directions, orthonormal_complement(directions)], axis=1)
    assert np.abs(whole.T @ whole - np.eye(9)).max() < 1e-12
