"""Threads for compiled loops that release the interpreter, fed by the thread that asks for them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

Part = TypeVar("Part")
Made = TypeVar("Made")

SLOTS = 2  # for each thread: parts that are read and not yet done


def slots_for(parts: int, threads: int) -> int:
    """Return how many parts can be in memory at a time."""
    return min(parts, SLOTS * threads + 1)


def share_out(
    parts: Sequence[Part], read: Callable[[int, Part], Made], work: Callable[[int, Part, Made], None], threads: int
) -> None:
    """Read parts one after the other while threads work on those that are there, each on every so many of them.

    Who works on what does not depend on who is faster, so that sums which each thread keeps for itself come out the
    same every time. An error in one thread, or Ctrl-C, ends the others after the part they are at.

    Parameters
    ----------
    parts
        What is to be read and worked on.
    read
        Takes the number of a free place in memory, below `slots_for(...)`, and a part; called by one thread.
    work
        Takes the number of the thread, a part, and what was read.
    threads
        How many work; reading is done by the caller's.

    Examples
    --------
    >>> done = [0, 0]
    >>> def work(thread, part, square):
    ...     done[thread] += square
    >>> share_out([1, 2, 3, 4], lambda slot, part: part**2, work, 2)
    >>> done
    [10, 20]
    """
    if len(parts) < 2:  # nothing to overlap
        for part in parts:
            work(0, part, read(0, part))
        return
    free: SimpleQueue[int] = SimpleQueue()
    for slot in range(slots_for(len(parts), threads)):
        free.put(slot)
    errors: list[BaseException] = []

    def turn(thread: int, slot: int, part: Part, made: Made) -> None:
        try:
            if not errors:
                work(thread, part, made)
        except BaseException as error:  # raised again by the caller's thread
            errors.append(error)
        finally:
            free.put(slot)

    with ExitStack() as stack:
        pools = []
        for _ in range(threads):  # one thread each, so that every thread has a queue of its own
            pools.append(ThreadPoolExecutor(1, thread_name_prefix="certpca-worker"))
            stack.callback(pools[-1].shutdown, cancel_futures=True)
        contexts, latest = [copy_context() for _ in pools], {}
        for number, part in enumerate(parts):
            slot, thread = free.get(), number % threads
            if errors:
                break
            latest[thread] = pools[thread].submit(contexts[thread].run, turn, thread, slot, part, read(slot, part))
        for job in latest.values():  # not by joining threads: interrupted, that takes them for ended
            job.result()
    if errors:
        raise errors[0]
