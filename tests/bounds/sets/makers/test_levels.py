from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.bounds.goals import Goal, Shared
from certpca.bounds.near_one import in_data_units
from certpca.bounds.sets.makers import levels
from certpca.bounds.sets.search import SetSearch
from certpca.runtime.budget import Budget, Progress


def spiked(rng, samples, size, strength=2.0):
    spikes = strength * rng.standard_normal((samples, 2)) @ rng.random((2, size))
    return rng.standard_normal((samples, size)) + spikes


def search_for(operator, problem, sparsities, loadings, seconds=3600.0):
    progress = Progress(Budget(seconds=seconds))
    search = SetSearch(operator, problem, tuple(sparsities), (), Goal(1e-6), progress, Shared(operator))
    search.components = search.components_of(loadings)
    return search


def leading(matrix, support, count=1):
    values, vectors = np.linalg.eigh(matrix[np.ix_(support, support)])
    columns = np.zeros((matrix.shape[0], count))
    columns[list(support)] = vectors[:, ::-1][:, :count]
    return float(values[::-1][:count].sum()), columns


def best_on_one_support(matrix, sparsity, count):
    supports = combinations(range(matrix.shape[0]), sparsity)
    return max((leading(matrix, support, count) for support in supports), key=lambda found: found[0])


def best_apart(matrix, first, second):
    found: Any = (0.0, None)
    for one in combinations(range(matrix.shape[0]), first):
        others = [place for place in range(matrix.shape[0]) if place not in one]
        value, column = leading(matrix, one)
        for two in combinations(others, second):
            more, other = leading(matrix, two)
            if value + more > found[0]:
                found = value + more, np.concatenate([column, other], axis=1)
    return found


@pytest.mark.parametrize("samples", [8, 25])
@pytest.mark.parametrize("count", [2, 3])
def test_one_support_is_bounded_closely(samples, count, rng):
    operator = certpca.from_data(spiked(rng, samples, 9)).near_one()
    best, loadings = best_on_one_support(operator.submatrix(np.arange(9)), 4, count)
    search = search_for(operator, "shared", (4,) * count, loadings)
    levels.make(search)
    assert search.best.kind == "shared-level"
    assert best * (1 - 1e-12) <= search.best.upper_bound <= 1.08 * best


@pytest.mark.parametrize(("sparsities", "near"), [((3, 3), 1.06), ((4, 2), 1.12)])
def test_disjoint_supports_are_bounded_closely(sparsities, near, rng):
    operator = certpca.from_data(spiked(rng, 20, 8)).near_one()
    best, loadings = best_apart(operator.submatrix(np.arange(8)), *sparsities)
    search = search_for(operator, "disjoint", sparsities, loadings)
    levels.make(search)
    assert search.best.kind == "priced-level"
    assert best * (1 - 1e-12) <= search.best.upper_bound <= near * best


@pytest.mark.parametrize("sparsities", [(4, 4), (5, 3)])
@pytest.mark.parametrize("explicit", [False, True])
def test_uncorrelated_components_are_bounded(sparsities, explicit, rng):
    """Eigenvectors on one support have uncorrelated scores; pairs on two supports are made so."""
    data = spiked(rng, 20, 8)
    operator = (certpca.from_matrix(np.corrcoef(data.T)) if explicit else certpca.from_data(data)).near_one()
    matrix = operator.submatrix(np.arange(8))
    best, loadings = best_on_one_support(matrix, min(sparsities), 2)
    for one in combinations(range(8), sparsities[0]):
        value, first = leading(matrix, one)
        for two in combinations(range(8), sparsities[1]):
            image = (matrix @ first)[list(two), 0]
            rest = np.eye(len(two)) - np.outer(image, image) / (image @ image)
            values, vectors = np.linalg.eigh(rest @ matrix[np.ix_(two, two)] @ rest)
            if value + values[-1] > best:
                second = np.zeros((8, 1))
                second[list(two), 0] = rest @ vectors[:, -1]
                best, loadings = value + float(values[-1]), np.concatenate([first, second], axis=1)
    search = search_for(operator, "uncorrelated", sparsities, loadings)
    levels.make(search)
    assert search.best.kind == "uncorrelated-level"
    assert best * (1 - 1e-9) <= search.best.upper_bound <= 1.25 * best


@pytest.mark.parametrize("problem", sorted(levels.KIND_OF))
def test_a_certificate_is_found_again_in_a_file_and_claims_no_more(problem, rng, tmp_path):
    """Data far from one: prices and what is lifted are turned into their units as the level is."""
    data = spiked(rng, 40, 300) * 1e3
    operator = certpca.from_data(data)
    near = operator.near_one()
    matrix = near.submatrix(np.arange(300))
    loadings = leading(matrix, tuple(range(20)), 2)[1]
    if problem == "disjoint":
        halves = [leading(matrix, tuple(range(start, start + 20)))[1] for start in (0, 20)]
        loadings = np.concatenate(halves, axis=1)
    search = search_for(near, problem, (20, 20), loadings, seconds=3.0)
    levels.make(search)
    certificate = in_data_units(search.best, near.power)
    file = tmp_path / "set.json"
    certpca.save_certificate(certificate, file)
    proof = certpca.verify(certpca.load_certificate(file), data)
    assert proof.upper_bound <= certificate.upper_bound
    with pytest.raises(certpca.CertificateError, match="claim"):
        certpca.verify(replace(certificate, upper_bound=certificate.upper_bound * 0.999), data)


def test_the_search_knows_what_the_checker_proves(rng):
    """Prices and lifted directions arrive at the checker as the search means them."""
    from certpca.bounds.l0_level.evidence import set_evidence
    from certpca.bounds.l0_level.search import LevelSearch

    operator = certpca.from_data(spiked(rng, 30, 200)).near_one()
    matrix = operator.submatrix(np.arange(200))
    apart = np.concatenate([leading(matrix, tuple(range(start, start + 10)))[1] for start in (0, 10)], axis=1)
    together = leading(matrix, tuple(range(10)), 2)[1]
    for problem, loadings in (("disjoint", apart), ("shared", together), ("uncorrelated", together)):
        search = search_for(operator, problem, (10, 10), loadings)
        rounds = LevelSearch(search.shared.features, levels.aim_of(search), search.objective)
        prices = levels.first_prices(search) if problem == "disjoint" else None
        at = rounds.start(search.shared.features.combined(operator.adopt(loadings)), prices)
        for _ in range(3):
            at = rounds.step(at)
        proved = search.proved(levels.KIND_OF[problem], set_evidence(at.best))
        assert proved.upper_bound == pytest.approx(at.best.bound, rel=2e-4)
