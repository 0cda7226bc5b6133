"""Parts go to threads in a fixed way, and errors end all of them."""

import signal
import threading
import time

import pytest

from certpca.worker_threads import take_turns


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_every_part_is_worked_on_by_its_thread(threads: int, count: int) -> None:
    done: list[tuple[int, int]] = []
    take_turns(list(range(count)), lambda thread, part: done.append((thread, part)), threads)
    assert sorted(part for _, part in done) == list(range(count))
    if count > 1:
        assert all(thread == part % threads for thread, part in done)


def test_an_error_ends_the_other_threads() -> None:
    done: list[int] = []

    def work(thread: int, part: int) -> None:
        if thread == 1:
            msg = "broken"
            raise ValueError(msg)
        time.sleep(0.001)
        done.append(part)

    with pytest.raises(ValueError, match="broken"):
        take_turns(list(range(10_000)), work, 3)
    assert len(done) < 5_000
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("certpca-worker")]


def test_ctrl_c_ends_all_threads_after_the_parts_they_are_at() -> None:
    done: list[int] = []
    waiting = threading.get_ident()
    if waiting != threading.main_thread().ident:
        pytest.skip("signals reach the main thread alone")

    def work(thread: int, part: int) -> None:
        del thread
        time.sleep(0.001)
        done.append(part)
        if part == 20:
            signal.pthread_kill(waiting, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        take_turns(list(range(10_000)), work, 2)
    assert len(done) < 9_000
