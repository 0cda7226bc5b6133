"""Long steps that end where it gets late."""

from collections.abc import Callable

Late = Callable[[], bool]  # whether a long step must end now


class OutOfTimeError(Exception):
    """Leaves a computation that has nothing to show before its end; never leaves the package."""


def never() -> bool:
    """Say that there is time."""
    return False


def require_time(late: Late) -> None:
    """Leave a computation that has nothing to show before its end, where it gets late."""
    if late():
        raise OutOfTimeError
