from dataclasses import replace

import numpy as np
import pytest

import certpca
from certpca.bounds.goals import Goal
from certpca.bounds.near_one import in_data_units
from certpca.bounds.sets.makers import levels, shared_split
from certpca.bounds.sets.split.search import SplitSearch
from tests.bounds.sets.makers.test_levels import best_on_one_support, leading, search_for, spiked
from tests.bounds.sets.split.test_search import spiked_noise


@pytest.mark.parametrize("samples", [8, 25])
@pytest.mark.parametrize("count", [2, 3])
def test_what_is_proved_is_not_below_the_optimum(samples, count, rng):
    operator = certpca.from_data(spiked(rng, samples, 9)).near_one()
    best, loadings = best_on_one_support(operator.submatrix(np.arange(9)), 4, count)
    search = search_for(operator, "shared", (4,) * count, loadings)
    assert shared_split.applies(search)
    shared_split.make(search)
    assert search.best.kind == "shared-split"
    assert best * (1 - 1e-12) <= search.best.upper_bound <= 1.4 * best


def test_it_is_for_components_on_one_support_and_takes_time(rng):
    operator = certpca.from_data(spiked(rng, 30, 60)).near_one()
    loadings = leading(operator.submatrix(np.arange(60)), tuple(range(5)), 2)[1]
    assert shared_split.applies(search_for(operator, "shared", (5, 5), loadings))
    assert not shared_split.applies(search_for(operator, "disjoint", (5, 5), loadings))
    assert not shared_split.applies(search_for(operator, "shared", (5,), loadings[:, :1]))
    assert not shared_split.applies(search_for(operator, "shared", (5, 5), loadings, seconds=1e-6))


def noisy_search(rng, seconds=3600.0, times=1.0):
    """Five components of which three are in the noise, among many features."""
    data = times * spiked_noise(rng, 60, 1500, 1.0)
    operator = certpca.from_data(data).near_one()
    loadings = np.asarray(certpca.decompose(data, 5, 80, together="shared").loadings)
    return data, search_for(operator, "shared", (80,) * 5, loadings, seconds)


def test_noise_is_bounded_more_tightly_than_by_a_level(rng):
    _, search = noisy_search(rng)
    search.goal = Goal(0.05)
    shared_split.make(search)
    split = search.best.upper_bound
    _, other = noisy_search(np.random.default_rng(0), seconds=20.0)
    other.operator, other.components, other.shared, other.best = search.operator, search.components, search.shared, None
    levels.make(other)
    assert search.objective <= split < 0.97 * other.best.upper_bound


def test_the_search_knows_what_the_checker_proves(rng):
    _, search = noisy_search(rng)
    features = search.shared.features
    directions = np.linalg.svd(features.combined(search.operator.adopt(np.eye(1500))))[0][:, :2]
    splits = SplitSearch(features, directions, 5, 80)
    at = splits.start()
    for _ in range(4):
        at = splits.step(at)
    proved = search.proved("shared-split", shared_split._evidence(at.best))
    assert proved.upper_bound == pytest.approx(at.best.bound, rel=3e-4)


def test_a_certificate_is_found_again_in_a_file_and_claims_no_more(rng, tmp_path):
    data, search = noisy_search(rng, times=1e3)
    search.goal = Goal(0.5)
    shared_split.make(search)
    certificate = in_data_units(search.best, search.operator.power)
    file = tmp_path / "set.json"
    certpca.save_certificate(certificate, file)
    proof = certpca.verify(certpca.load_certificate(file), data)
    assert proof.upper_bound <= certificate.upper_bound
    with pytest.raises(certpca.CertificateError, match="claim"):
        certpca.verify(replace(certificate, upper_bound=certificate.upper_bound * 0.999), data)


def test_directions_far_above_the_next_are_apart_first():
    assert shared_split._counts(np.array([9.0, 8.0, 1.0, 0.9, 0.8]), 40)[0] == 2
    assert shared_split._counts(np.array([9.0, 1.0, 0.9]), 40)[:2] == [1, 2]
    assert sorted(shared_split._counts(np.array([5.0, 4.0, 3.0]), 3)) == [1, 2]
    assert shared_split._counts(np.array([5.0, 1e-9]), 1) == []
