"""Supports that climb rise with every move, end where neither threshold nor exchange helps, and as arrays have them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.search.narrow import NarrowSearch
from certpca.search.swaps import SwapSearch
from tests.brute_force import brute_force
from tests.search.narrow import array_climb


def ends_of(matrix, supports, budget=None):
    return NarrowSearch(matrix, supports.shape[1]).climbed(supports, certpca.Progress(budget))


def random_supports(rng, count, size, sparsity):
    return np.array([np.sort(rng.choice(size, sparsity, replace=False)) for _ in range(count)])


def require_sound(matrix, end):
    x = np.zeros(len(matrix))
    x[end.support] = end.loadings
    assert (np.diff(end.support) > 0).all()
    assert np.linalg.norm(x) == pytest.approx(1.0)
    assert end.objective == pytest.approx(x @ matrix @ x, rel=1e-12, abs=1e-300)
    largest = np.linalg.eigvalsh(matrix[np.ix_(end.support, end.support)])[-1]
    assert end.objective == pytest.approx(largest, rel=1e-12, abs=1e-300)


@given(seed=st.integers(0, 10_000), sparsity=st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_nothing_improves_the_best_end(seed, sparsity):
    rng = np.random.default_rng(seed)
    matrix = np.cov(rng.standard_normal((9, 14)).T)
    supports = random_supports(rng, 4, 14, sparsity)
    found = ends_of(matrix, supports)
    best = max(found, key=lambda end: end.objective)
    for end in found:
        require_sound(matrix, end)
    begun = [np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1] for support in supports]
    assert best.objective >= max(begun) * (1 - 1e-12)
    search = SwapSearch(certpca.from_matrix(matrix), best.support, np.diag(matrix))
    assert not search.threshold()
    assert search.improving_swaps().positions.size == 0


@given(seed=st.integers(0, 10_000), size=st.integers(4, 60), share=st.floats(0.0, 1.0))
@settings(max_examples=100, deadline=None)
def test_a_support_ends_where_it_does_with_arrays(seed, size, share):
    rng = np.random.default_rng(seed)
    matrix = np.cov((rng.standard_normal((30, size)) * rng.uniform(0.3, 3.0, size)).T)
    sparsity = 1 + round(share * min(size - 2, 31))
    for start in random_supports(rng, 3, size, sparsity):
        (end,) = ends_of(matrix, start[None, :])
        support, objective = array_climb.climbed(matrix, start)
        assert end.support.tolist() == support.tolist()
        assert end.objective == pytest.approx(objective, rel=1e-12)


@pytest.mark.parametrize("sparsity", [1, 2, 5, 9, 10])
def test_ties_end_as_high_as_with_arrays(sparsity, rng):
    """Copies, opposites and constant features: supports may differ, what they capture may not."""
    data = rng.standard_normal((20, 4))
    data = np.concatenate([data, data, -data[:, :1], np.zeros((20, 1))], axis=1)
    matrix = np.cov(data.T)
    starts = random_supports(rng, 12, 10, sparsity)
    found = ends_of(matrix, starts)
    for end in found:
        require_sound(matrix, end)
    known = max(array_climb.climbed(matrix, start)[1] for start in starts)
    assert max(end.objective for end in found) == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("size", [2, 7])
def test_nothing_moves_where_all_features_are_in(size, rng):
    matrix = np.cov(rng.standard_normal((20, size)).T)
    (end,) = ends_of(matrix, np.arange(size)[None, :])
    assert end.support.tolist() == list(range(size))
    require_sound(matrix, end)


def test_supports_that_meet_go_on_as_one(rng):
    matrix = np.cov(rng.standard_normal((40, 10)).T)
    supports = random_supports(rng, 12, 10, 3)
    found = ends_of(matrix, np.concatenate([supports, supports]))
    assert len({end.support.tobytes() for end in found}) == len(found) <= len(supports)
    assert max(end.objective for end in found) == pytest.approx(brute_force(matrix, 3)[0])


def test_a_feature_that_has_all_of_the_loading_is_left_to_the_others():
    """Without it nothing is known of the rest, so that no exchange of it may be believed."""
    found = ends_of(np.diag([1.0, 5.0, 2.0, 3.0]), np.array([[0, 1]]))
    assert [end.objective for end in found] == [pytest.approx(5.0)]


def test_the_better_of_two_blocks_is_seen_from_a_start_in_the_other():
    """The image of a start in one block is zero in the other, which has the larger eigenvalue."""
    matrix = np.zeros((6, 6))
    matrix[:2, :2], matrix[2:, 2:] = 1.0, 2.0
    (end,) = ends_of(matrix, np.array([[0, 1, 2, 3]]))
    assert end.objective == pytest.approx(8.0)


def test_a_zero_block_is_left():
    matrix = np.zeros((6, 6))
    matrix[4:, 4:] = 1.0
    assert max(end.objective for end in ends_of(matrix, np.array([[0, 1]]))) == pytest.approx(2.0)


def test_more_supports_than_are_kept_in_mind_still_end(rng):
    matrix = np.cov(rng.standard_normal((30, 40)).T)
    supports = random_supports(rng, 3000, 40, 6)
    best = max(end.objective for end in ends_of(matrix, supports))
    assert best >= max(array_climb.climbed(matrix, start)[1] for start in supports[:50]) * (1 - 1e-12)


def test_a_limit_ends_all_of_them_where_they_are(rng):
    matrix = np.cov(rng.standard_normal((30, 60)).T)
    supports = random_supports(rng, 5, 60, 4)
    found = ends_of(matrix, supports, certpca.Budget(steps=1))
    assert [end.support.tolist() for end in found] == supports.tolist()


@pytest.mark.parametrize("steps", [2, 3])
def test_a_limit_on_steps_limits_moves(steps, rng):
    matrix = np.cov(rng.standard_normal((30, 60)).T)
    supports = random_supports(rng, 1, 60, 8)
    told: list[certpca.Step] = []
    progress = certpca.Progress(certpca.Budget(steps=steps), told.append)
    (end,) = NarrowSearch(matrix, 8).climbed(supports, progress)
    assert len(told) == steps
    assert told[-1].objective == pytest.approx(end.objective)
    (further,) = ends_of(matrix, supports)
    assert further.objective > end.objective


def test_a_run_that_was_ended_is_told_nothing_more(rng):
    matrix = np.cov(rng.standard_normal((30, 60)).T)
    steps: list[certpca.Step] = []
    progress = certpca.Progress(listener=steps.append)
    progress.interrupt()
    supports = random_supports(rng, 5, 60, 4)
    found = NarrowSearch(matrix, 4).climbed(supports, progress)
    assert [end.support.tolist() for end in found] == supports.tolist()
    assert steps == []
