"""Reading overlapped with computing: the next block comes from the file while one is worked on."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import zip_longest
from typing import TypeVar

Part = TypeVar("Part")
Block = TypeVar("Block")


def read_ahead(parts: Iterable[Part], read: Callable[[Part], Block]) -> Generator[tuple[Part, Block], None, None]:
    """Walk over `parts` with what `read` makes of each; the next one is read in a thread of its own.

    At most two blocks are in memory at a time: the one the caller works on and the one that is read meanwhile. What
    the thread raises, the caller sees; the thread has ended when the walk has, also where it is closed early.
    Decompression, copies and products of NumPy and SciPy release the interpreter lock, so that both go on at once.

    Parameters
    ----------
    parts
        What to read, in order.
    read
        Reads one part.

    Examples
    --------
    >>> list(read_ahead([1, 2, 3], lambda number: number**2))
    [(1, 1), (2, 4), (3, 9)]
    """
    waiting = list(parts)
    if len(waiting) < 2:  # nothing to overlap
        for part in waiting:
            yield part, read(part)
        return
    context = copy_context()  # what is to be done about floating-point errors is part of it
    with ThreadPoolExecutor(1, thread_name_prefix="certpca-read-ahead") as thread:
        coming: Future[Block] | None = thread.submit(context.run, read, waiting[0])
        for part, following in zip_longest(waiting, range(1, len(waiting))):
            assert coming is not None
            block = coming.result()
            # A finished future keeps its block: it goes before the next one is asked for.
            coming = None if following is None else thread.submit(context.run, read, waiting[following])
            yield part, block
            del block
