"""What ends a call from outside: a signal or a listener."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Call:
    """What all parts of a call share."""

    signal: int | None = None  # that ended it
    stopped: bool = False  # by a listener
    listening: bool = False  # for signals

    @contextlib.contextmanager
    def until_interrupted(self, *, terminated: bool = False) -> Iterator[None]:
        """Let the first Ctrl-C, and SIGTERM where `terminated`, be noted here, and the second do what it did before."""
        if self.listening or threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)[: 1 + terminated]}

        def interrupt(number: int, _frame: FrameType | None) -> None:
            self.signal = number
            give_back()

        def give_back() -> None:
            for number, handler in previous.items():
                signal.signal(number, handler)

        for number in previous:
            signal.signal(number, interrupt)
        self.listening = True
        try:
            yield
        finally:
            self.listening = False
            give_back()
