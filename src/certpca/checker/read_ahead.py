"""The next blocks are read while one is worked on."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np

MOST_THREADS = 4  # that read: more only wait for memory

Part = TypeVar("Part")
Block = TypeVar("Block")


def read_ahead(parts: Iterable[Part], read: Callable[[Part], Block], threads: int = 1) -> Iterator[tuple[Part, Block]]:
    """Walk over parts, in their order, with what `read` makes of each; the next ones are read in threads of their own.

    As many blocks as there are threads, and one, are in memory at a time. What a thread raises, the caller sees, and
    they end with the walk.
    """
    waiting = deque(parts)
    if len(waiting) < 2:  # nothing to overlap
        yield from ((part, read(part)) for part in waiting)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="certpca-checker") as pool:
        coming = deque[tuple[Part, Future[Block]]]()

        def ask() -> None:
            if waiting:  # what is to be done about floating-point errors is part of the context
                coming.append((waiting[0], pool.submit(copy_context().run, read, waiting.popleft())))

        try:
            for _ in range(threads):
                ask()
            while coming:
                part, future = coming.popleft()
                block = future.result()
                del future  # a finished one keeps its block, which goes before the next is asked for
                ask()
                yield part, block
                del block
        finally:
            for _, future in coming:
                future.cancel()


def reading_threads(values: Any) -> int:
    """Return how many threads may read: one for each core but the one that works, and one alone from a file."""
    in_memory = isinstance(values, np.ndarray) or hasattr(values, "detach")  # of NumPy or torch
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_THREADS, max(1, cores - 1)) if in_memory else 1
