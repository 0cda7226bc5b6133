"""Starts of a small matrix are compared as starts of a large one are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import certpca
from certpca.runtime.arrays import Indices, top_k
from certpca.search.narrow import NarrowSearch
from certpca.search.narrow.loops import key_of, take_largest
from certpca.search.thresholding import Race


@given(
    values=hnp.arrays(np.float64, st.integers(1, 12), elements=st.integers(-4, 4)),
    count=st.integers(1, 12),
)
@settings(deadline=None)
def test_the_largest_are_taken_and_of_ties_the_first(values, count):
    count = min(count, values.size)
    support, largest = np.empty(count, np.intp), np.empty(count)
    take_largest(values, largest, support)
    assert support.tolist() == top_k(np.abs(values), count).tolist()
    assert sorted(largest) == sorted(np.abs(values)[support])


def raced_both_ways(seed: int, size: int, rounds: int) -> tuple[Indices, float, Race]:
    """Return the supports that compiled loops and arrays come to, and what the best of the former captures."""
    rng = np.random.default_rng(seed)
    sparsity = int(rng.integers(1, min(size, 20)))
    matrix = np.cov((rng.standard_normal((40, size)) * rng.uniform(0.5, 2.0, size)).T)
    vectors = rng.standard_normal((size, 2))
    race, progress = Race(certpca.from_matrix(matrix), sparsity, 6, 128, 4), certpca.Progress()
    race.run([np.concatenate([vectors, matrix], axis=1)], rounds, certpca.Progress())
    found = NarrowSearch(matrix, sparsity).raced(vectors, 128, 6, 4, rounds, progress)
    return found, progress.history[-1].objective, race


@given(seed=st.integers(0, 10_000), size=st.integers(4, 80))
@settings(max_examples=60, deadline=None)
def test_a_round_of_arrays_comes_to_the_same_supports(seed, size):
    found, objective, race = raced_both_ways(seed, size, 1)
    assert found.tolist() == [arrival.support.tolist() for arrival in race.best]
    assert objective >= race.best[0].value * (1 - 1e-12)


def test_two_rounds_of_arrays_hardly_ever_find_better():
    """Both follow a few starts only, and not always the same."""
    ends = [raced_both_ways(seed, size, 2)[1:] for seed in range(150, 190) for size in (8, 18, 40)]
    worse = [objective < race.best[0].value * (1 - 1e-12) for objective, race in ends]
    assert sum(worse) <= 1


def test_constant_features_do_no_harm():
    matrix = np.zeros((30, 30))
    matrix[20:23, 20:23] = 1.0
    found = NarrowSearch(matrix, 3).raced(np.zeros((30, 2)), 128, 4, 4, 2, certpca.Progress())
    assert found[0].tolist() == [20, 21, 22]


@pytest.mark.parametrize(("steps", "told"), [(1, 1), (2, 2), (50, 2)])
def test_a_round_is_a_step(steps, told, rng):
    matrix = np.cov(rng.standard_normal((40, 30)).T)
    seen: list[certpca.Step] = []
    progress = certpca.Progress(certpca.Budget(steps=steps), seen.append)
    found = NarrowSearch(matrix, 4).raced(np.eye(30)[:, :2], 128, 4, 4, 2, progress)
    assert len(seen) == told
    assert len(found) == 4


def test_keys_tell_sets_apart():
    size = 40
    pairs = {key_of(np.array([first, second])) for first in range(size) for second in range(first)}
    assert len(pairs) == size * (size - 1) // 2
    assert key_of(np.array([3, 9, 4])) == key_of(np.array([9, 4, 3]))
