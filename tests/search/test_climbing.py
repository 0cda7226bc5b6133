"""Supports that climb together rise with every move, and end where neither threshold nor exchange helps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.search.climbing import climbed
from certpca.search.swaps import SwapSearch
from tests.brute_force import brute_force


def ends_of(matrix, supports, budget=None):
    return list(climbed(certpca.from_matrix(matrix), supports, np.diag(matrix), certpca.Progress(budget)))


def random_supports(rng, count, size, sparsity):
    return np.array([np.sort(rng.choice(size, sparsity, replace=False)) for _ in range(count)])


@given(seed=st.integers(0, 10_000), sparsity=st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_nothing_improves_the_best_end(seed, sparsity):
    rng = np.random.default_rng(seed)
    matrix = np.cov(rng.standard_normal((9, 14)).T)
    supports = random_supports(rng, 4, 14, sparsity)
    found = ends_of(matrix, supports)
    best = max(found, key=lambda end: end.objective)
    for end in found:
        x = np.zeros(14)
        x[end.support] = end.loadings
        assert (np.diff(end.support) > 0).all()
        assert np.linalg.norm(x) == pytest.approx(1.0)
        assert end.objective == pytest.approx(x @ matrix @ x)
    begun = [np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1] for support in supports]
    assert best.objective >= max(begun) * (1 - 1e-12)
    search = SwapSearch(certpca.from_matrix(matrix), best.support, np.diag(matrix))
    assert not search.threshold()
    assert search.improving_swaps().positions.size == 0


def test_each_ends_once_and_those_that_meet_go_on_as_one(rng):
    matrix = np.cov(rng.standard_normal((40, 10)).T)
    supports = random_supports(rng, 12, 10, 3)
    different = len({support.tobytes() for support in supports})
    found = ends_of(matrix, np.concatenate([supports, supports]))
    assert len(found) == different
    assert max(end.objective for end in found) == pytest.approx(brute_force(matrix, 3)[0])


def test_a_feature_that_has_all_of_the_loading_is_left_to_the_others():
    """Without it nothing is known of the rest, so that no exchange of it may be believed."""
    found = ends_of(np.diag([1.0, 5.0, 2.0, 3.0]), np.array([[0, 1]]))
    assert [end.objective for end in found] == [pytest.approx(5.0)]


def test_a_zero_block_is_left():
    matrix = np.zeros((6, 6))
    matrix[4:, 4:] = 1.0
    assert max(end.objective for end in ends_of(matrix, np.array([[0, 1]]))) == pytest.approx(2.0)


def test_a_limit_ends_all_of_them_where_they_are(rng):
    matrix = np.cov(rng.standard_normal((30, 60)).T)
    supports = random_supports(rng, 5, 60, 4)
    found = ends_of(matrix, supports, certpca.Budget(steps=1))
    assert [end.support.tolist() for end in found] == supports.tolist()


def test_a_run_that_was_ended_is_told_nothing_more(rng):
    matrix = np.cov(rng.standard_normal((30, 60)).T)
    steps: list[certpca.Step] = []
    progress = certpca.Progress(listener=steps.append)
    progress.interrupt()
    supports = random_supports(rng, 5, 60, 4)
    found = list(climbed(certpca.from_matrix(matrix), supports, np.diag(matrix), progress))
    assert [end.support.tolist() for end in found] == supports.tolist()
    assert steps == []
