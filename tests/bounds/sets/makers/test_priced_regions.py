from dataclasses import replace

import numpy as np
import pytest

import certpca
from certpca.bounds.goals import Goal
from certpca.bounds.l0_level.aim import apart
from certpca.bounds.l0_level.search import LevelSearch
from certpca.bounds.near_one import in_data_units
from certpca.bounds.sets.makers import priced_regions
from certpca.bounds.sets.regions.model import RegionModel
from certpca.bounds.sets.regions.pricing import good_prices
from certpca.bounds.sets.regions.search import RegionSearch
from certpca.runtime.limits import with_limits
from tests.bounds.sets.makers.test_levels import best_apart, leading, search_for, spiked


def two_directions(rng, samples=60, size=400):
    """Data whose features lie all around a plane: three sets of them are worth nearly the same."""
    plane = np.linalg.qr(rng.standard_normal((samples, 2)))[0]
    angles = rng.uniform(0, np.pi, size)
    lengths = 8 * rng.random(size)
    spread = plane @ (lengths * np.array([np.cos(angles), 0.7 * np.sin(angles)]))
    return spread + 0.3 * rng.standard_normal((samples, size))


def disjoint_start(matrix, count, sparsity):
    order = np.argsort(-np.diagonal(matrix))
    parts = [tuple(np.sort(order[number::count][:sparsity])) for number in range(count)]
    return np.concatenate([leading(matrix, part)[1] for part in parts], axis=1)


def split_often(search, loadings, steps):
    """Return the bound with one level, those after each step, and what the last ones prove."""
    operator, features = search.operator, search.shared.features
    own = features.combined(operator.adopt(loadings))
    axes = np.linalg.svd(features.combined(operator.adopt(np.eye(operator.size))))[0][:, :2]
    prices = good_prices(features, axes, own, search.sparsities, lambda: False)
    rounds = LevelSearch(features, apart(search.sparsities), search.objective)
    levels = rounds.taken_up(rounds.start(own))[0]
    inner = RegionSearch(rounds, levels, apart(search.sparsities), prices, own, lambda _: False)
    inner.start()
    bounds = [inner.bound]
    for _ in range(steps):
        inner.step()
        bounds.append(inner.bound)
    tree, evidence = inner.certificate()
    priced = np.flatnonzero(prices)
    return bounds, search.proved("priced-regions", {**evidence, "priced": priced, "prices": prices[priced]}, tree)


@pytest.mark.parametrize("sparsities", [(3, 3), (4, 2)])
def test_disjoint_supports_are_bounded_closely(sparsities, rng):
    operator = certpca.from_data(spiked(rng, 20, 8)).near_one()
    best, loadings = best_apart(operator.submatrix(np.arange(8)), *sparsities)
    search = search_for(operator, "disjoint", sparsities, loadings)
    with with_limits(searched_supports=4):
        assert not priced_regions.applies(search)
    with with_limits(searched_supports=4, small_supports=1):
        assert priced_regions.applies(search)
    _, proved = split_often(search, loadings, 12)
    assert best * (1 - 1e-12) <= proved.upper_bound <= 1.1 * best


def test_regions_bound_more_tightly_than_one_level(rng):
    operator = certpca.from_data(two_directions(rng)).near_one()
    loadings = disjoint_start(operator.submatrix(np.arange(400)), 3, 30)
    search = search_for(operator, "disjoint", (30,) * 3, loadings)
    bounds, proved = split_often(search, loadings, 8)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 0.99 * bounds[0]
    assert proved.upper_bound == pytest.approx(bounds[-1], rel=2e-3)


def test_the_gradient_is_that_of_the_smoothed_bound(rng):
    operator = certpca.from_data(spiked(rng, 12, 40)).near_one()
    matrix = operator.submatrix(np.arange(40))
    search = search_for(operator, "disjoint", (6, 4), disjoint_start(matrix, 2, 6))
    features, aim = search.shared.features, apart((6, 4))
    rounds = LevelSearch(features, aim, 1.0)
    level = rounds.taken_up(rounds.start(rng.standard_normal((features.depth, 2))))[0]
    prices = np.where(np.arange(40) < 9, 0.1, 0.0)
    pairs = [(rng.standard_normal(features.depth), rng.standard_normal(features.depth)) for _ in range(2)]
    model = RegionModel(rounds.space, 1.0, prices, aim, pairs)
    sigmas, step = np.array([0.3, 0.1]), 0.05 * rng.standard_normal(model.steps(level))
    found = model.evaluate(level, sigmas, step, 0.1)
    for _ in range(5):
        turn = rng.standard_normal(step.size)
        up, down = (model.evaluate(level, sigmas, step + sign * 1e-4 * turn, 0.1).value for sign in (1, -1))
        assert (up - down) / 2e-4 == pytest.approx(float(found.gradient @ turn), rel=2e-3, abs=1e-4)


def test_a_certificate_is_found_again_in_a_file_and_claims_no_more(rng, tmp_path):
    data = two_directions(rng) * 1e3
    operator = certpca.from_data(data)
    near = operator.near_one()
    loadings = disjoint_start(near.submatrix(np.arange(400)), 2, 20)
    search = search_for(near, "disjoint", (20, 20), loadings, seconds=30.0)
    search.goal = Goal(0.5)
    priced_regions.make(search)
    certificate = in_data_units(search.best, near.power)
    file = tmp_path / "set.json"
    certpca.save_certificate(certificate, file)
    proof = certpca.verify(certpca.load_certificate(file), data)
    assert proof.upper_bound <= certificate.upper_bound
    with pytest.raises(certpca.CertificateError, match="claim"):
        certpca.verify(replace(certificate, upper_bound=certificate.upper_bound * 0.999), data)
