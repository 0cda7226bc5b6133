"""The next block is read while one is worked on."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from typing import TypeVar

Part = TypeVar("Part")
Block = TypeVar("Block")


def read_ahead(parts: Iterable[Part], read: Callable[[Part], Block]) -> Iterator[tuple[Part, Block]]:
    """Walk over parts with what `read` makes of each; the next one is read in a thread of its own.

    Two blocks are in memory at a time. What the thread raises, the caller sees, and it ends with the walk.
    """
    waiting = list(parts)
    if len(waiting) < 2:  # nothing to overlap
        yield from ((part, read(part)) for part in waiting)
        return
    context = copy_context()  # what is to be done about floating-point errors is part of it
    with ThreadPoolExecutor(1, thread_name_prefix="certpca-checker") as thread:
        coming = thread.submit(context.run, read, waiting[0])
        for part, following in pairwise(waiting):
            block = coming.result()
            # A finished future keeps its block: it goes before the next one is asked for.
            coming = thread.submit(context.run, read, following)
            yield part, block
            del block
        block = coming.result()
        del coming
        yield waiting[-1], block
