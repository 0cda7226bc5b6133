"""A search over supports on disk: every dual point once, in batches as they are found, and the rest anew each time."""

from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import PairPoint
from certpca.bounds.support_tree.search import TreeSearch
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.budget import Progress

NAME = "tree"


class TreeStates:
    """Stores where a search stands, and takes it up again."""

    def __init__(self, search: TreeSearch, progress: Progress) -> None:
        self._search, self._progress = search, progress
        self._batches: list[int] = []  # how many points each holds

    def take_up(self) -> None:
        """Let the search go on where it was stored, if it was."""
        state = self._progress.load(NAME)
        if state is None:
            return
        assert self._progress.checkpoint is not None
        self._batches = state["batches"]
        points: list[PairPoint] = []
        for number in range(len(self._batches)):
            points += [_point(**fields) for fields in self._progress.checkpoint.require(_batch(number))]
        self._search.restore(state["search"], points)

    def store(self, *, now: bool = False) -> None:
        """Store where the search stands."""
        self._progress.store(NAME, self._state, now=now)

    def _state(self) -> dict[str, Any]:
        assert self._progress.checkpoint is not None
        new = self._search.points[sum(self._batches) :]
        if new:
            name = _batch(len(self._batches))
            self._progress.checkpoint.store(name, lambda: [_fields(point) for point in new], now=True)
            self._batches.append(len(new))
        return {"batches": self._batches, "search": self._search.state()}


def _batch(number: int) -> str:
    return f"{NAME}-points-{number}"


def _fields(point: PairPoint) -> dict[str, Any]:
    """Pack U above and K below the diagonal; both hold numbers of single precision only."""
    packed = (np.triu(point.u) + np.tril(point.k, -1)).astype(np.float32)
    return {"features": point.features, "packed": packed, "alpha": point.alpha}


def _point(features: Indices, packed: Vector, alpha: Vector) -> PairPoint:
    pairs = packed.astype(np.float64)
    upper, lower = np.triu(pairs), np.tril(pairs, -1)
    return PairPoint(features, upper + np.triu(upper, 1).T, lower - lower.T, alpha)
