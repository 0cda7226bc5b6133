"""Blocks give what the whole matrix gives, and sums do not depend on who adds them up."""

from itertools import pairwise

import numpy as np
import pytest

import certpca
from certpca.bounds.l0_dual.row_blocks import feature_rows
from certpca.distributed.executors import FAN, Here, added, runs_of, tree_sum
from certpca.operators.factor import column_bounds


@pytest.fixture
def rows(rng):
    """Cut 230 features of 250 samples into blocks of 20."""
    operator = certpca.from_data(rng.standard_normal((250, 230)))
    return feature_rows(operator, np.dtype(np.float64), block_bytes=8 * 250 * 20)


def test_whatever_is_asked_of_all_rows(rows, rng):
    whole = rows.whole()
    assert whole.shape == rows.shape == (230, 250)
    assert len(rows.parts) == 12
    gram = rows.gram()
    assert gram == pytest.approx(whole.T @ whole, abs=1e-12)
    assert np.array_equal(gram, gram.T)
    assert rows.lengths() == pytest.approx((whole**2).sum(axis=1))
    panel = rng.standard_normal((250, 3))
    assert rows.times(panel) == pytest.approx(whole @ panel)
    assert np.array_equal(rows.divided(2.0).whole(), whole / 2.0)


def test_a_few_rows(rows):
    whole = rows.whole()
    some, weights = np.array([5, 229, 40, 41]), np.array([1.0, -2.0, 3.0, 0.5])
    assert rows.combination(some, weights) == pytest.approx(whole[some].T @ weights)
    kept = np.flatnonzero(np.arange(230) % 3 != 1)
    fewer = rows.take(kept)
    assert fewer.shape == (kept.size, 250)
    assert np.array_equal(fewer.whole(), whole[kept])
    assert np.array_equal(np.concatenate(fewer.split(np.arange(kept.size))), np.arange(kept.size))
    assert np.array_equal(fewer.take(np.array([7])).whole(), whole[kept[[7]]])


def test_one_block_may_hold_everything(rng):
    rows = feature_rows(certpca.from_data(rng.standard_normal((5, 9))), np.dtype(np.float64))
    assert len(rows.parts) == 1
    assert np.array_equal(rows.take(np.array([2, 4])).whole(), rows.whole()[[2, 4]])


@pytest.mark.parametrize("count", [1, 2, 4, 5, 16, 17, 21, 64, 70])
def test_sums_are_the_same_tree_however_they_are_made(count, rng):
    """In single precision at very different scales: another order would give other digits."""
    parts = [(rng.standard_normal(3) * 10.0 ** rng.uniform(-20, 20)).astype(np.float32) for _ in range(count)]
    level = list(parts)
    while len(level) > 1:
        level = [added(run) for run in runs_of(level, FAN)]
    assert np.array_equal(tree_sum(part.copy() for part in parts), level[0])
    assert np.array_equal(Here().sum("test", np.copy, parts), level[0])


def test_parts_are_not_written_over_unless_that_is_allowed():
    parts = [np.ones(2), np.ones(2), np.ones(2)]
    assert added(parts).tolist() == [3.0, 3.0]
    assert parts[0].tolist() == [1.0, 1.0]
    assert added([(np.ones(2), np.zeros(1)), (np.ones(2), np.ones(1))])[1].tolist() == [1.0]


@pytest.mark.parametrize("depth", [1, 57, 2240, 10**8])
def test_bounds_cover_all_columns(depth):
    bounds = column_bounds(depth, 10_000)
    assert bounds[0].start == 0
    assert bounds[-1].stop == 10_000
    assert all(left.stop == right.start for left, right in pairwise(bounds))
