"""Many supports at a time: keep the largest entries of images, multiply, and let the better ones go on.

Since (Fᵀξ)_i with ξ ∝ Fx is (Ax)_i, multiplying and keeping the largest entries is alternating thresholding in sample
space. Products with the data are what that costs, so all starts share them; those that meet go on as one; and what a
start captures is known after half a product, so that only the promising ones have the other half.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import Indices, Vector, top_k
from certpca.runtime.budget import Progress

FLAT = 1e-4  # gain of the best in a round below which few are followed no further: refitting improves them by more


@dataclass(frozen=True, slots=True, eq=False)
class Runners:
    """Sparse unit vectors of the same width, one in each row: sorted supports, and loadings on them."""

    supports: Indices
    loadings: Vector

    @classmethod
    def thresholded(cls, images: Vector, sparsity: int) -> Self:
        """Keep the largest entries of each row of images."""
        supports = largest_in_rows(np.abs(images), sparsity)
        loadings = at_places(images, supports).astype(np.float64, copy=False)
        lengths = np.sqrt(np.einsum("ij,ij->i", loadings, loadings))
        return cls(supports, loadings / np.maximum(lengths, np.finfo(float).tiny)[:, None])

    @classmethod
    def together(cls, parts: "list[Self]") -> Self:
        """Put several one after the other."""
        return cls(np.concatenate([part.supports for part in parts]), np.concatenate([part.loadings for part in parts]))

    def __len__(self) -> int:
        """Return how many there are."""
        return int(self.supports.shape[0])

    def take(self, which: Indices) -> "Runners":
        """Return some of them, in the order given."""
        return Runners(self.supports[which], self.loadings[which])


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A support that a start came to, and what its thresholded loadings captured, or its best ones, where known."""

    value: float
    support: Indices
    loadings: Vector | None = None

    @property
    def fitted(self) -> tuple[float, Vector] | None:
        """What the best loadings capture, and these, where they are known."""
        return None if self.loadings is None else (self.value, self.loadings)


def at_places(table: Vector, places: Indices) -> Vector:
    """Return the entries of each row at the places of that row."""
    found: Vector = table[np.arange(places.shape[0])[:, None], places]
    return found


def largest_in_rows(values: Vector, count: int) -> Indices:
    """Return the sorted places of the largest values of each row; ties go to the lower place.

    Examples
    --------
    >>> import numpy as np
    >>> largest_in_rows(np.array([[3.0, 1.0, 3.0, 2.0], [0.0, 5.0, 5.0, 5.0]]), 2)
    array([[0, 2],
           [1, 2]])
    """
    rows, size = values.shape
    if count >= size:
        return np.tile(np.arange(size), (rows, 1))
    level = np.partition(values, size - count, axis=1)[:, size - count, None]
    chosen = values >= level
    if np.count_nonzero(chosen) != rows * count:
        for row in np.flatnonzero(chosen.sum(axis=1) != count):  # ties
            chosen[row] = False
            chosen[row, top_k(values[row], count)] = True
    return np.nonzero(chosen)[1].reshape(rows, count)


def unseen(supports: Indices, seen: set[bytes]) -> Indices:
    """Return the places of rows that were not seen before, neither among these nor earlier; they are from now on."""
    supports = np.ascontiguousarray(supports)
    keys: list[Any] = supports.view(np.dtype((np.void, supports.itemsize * supports.shape[1]))).ravel().tolist()
    first = [row for row, key in enumerate(keys) if key not in seen and not seen.add(key)]  # type: ignore[func-returns-value]
    return np.array(first, dtype=np.intp)


class Race:
    """Rounds of thresholding for starts of one sparsity, and the best supports that they came by.

    Parameters
    ----------
    operator, sparsity
        The matrix, on the host, and the width of supports.
    finalists
        How many supports are asked for; so many are followed to the end.
    following
        How many starts have a first product; a half of them, or one in `cut`, has the next.
    """

    def __init__(self, operator: Operator, sparsity: int, finalists: int, following: int, cut: int = 2) -> None:
        self._operator, self._sparsity = operator, sparsity
        self._finalists, self._following, self._cut = finalists, following, cut
        self._best: dict[bytes, Arrival] = {}

    @property
    def best(self) -> list[Arrival]:
        """The finalists, the best first."""
        return sorted(self._best.values(), key=lambda arrival: -arrival.value)[: self._finalists]

    def run(self, panels: Iterable[Vector], rounds: int, progress: Progress) -> None:
        """Threshold panels of starting images, one image in each column, and follow the best of them."""
        entered = []
        for panel in panels:
            entered.append(Runners.thresholded(np.ascontiguousarray(panel.T), self._sparsity))
            if progress.late():
                break
        runners = self._fresh(Runners.together(entered), set())
        if len(runners) > self._following:
            values = self._operator.captured(runners.supports, runners.loadings)
            runners = runners.take(_largest(values, self._following))
        self._rounds(runners, rounds, progress)

    def _rounds(self, runners: Runners, rounds: int, progress: Progress) -> None:
        seen: set[bytes] = set()
        top = 0.0
        for number in range(rounds):
            runners = self._fresh(runners, seen)
            if len(runners) == 0:
                return
            images = self._operator.images(runners.supports, runners.loadings)
            values = np.einsum("ij,ij->i", runners.loadings, at_places(images, runners.supports))
            self._note(runners, values)
            before, top = top, max(top, float(values.max()))
            flat = len(runners) <= self._finalists and top <= before * (1 + FLAT)
            if not progress.tick(top) or flat or number == rounds - 1:
                return
            ahead = _largest(values, max(self._finalists, len(runners) // self._cut))
            runners = Runners.thresholded(images[ahead], self._sparsity)

    def _note(self, runners: Runners, values: Vector) -> None:
        """Remember the best of a round; others of it have enough better ones beside them never to be asked for."""
        for row in _largest(values, self._finalists):
            support = runners.supports[row]
            key = support.tobytes()
            if key not in self._best or values[row] > self._best[key].value:
                self._best[key] = Arrival(float(values[row]), support)

    @staticmethod
    def _fresh(runners: Runners, seen: set[bytes]) -> Runners:
        """Return those on supports where nobody was before: starts that met are followed once, those that stay end."""
        first = unseen(runners.supports, seen)
        return runners if first.size == len(runners) else runners.take(first)


def _largest(values: Vector, count: int) -> Indices:
    """Return the places of the largest values, in the order of places."""
    return np.sort(np.argsort(-values, kind="stable")[:count])
