from itertools import islice

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
from certpca.checker.data import prepare
from certpca.checker.level_points import level_point_of
from tests.brute_force import brute_force


def search_for(operator, sparsity, features=None):
    solution = certpca.solve(operator, sparsity)
    features = features_of(operator) if features is None else features
    panel = np.zeros((operator.size, 1))
    panel[solution.support, 0] = solution.loadings
    objective = operator.quadratic_form(solution.support, np.asarray(solution.loadings))
    panel = operator.xp.asarray(panel, dtype=operator.xp.float32 if isinstance(features, WalkedFeatures) else None)
    return LevelSearch(features, sparsity, objective, features.combined(panel)), objective


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
    search, _ = search_for(operator, sparsity)
    *_, found = islice(search, 6)
    bound = proved(operator, found, sparsity)
    assert bound >= best * (1 - 1e-12)
    assert bound <= 1.5 * best
    assert bound == pytest.approx(found.bound, rel=1e-4)


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
    search, objective = search_for(operator, sparsity)
    *_, found = search
    assert found.bound - objective < 0.8 * (number - objective)
    assert proved(operator, found, sparsity) == pytest.approx(found.bound, rel=1e-5)


def deep(rng, monkeypatch):
    """Return data with more samples than directions with levels of their own."""
    monkeypatch.setattr(searching, "FULL_UP_TO", 20)
    return certpca.from_data(spiked(rng, 150, 400, 1.0) + rng.standard_normal((150, 3)) @ rng.standard_normal((3, 400)))


def test_few_directions_are_nearly_as_good_as_all(rng, monkeypatch):
    operator = deep(rng, monkeypatch)
    search, objective = search_for(operator, 30)
    *_, few = search
    assert search.levels.width < 100
    assert search.features.walks < 60
    monkeypatch.setattr(searching, "FULL_UP_TO", 200)
    *_, every = search_for(operator, 30)[0]
    assert objective <= every.bound
    assert few.bound - objective < 1.3 * (every.bound - objective) + 1e-3 * objective
    assert proved(operator, few, 30) == pytest.approx(few.bound, rel=2e-3)


def test_walks_give_what_held_features_give(rng, monkeypatch):
    operator = deep(rng, monkeypatch)
    bounds = []
    for kind in (HeldFeatures, WalkedFeatures):
        search, _ = search_for(operator, 30, kind(operator))
        *_, found = islice(search, 5)
        bounds.append(found.bound)
        assert search.features.walks <= 2 + 2 * (searching.KRYLOV_ROUNDS + 5)
    assert bounds[0] == pytest.approx(bounds[1], rel=2e-3)


def test_one_search_serves_other_sparsities(rng, monkeypatch):
    operator = deep(rng, monkeypatch)
    search, _ = search_for(operator, 30)
    *_, found = search
    for sparsity in (24, 36):
        cheap = search.bound_at(sparsity)
        solution = certpca.solve(operator, sparsity)
        assert cheap >= solution.objective * (1 - 1e-6)
        assert proved(operator, found, sparsity) == pytest.approx(cheap, rel=1e-2)
        *_, better = islice(search.at(sparsity, solution.objective), 4)
        assert better.bound <= cheap * (1 + 1e-4)


def test_a_search_goes_on_where_it_was_left(rng, monkeypatch):
    operator = deep(rng, monkeypatch)
    search, _ = search_for(operator, 30)
    rounds = iter(search)
    for _ in range(3):
        next(rounds)
    state = search.state()
    expected = next(rounds).bound
    again, _ = search_for(operator, 30)
    again.restore(state)
    assert next(iter(again)).bound == pytest.approx(expected, rel=1e-4)


def test_a_search_ends_when_it_is_late(rng):
    operator = certpca.from_data(spiked(rng, 20, 60))
    search, _ = search_for(operator, 5)
    search._late = lambda: search.evaluations > 20
    assert len(list(search)) == 1
    assert search.evaluations < 30
