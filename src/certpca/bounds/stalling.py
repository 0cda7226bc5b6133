"""When to give up on a bound: more time would hardly help."""

from collections.abc import Sequence

from certpca.results.certificate import share_lost
from certpca.runtime.budget import Progress
from certpca.runtime.limits import limits

SLICE = 0.5  # the last share of the time so far, in which
STEPS = 8  # and in which that many steps were made


class Stall:
    """Watches the gap of one part of a proof.

    A bound that closed less than a fiftieth of the gap in the second half of the time so far would need as long again
    to close as little. The rule is about shares of time, so that a search which is slow at every scale may go on.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._begin = progress.seconds
        self._seen: list[tuple[float, float]] = []

    def over(self, objective: float, upper_bound: float) -> bool:
        """Note where the search stands, and say whether it should end."""
        self._seen.append((self._progress.seconds - self._begin, share_lost(objective, upper_bound)))
        if not stalled(self._seen):
            return False
        self._progress.stalled = True
        return True


def stalled(seen: Sequence[tuple[float, float]]) -> bool:
    """Say whether a bound should be given up, of which these are seconds so far and the gap then, after each step."""
    now, gap = seen[-1]
    since = [at for at, _ in seen if at >= (1 - SLICE) * now]
    earlier = next((wide for at, wide in reversed(seen) if at < (1 - SLICE) * now), None)
    if now < limits().patience or len(since) < STEPS or earlier is None:
        return False
    return gap > (1 - limits().least_progress) * earlier
