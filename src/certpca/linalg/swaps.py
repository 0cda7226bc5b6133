"""Score exchanges of one support index for an outside one, all in closed form.

With unit loadings x on a support S, image g = Ax and r the unit vector left of x when its
entry i is removed, the best vector in the plane of r and e_j has the value of a 2×2 matrix

    [ p  c ]      p = (λ − 2 x_i g_i + x_i² A_ii) / (1 − x_i²)
    [ c  q ]      q = A_jj,   c = (g_j − A_ij x_i) / √(1 − x_i²)

which bounds the refitted objective of S − i + j from below. Since |A_ij| ≤ √(A_ii A_jj), most
pairs are excluded before any column of A is computed.
"""

from dataclasses import dataclass

import numpy as np

from certpca.arrays import Indices, Vector, to_vector, top_k
from certpca.linalg.eigen import leading_on_support
from certpca.operators.base import Operator

GAIN_TOLERANCE = 1e-10  # relative improvement below which two supports count as equal
CACHE_BYTES = 256 << 20  # columns of the support are kept between swaps up to this
BATCH = 64


@dataclass(frozen=True, slots=True, eq=False)
class Swaps:
    """For each position in the support worth leaving, the best outsider and the value reached."""

    positions: Indices
    outsiders: Indices
    values: Vector


@dataclass(slots=True, eq=False)
class SwapSearch:
    """A support, its refitted loadings and everything swap scores need. Host operators only."""

    operator: Operator
    support: Indices
    diagonal: Vector
    loadings: Vector
    objective: float
    _columns: Vector | None = None

    @classmethod
    def start(cls, operator: Operator, support: Indices, diagonal: Vector) -> "SwapSearch":
        """Begin at a support, refitting its loadings."""
        objective, loadings = leading_on_support(operator, support)
        search = cls(operator, support, diagonal, loadings, objective)
        if 8 * operator.size * support.size <= CACHE_BYTES:
            search._columns = to_vector(operator.columns(support))
        return search

    def image(self) -> Vector:
        """Multiply the operator by the loadings."""
        if self._columns is not None:
            return self._columns @ self.loadings
        panel = np.zeros((self.operator.size, 1))
        panel[self.support, 0] = self.loadings
        return to_vector(self.operator.matmat(self.operator.adopt(panel)))[:, 0]

    def improving_swaps(self) -> Swaps:
        """Return every position whose best swap raises the objective, best swap first."""
        size, diagonal = self.operator.size, self.diagonal
        entry, image = self.loadings, self.image()
        outside = np.ones(size, dtype=bool)
        outside[self.support] = False
        if not outside.any() or self.support.size < 2:
            return Swaps(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
        outer = np.flatnonzero(outside)
        own = diagonal[self.support]
        left = np.maximum(1.0 - entry**2, 1e-300)
        rest = np.maximum(self.objective - 2 * entry * image[self.support] + entry**2 * own, 0.0) / left
        reach = np.abs(image[outer])
        spread = np.sqrt(np.maximum(diagonal[outer], 0.0))
        goal = self.objective * (1 + GAIN_TOLERANCE)

        largest_cross = (reach.max() + np.abs(entry) * np.sqrt(own) * spread.max()) / np.sqrt(left)
        limit = _larger_eigenvalue(rest, diagonal[outer].max(), largest_cross)
        worth = np.flatnonzero(limit > goal)
        worth = worth[np.argsort(-limit[worth], kind="stable")]
        found: list[tuple[float, int, int]] = []
        for first in range(0, worth.size, BATCH):
            batch = worth[first : first + BATCH]
            cross = (reach[:, None] + spread[:, None] * (np.abs(entry) * np.sqrt(own))[batch]) / np.sqrt(left[batch])
            bound = _larger_eigenvalue(rest[batch], diagonal[outer, None], cross)
            batch = batch[bound.max(axis=0) > goal]
            if batch.size == 0:
                continue
            columns = self._some_columns(batch)[outer]
            cross = (image[outer, None] - columns * entry[batch]) / np.sqrt(left[batch])
            value = _larger_eigenvalue(rest[batch], diagonal[outer, None], cross)
            best = value.argmax(axis=0)
            for column, position in enumerate(batch):
                reached = float(value[best[column], column])
                if reached > goal:
                    found.append((reached, int(position), int(outer[best[column]])))
        found.sort(key=lambda swap: (-swap[0], swap[1]))
        return Swaps(
            np.array([swap[1] for swap in found], dtype=np.intp),
            np.array([swap[2] for swap in found], dtype=np.intp),
            np.array([swap[0] for swap in found], dtype=np.float64),
        )

    def apply(self, swaps: Swaps, count: int) -> bool:
        """Make the first swaps that do not collide; keep them only if the objective rises."""
        taken: dict[int, int] = {}
        for position, outsider in zip(swaps.positions, swaps.outsiders, strict=True):
            if outsider not in taken.values():
                taken[int(position)] = int(outsider)
            if len(taken) == count:
                break
        support = self.support.copy()
        support[list(taken)] = list(taken.values())
        order = np.argsort(support)
        start = self.loadings[order]
        objective, loadings = leading_on_support(self.operator, support[order], start=start)
        if objective <= self.objective * (1 + GAIN_TOLERANCE):
            return False
        if self._columns is not None:
            fresh = to_vector(self.operator.columns(np.array(list(taken.values()), dtype=np.intp)))
            columns = self._columns
            columns[:, list(taken)] = fresh
            self._columns = columns[:, order]
        self.support, self.loadings, self.objective = support[order], loadings, objective
        return True

    def threshold(self) -> bool:
        """Move to the largest entries of the image; keep the move only if the objective rises."""
        support = top_k(np.abs(self.image()), self.support.size)
        if np.array_equal(support, self.support):
            return False
        objective, loadings = leading_on_support(self.operator, support)
        if objective <= self.objective * (1 + GAIN_TOLERANCE):
            return False
        if self._columns is not None:
            self._columns = to_vector(self.operator.columns(support))
        self.support, self.loadings, self.objective = support, loadings, objective
        return True

    def _some_columns(self, positions: Indices) -> Vector:
        if self._columns is not None:
            return self._columns[:, positions]
        return to_vector(self.operator.columns(self.support[positions]))


def _larger_eigenvalue(first: Vector, second: Vector | float, cross: Vector) -> Vector:
    """Return the larger eigenvalue of [[first, cross], [cross, second]], elementwise."""
    return np.asarray((first + second) / 2 + np.hypot((first - second) / 2, cross))
