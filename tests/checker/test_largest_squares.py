"""Every pair of columns counts in the rows of both, once, however the matrix is cut."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import certpca
from certpca.checker import largest_squares
from certpca.checker.data import Prepared, prepare
from certpca.checker.largest_squares import LargestEntries, sums_of_largest

WEIGHT = 0.75


def prepared_of(rng: np.random.Generator, size: int) -> Prepared:
    return prepare(certpca.from_data(rng.standard_normal((size // 2 + 3, size))).source())


def no_others(columns: slice, block: np.ndarray) -> np.ndarray:
    return np.empty((block.shape[1], 0))


def given(others: np.ndarray) -> Callable[[slice, np.ndarray], np.ndarray]:
    return lambda columns, _: others[columns]


def by_sorting(prepared: Prepared, count: int, others: np.ndarray) -> np.ndarray:
    columns = prepared.block(slice(0, prepared.size))
    squares = WEIGHT * (columns.T @ columns) ** 2
    np.fill_diagonal(squares, -np.inf)
    return np.asarray(np.sort(np.hstack([squares, others]), axis=1)[:, ::-1][:, :count].sum(axis=1))


@pytest.mark.parametrize("size", [2, 9, 10, 11, 37])
@pytest.mark.parametrize(("height", "width"), [(1024, 512), (10, 5), (5, 5), (3, 7), (1, 1)])
@pytest.mark.parametrize("kept", [1 << 22, 60, 1])
def test_sums_are_those_of_sorted_rows(rng, monkeypatch, size, height, width, kept):
    monkeypatch.setattr(largest_squares, "HEIGHT", height)
    monkeypatch.setattr(largest_squares, "WIDTH", width)
    monkeypatch.setattr(largest_squares, "KEPT", kept)
    prepared = prepared_of(rng, size)
    more = rng.uniform(0, 0.1, (size, 3))
    for count in {1, min(4, size - 1), size - 1}:  # with the last, a pair that counts twice or not at all changes sums
        for others in (more, more[:, :0]):
            found = sums_of_largest(prepared, count, WEIGHT, given(others))
            np.testing.assert_allclose(found, by_sorting(prepared, count, others), rtol=1e-12)


def met(monkeypatch: pytest.MonkeyPatch, size: int) -> np.ndarray:
    """Return how often columns were multiplied with each other: F is diagonal, so a product tells whose it is."""
    times = np.zeros((size, size), dtype=int)

    def counted(left: np.ndarray, right: np.ndarray, weight: float) -> np.ndarray:
        times[np.ix_(left.argmax(axis=0), right.argmax(axis=0))] += 1
        return np.zeros((left.shape[1], right.shape[1]))

    monkeypatch.setattr(largest_squares, "_squares", counted)
    prepared = prepare(certpca.from_data(np.eye(size), center=False).source())
    columns = np.eye(size)
    sums_of_largest(replace(prepared, block=lambda part: columns[:, part]), 2, 1.0, no_others)
    return times


def test_pairs_in_different_blocks_are_multiplied_once(monkeypatch):
    monkeypatch.setattr(largest_squares, "HEIGHT", 8)
    monkeypatch.setattr(largest_squares, "WIDTH", 3)
    times = met(monkeypatch, 21)
    blocks = np.arange(21) // 8
    same = blocks[:, None] == blocks
    assert (times[same] == 1).all()  # there both orders are one product
    assert (times[~same] + times.T[~same] == 1).all()


def test_pairs_in_different_bands_are_multiplied_for_both(monkeypatch):
    monkeypatch.setattr(largest_squares, "HEIGHT", 4)
    monkeypatch.setattr(largest_squares, "KEPT", 16)  # two blocks of four rows that keep two each
    times = met(monkeypatch, 21)
    bands, blocks = np.arange(21) // 8, np.arange(21) // 4
    band, block = bands[:, None] == bands, blocks[:, None] == blocks
    assert (times[~band] == 1).all()
    assert (times[band & ~block] + times.T[band & ~block] == 1).all()


def test_others_are_asked_for_every_column_once(rng, monkeypatch):
    monkeypatch.setattr(largest_squares, "HEIGHT", 4)
    monkeypatch.setattr(largest_squares, "KEPT", 20)
    prepared, asked = prepared_of(rng, 19), list[int]()

    def others(columns: slice, block: np.ndarray) -> np.ndarray:
        asked.extend(range(columns.start, columns.stop))
        np.testing.assert_array_equal(block, prepared.block(columns))
        return no_others(columns, block)

    sums_of_largest(prepared, 2, WEIGHT, others)
    assert asked == list(range(19))


@pytest.mark.parametrize(("fewest", "rows"), [(1, 5), (7, 7)])
def test_many_that_are_kept_make_bands_of_few_rows(rng, monkeypatch, fewest, rows):
    """The memory does not grow with the sparsity that a stranger's file asks for."""
    shown = list[tuple[int, int]]()
    show = LargestEntries.show

    def watched(self: LargestEntries, rows: slice, entries: np.ndarray) -> None:
        shown.append((len(entries), entries.shape[1]))
        show(self, rows, entries)

    monkeypatch.setattr(LargestEntries, "show", watched)
    monkeypatch.setattr(largest_squares, "ENTRIES", 400)
    monkeypatch.setattr(largest_squares, "FEWEST", fewest)
    monkeypatch.setattr(largest_squares, "WIDTH", 20)
    prepared = prepared_of(rng, 60)
    found = sums_of_largest(prepared, 50, WEIGHT, no_others)
    assert max(most for most, entries in shown if entries == 20) == rows
    np.testing.assert_allclose(found, by_sorting(prepared, 50, np.empty((60, 0))), rtol=1e-12)


def test_what_is_no_number_is_never_left_out(rng):
    largest = LargestEntries(3, 2)
    for part in np.split(rng.standard_normal((3, 30)), 10, axis=1):
        largest.show(slice(0, 3), part)
    largest.show(slice(1, 2), np.array([[np.nan, 5.0, -5.0]]))
    largest.show(slice(0, 3), rng.standard_normal((3, 7)))
    assert np.isnan(largest.sums()).tolist() == [False, True, False]


def test_the_smallest_that_is_kept(rng):
    entries, largest = rng.standard_normal((5, 40)), LargestEntries(5, 7)
    for part in np.split(entries, 4, axis=1):
        largest.show(slice(0, 5), part)
    np.testing.assert_array_equal(largest.smallest(), np.sort(entries, axis=1)[:, -7])
