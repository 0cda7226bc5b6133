"""Long iterations that another process can take up where this one ends."""

from collections.abc import Callable
from typing import Any, TypeVar

from certpca.runtime.budget import Progress
from certpca.runtime.lateness import OutOfTimeError
from certpca.runtime.packing import Adopt, Kept

State = TypeVar("State")
Told = tuple[float, float, str]  # objective, upper bound and a note


def resumable(
    step: Callable[[State], State],
    start: Callable[[], State],
    progress: Progress,
    name: str,
    kind: type[State],
    *,
    enough: Callable[[State], bool],
    tell: Callable[[State], Told] | None = None,
    late: Callable[[State], bool] | None = None,
    about: Any = None,
    kept: type | None = None,
    adopt: Adopt | None = None,
    only_whole: bool = False,
    keep_last: bool = True,
) -> State:
    """Repeat ``state = step(state)`` until that is enough or there is no more time, and return the last state.

    The algorithm knows nothing of files: its state is a dataclass (see `packing`), and what it does next depends on
    that alone. Where there is a checkpoint, the state that an earlier process stored takes the place of the first one.

    Parameters
    ----------
    step, start
        Make the next state and the first. A step that raises `OutOfTimeError` has nothing to show: the state before it
        is the last.
    name, kind
        Under which name states are stored, and their class.
    enough
        Whether a state needs no further step; asked once for each.
    tell
        What each state tells the history and the listener.
    late
        Whether to end now. By default that is when there is no time for a step as long as the last.
    about
        A plain value: states stored about another one are left alone.
    kept
        A class of objects that never change and are stored once.
    adopt
        Places arrays where the data are.
    only_whole
        Store no state in which a limit had a hand.
    keep_last
        Store a state that is enough however short ago one was stored; not worth it where what follows stores it too.
    """
    stored_once = None if kept is None else Kept(kept)
    state: State | None = progress.load(name, kind, about=about, kept=stored_once, adopt=adopt)
    begin = progress.seconds
    try:
        state = start() if state is None else state
        while True:
            begin, took = progress.seconds, progress.seconds - begin
            with progress.setting_aside(took if late is None else 0.0):
                going = not progress.exhausted if tell is None else progress.tick(*tell(state))
            going = going and not (late is not None and late(state))
            over = not going or enough(state)
            if progress.whole or not only_whole:
                progress.store(name, state, now=not going or (over and keep_last), about=about, kept=stored_once)
            if over:
                return state
            state = step(state)
    except OutOfTimeError:
        if state is None:
            raise
        progress.store(name, state, now=True, about=about, kept=stored_once)
        return state


def once(make: Callable[[], State], progress: Progress, name: str, kind: Any) -> State:
    """Make something, or take it from the checkpoint; it is stored unless what led to it was cut short."""
    known: State | None = progress.load(name, kind)
    if known is not None:
        return known
    made = make()
    if progress.whole:
        progress.store(name, made, now=True)
    return made
