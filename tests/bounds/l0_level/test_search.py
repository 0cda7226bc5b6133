from dataclasses import replace
from itertools import combinations, islice

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import certpca
from certpca.bounds.l0_dual.central_path import improve
from certpca.bounds.l0_dual.problem import DualProblem
from certpca.bounds.l0_level import search as searching
from certpca.bounds.l0_level.evidence import level_evidence
from certpca.bounds.l0_level.features import HeldFeatures, WalkedFeatures, features_of
from certpca.bounds.l0_level.search import LevelSearch
from certpca.bounds.near_one import in_data_units
from certpca.bounds.proving import Prover
from certpca.checker.data import prepare
from certpca.checker.level_points import level_point_of
from certpca.checker.level_screening import screen_levels
from tests.brute_force import brute_force


def search_for(operator, sparsity, features=None, full_up_to=200):
    solution = certpca.solve(operator, sparsity)
    features = features_of(operator) if features is None else features
    panel = np.zeros((operator.size, 1))
    panel[solution.support, 0] = solution.loadings
    objective = operator.quadratic_form(solution.support, np.asarray(solution.loadings))
    search = LevelSearch(features, sparsity, objective, full_up_to=full_up_to)
    return search, search.start(features.combined(operator.adopt(panel))), objective


def proved(operator, found, sparsity):
    prepared = prepare(operator.source())
    point = level_point_of(prepared, level_evidence(found.directions, found.levels))
    return prepared.lift(point.bound(sparsity)) * prepared.unit


def spiked(rng, samples, size, strength=2.0):
    return rng.standard_normal((samples, size)) + strength * rng.standard_normal((samples, 1)) * rng.random(size)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), samples=st.integers(2, 14), size=st.integers(2, 10))
def test_bounds_are_above_the_optimum_and_near_it(seed, samples, size):
    rng = np.random.default_rng(seed)
    operator = certpca.from_data(spiked(rng, samples, size))
    sparsity = int(rng.integers(1, size + 1))
    best, _ = brute_force(operator.submatrix(np.arange(size)), sparsity)
    search, at, _ = search_for(operator, sparsity)
    *_, at = islice(search.rounds(at), 6)
    bound, found = proved(operator, at.best, sparsity), at.best
    assert bound >= best * (1 - 1e-12)
    assert bound <= 1.5 * best
    assert bound == pytest.approx(found.bound, rel=1e-4)


def test_features_are_decided_as_every_optimum_has_them(rng):
    decided = 0
    for _ in range(8):
        size, sparsity = 10, int(rng.integers(2, 5))
        operator = certpca.from_data(spiked(rng, 12, size, 3.0))
        matrix = operator.submatrix(np.arange(size))
        best, _ = brute_force(matrix, sparsity)
        search, at, _ = search_for(operator, sparsity)
        *_, at = search.rounds(at)
        prepared = prepare(operator.source())
        point = level_point_of(prepared, level_evidence(at.best.directions, at.best.levels))
        outside, inside = screen_levels(prepared, point, sparsity, best * (1 - 1e-9) / prepared.unit)
        decided += int(outside.sum()) + int(inside.sum())
        values = {
            support: np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1]
            for support in combinations(range(size), sparsity)
        }
        for feature in np.flatnonzero(outside):
            assert max(value for support, value in values.items() if feature in support) < best * (1 - 1e-9)
        for feature in np.flatnonzero(inside):
            assert max(value for support, value in values.items() if feature not in support) < best * (1 - 1e-9)
    assert decided >= 20


@pytest.mark.parametrize("sparsity", [4, 15])
def test_levels_beat_a_number(sparsity, rng):
    """Two groups of features compete: mixtures of their directions are what a number cannot exclude."""
    scores = rng.standard_normal((40, 2))
    data = 0.5 * rng.standard_normal((40, 80))
    data[:, :40] += scores[:, :1]
    data[:, 40:] += scores[:, 1:]
    operator = certpca.from_data(data)
    problem = DualProblem(operator, sparsity)
    number = min(point.bound for point in islice(improve(problem, problem.start()), 60))
    search, at, objective = search_for(operator, sparsity)
    *_, at = search.rounds(at)
    found = at.best
    assert found.bound - objective < 0.8 * (number - objective)
    assert proved(operator, found, sparsity) == pytest.approx(found.bound, rel=1e-5)


def deep(rng):
    """Return data with more samples than directions with levels of their own."""
    return certpca.from_data(spiked(rng, 150, 400, 1.0) + rng.standard_normal((150, 3)) @ rng.standard_normal((3, 400)))


def test_few_directions_are_nearly_as_good_as_all(rng):
    operator = deep(rng)
    search, at, objective = search_for(operator, 30, full_up_to=20)
    *_, at = search.rounds(at)
    few = at.best
    assert few.levels.width < 100
    assert search.features.walks < 60
    search, at, _ = search_for(operator, 30)
    *_, at = search.rounds(at)
    assert objective <= at.best.bound
    assert few.bound - objective < 1.3 * (at.best.bound - objective) + 1e-3 * objective
    assert proved(operator, few, 30) == pytest.approx(few.bound, rel=2e-3)


