"""Limits on work, the history of a run, and the ears that listen to it."""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from certpca.checkpoint import Checkpoint
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

    A listener that returns ``False`` ends the run; so does the first Ctrl-C. With a checkpoint, states that are stored
    take the history and the seconds with them; limits are for this process alone.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        listener: Listener | None = None,
        after: "Progress | None" = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._budget = budget or Budget()
        self._listener = listener
        self._begin = time.perf_counter()
        self.earlier: float = 0.0 if after is None else after.earlier  # seconds of processes that ended before
        self._offset = 0.0 if after is None else after.seconds - after.earlier
        self.checkpoint = checkpoint
        self.resumed = False  # whether anything was taken from the checkpoint
        self._steps = 0
        self._history: list[Step] = [] if after is None else list(after.history)
        self.interrupted: bool = after is not None and after.interrupted  # one Ctrl-C ends a run and what follows it

    @property
    def seconds(self) -> float:
        """Time since the run began, that of the run before it and of earlier processes included."""
        return self.earlier + self._offset + time.perf_counter() - self._begin

    @property
    def history(self) -> tuple[Step, ...]:
        """Every step at which something became better."""
        return tuple(self._history)

    @property
    def remaining(self) -> float:
        """Seconds that are left."""
        return self._budget.seconds - (time.perf_counter() - self._begin)

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

    def followed(self, checkpoint: Checkpoint | None = None) -> "Progress":
        """Return the progress of what follows, for the same listener and with the time that is left."""
        rest = replace(self._budget, seconds=max(self.remaining, 1e-3))
        return Progress(rest, self._listener, self, checkpoint)

    def load(self, name: str) -> Any:
        """Return a state that was stored under this name, or None, and go on with its history."""
        stored = None if self.checkpoint is None else self.checkpoint.load(name)
        if stored is None:
            return None
        self.resumed = True
        self.earlier = max(self.earlier, stored["seconds"])
        self._history = [Step(*fields) for fields in stored["history"]]
        return stored["state"]

    def store(self, name: str, state: Callable[[], Any], *, now: bool = False) -> None:
        """Store a state where there is a checkpoint, unless one was stored a moment ago; `now` stores in any case."""
        if self.checkpoint is not None:
            self.checkpoint.store(name, lambda: self._with_history(state()), now=now)

    def finish(self, name: str, state: Callable[[], Any]) -> None:
        """Store the result of a part of the run, unless the part ended early, in place of all states of that part."""
        if self.checkpoint is not None and not self.exhausted:
            self.checkpoint.finish(name, lambda: self._with_history(state()))

    def _with_history(self, state: Any) -> dict[str, Any]:
        history = [[step.seconds, step.objective, step.upper_bound, step.note] for step in self._history]
        return {"seconds": self.seconds, "history": history, "state": state}

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
