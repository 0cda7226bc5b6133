"""Score exchanges of one support index for an outside one, all in closed form.

With unit loadings x on a support S, image g = Ax, objective λ, and r the unit vector left of x
when its entry i is removed, the best vector in the plane of r and e_j has the value of a 2×2 matrix

    [ p  c ]      p = (λ − 2 x_i g_i + x_i² A_ii) / (1 − x_i²)
    [ c  q ]      q = A_jj,   c = (g_j − A_ij x_i) / √(1 − x_i²)

which bounds the refitted objective of S − i + j from below. It exceeds a level μ > p exactly when
c² > (μ − p)(μ − q). Since |A_ij| ≤ √(A_ii A_jj), most positions i and outsiders j are excluded by
that test before any column of A is looked at.
"""

from dataclasses import dataclass

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import Indices, Vector, top_k
from certpca.runtime.budget import Progress
from certpca.runtime.lateness import Late, never
from certpca.search.krylov import leading_on_support

GAIN_TOLERANCE = 1e-10  # relative improvement below which two supports count as equal
BATCH_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Swaps:
    """For each position in the support worth leaving, the best outsider; best swap first."""

    positions: Indices
    outsiders: Indices


class SwapSearch:
    """A support with refitted loadings that moves to better ones. Host operators only.

    Members of the support stay in the slots they came into; `support` sorts them. Where it gets `late`, searches end
    with what they have found. `start` is a guess of the loadings; `fitted` says what the best ones capture, and
    these.
    """

    def __init__(
        self,
        operator: Operator,
        support: Indices,
        diagonal: Vector,
        late: Late = never,
        start: Vector | None = None,
        fitted: tuple[float, Vector] | None = None,
    ) -> None:
        self._operator = operator
        self._diagonal = diagonal
        self._late = late
        self._sorted: Indices | None = None
        self._settle(support, *(fitted or leading_on_support(operator, support, start=start, late=late)))

    @property
    def support(self) -> Indices:
        """The support, sorted."""
        if self._sorted is None:
            self._sorted = np.sort(self._members)
        return self._sorted

    @property
    def loadings(self) -> Vector:
        """The loadings, in the order of the support."""
        return self._loadings[np.argsort(self._members)]

    @property
    def width(self) -> int:
        """Number of features in the support."""
        return int(self._members.size)

    def _settle(self, members: Indices, objective: float, loadings: Vector) -> None:
        self._members, self.objective, self._loadings = members, objective, loadings
        self._image: Vector | None = None
        self._sorted = None

    def image(self) -> Vector:
        """Return Ax for the loadings x, from one product for as long as they stay."""
        if self._image is None:
            found = self._operator.images(self._members[None, :], self._loadings[None, :])
            self._image = found[0].astype(np.float64, copy=False)
        return self._image

    def threshold(self) -> bool:
        """Move to the largest entries of the image; keep the move only if the objective rises."""
        image = self.image()
        support = top_k(np.abs(image), self.width)
        if (support == self.support).all():
            return False
        objective, loadings = leading_on_support(self._operator, support, start=image[support], late=self._late)
        if objective <= self.objective * (1 + GAIN_TOLERANCE):
            return False
        self._settle(support, objective, loadings)
        return True

    @property
    def at_once(self) -> int:
        """How many swaps are tried at a time to begin with."""
        return max(1, self.width // 8)

    def move(self, together: int) -> int:
        """Threshold, or where that does not help swap; return how many swaps to try next, or 0 if nothing helped."""
        if self.threshold():
            return together
        swaps = self.improving_swaps()
        if swaps.positions.size == 0:
            return 0
        together = min(together, swaps.positions.size)
        while not self.apply(swaps, together):
            if together == 1:
                return 0
            together = max(1, together // 4)
        return together

    def look(self, image: Vector) -> None:
        """Take over Ax, which somebody else computed."""
        self._image = image.astype(np.float64, copy=False)

    def improving_swaps(self) -> Swaps:
        """Find, for every position, the best swap that raises the objective."""
        nothing = Swaps(np.empty(0, np.intp), np.empty(0, np.intp))
        size, entry = self._operator.size, self._loadings
        if self.width < 2 or self.width == size or self.objective <= 0:
            return nothing
        # In units of the objective, so that squares neither overflow nor vanish.
        image = self.image() / self.objective
        diagonal = np.maximum(self._diagonal, 0.0) / self.objective
        own, level = diagonal[self._members], 1 + GAIN_TOLERANCE
        kept = np.maximum(1.0 - entry**2, np.finfo(float).tiny)
        rest = np.clip((1.0 - 2 * entry * image[self._members] + entry**2 * own) / kept, 0.0, 1.0)
        pull = np.abs(entry) * np.sqrt(own)  # |A_ij x_i| is at most pull_i times spread_j
        spread, reach, short = np.sqrt(diagonal), np.abs(image), level - diagonal

        outside = np.ones(size, dtype=bool)
        outside[self._members] = False
        rows = np.flatnonzero(
            outside & ((reach + pull.max() * spread) ** 2 > (level - rest.max()) * kept.min() * short)
        )
        if rows.size == 0:
            return nothing
        ceiling = (reach[rows].max() + pull * spread[rows].max()) ** 2 / kept
        positions = np.flatnonzero(ceiling > (level - rest) * short[rows].min())
        found: list[tuple[float, int, int]] = []
        step = max(1, BATCH_BYTES // (8 * rows.size))
        for first in range(0, positions.size, step):
            if self._late():
                break
            batch = positions[first : first + step]
            block = self._operator.entries(rows, self._members[batch])
            cross = (image[rows, None] - block * (entry[batch] / self.objective)) ** 2 / kept[batch]
            margin = cross - (level - rest[batch]) * short[rows, None]
            best = margin.argmax(axis=0)
            for slot in np.flatnonzero(margin[best, np.arange(batch.size)] > 0):
                row, position = int(best[slot]), int(batch[slot])
                value = _larger_eigenvalue(rest[position], diagonal[rows[row]], cross[row, slot])
                found.append((value, position, int(rows[row])))
        found.sort(key=lambda swap: (-swap[0], swap[1]))
        return Swaps(
            np.array([swap[1] for swap in found], dtype=np.intp),
            np.array([swap[2] for swap in found], dtype=np.intp),
        )

    def apply(self, swaps: Swaps, count: int) -> bool:
        """Make the first swaps that do not collide; keep them only if the objective rises."""
        entering: dict[int, int] = {}  # outsider -> position
        for position, outsider in zip(swaps.positions, swaps.outsiders, strict=True):
            entering.setdefault(int(outsider), int(position))
            if len(entering) == count:
                break
        outsiders, positions = list(entering), list(entering.values())
        members = self._members.copy()
        members[positions] = outsiders
        objective, loadings = leading_on_support(self._operator, members, start=self._loadings, late=self._late)
        if objective <= self.objective * (1 + GAIN_TOLERANCE):
            return False
        self._settle(members, objective, loadings)
        return True


def polished(search: SwapSearch, progress: Progress) -> SwapSearch:
    """Threshold while that helps, then swap; several swaps at a time while that works."""
    together = search.at_once
    while together:
        together = search.move(together)
        if together and not progress.tick(search.objective):
            break
    return search


def _larger_eigenvalue(first: float, second: float, squared_cross: float) -> float:
    return float((first + second) / 2 + np.sqrt(((first - second) / 2) ** 2 + squared_cross))
