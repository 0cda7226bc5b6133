"""When to give up on a bound: more time would hardly help."""

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
        now = self._progress.seconds - self._begin
        gap = share_lost(objective, upper_bound)
        self._seen.append((now, gap))
        since = [(at, wide) for at, wide in self._seen if at >= (1 - SLICE) * now]
        earlier = next((wide for at, wide in reversed(self._seen) if at < (1 - SLICE) * now), None)
        if (
            now < limits().patience
            or len(since) < STEPS
            or earlier is None
            or not gap > (1 - limits().least_progress) * earlier
        ):
            return False
        self._progress.stalled = True
        return True