def test_walks_give_what_held_features_give(rng):
    operator = deep(rng)
    bounds = []
    for kind in (HeldFeatures, WalkedFeatures):
        search, at, _ = search_for(operator, 30, kind(operator), full_up_to=20)
        *_, at = islice(search.rounds(at), 5)
        bounds.append(at.best.bound)
        assert search.features.walks <= 2 + 2 * (searching.KRYLOV_ROUNDS + 5)
    assert bounds[0] == pytest.approx(bounds[1], rel=2e-3)


def test_one_search_serves_other_sparsities(rng):
    operator = deep(rng)
    search, at, _ = search_for(operator, 30, full_up_to=20)
    *_, at = search.rounds(at)
    walks = search.features.walks
    cheap = {sparsity: search.bound_at(at, sparsity) for sparsity in (24, 36)}
    assert search.features.walks == walks
    for sparsity, bound in cheap.items():
        solution = certpca.solve(operator, sparsity)
        assert bound >= solution.objective * (1 - 1e-6)
        assert proved(operator, at.best, sparsity) == pytest.approx(bound, rel=1e-2)
        other = search.at(sparsity, solution.objective)
        *_, better = islice(other.rounds(other.begin(at)), 4)
        assert better.best.bound <= bound * (1 + 1e-4)


def test_a_round_depends_on_the_state_alone(rng):
    operator = deep(rng)
    search, at, _ = search_for(operator, 30, full_up_to=20)
    *_, at = islice(search.rounds(at), 3)
    expected = search.step(at)
    again, _, _ = search_for(operator, 30, full_up_to=20)
    found = again.step(at)
    assert (found.stage, found.descents, found.idle) == (expected.stage, expected.descents, expected.idle)
    assert found.best.bound == pytest.approx(expected.best.bound, rel=1e-5)
    assert search.step(at).best.bound == pytest.approx(expected.best.bound, rel=1e-5)


def test_leading_directions_suggest_supports(rng):
    operator = certpca.from_data(spiked(rng, 20, 60, 5.0))
    search, at, objective = search_for(operator, 5)
    *_, at = islice(search.rounds(at), 4)
    image = search.images(at, 1)[:, 0]
    support = np.sort(np.argsort(np.abs(image))[-5:])
    assert np.linalg.eigvalsh(operator.submatrix(support))[-1] > 0.8 * objective


def test_a_search_ends_when_it_is_late(rng):
    operator = certpca.from_data(spiked(rng, 20, 60))
    search, at, _ = search_for(operator, 5)
    search._late = lambda: search.evaluations > 20
    assert len(list(search.rounds(at))) == 1
    assert search.evaluations < 30


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e70])
def test_certificates_hold_in_the_units_of_the_data(scale, rng, tmp_path):
    data = spiked(rng, 25, 60) * scale
    operator = certpca.from_data(data)
    near = operator.near_one()
    search, at, _ = search_for(near, 6)
    *_, at = islice(search.rounds(at), 4)
    solution = certpca.solve(operator, 6)
    evidence = level_evidence(at.best.directions, at.best.levels)
    made = Prover(near, 6).prove("l0-level", evidence, solution.support, np.asarray(solution.loadings))
    certpca.save_certificate(in_data_units(made, near.power), tmp_path / "levels.npz")
    proof = certpca.verify(certpca.load_certificate(tmp_path / "levels.npz"), data)
    assert proof.gap < 0.3
    assert proof.upper_bound == pytest.approx(at.best.bound * 2.0**near.power, rel=1e-4)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_array_libraries_search_alike(library, rng, monkeypatch):
    xp = pytest.importorskip(library)
    host = deep(rng)
    bounds = []
    for operator in (host, certpca.from_data(xp.asarray(np.asarray(host.source().values)))):
        search, at, _ = search_for(operator, 30, full_up_to=20)
        *_, at = islice(search.rounds(at), 2)
        bounds.append(at.best.bound)
    assert bounds[0] == pytest.approx(bounds[1], rel=2e-3)


def test_a_state_with_prices_is_taken_up_by_another_process():
    from certpca.bounds.l0_level.model import Levels
    from certpca.bounds.l0_level.search import Found, OnLevels
    from certpca.runtime.packing import packed, rebuilt, unpacked

    levels = Levels(np.eye(2), np.ones(2), 1.0, 0.5, np.array([3, 7]), np.array([0.1, 0.2]))
    state = OnLevels(np.eye(4)[:, :3], levels, Found(np.eye(4)[:, :2], levels, 3.0, np.ones((4, 1))))
    back = rebuilt(OnLevels, unpacked(*packed(state)))
    np.testing.assert_array_equal(back.levels.priced, levels.priced)
    np.testing.assert_array_equal(back.best.levels.prices, levels.prices)
    assert back.best.lifted.shape == (4, 1)


def test_the_best_levels_are_judged_by_all_that_is_known(rng):
    """Levels of an earlier round look better than they are until directions that speak against them are known."""
    operator = certpca.from_data(rng.standard_normal((300, 600)))
    search, at, _ = search_for(operator, 30, full_up_to=0)
    first = next(iter(search.rounds(at)))
    flattered = replace(first, best=replace(first.best, bound=0.5 * first.best.bound))
    after = search.step(flattered)
    assert after.best.bound > 0.9 * first.best.bound
    assert proved(operator, after.best, 30) == pytest.approx(after.best.bound, rel=0.02)
