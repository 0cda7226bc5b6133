"""Threads for compiled loops that release the interpreter, fed by the thread that asks for them.

They are plain threads of Python and not those of a compiler's runtime (OpenMP and the like), whose state a forked
process inherits without the threads that belong to it, and which some allow to one caller at a time.
"""

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, TypeVar

Part = TypeVar("Part")
Made = TypeVar("Made")

SLOTS = 2  # for each thread: parts that are read and not yet done
WORTH_BLAS_THREADS = 1e9  # multiplications of a product that is shared by threads of BLAS
TINY_DATA, WORTH_THREADS = 500, 4e6  # numbers of a matrix between which threads of BLAS wait more than they work
MANY_CORES = 8  # from which threads of BLAS, which wait busily, are in the way of others
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
RUNS = 4  # for each thread, so that those with much to do do not keep the others waiting

_most: ContextVar[int | None] = ContextVar("certpca_threads", default=None)
_helpers: ThreadPoolExecutor | None = None  # of this process, made when they are first needed


def threads_allowed() -> int:
    """Return how many threads compiled loops may use here: what the user said, or one a core, below any limit."""
    most = _most.get()
    return _cores() if most is None else min(most, _cores())


def _cores() -> int:
    """Return what environment variables say, as who starts several processes sets them, or what this process has."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        said = os.environ.get(name, "").partition(",")[0].strip()  # a list is for levels of nesting
        if said.isdigit() and int(said) > 0:
            return int(said)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _quota())


@cache
def _quota(file: Path = CPU_QUOTA) -> int:
    """Return how many cores the time that a container may use amounts to."""
    try:
        allowed, period = (float(part) for part in file.read_text().split())
        return max(1, math.ceil(allowed / period))
    except (OSError, ValueError, ZeroDivisionError):  # no such limit, or "max"
        return sys.maxsize


@contextmanager
def at_most_threads(count: int) -> Iterator[None]:
    """Limit the threads of what the caller does meanwhile."""
    token = _most.set(max(1, count))
    try:
        yield
    finally:
        _most.reset(token)


@contextmanager
def one_thread_each(workers: int, multiplications: float) -> Iterator[None]:
    """Let workers of the caller, or the caller alone, multiply small matrices with one thread each instead of all.

    Threads of BLAS that wait for each other, and for those of compiled loops, made small products ten times slower.
    """
    large = multiplications > WORTH_BLAS_THREADS
    if workers < 2 and large:
        yield
        return
    with _BLAS.at_most(max(1, _cores() // workers) if large else 1):
        yield


@contextmanager
def threads_for(numbers: float, worth: float = WORTH_THREADS) -> Iterator[None]:
    """Let BLAS have one thread for all that is done with a matrix of few numbers, where threads cost more than they do.

    Where all products are tiny BLAS takes one thread by itself.
    """
    if TINY_DATA < numbers < worth:
        with _BLAS.at_most(1):
            yield
    else:
        yield


@contextmanager
def threads_beside_readers(numbers: float) -> Iterator[None]:
    """Leave half of many cores to threads that prepare what BLAS multiplies, as the checker has: all would wait."""
    cores = _cores()
    if cores >= MANY_CORES and numbers >= WORTH_THREADS:
        with _BLAS.at_most(cores // 2):
            yield
    else:
        yield


class _BlasThreads:
    """The threads of BLAS, which belong to the process: the least that any caller asks for, never more than before.

    Callers in several threads come and go in any order, so that who ends last puts back what was there before all.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked: list[int] = []
        self._controller: Any = None
        self._before: list[int] = []

    @contextmanager
    def at_most(self, count: int) -> Iterator[None]:
        """Lower the threads of BLAS for what the caller does meanwhile."""
        with self._lock:
            if not self._asked:
                self._look()
            self._asked.append(count)
            self._set()
        try:
            yield
        finally:
            with self._lock:
                self._asked.remove(count)
                self._set()

    def _look(self) -> None:
        """Find the libraries, and how many threads each has now."""
        if self._controller is None:
            import scipy.linalg  # noqa: F401  # which brings a BLAS of its own
            from threadpoolctl import ThreadpoolController

            self._controller = ThreadpoolController().select(user_api="blas")
        self._before = [library.num_threads for library in self._controller.lib_controllers]

    def _set(self) -> None:
        least = min(self._asked, default=sys.maxsize)
        for library, before in zip(self._controller.lib_controllers, self._before, strict=True):
            if library.num_threads != min(least, before):
                library.set_num_threads(min(least, before))


_BLAS = _BlasThreads()


def in_threads(work: Callable[[int, int], None], count: int) -> None:
    """Call `work(first, last)` for runs that make up range(count), several at a time; it must not need the interpreter.

    The caller's thread takes part. Helpers that are busy for somebody else are not waited for, so that any number of
    callers can share them.

    Examples
    --------
    >>> import numpy as np
    >>> squares = np.zeros(1000)
    >>> def work(first, last):
    ...     squares[first:last] = np.arange(first, last) ** 2
    >>> in_threads(work, 1000)
    >>> int(squares.sum())
    332833500
    """
    threads = min(threads_allowed(), count)
    if threads < 2:
        work(0, count)
        return
    height = -(-count // (RUNS * threads))
    waiting: SimpleQueue[int] = SimpleQueue()
    for first in range(0, count, height):
        waiting.put(first)

    def help_out() -> None:
        while True:
            try:
                first = waiting.get_nowait()
            except Empty:
                return
            work(first, min(first + height, count))

    jobs = [_pool().submit(help_out) for _ in range(threads - 1)]
    try:
        help_out()
    finally:
        begun = [job for job in jobs if not job.cancel()]
    for job in begun:
        job.result()


def _pool() -> ThreadPoolExecutor:
    global _helpers  # noqa: PLW0603
    if _helpers is None:
        _helpers = ThreadPoolExecutor(max(1, _cores() - 1), thread_name_prefix="certpca-helper")
    return _helpers


def _forget_helpers() -> None:
    """Let a forked process make helpers of its own: threads do not come along."""
    global _helpers  # noqa: PLW0603
    _helpers = None
    _BLAS._lock = Lock()  # somebody else's thread may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)


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
