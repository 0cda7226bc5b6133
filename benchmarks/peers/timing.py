"""How solvers are timed and, where they take a penalty instead of a sparsity, tuned."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from benchmarks.peers.problem import Matrix, Problem

MOST_REPEATS = 20
MOST_FITS = 20
CLOSE = 0.98  # share of the allowed nonzeros that ends tuning
LARGEST_STEP = 10.0  # factor between penalties before one on either side is known
FLAT = 1e-6  # penalties this close, relative to each other, differ by a tie that no penalty breaks


class NotAvailable(Exception):  # noqa: N818 — a peer that is absent is no error of ours
    """A peer cannot be run here; the message says why."""


@dataclass(frozen=True)
class Effort:
    """Seconds after which tuning takes what it has, and for how long a short solve is repeated: the least counts."""

    patience: float
    repeat: float = 5.0


@dataclass(frozen=True)
class Clocked:
    """A vector with the seconds measured where it was made: in another process, say."""

    vector: Matrix
    seconds: float


@dataclass(frozen=True)
class Answer:
    """Loadings, the seconds of the solve that found them, and those of the solves before it.

    `facts` holds what else a solver says: `bound`, an upper bound in the units of XᵀX, whether it is `proved`, ...
    """

    vector: Matrix
    seconds: float
    tuning_seconds: float = 0.0
    fits: int = 1
    facts: dict[str, Any] = field(default_factory=dict)


def timed(call: Callable[[], Matrix | Clocked], effort: Effort) -> Answer:
    """Solve, and again while it takes little time."""
    vector, seconds = _clocked(call)
    for _ in range(min(MOST_REPEATS, int(effort.repeat / max(seconds, 1e-9)))):
        seconds = min(seconds, _clocked(call)[1])
    return Answer(vector, seconds)


def tuned(fit: Callable[[float], Matrix | Clocked], first: float, sparsity: int, effort: Effort) -> Answer:
    """Bisect the penalty until at most `sparsity` loadings, and at least 98 % of them, are nonzero.

    `first` is the penalty to begin with; larger ones mean fewer nonzeros. Once the patience is spent, the
    feasible answer with most nonzeros so far is taken; without one, tuning goes on.
    """
    start = perf_counter()
    penalty, factor = first, 1.1
    low, high = 0.0, np.inf  # penalties with too many nonzeros, and with few enough
    best: tuple[int, float, Answer] | None = None
    fits = 0
    while fits < MOST_FITS:
        at = penalty
        vector, seconds = _clocked(lambda: fit(at))  # noqa: B023 — called at once
        fits += 1
        found = int(np.count_nonzero(vector))
        if found > sparsity:
            low = max(low, penalty)
        else:
            high = min(high, penalty)
            if found and (best is None or found > best[0]):
                best = (found, penalty, Answer(vector, seconds))
        if best is not None and (best[0] >= CLOSE * sparsity or perf_counter() - start > effort.patience):
            break
        if low > 0.0 and high < np.inf:
            if best is not None and high <= low * (1 + FLAT):
                break
            penalty = float(np.sqrt(low * high))
        else:
            penalty = penalty * factor if high == np.inf else penalty / factor
            factor = min(factor**2, LARGEST_STEP)
    total = perf_counter() - start
    if best is None:
        return Answer(vector, seconds, total - seconds, fits)
    _, penalty, answer = best
    answer = replace(answer, tuning_seconds=max(total - answer.seconds, 0.0), fits=fits)
    if answer.seconds < effort.repeat:
        again = timed(lambda: fit(penalty), effort)
        answer = replace(answer, seconds=min(answer.seconds, again.seconds))
    return answer


def soft_threshold(problem: Problem, sparsity: int) -> tuple[float, float]:
    """Return λ₁ and the penalty that leaves `sparsity` entries of Xᵀu, u the leading left singular vector."""
    largest, loadings = problem.leading()
    sizes = np.sort(np.abs(loadings))[::-1]
    return largest, max(float(sizes[min(sparsity, sizes.size - 1)]), 1e-6 * float(sizes[0]))


def _clocked(call: Callable[[], Matrix | Clocked]) -> tuple[Matrix, float]:
    start = perf_counter()
    made = call()
    seconds = perf_counter() - start
    return (made.vector, made.seconds) if isinstance(made, Clocked) else (made, seconds)
