"""Threads for compiled loops that release the interpreter."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Event
from typing import TypeVar

Part = TypeVar("Part")


def take_turns(parts: Sequence[Part], work: Callable[[int, Part], None], threads: int) -> None:
    """Let each thread work on every so many of the parts, one after the other.

    Who works on what does not depend on who is faster, so that sums which each thread keeps for itself come out the
    same every time. An error in one thread, or Ctrl-C, ends the others after the part they are at.

    Parameters
    ----------
    parts
        What is to be worked on.
    work
        Takes the number of the thread and a part.
    threads
        How many.

    Examples
    --------
    >>> done = [0, 0]
    >>> def work(thread, part):
    ...     done[thread] += part
    >>> take_turns([1, 2, 3, 4], work, 2)
    >>> done
    [4, 6]
    """
    if threads == 1 or len(parts) < 2:
        for part in parts:
            work(0, part)
        return
    stop = Event()

    def turns(thread: int) -> None:
        try:
            for part in parts[thread::threads]:
                if stop.is_set():
                    return
                work(thread, part)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(threads, thread_name_prefix="certpca-worker") as pool:
        try:
            for job in [pool.submit(copy_context().run, turns, thread) for thread in range(threads)]:
                job.result()
        finally:
            stop.set()
