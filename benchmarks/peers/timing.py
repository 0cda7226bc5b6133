"""How solvers are timed and, where they take a penalty instead of a sparsity, tuned.

With one thread the seconds are those of the processor: what else runs on the machine does not count. With several
they are those of the clock on the wall. Processor time is counted in ticks, so that short solves are repeated and their
mean counts; of seconds on the wall the least.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter, process_time
from typing import Any

import numpy as np
from benchmarks.peers.problem import Matrix, Problem

MOST_REPEATS = 2000
ENOUGH = 0.4  # seconds of the processor that say how long a short solve takes
MOST_FITS = 20
CLOSE = 0.98  # share of the allowed nonzeros that ends tuning
LARGEST_STEP = 10.0  # factor between penalties before one on either side is known
OUT_OF_TIME = "the processor time of a run is over"
FLAT = 1e-6  # penalties this close, relative to each other, differ by a tie that no penalty breaks


class NotAvailable(Exception):  # noqa: N818 — a peer that is absent is no error of ours
    """A peer cannot be run here; the message says why."""


@dataclass(frozen=True)
class Effort:
    """Seconds after which tuning takes what it has, and for how long on the wall a short solve is repeated."""

    patience: float
    repeat: float = 5.0
    threads: int = 1


@dataclass(frozen=True)
class Clocked:
    """A vector with the seconds of processor and wall measured where it was made: in another process, say."""

    vector: Matrix
    processor: float
    wall: float

    def seconds(self, effort: Effort) -> float:
        """Return the seconds that count."""
        return self.processor if effort.threads == 1 else self.wall


@dataclass(frozen=True)
class Answer:
    """Loadings, the seconds of the solve that found them, and those of the solves before it.

    `facts` holds what else a solver says: `bound`, an upper bound in the units of XᵀX, whether it is `proved`, ...
    """

    vector: Matrix
    seconds: float
    tuning_seconds: float = 0.0
    fits: int = 1
    wall_seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)


def timed(call: Callable[[], Matrix | Clocked], effort: Effort) -> Answer:
    """Solve, and again while it takes little time."""
    first = _clocked(call)
    runs, spent, begin = [first], first.processor, perf_counter() - first.wall
    while len(runs) < MOST_REPEATS and spent < ENOUGH and perf_counter() - begin < effort.repeat:
        runs.append(_clocked(call))
        spent += runs[-1].processor
    wall = min(run.wall for run in runs)
    return Answer(first.vector, spent / len(runs) if effort.threads == 1 else wall, wall_seconds=wall)


def tuned(fit: Callable[[float], Matrix | Clocked], first: float, sparsity: int, effort: Effort) -> Answer:
    """Bisect the penalty until at most `sparsity` loadings, and at least 98 % of them, are nonzero.

    `first` is the penalty to begin with; larger ones mean fewer nonzeros. Once the patience is spent, the
    feasible answer with most nonzeros so far is taken; without one, tuning goes on.
    """
    penalty, factor = first, 1.1
    total = 0.0
    low, high = 0.0, np.inf  # penalties with too many nonzeros, and with few enough
    best: tuple[int, float, Answer] | None = None
    fits = 0
    while fits < MOST_FITS:
        at = penalty
        made = _clocked(lambda: fit(at))  # noqa: B023 — called at once
        vector, seconds = made.vector, made.seconds(effort)
        fits, total = fits + 1, total + seconds
        found = int(np.count_nonzero(vector))
        if found > sparsity:
            low = max(low, penalty)
        else:
            high = min(high, penalty)
            if found and (best is None or found > best[0]):
                best = (found, penalty, Answer(vector, seconds, wall_seconds=made.wall))
        if best is not None and (best[0] >= CLOSE * sparsity or total > effort.patience):
            break
        if low > 0.0 and high < np.inf:
            if best is not None and high <= low * (1 + FLAT):
                break
            penalty = float(np.sqrt(low * high))
        else:
            penalty = penalty * factor if high == np.inf else penalty / factor
            factor = min(factor**2, LARGEST_STEP)
    if best is None:
        return Answer(vector, seconds, total - seconds, fits, made.wall)
    _, penalty, answer = best
    answer = replace(answer, tuning_seconds=max(total - answer.seconds, 0.0), fits=fits)
    if answer.seconds < effort.repeat:
        again = timed(lambda: fit(penalty), effort)
        answer = replace(answer, seconds=again.seconds, wall_seconds=again.wall_seconds)
    return answer


def soft_threshold(problem: Problem, sparsity: int) -> tuple[float, float]:
    """Return λ₁ and the penalty that leaves `sparsity` entries of Xᵀu, u the leading left singular vector."""
    largest, loadings = problem.leading()
    sizes = np.sort(np.abs(loadings))[::-1]
    return largest, max(float(sizes[min(sparsity, sizes.size - 1)]), 1e-6 * float(sizes[0]))


def _clocked(call: Callable[[], Matrix | Clocked]) -> Clocked:
    start, used = perf_counter(), process_time()
    made = call()
    processor, wall = process_time() - used, perf_counter() - start
    return made if isinstance(made, Clocked) else Clocked(made, processor, wall)
