"""Moments of columns are the same however a table is laid out in memory."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

from certpca.readers import moments
from certpca.readers.moments import dense_moments, sparse_moments

ROWS, SIZE = 40, 23


def _table(rng: np.random.Generator, kind: str) -> tuple[Any, int | None]:
    table = rng.standard_normal((ROWS, SIZE)) + 3.0
    if kind == "single":
        return table.astype(np.float32), None
    if kind == "holes":
        table[rng.random((ROWS, SIZE)) < 0.2] = np.nan
        table[:, 7] = np.nan
    if kind == "coded":
        return rng.integers(-1, 3, (ROWS, SIZE)).astype(np.int32), -1
    if kind == "constant":
        table[:, 4], table[:, 5] = 0.1, 0.0
    if kind == "tiny and huge":
        table[:, 2] *= 1e-300
        table[:, 3] = 0.0
        table[:, 20] *= 1e300
    if kind == "infinite":
        table[3, 9] = np.inf
    return table, None


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kind", ["plain", "single", "holes", "coded", "constant", "tiny and huge", "infinite"])
def test_tables_kept_by_columns_have_the_same_moments(
    kind: str, center: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, code = _table(rng, kind)
    expected = dense_moments(np.ascontiguousarray(table), code, center=center)
    monkeypatch.setattr(moments, "BLOCK_BYTES", 8 * ROWS * 5)  # five columns at a time
    found = dense_moments(np.asfortranarray(table), code, center=center)
    assert found.rows == expected.rows
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_array_equal(found.infinite, expected.infinite)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-13, atol=1e-320)
    np.testing.assert_array_equal(np.zeros(SIZE) + found.power, np.zeros(SIZE) + expected.power)
    np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-12)


def test_columns_of_zeros_beside_tiny_ones_are_told_apart() -> None:
    table = np.zeros((4, 3))
    table[:, 1] = [1e-200, -1e-200, 1e-200, -1e-200]
    for layout in (np.ascontiguousarray, np.asfortranarray):
        found = dense_moments(layout(table), None, center=True)
        assert (found.squares > 0).tolist() == [False, True, False]
        assert dense_moments(layout(np.zeros((4, 3))), None, center=True).squares.tolist() == [0.0] * 3


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kind", ["plain", "single", "holes", "constant", "tiny and huge", "infinite"])
def test_sparse_tables_have_the_same_moments_block_by_block(
    kind: str, center: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, _ = _table(rng, kind)
    table[:, 11:14] = 0.0  # columns without entries
    table[rng.random((ROWS, SIZE)) < 0.5] = 0.0
    expected = dense_moments(table, None, center=center)
    for entries in (1, 100, 1 << 20):
        monkeypatch.setattr(moments, "BLOCK_BYTES", 16 * entries)
        found = sparse_moments(csc_array(table), center=center)
        np.testing.assert_array_equal(found.infinite, expected.infinite)
        finite = ~found.infinite
        for name in ("count", "mean", "squares"):
            np.testing.assert_allclose(getattr(found, name)[finite], getattr(expected, name)[finite], rtol=1e-12)
        np.testing.assert_array_equal(np.broadcast_to(found.power, SIZE), np.broadcast_to(expected.power, SIZE))
