"""Parts go to threads in a fixed way, few are in memory, and errors end all threads."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from certpca.runtime import threads as module
from certpca.runtime.threads import one_thread_each, share_out, slots_for, threads_allowed, threads_for


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """Let Python raise at Ctrl-C, also where the shell started the tests in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_every_part_is_worked_on_by_its_thread(threads: int, count: int) -> None:
    done: list[tuple[int, int]] = []
    share_out(range(count), lambda slot, part: -part, lambda thread, part, made: done.append((thread, -made)), threads)
    assert sorted(part for _, part in done) == list(range(count))
    if count > 1:
        assert all(thread == part % threads for thread, part in done)


def test_a_slot_is_not_used_again_before_its_part_is_done() -> None:
    slots = [-1] * slots_for(100, 3)

    def read(slot: int, part: int) -> int:
        assert slots[slot] == -1
        slots[slot] = part
        return slot

    def work(thread: int, part: int, slot: int) -> None:
        time.sleep(0.001 * (thread == 1))
        assert slots[slot] == part
        slots[slot] = -1

    share_out(range(100), read, work, 3)
    assert set(slots) == {-1}


@pytest.fixture
def waiting() -> int:
    """The thread that waits for the others and hears Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread alone")
    return threading.get_ident()


def nothing(slot: int, part: int) -> None:
    del slot, part


@pytest.mark.parametrize("place", ["read", "work"])
def test_an_error_ends_all_threads(place: str) -> None:
    done: list[int] = []

    def read(slot: int, part: int) -> None:
        del slot
        if place == "read" and part == 50:
            msg = "broken"
            raise ValueError(msg)

    def work(thread: int, part: int, made: None) -> None:
        del made
        if place == "work" and thread == 1:
            msg = "broken"
            raise ValueError(msg)
        time.sleep(0.001)
        done.append(part)

    with pytest.raises(ValueError, match="broken"):
        share_out(range(10_000), read, work, 3)
    assert len(done) < 5_000
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("certpca-worker")]


def test_ctrl_c_ends_all_threads_after_the_parts_they_are_at(waiting: int) -> None:
    done: list[int] = []

    def work(thread: int, part: int, made: None) -> None:
        del thread, made
        time.sleep(0.001)
        done.append(part)
        if part == 20:
            signal.pthread_kill(waiting, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        share_out(range(10_000), nothing, work, 2)
    assert len(done) < 9_000


def test_ctrl_c_after_everything_is_read_ends_the_work(waiting: int) -> None:
    done: list[int] = []

    def work(thread: int, part: int, made: None) -> None:
        del thread, made
        if part == 0:
            time.sleep(0.1)  # everything is read by then
            signal.pthread_kill(waiting, signal.SIGINT)
            time.sleep(0.1)
        done.append(part)

    with pytest.raises(KeyboardInterrupt):
        share_out(range(3), nothing, work, 1)
    assert done == [0]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("certpca-worker")]


def test_a_thread_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = threading.Thread.start, [0]

    def once(self: threading.Thread) -> None:
        started[0] += 1
        if started[0] == 2:
            msg = "can't start new thread"
            raise RuntimeError(msg)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", once)
    with pytest.raises(RuntimeError, match="start new thread"):
        share_out(range(10), nothing, lambda thread, part, made: None, 2)


class CtrlCAtLine:
    """Raises KeyboardInterrupt at one of the lines that the caller's thread comes to in `share_out`."""

    def __init__(self, moment: int) -> None:
        self._left = moment

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        del argument
        if frame.f_code is not share_out.__code__:
            return None
        if event == "line":
            self._left -= 1
            if self._left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def slowly(done: list[int], part: int) -> None:
    time.sleep(0.002)
    done.append(part)


def test_ctrl_c_at_any_moment_does_not_hang() -> None:
    """It ends the work there and then: no part begins afterwards, and no thread stays behind."""
    parts, moment, before = 8, 0, sys.gettrace()
    while True:
        done: list[int] = []
        sys.settrace(CtrlCAtLine(moment))
        try:
            share_out(range(parts), nothing, lambda thread, part, made: slowly(done, part), 2)  # noqa: B023
        except KeyboardInterrupt:
            at_once = list(done)
        else:
            break
        finally:
            sys.settrace(before)
        # Just before the last line ends, threads without work are left, which end by themselves.
        deadline = time.monotonic() + 10
        while any(thread.name.startswith("certpca-worker") for thread in threading.enumerate()):
            assert time.monotonic() < deadline, "a thread stayed behind"
            time.sleep(0.001)
        assert done == at_once
        moment += 1
    assert sorted(done) == list(range(parts))
    assert moment > 5 * parts  # every line for every part


def blas_threads() -> list[int]:
    from threadpoolctl import threadpool_info

    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_has_one_thread_for_small_data_and_gets_the_others_back() -> None:
    import scipy.linalg  # noqa: F401

    before = blas_threads()
    with threads_for(1e5):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    for numbers in (10, 1e8):
        with threads_for(numbers):
            assert blas_threads() == before


def test_blas_threads_come_back_whoever_ends_last() -> None:
    import scipy.linalg  # noqa: F401

    before = blas_threads()
    first, second = threads_for(1e5), one_thread_each(2, 1.0)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


@pytest.mark.parametrize(("name", "said", "allowed"), [("NUMBA_NUM_THREADS", "3", 3), ("OMP_NUM_THREADS", "5,2", 5)])
def test_threads_are_those_that_the_user_set(
    monkeypatch: pytest.MonkeyPatch, name: str, said: str, allowed: int
) -> None:
    for other in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, said)
    assert threads_allowed() == allowed


@pytest.mark.parametrize(("text", "cores"), [("150000 100000", 2), ("max 100000", sys.maxsize), ("", sys.maxsize)])
def test_threads_are_no_more_than_a_container_may_use(tmp_path: Any, text: str, cores: int) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(text)
    assert module._quota(file) == cores
    assert module._quota(tmp_path / "none") == sys.maxsize
