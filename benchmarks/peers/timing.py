"""How solvers are timed and, where they take a penalty instead of a sparsity, tuned."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from benchmarks.peers.objective import Matrix

SHORT = 5.0  # seconds: a shorter solve is repeated for about that long and the least time counts
MOST_REPEATS = 20
MOST_FITS = 14
CLOSE = 0.98  # share of the allowed nonzeros that ends tuning


@dataclass(frozen=True)
class Answer:
    """Loadings, the seconds of the solve that found them, and those of the solves before it."""

    vector: Matrix
    seconds: float
    tuning_seconds: float = 0.0
    fits: int = 1


def timed(call: Callable[[], Matrix]) -> Answer:
    start = perf_counter()
    vector = call()
    seconds = perf_counter() - start
    for _ in range(min(MOST_REPEATS, int(SHORT / seconds))):
        start = perf_counter()
        call()
        seconds = min(seconds, perf_counter() - start)
    return Answer(vector, seconds)


def tuned(fit: Callable[[float], Matrix], data: Matrix, sparsity: int, patience: float) -> Answer:
    """Bisect the penalty until at most `sparsity` loadings, and at least 98 % of them, are nonzero.

    The start is the penalty that soft-thresholds the leading component to `sparsity` loadings. After `patience`
    seconds the feasible answer with most nonzeros so far is taken; without one, tuning goes on.
    """
    start = perf_counter()
    penalty, factor = _first_penalty(data, sparsity), 1.1
    low, high = 0.0, np.inf  # penalties with too many nonzeros, and with few enough
    best: tuple[int, float, Answer] | None = None
    fits = 0
    while fits < MOST_FITS:
        before = perf_counter()
        vector = fit(penalty)
        seconds = perf_counter() - before
        fits += 1
        found = int(np.count_nonzero(vector))
        if found > sparsity:
            low = max(low, penalty)
        else:
            high = min(high, penalty)
            if best is None or found > best[0]:
                best = (found, penalty, Answer(vector, seconds))
        if best is not None and (best[0] >= CLOSE * sparsity or perf_counter() - start > patience):
            break
        if low > 0.0 and high < np.inf:
            penalty = float(np.sqrt(low * high))
        else:
            penalty = penalty * factor if high == np.inf else penalty / factor
            factor **= 2
    total = perf_counter() - start
    if best is None:
        return Answer(vector, seconds, total - seconds, fits)
    _, penalty, answer = best
    answer = replace(answer, tuning_seconds=total - answer.seconds, fits=fits)
    if answer.seconds < SHORT:
        again = timed(lambda: fit(penalty))
        answer = replace(answer, seconds=min(answer.seconds, again.seconds))
    return answer


def _first_penalty(data: Matrix, sparsity: int) -> float:
    left: Matrix = np.random.default_rng(0).standard_normal((data.shape[0], 1)).astype(data.dtype)
    for _ in range(15):
        left = data @ (data.T @ left)
        left /= np.linalg.norm(left)
    sizes = np.sort(np.abs(data.T @ left).ravel())[::-1]
    return float(sizes[min(sparsity, sizes.size - 1)])
