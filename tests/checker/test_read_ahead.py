"""Blocks that the checker reads ahead: in order, few at a time, and without a trace afterwards."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from certpca.checker.read_ahead import MOST_THREADS, read_ahead, reading_threads

PATIENCE = 20.0  # seconds; only a test that fails waits so long
COUNTS = pytest.mark.parametrize("threads", [1, 3])


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("certpca-checker")]


@COUNTS
def test_parts_come_in_order(threads: int) -> None:
    assert list(read_ahead(range(9), str, threads)) == [(number, str(number)) for number in range(9)]
    assert list(read_ahead([], str, threads)) == []
    assert readers() == []


def test_several_threads_read_at_a_time() -> None:
    together = threading.Barrier(3)

    def read(number: int) -> int:
        together.wait(PATIENCE)  # nobody would pass it alone
        return number

    assert [number for number, _ in read_ahead(range(6), read, 3)] == list(range(6))


@COUNTS
def test_as_many_blocks_as_threads_and_one_are_in_memory(threads: int) -> None:
    blocks: list[weakref.ref[Any]] = []
    alive = []

    def read(_: int) -> Any:
        block = np.zeros(10)
        blocks.append(weakref.ref(block))
        alive.append(sum(reference() is not None for reference in list(blocks)))
        return block

    for _, block in read_ahead(range(12), read, threads):
        del block
        gc.collect()
    assert max(alive) <= threads + 1


@COUNTS
def test_what_a_thread_raises_reaches_the_caller(threads: int) -> None:
    def read(number: int) -> int:
        if number == 2:
            msg = "the third block is damaged"
            raise ValueError(msg)
        return number

    seen: list[int] = []
    with pytest.raises(ValueError, match="third block"):
        seen.extend(number for number, _ in read_ahead(range(8), read, threads))
    assert seen == [0, 1]
    assert readers() == []


def test_files_are_read_by_one_thread() -> None:
    class File:
        shape = (3, 3)

    assert reading_threads(File()) == 1
    assert 1 <= reading_threads(np.zeros((3, 3))) <= MOST_THREADS
