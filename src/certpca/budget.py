"""Limits on work, the history of a run, and the ears that listen to it."""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from certpca.errors import InvalidProblemError


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work a run may do.

    Parameters
    ----------
    seconds
        Wall-clock limit. Checked between steps, so a run may overshoot by one step.
    steps
        Largest number of steps; what a step is, each solver says.
    """

    seconds: float = math.inf
    steps: float = math.inf

    def __post_init__(self) -> None:
        """Refuse limits that leave no room for any work."""
        if not self.seconds > 0 or not self.steps >= 1:
            msg = f"a budget needs seconds > 0 and steps >= 1, got {self.seconds} and {self.steps}"
            raise InvalidProblemError(msg)


@dataclass(frozen=True, slots=True)
class Step:
    """What was known at one moment of a run."""

    seconds: float
    objective: float
    upper_bound: float = math.inf
    note: str = ""


Listener = Callable[[Step], object]


class Progress:
    """Counts steps against a budget, keeps the history and tells the listener.

    A listener that returns ``False`` ends the run; so does the first Ctrl-C.
    """

    def __init__(
        self, budget: Budget | None = None, listener: Listener | None = None, after: "Progress | None" = None
    ) -> None:
        self._budget = budget or Budget()
        self._listener = listener
        self._begin = time.perf_counter()
        self._offset = 0.0 if after is None else after.seconds
        self._steps = 0
        self._history: list[Step] = [] if after is None else list(after.history)
        self.interrupted: bool = after is not None and after.interrupted  # one Ctrl-C ends a run and what follows it

    @property
    def seconds(self) -> float:
        """Time since the run began, that of the run before it included."""
        return self._offset + time.perf_counter() - self._begin

    @property
    def history(self) -> tuple[Step, ...]:
        """Every step at which something became better."""
        return tuple(self._history)

    @property
    def remaining(self) -> float:
        """Seconds that are left."""
        return self._budget.seconds - (self.seconds - self._offset)

    @property
    def exhausted(self) -> bool:
        """Whether the run must end now."""
        return self.interrupted or self._steps >= self._budget.steps or self.remaining <= 0

    def tick(self, objective: float, upper_bound: float = math.inf, note: str = "") -> bool:
        """Count one step and say whether there may be another; a note tells people more."""
        self._steps += 1
        best = self._history[-1] if self._history else Step(0.0, -math.inf)
        step = Step(
            self.seconds,
            max(objective, best.objective),
            min(upper_bound, best.upper_bound),
            note,
        )
        if step.objective > best.objective or step.upper_bound < best.upper_bound:
            self._history.append(step)
        if self._listener is not None and self._listener(step) is False:
            self.interrupted = True
        return not self.exhausted

    @contextlib.contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Let the first Ctrl-C end the run at its next step, and the second raise."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.getsignal(signal.SIGINT)

        def interrupt(_signal: int, _frame: FrameType | None) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, previous)

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
