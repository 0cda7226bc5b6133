"""Starts are thresholded together as each would be alone, and what the best of them come to is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import certpca
from certpca.runtime.arrays import top_k
from certpca.runtime.budget import Budget, Progress
from certpca.search.thresholding import Race, Runners, largest_in_rows


@given(
    values=hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.integers(0, 4)),
    count=st.integers(1, 9),
)
def test_the_largest_of_rows_are_those_of_each_row(values, count):
    found = largest_in_rows(values, count)
    for row, places in zip(values, found, strict=True):
        assert places.tolist() == top_k(row, count).tolist()


def test_thresholded_rows_are_unit_vectors(rng):
    runners = Runners.thresholded(rng.standard_normal((4, 30)), 7)
    np.testing.assert_allclose(np.linalg.norm(runners.loadings, axis=1), 1.0)
    assert Runners.thresholded(np.zeros((1, 5)), 2).loadings.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("following", [4, 100])
def test_a_race_follows_the_better_starts_and_tells_what_they_captured(rng, following):
    data = rng.standard_normal((50, 40))
    block = np.array([3, 8, 21, 30])
    data[:, block] = 2 * rng.standard_normal((50, 1)) + 0.1 * rng.standard_normal((50, 4))
    operator = certpca.from_data(data)
    matrix = operator.submatrix(np.arange(40))
    race = Race(operator, 4, finalists=3, following=following)
    race.run([matrix[:, :20], matrix[:, 20:]], 12, Progress(Budget()))
    values = [arrival.value for arrival in race.best]
    assert len(values) <= 3
    assert values == sorted(values, reverse=True)
    assert race.best[0].support.tolist() == block.tolist()
    largest = np.linalg.eigvalsh(matrix[np.ix_(block, block)])[-1]
    assert 0.99 * largest <= values[0] <= largest * (1 + 1e-9)


def test_a_race_ends_with_its_budget(rng):
    operator = certpca.from_data(rng.standard_normal((30, 60)))
    progress = Progress(Budget(steps=1))
    race = Race(operator, 5, finalists=2, following=10)
    race.run([operator.submatrix(np.arange(60))], 12, progress)
    assert race.best
    assert len(progress.history) == 1
