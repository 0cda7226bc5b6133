"""Limits on work, the history of a run, and the ears that listen to it.

A limit on time is one moment, the deadline of the whole call. A part of it gets a share of the time that is left; a
signal or a listener that ends one part ends all.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

from certpca.runtime.checkpoint import Checkpoint
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.interrupts import Call
from certpca.runtime.packing import Adopt, Kept
from certpca.runtime.rounded import times_two_to

DEFAULT_SECONDS = 600.0  # for a call that proves something, where no budget is given
clock = time.perf_counter  # tests put another one here


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work a call may do.

    Parameters
    ----------
    seconds : float
        Wall-clock limit for the whole call, reading of data in memory and proofs included. The best answer so far is
        returned then. What cannot be cut short, such as one product with the data and the cheapest proof, can take
        the call a little over it.
    steps : float
        Largest number of steps; what a step is, each solver says.

    See Also
    --------
    solve : Its `time_limit` is enough where steps need no limit.

    Examples
    --------
    >>> import certpca
    >>> certpca.solve(certpca.pitprops(), 3, budget=certpca.Budget(seconds=60, steps=100)).support.size
    3
    """

    seconds: float = math.inf
    steps: float = math.inf

    def __post_init__(self) -> None:
        """Refuse limits that leave no room for any work."""
        numbers = all(isinstance(limit, Real) and not isinstance(limit, bool) for limit in (self.seconds, self.steps))
        if not numbers or not self.seconds > 0 or not self.steps >= 1:
            msg = f"a budget needs seconds > 0 and steps >= 1, got {self.seconds!r} and {self.steps!r}"
            raise InvalidProblemError(msg)


@dataclass(frozen=True, slots=True)
class Step:
    """What was known at one moment of a run.

    Parameters
    ----------
    seconds : float
        Since the run began.
    objective : float
        Variance captured by the best component so far.
    upper_bound : float
        What is known that none exceeds; infinite while nothing is.
    note : str
        What else there is to say.

    See Also
    --------
    solve : Its `listener` is called with each, and `Solution.history` keeps those at which something became better.

    Examples
    --------
    >>> import certpca
    >>> steps = []
    >>> solution = certpca.solve(certpca.pitprops(), 3, "truncated-power", listener=steps.append)
    >>> steps[-1].objective <= solution.objective * (1 + 1e-9)
    True
    """

    seconds: float
    objective: float
    upper_bound: float = math.inf
    note: str = ""


Listener = Callable[[Step], object]


