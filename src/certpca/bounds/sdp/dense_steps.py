"""Alternating directions on some features, from a start to a duality gap."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certpca.bounds.sdp.clipped import ClippedDual
from certpca.bounds.sdp.parted import Completion, PartedDual, margin
from certpca.bounds.sdp.rank_one import Direction
from certpca.bounds.sdp.relaxation import DenseDual, Relaxation
from certpca.bounds.sdp.splitting import DOUBLE, Iterate, Splitting
from certpca.operators.base import Operator
from certpca.results.status import Status
from certpca.runtime.arrays import Array, Indices, Vector
from certpca.runtime.budget import Progress

LOOK_EVERY = 10  # steps between estimates of the dual value
STEPS = 4000
PATIENCE = 60  # looks without progress, or half of all looks: distances may shrink like one over the number of steps

Judge = Callable[[Vector, Vector, float], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Z = V diag(z) Vᵀ on some features, rows of U there in units of the scale, its level and the penalty."""

    vectors: Vector
    weights: Vector
    rows: Callable[[Splitting, slice], Array]
    level: float
    penalty: float = 1.0


def from_direction(direction: Direction, clipped: ClippedDual, features: Indices) -> Start:
    """Start at the rank-one candidate and its dual matrix."""
    part, scale = clipped.restricted(features), direction.scale

    def rows(splitting: Splitting, chosen: slice) -> Array:
        return part.block(splitting.xp, chosen, splitting.dtype, splitting.operator.device) / scale

    return Start(direction.vector[features, None], np.ones(1), rows, clipped.level / scale)


def from_matrix(vectors: Vector, weights: Vector, dual: Vector, level: float, penalty: float = 1.0) -> Start:
    """Start at a dual matrix that is there, in units of the scale."""
    return Start(vectors, weights, lambda splitting, rows: splitting.adopt(dual[rows]), level, penalty)


class DenseSteps:
    """Alternating directions on some features of a matrix."""

    def __init__(self, operator: Operator, features: Indices, sparsity: int, scale: float, start: Start) -> None:
        self.whole, self.features = operator.size, features
        part = operator if features.size == operator.size else operator.restrict(features)
        self.sparsity = min(sparsity, features.size)
        self.splitting = Splitting(part, self.sparsity, scale)
        self.splitting.penalty = start.penalty
        self.splitting.start(start.vectors, start.weights, lambda rows: start.rows(self.splitting, rows), start.level)
        self.count = 0
        self.last: Iterate | None = None
        self.best: Iterate | None = None
        self.best_value = -math.inf
        self.top = math.inf
        self._iterates = self.splitting.steps()
        self._stalled, self._lowest = 0, math.inf

    @property
    def upper(self) -> float:
        """Value of the dual on these features, in units of the scale."""
        return self.top + self.sparsity * self.splitting.dual_level()

    def until(
        self,
        progress: Progress,
        gap: float,
        floor: float,
        known: float,
        judge: Judge | None = None,
        *,
        complete: bool = True,
    ) -> Status:
        """Go on until the gap on these features is small, or the judge is content.

        `floor` and `known` bound the value for all features from elsewhere, in the matrix's own units. Unless these
        features stand for all, the dual value here says nothing about the others.
        """
        scale, splitting, looking = self.splitting.scale, self.splitting, 0.0
        for iterate in self._iterates:
            self.count += 1
            self.last = iterate
            if iterate.value > self.best_value:
                self.best_value, self.best = iterate.value, iterate
            with progress.setting_aside(looking):
                going = not progress.exhausted
            if self.count % LOOK_EVERY and going and self.count < STEPS:
                continue
            begin = progress.seconds
            self.top = splitting.dual_top(
                accuracy=max(min(1e-5, 0.01 * gap), 1e-9 if splitting.dtype == splitting.xp.float64 else 1e-6),
                late=progress.late,
            )
            looking = progress.seconds - begin
            upper = min(self.upper * scale, known) if complete else self.upper * scale
            going = progress.tick(0.0, upper if complete else known, f"{self.count} steps") and going
            if 1 - max(self.best_value * scale, floor) / upper <= gap:
                return Status.CONVERGED
            assert self.best is not None
            if judge is not None and judge(self.spread(self.best.vectors), self.best.weights, upper):
                return Status.CONVERGED
            distance = self.upper - self.best_value
            self._stalled = 0 if distance < 0.97 * self._lowest else self._stalled + 1
            self._lowest = min(self._lowest, distance)
            if not going:
                return Status.OUT_OF_BUDGET
            if self.count >= STEPS or self._stalled >= max(PATIENCE, self.count / LOOK_EVERY / 2):
                return Status.STALLED
        raise AssertionError

    def spread(self, vectors: Vector) -> Vector:
        """Return vectors on these features as vectors on all."""
        spread = np.zeros((self.whole, vectors.shape[1]))
        spread[self.features] = vectors
        return spread

    def dual(self, completion: Completion | None = None) -> DenseDual | PartedDual:
        """Return U, completed or with all other features below the level."""
        scale = self.splitting.scale
        level = self.splitting.dual_level() * scale
        packed = self.splitting.dual_packed() * scale
        packed = packed if self.features.size <= DOUBLE else packed.astype(np.float32)
        if completion is None:
            # Where the estimate is from below the checker would try one eigenvalue after another.
            top = (self.top + (0.0 if self.features.size <= DOUBLE else margin(self.splitting, self.top))) * scale
            return DenseDual(packed, self.features, level, top, top + self.sparsity * level)
        top = completion.top * scale
        return PartedDual(
            packed,
            self.features,
            completion.directions,
            completion.shifts * scale,
            completion.weights,
            level,
            top,
            top + self.sparsity * level,
        )

    def result(self, status: Status, needed: int, dual: DenseDual | PartedDual) -> Relaxation:
        """Return the best Z so far with a dual matrix."""
        best, last = self.best, self.last
        assert best is not None
        assert last is not None
        scale = self.splitting.scale
        return Relaxation(
            sparsity=self.sparsity,
            vectors=self.spread(best.vectors),
            weights=best.weights,
            shrink=min(1.0, self.sparsity / best.norm),
            dual=dual,
            lower=best.value * scale,
            method="alternating directions",
            iterations=self.count,
            primal_residual=last.primal_residual,
            dual_residual=last.dual_residual,
            needed_memory=needed,
            status=status,
            largest_eigenvalue=scale,
        )
