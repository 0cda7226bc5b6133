"""The search for V: smoothed over the supports that are known, which grow while it goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.quasi_newton import descend
from certpca.bounds.sets.prices.assignments import Slot
from certpca.bounds.sets.prices.pricing import good_supports
from certpca.runtime.arrays import Indices, Vector

SMOOTHING = (0.01, 0.003, 0.001, 0.0003, 0.0001)  # shares of the value
ROUNDS = 8  # of new supports with each
STEPS = 60
ADDED = 12  # supports of a sparsity in a round
MOST_KEPT = 120  # of a sparsity
MORE_DIRECTIONS = 2  # as many as components, times this, and a few
VANISHED = 0.03  # of the largest direction, below which another one is as good as zero
OFTEN = 0.02  # beyond once, that a new direction must be used
SPREAD = 0.3  # of the leading eigenvalues, in the first V


@dataclass(slots=True, eq=False)
class Slots:
    """The different sparsities, how many components each has, and the supports that are known, as rows."""

    sparsities: list[int]
    copies: list[int]
    supports: list[set[tuple[int, ...]]]


class DirectionSearch:
    """Descends on V for one matrix, whose entries are near one."""

    def __init__(self, matrix: Vector, sparsities: tuple[int, ...], loadings: Vector, late: Callable[[], bool]) -> None:
        self.matrix, self.late = matrix, late
        wanted = list(dict.fromkeys(sparsities))
        self.slots = Slots(wanted, [sparsities.count(count) for count in wanted], [set() for _ in wanted])
        self.value = float(np.einsum("ij,ik,kj->", loadings, matrix, loadings))
        values, vectors = np.linalg.eigh(matrix)
        extra = min(MORE_DIRECTIONS * len(sparsities) + 2, matrix.shape[0])
        own = loadings * np.sqrt(SPREAD * np.maximum((loadings * (matrix @ loadings)).sum(axis=0), 0.0))
        dense = vectors[:, -extra:] * np.sqrt(SPREAD * np.maximum(values[-extra:], 0.0)) * 0.1
        self.directions = np.hstack([own, dense])
        self._grow(self.directions, np.hstack([np.eye(matrix.shape[0]), loadings]))
        self.bound = np.inf

    def run(self) -> None:
        """Let the smoothing fall, and supports grow with each."""
        point = self.directions
        for share in SMOOTHING:
            for _ in range(ROUNDS):
                point = self._descended(point, share * self.value)
                starts = np.hstack([np.eye(point.shape[0]), self._leaders(point)])
                grown = self._grow(point, starts)
                bound = self.estimate(point)
                if bound < self.bound:
                    self.bound, self.directions = bound, point
                if self.late():
                    return
                renewed = self._renewed(point, share * self.value)
                if not grown and renewed is None:
                    break
                point = point if renewed is None else renewed

    def shift_of(self, directions: Vector) -> float:
        """Return c that makes A − M + cI semidefinite."""
        return float(np.linalg.norm(directions, 2) ** 2)

    def rest(self, directions: Vector) -> Vector:
        """Return A − M + cI."""
        rest = self.matrix - directions @ directions.T
        rest[np.diag_indices_from(rest)] += self.shift_of(directions)
        return np.asarray((rest + rest.T) / 2)

    def estimate(self, directions: Vector) -> float:
        """Return the bound as far as the supports that are known tell."""
        left = self.matrix - directions @ directions.T
        best = [self._pairs(left, which)[0].max() for which in range(len(self.slots.sparsities))]
        return float((directions**2).sum() + np.dot(self.slots.copies, best))

    def best_supports(self, directions: Vector) -> list[Indices]:
        """Return the best support of each sparsity."""
        left = self.matrix - directions @ directions.T
        found = []
        for which in range(len(self.slots.sparsities)):
            values, _, supports = self._pairs(left, which)
            found.append(supports[int(values.argmax())])
        return found

    def _pairs(self, left: Vector, which: int) -> tuple[Vector, Vector, Any]:
        supports = self._supports(which)
        values, vectors = np.linalg.eigh(left[supports[:, :, None], supports[:, None, :]])
        return values[:, -1], vectors[:, :, -1], supports

    def _supports(self, which: int) -> Any:
        return np.array(sorted(self.slots.supports[which]), dtype=np.intp)

    def _descended(self, start: Vector, smoothing: float) -> Vector:
        shape, best = start.shape, (np.inf, start)

        def smoothed(packed: Vector) -> tuple[float, Vector]:
            nonlocal best
            directions = packed.reshape(shape)
            left = self.matrix - directions @ directions.T
            value, gradient = float((directions**2).sum()), 2 * directions
            for which, copies in enumerate(self.slots.copies):
                # All eigenvalues of each support: the leading one alone has edges where it is double.
                supports = self._supports(which)
                values, vectors = np.linalg.eigh(left[supports[:, :, None], supports[:, None, :]])
                share = np.exp((values - values.max()) / smoothing)
                value += copies * (float(values.max()) + smoothing * float(np.log(share.sum())))
                share /= share.sum()
                place, order = np.nonzero(share > 1e-12)
                columns = np.zeros((shape[0], place.size))
                np.put_along_axis(columns, supports[place].T, vectors[place, :, order].T, axis=0)
                gradient -= 2 * copies * (columns * share[place, order]) @ (columns.T @ directions)
            if value < best[0]:
                best = value, directions.copy()
            return value, gradient.ravel()

        descend(
            smoothed,
            start.ravel().copy(),
            steps=STEPS,
            tolerance=1e-3 * smoothing,
            stop=lambda _: self.late(),
            memory=12,
        )
        return best[1]

    def _renewed(self, directions: Vector, smoothing: float) -> Vector | None:
        """Put directions that are used more than once in the place of columns that have vanished, if there are any.

        By M the bound has the slope I − Σ_t X_t, X_t the mixture of loadings that are worth most; but by V it is flat
        wherever V is zero, so a descent does not find these by itself.
        """
        left = self.matrix - directions @ directions.T
        used = np.zeros_like(self.matrix)
        for which, copies in enumerate(self.slots.copies):
            values, vectors, supports = self._pairs(left, which)
            share = np.exp((values - values.max()) / smoothing)
            columns = np.zeros((directions.shape[0], values.size))
            np.put_along_axis(columns, supports.T, vectors.T, axis=0)
            used += copies * (columns * (share / share.sum())) @ columns.T
        often, axes = np.linalg.eigh(used)
        sizes = np.linalg.norm(directions, axis=0)
        idle = np.flatnonzero(sizes < VANISHED * max(float(sizes.max()), np.finfo(float).tiny))
        count = min(idle.size, int((often > 1 + OFTEN).sum()))
        if count == 0:
            return None
        renewed = directions.copy()
        renewed[:, idle[:count]] = axes[:, -count:] * np.sqrt(smoothing)
        return renewed

    def _leaders(self, directions: Vector) -> Vector:
        left = self.matrix - directions @ directions.T
        columns = []
        for which in range(len(self.slots.sparsities)):
            values, vectors, supports = self._pairs(left, which)
            for place in np.argsort(-values)[:20]:
                column = np.zeros(left.shape[0])
                column[supports[place]] = vectors[place]
                columns.append(column)
        return np.array(columns).T

    def _grow(self, directions: Vector, starts: Vector) -> bool:
        """Add supports that are worth more than all that are known; say whether there were any."""
        rest, size = self.rest(directions), self.matrix.shape[0]
        grown, everything, nothing = False, np.arange(size), np.zeros(size)
        for which, sparsity in enumerate(self.slots.sparsities):
            known = self.slots.supports[which]
            level = -np.inf if not known else self._pairs(rest, which)[0].max() - 1e-3 * self.value
            for support in good_supports(rest, nothing, Slot(sparsity, (), 1), everything, starts)[:ADDED]:
                entry = tuple(support.tolist())
                worth = float(np.linalg.eigvalsh(rest[np.ix_(support, support)])[-1])
                if len(entry) == sparsity and entry not in known and worth > level:
                    known.add(entry)
                    grown = True
            self._forget(rest, which)
        return grown

    def _forget(self, rest: Vector, which: int) -> None:
        """Keep the supports that are worth most."""
        known = self.slots.supports[which]
        if len(known) > MOST_KEPT:
            values, _, supports = self._pairs(rest, which)
            kept = np.argsort(-values)[:MOST_KEPT]
            self.slots.supports[which] = {tuple(support.tolist()) for support in supports[kept]}