class Progress:
    """Counts steps against a budget, keeps the history and tells the listener.

    A listener that returns ``False`` ends the run; so does the first Ctrl-C. `cut_short` says whether that happened, or
    a limit ended anything. With a checkpoint, states that are stored take the history and the seconds with them.

    Parameters
    ----------
    budget : Budget, optional
        The limits; by default none.
    listener : callable, optional
        Called with each `Step`.
    checkpoint : Checkpoint, optional
        Where states are stored.

    See Also
    --------
    Solver : Its `propose` is given one, for `tick` and `late`.

    Examples
    --------
    >>> import certpca
    >>> progress = certpca.Progress(certpca.Budget(steps=2))
    >>> progress.tick(1.0), progress.tick(2.0), progress.cut_short
    (True, False, True)
    """

    def __init__(
        self, budget: Budget | None = None, listener: Listener | None = None, checkpoint: Checkpoint | None = None
    ) -> None:
        self._budget = budget or Budget()
        self.listener = listener
        self._begin = clock()
        self.deadline = self._begin + self._budget.seconds
        self.earlier: float = 0.0  # seconds of processes that ended before
        self._offset = 0.0
        self.checkpoint = checkpoint
        self.resumed = False  # whether anything was taken from the checkpoint
        self.cut_short = False
        self.stalled = False  # whether a proof ended because more time would hardly have helped
        self._set_aside = 0.0
        self._steps = 0
        self._history: list[Step] = []
        self.power = 0  # steps are told in units of the data: those of the algorithm times two to this
        self._call = Call()
        self._whole: Progress | None = None  # what this is a part of

    def part(
        self,
        share: float = 1.0,
        checkpoint: Checkpoint | None = None,
        *,
        after: "Progress | None" = None,
        quiet: bool = False,
    ) -> "Progress":
        """Return the progress of a part of the run, which counts steps anew, with a share of the time that is left.

        Parameters
        ----------
        share : float
            Of the time that is left.
        checkpoint : Checkpoint, optional
            Where the part stores its states.
        after : Progress, optional
            What the part comes after: it goes on with its history and seconds, instead of beginning its own.
        quiet : bool
            Tell the listener nothing.

        Returns
        -------
        Progress
            A signal or a listener that ends it ends the whole.
        """
        inner = Progress(self._budget, None if quiet else self.listener, checkpoint)
        inner.deadline = inner._begin + max(share * self.spare, 0.0)
        inner._call, inner._whole, inner.power = self._call, self, self.power
        if after is not None:
            inner.earlier, inner._offset = after.earlier, after.seconds - after.earlier
            inner._history = list(after.history)
        return inner

    @property
    def seconds(self) -> float:
        """Time since the run began, that of the run before it and of earlier processes included."""
        return self.earlier + self._offset + clock() - self._begin

    @property
    def history(self) -> tuple[Step, ...]:
        """Every step at which something became better."""
        return tuple(self._history)

    @property
    def remaining(self) -> float:
        """Seconds that are left."""
        return self.deadline - clock()

    @property
    def spare(self) -> float:
        """Seconds that are left but for what is set aside."""
        return self.remaining - self._set_aside

    @property
    def allowed(self) -> float:
        """Seconds that the whole call was given."""
        return self._budget.seconds

    @property
    def timed(self) -> bool:
        """Whether there is a limit on time."""
        return math.isfinite(self.deadline)

    @property
    def interrupted(self) -> bool:
        """Whether the user ended the call, any part of it."""
        return self._call.stopped or self._call.signal is not None

    @property
    def signal(self) -> int | None:
        """The signal that ended the call."""
        return self._call.signal

    def interrupt(self) -> None:
        """End the call, all parts of it."""
        self._call.stopped = True

    def late(self, aside: float = 0.0) -> bool:
        """Say whether a long step must end now: the time is over but for what is set aside, or the user ended the run.

        Parameters
        ----------
        aside : float
            Seconds that are to be left beside what is set aside.

        Returns
        -------
        bool
            Whether to end.
        """
        return self._noted(self.interrupted or self.spare <= aside)

    @property
    def steps_left(self) -> float:
        """How many steps there may still be."""
        return max(self._budget.steps - self._steps, 0)

    @property
    def exhausted(self) -> bool:
        """Whether the run must end now."""
        return self._noted(self._steps >= self._budget.steps) or self.late()

    def run_out(self) -> None:
        """Note that something was left undone because there was no time for it."""
        self._noted(True)

    def _noted(self, over: bool) -> bool:
        part: Progress | None = self if over else None
        while part is not None:
            part.cut_short, part = True, part._whole
        return over

    @contextlib.contextmanager
    def setting_aside(self, seconds: float) -> Iterator[None]:
        """Keep the last seconds for what comes after, such as a proof.

        Parameters
        ----------
        seconds : float
            How many.

        Yields
        ------
        None
            While they are kept.
        """
        before = self._set_aside
        self._set_aside = before + max(seconds, 0.0)
        try:
            yield
        finally:
            self._set_aside = before

    def tick(self, objective: float, upper_bound: float = math.inf, note: str = "") -> bool:
        """Count one step and say whether there may be another.

        Parameters
        ----------
        objective : float
            Variance captured by the best component so far.
        upper_bound : float
            What is known that none exceeds.
        note : str
            Tells people more.

        Returns
        -------
        bool
            Whether to go on.
        """
        self._steps += 1
        best = self._history[-1] if self._history else Step(0.0, -math.inf)
        step = Step(
            self.seconds,
            max(times_two_to(objective, self.power, 0.0), best.objective),
            min(times_two_to(upper_bound, self.power, math.inf), best.upper_bound),
            note,
        )
        if step.objective > best.objective or step.upper_bound < best.upper_bound:
            self._history.append(step)
        if self.listener is not None and self.listener(step) is False:
            self.interrupt()
        return not self.exhausted

    def load(
        self, name: str, kind: Any = Any, *, about: Any = None, kept: Kept | None = None, adopt: Adopt | None = None
    ) -> Any:
        """Return a state of that kind that was stored under this name, or None, and go on with its history.

        Parameters
        ----------
        name : str
            Under which it was stored.
        kind : type
            What it is read as.
        about : Any
            What it must have been stored about; one about something else is none.
        kept : Kept, optional
            Parts that are stored by themselves, as for `store`.
        adopt : callable, optional
            Places arrays where they are needed.

        Returns
        -------
        Any
            The state, or None.
        """
        hint = tuple[float, list[Step], Any, kind]
        stored = None if self.checkpoint is None else self.checkpoint.load(name, hint, kept=kept, adopt=adopt)
        if stored is None or stored[2] != about:
            return None
        self.resumed = True
        self.earlier = max(self.earlier, stored[0])
        self._history = stored[1]
        return stored[3]

    def store(self, name: str, state: Any, *, now: bool = False, about: Any = None, kept: Kept | None = None) -> None:
        """Store a state where there is a checkpoint, unless one was stored a moment ago.

        Parameters
        ----------
        name : str
            Under which it can be loaded.
        state : Any
            Plain values, arrays and data classes.
        now : bool
            Store in any case.
        about : Any
            What it is about; see `load`.
        kept : Kept, optional
            Parts that are stored by themselves, once.
        """
        if self.checkpoint is not None:
            self.checkpoint.store(name, (self.seconds, self._history, about, state), now=now, kept=kept)

    def finish(self, name: str, state: Any) -> None:
        """Store the result of a part of the run, unless the part ended early, in place of all states of that part.

        Parameters
        ----------
        name : str
            Under which it can be loaded.
        state : Any
            The result.
        """
        if self.checkpoint is not None and self.whole:
            self.checkpoint.finish(name, (self.seconds, self._history, None, state))

    @property
    def whole(self) -> bool:
        """Whether nothing was left out for want of time, so that what was found is what any run would find."""
        return not self.exhausted and not self.cut_short

    def until_interrupted(self, *, terminated: bool = False) -> contextlib.AbstractContextManager[None]:
        """Let the first Ctrl-C end the call at its next step, and the second raise.

        Parameters
        ----------
        terminated : bool
            So does the signal SIGTERM. Only a program that writes its answer and ends may ask for that.

        Returns
        -------
        context manager
            Inside it signals are listened for.
        """
        return self._call.until_interrupted(terminated=terminated)


def begun(
    budget: "Budget | Progress | None",
    listener: Listener | None,
    *,
    proving: bool = False,
    default_seconds: float = DEFAULT_SECONDS,
) -> Progress:
    """Start the clock of a call; a call that is part of another is given that one's progress.

    Proofs end after `default_seconds` where no budget is given; ``Budget()`` has no limits.
    """
    if isinstance(budget, Progress):
        return budget
    if budget is None and proving:
        budget = Budget(seconds=default_seconds)
    return Progress(budget, listener)
