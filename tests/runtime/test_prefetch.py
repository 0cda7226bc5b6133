"""The next block is read while one is worked on, two are in memory at most, and no thread stays behind."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from certpca.readers.merged_moments import of_rows
from certpca.readers.moments import dense_moments
from certpca.runtime.prefetch import read_ahead

PATIENCE = 20.0  # seconds; only a test that fails waits so long


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("certpca-read-ahead")]


def test_parts_come_in_order() -> None:
    assert list(read_ahead(range(5), str)) == [(number, str(number)) for number in range(5)]
    assert list(read_ahead([], str)) == []
    assert readers() == []


def test_the_next_block_is_read_meanwhile() -> None:
    begun = [threading.Event() for _ in range(3)]

    def read(number: int) -> int:
        begun[number].set()
        return number

    for number, _ in read_ahead(range(3), read):
        if number < 2:  # without a second thread nobody would ever begin with it
            assert begun[number + 1].wait(PATIENCE)


def test_no_further_block_is_read_than_the_next() -> None:
    begun: list[int] = []
    walk = read_ahead(range(10), lambda number: begun.append(number) or number)  # type: ignore[func-returns-value]
    for _ in range(3):
        next(walk)
    walk.close()  # waits for the thread
    assert begun == [0, 1, 2, 3]


def test_at_most_two_blocks_are_in_memory() -> None:
    blocks: list[weakref.ref[Any]] = []
    alive = []

    def read(_: int) -> Any:
        block = np.zeros(10)
        blocks.append(weakref.ref(block))
        alive.append(sum(reference() is not None for reference in list(blocks)))
        return block

    for _, block in read_ahead(range(8), read):
        del block
        gc.collect()
    assert max(alive) <= 2


def test_what_the_thread_raises_reaches_the_caller() -> None:
    def read(number: int) -> int:
        if number == 2:
            msg = "the third block is damaged"
            raise ValueError(msg)
        return number

    seen: list[int] = []
    with pytest.raises(ValueError, match="third block"):
        seen.extend(number for number, _ in read_ahead(range(5), read))
    assert seen == [0, 1]
    assert readers() == []


def test_leaving_early_leaves_no_thread() -> None:
    walk = read_ahead(range(100), str)
    next(walk)
    assert len(readers()) == 1
    walk.close()
    assert readers() == []
    for _ in read_ahead(range(100), str):
        break
    gc.collect()
    assert readers() == []


def test_a_single_block_needs_no_thread() -> None:
    for _, name in read_ahead([0], lambda _: threading.current_thread().name):
        assert not name.startswith("certpca")


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("edges", [[1, 2, 3], [20], [5, 30]])
def test_moments_of_rows_put_together(rng: Any, edges: list[int], offset: float, center: bool) -> None:
    table = rng.standard_normal((40, 6)) + offset
    table[[3, 30], 2] = np.nan
    table[:7, 3] = np.nan  # a whole block of these
    table[:, 4] = 0.1
    parts = [dense_moments(block, None, center=center) for block in np.split(table, edges)]
    found, expected = of_rows(parts, 6, center=center), dense_moments(table, None, center=center)
    assert found.rows == 40
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-13)
    np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-8 if offset else 1e-12)
    assert not center or found.squares[4] == 0.0
