"""Local search for supports that constraints allow: some features in all of them, groups whole, loadings non-negative.

What is chosen are units: groups, and single features that are in none. From an image Ax the units with the largest
squares for each feature are taken while they fit, those that are forced in before all others; then units are exchanged
while that helps.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from certpca.operators.base import Operator
from certpca.operators.within import asked_of
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.lateness import Late, never
from certpca.search.krylov import leading_eigenpairs, leading_on_support
from certpca.search.nonnegative import best_nonnegative

GAIN = 1e-10  # relative: less is none
EIGENVECTORS = 8
EVERY_FEATURE = 512  # features up to which each one is a start
COLUMNS = 64  # else as many with the largest variances
FINALISTS = 6
LEAVING, ENTERING = 12, 24  # units that are tried in exchanges


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A support, its best allowed loadings, and what these capture."""

    support: Indices
    loadings: Vector
    objective: float


def fitted_on(operator: Operator, support: Indices, late: Late = never, start: Vector | None = None) -> Fitted:
    """Return the best loadings on a support that are allowed, as far as they are found."""
    if asked_of(operator).nonnegative:
        objective, loadings = best_nonnegative(operator.submatrix(support))
    else:
        objective, loadings = leading_on_support(operator, support, start=start, late=late)
    return Fitted(support, loadings, objective)


class ConstrainedSearch:
    """Searches among the supports that an operator's constraints allow. Host operators only."""

    def __init__(self, operator: Operator, sparsity: int, late: Late = never) -> None:
        self._operator, self._sparsity, self._late = operator, sparsity, late
        asked = asked_of(operator)
        self._nonnegative = asked.nonnegative
        self._unit = np.arange(operator.size)  # of each feature, named after its first feature
        for group in asked.groups:
            self._unit[list(group)] = group[0]
        self._sizes = np.bincount(self._unit, minlength=operator.size)
        self._forced = np.array(asked.include, dtype=np.intp)
        self._units = np.setdiff1d(np.unique(self._unit), self._unit[self._forced])

    def chosen(self, image: Vector) -> Indices:
        """Return the support that an image suggests."""
        strength = np.maximum(image, 0.0) if self._nonnegative else image
        weight = np.bincount(self._unit, strength**2, minlength=self._unit.size)[self._units]
        sizes, room = self._sizes[self._units], self._sparsity - self._forced.size
        if room == 0 or sizes.size == 0:
            return self._forced
        if sizes.max() == 1:
            taken = self._units[top_k(weight, min(room, weight.size))]
        else:
            picked = []
            for place in np.argsort(-weight / sizes, kind="stable"):
                if sizes[place] <= room:
                    picked.append(self._units[place])
                    room -= sizes[place]
            taken = np.array(picked, dtype=np.intp)
        return self._with(taken)

    def allowed(self, support: Indices, loadings: Vector) -> Indices:
        """Return an allowed support next to one that need not be."""
        image = np.zeros(self._operator.size)
        image[support] = loadings
        return self.chosen(image)

    def searched(self, rng: np.random.Generator, also: list[Vector] | None = None) -> Fitted:
        """Search from many starts, among them the images given."""
        seen: dict[bytes, Fitted] = {}
        for image in [*(also or []), *self._images(rng)]:
            support = self.chosen(image)
            if support.tobytes() not in seen and (not self._late() or not seen):
                seen[support.tobytes()] = self._fitted(support)
        best = sorted(seen.values(), key=lambda found: -found.objective)[:FINALISTS]
        return max((self.climbed(found) for found in best), key=lambda found: found.objective)

    def climbed(self, found: Fitted) -> Fitted:
        """Follow images while that helps, then exchange units, and again."""
        while not self._late():
            image = self._image(found)
            moved = self._fitted(self.chosen(image))
            if moved.objective > found.objective * (1 + GAIN):
                found = moved
                continue
            better = self._exchanged(found, image)
            if better is None:
                break
            found = better
        return found

    def _images(self, rng: np.random.Generator) -> Iterator[Vector]:
        operator = self._operator
        if self._forced.size:
            yield self._image(self._fitted(self._forced))
        pairs = leading_eigenpairs(operator, EIGENVECTORS, accuracy=1e-4, rng=rng, late=self._late)
        axes = to_vector(pairs.vectors)
        yield from axes.T
        yield from -axes.T if self._nonnegative else ()
        diagonal = to_vector(operator.diagonal())
        every = operator.size <= EVERY_FEATURE
        starts = np.arange(operator.size) if every else top_k(diagonal, COLUMNS)
        for first in range(0, starts.size, COLUMNS):
            if self._late():
                return
            yield from to_vector(operator.columns(starts[first : first + COLUMNS])).T

    def _exchanged(self, found: Fitted, image: Vector) -> Fitted | None:
        """Return the first support found that is better after units leave and others enter."""
        mine = np.unique(self._unit[found.support])
        mine = mine[np.isin(mine, self._units)]
        power = np.bincount(self._unit[found.support], found.loadings**2, minlength=self._unit.size)
        strength = np.maximum(image, 0.0) if self._nonnegative else image
        pull: Vector = np.bincount(self._unit, strength**2, minlength=self._unit.size).astype(np.float64)
        others = np.setdiff1d(self._units, mine)
        entering = others[np.argsort(-pull[others] / self._sizes[others], kind="stable")[:ENTERING]]
        leaving = mine[np.argsort(power[mine] / self._sizes[mine], kind="stable")[:LEAVING]]
        room = self._sparsity - self._forced.size - int(self._sizes[mine].sum())
        for out in [None, *leaving]:
            rest = mine if out is None else mine[mine != out]
            space = room if out is None else room + int(self._sizes[out])
            for unit in entering[self._sizes[entering] <= space]:
                if self._late():
                    return None
                moved = self._fitted(self._with(self._filled(rest, int(unit), space, pull, out)))
                if moved.objective > found.objective * (1 + GAIN):
                    return moved
        return None

    def _filled(self, rest: Indices, unit: int, space: int, pull: Vector, out: int | None) -> Indices:
        """Add a unit, and others that fit beside it, those with the largest pull for each feature first."""
        taken, space = [*rest, unit], space - int(self._sizes[unit])
        if space > 0:
            left = np.setdiff1d(self._units, [*taken, *([] if out is None else [out])])
            for other in left[np.argsort(-pull[left] / self._sizes[left], kind="stable")]:
                if self._sizes[other] <= space:
                    taken.append(int(other))
                    space -= int(self._sizes[other])
        return np.array(taken, dtype=np.intp)

    def _with(self, units: Indices) -> Indices:
        return np.sort(np.concatenate([self._forced, np.flatnonzero(np.isin(self._unit, units))]))

    def _fitted(self, support: Indices) -> Fitted:
        return fitted_on(self._operator, support, self._late)

    def _image(self, found: Fitted) -> Vector:
        panel = np.zeros((self._operator.size, 1))
        panel[found.support, 0] = found.loadings
        return to_vector(self._operator.matmat(self._operator.adopt(panel)))[:, 0]
