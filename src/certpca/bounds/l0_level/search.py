"""The search for levels: cheap descents on what is known of the features, and walks over them that add to that.

A round minimises the smoothed bound of the model by a quasi-Newton method, without touching the data, and then corrects
it: the leading eigenvectors of the bound's matrix within the known directions are multiplied by the whole matrix, which
takes two walks, and what is new joins the known directions. So eigenvectors that the descent made larger elsewhere are
found, as in a cutting-plane method. The smoothing falls from round to round, and now and then the leading eigenvectors
get levels of their own.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from certpca.bounds.l0_level.features import Features
from certpca.bounds.l0_level.model import Evaluation, Levels, Model
from certpca.bounds.l0_level.space import Space, leading_space, spread_axes, trimmed
from certpca.bounds.pair_bound.quasi_newton import descend
from certpca.runtime.arrays import Vector, to_vector

FULL_UP_TO = 200  # directions of sample space up to which all have levels of their own
BEGIN_WIDTH = 32  # directions multiplied at a time: as many as cost no more than one, where memory is the limit
KRYLOV_ROUNDS = 2
FIRST_LEVELS = 12  # directions that have levels of their own from the start
MORE_LEVELS = 4  # that get them at a time
MOST_LEVELS = 64
CORRECTED = 24  # eigenvectors that are multiplied by the whole matrix
SMOOTHINGS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
STEPS = 30  # of a descent
MEMORY = 20
START_SHARE = 0.2  # of the density that is spread over all directions


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Levels on the directions W, and about the bound they prove, all in the units of the matrix."""

    directions: Vector
    levels: Levels
    bound: float
    evaluations: int
    walks: int


class LevelSearch:
    """Iterates over rounds; each gives the best levels so far for one sparsity.

    Parameters
    ----------
    features
        Where products come from.
    sparsity
        k of the bound.
    objective
        What the best loadings known capture.
    directions
        Directions of sample space to begin with, that of the best loadings first.
    late
        Whether to stop between two evaluations.
    """

    def __init__(
        self,
        features: Features,
        sparsity: int,
        objective: float,
        directions: Vector,
        late: Callable[[], bool] = lambda: False,
        space: Space | None = None,
    ) -> None:
        self.features, self.sparsity, self._late = features, sparsity, late
        self._scale = objective
        self._full = features.depth <= FULL_UP_TO
        rounds = 0 if self._full else KRYLOV_ROUNDS
        width = features.depth if self._full else min(BEGIN_WIDTH, features.depth)
        self.space = leading_space(features, objective, directions, width, rounds) if space is None else space
        self._given = min(directions.shape[1], self.space.known)
        self.evaluations = 0
        self.unevenness = 1.0
        self.levels = self._start()
        self.best: Found | None = None

    # --- where it begins ----------------------------------------------------------------------------------------------

    def _start(self) -> Levels:
        """Lean on the first direction, with a number as the level, the best of a few."""
        space, k = self.space, self.sparsity
        values, axes = spread_axes(space, self._given)
        space.turn(axes, self._given)
        width = space.known if self._full else min(space.known, self._given + FIRST_LEVELS)
        energies = np.square(to_vector(space.along)).sum(axis=0)
        trace = float(space.lengths.sum())
        others = features_left = space.features.depth - width
        beyond = max(trace - float(energies[:width].sum()), 0.0) / max(features_left, 1)
        del values, others
        own = to_vector(space.along[:, 0]) ** 2
        level = max(float(np.partition(own, own.size - k)[own.size - k]), 1e-12)
        model = space.model(self.unevenness)
        best: tuple[float, Levels] | None = None
        for share in (START_SHARE, 0.05):
            tail = share * (0.7 * np.append(energies[:width], beyond) / trace + 0.3 / space.features.depth)
            tail[0] += 1 - share
            for factor in (0.25, 0.5, 0.8):
                r = factor * level
                levels = Levels(np.eye(width) / math.sqrt(r), r * tail[:-1], r, r * float(tail[-1]))
                value = self._evaluated(model, levels, np.zeros(levels.steps()), SMOOTHINGS[0]).value
                self.starts = [*getattr(self, 'starts', []), value]
                if best is None or value < best[0]:
                    best = value, levels
        assert best is not None
        return best[1]

    # --- rounds -------------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Found]:
        """Go through the rounds; the last smoothing is repeated for as long as the caller likes."""
        number = 0
        while True:
            smoothing = SMOOTHINGS[min(number // 2, len(SMOOTHINGS) - 1)]
            self._descend(smoothing)
            value = self._corrected(smoothing)
            self._note(value)
            assert self.best is not None
            yield self.best
            number += 1
            if number % 2 == 0:
                self._widen()

    def settle(self, rounds: int = 3) -> Found:
        """Look harder for eigenvectors of the best levels, which may prove less than it seemed."""
        raise NotImplementedError

    def _evaluated(self, model: Model, base: Levels, step: Vector, smoothing: float) -> Evaluation:
        self.evaluations += 1
        return model.evaluate(base, step, self.sparsity, smoothing)

    def _descend(self, smoothing: float) -> None:
        model, base = self.space.model(self.unevenness), self.levels
        best = math.inf, np.zeros(base.steps())

        def function(step: Vector) -> tuple[float, Vector]:
            nonlocal best
            try:
                found = self._evaluated(model, base, step, smoothing)
            except np.linalg.LinAlgError:
                return math.inf, np.zeros(base.steps())
            if not math.isfinite(found.value) or not np.isfinite(found.gradient).all():
                return math.inf, np.zeros(base.steps())
            if found.value < best[0]:
                best = found.value, step.copy()
            return found.value, found.gradient

        descend(
            function,
            np.zeros(base.steps()),
            steps=STEPS,
            tolerance=smoothing * 1e-3,
            stop=lambda _: self._late(),
            memory=MEMORY,
        )
        self.levels = base.moved(best[1])

    def _corrected(self, smoothing: float) -> float:
        """Add what the leading eigenvectors are multiplied into, and return about the largest eigenvalue."""
        space, levels, k = self.space, self.levels, self.sparsity
        model = space.model(self.unevenness)
        if space.whole:
            _, _, z, other, _, _ = model.factors(levels)
            return float(model.spectrum(levels, k, model.rows(levels, z, other), other)[0][-1])
        if space.known + CORRECTED > space.most:
            trimmed(space, levels, model, 2 * CORRECTED)
            model = space.model(self.unevenness)
        _, _, z, other, _, _ = model.factors(levels)
        rows = model.rows(levels, z, other)
        values, vectors, beyond = model.spectrum(levels, k, rows, other)
        xp = space.xp
        leading = xp.asarray(vectors[:, -CORRECTED:], dtype=rows.dtype, device=space.features.operator.device)
        images = rows @ leading
        mean = (beyond - k * levels.level) / self.unevenness
        added = space.add(space.combined(images * xp.astype(other, images.dtype)[:, None]))
        model = space.model(self.unevenness)
        _, _, z, other, _, _ = model.factors(levels)
        rows = model.rows(levels, z, other)
        values, vectors, beyond = model.spectrum(levels, k, rows, other)
        if added and mean > 0:
            fresh = to_vector(xp.matrix_transpose(rows[:, -added:]) @ rows[:, -added:])
            self.unevenness = min(max(float(np.linalg.eigvalsh(fresh)[-1]) / mean, 1.0), 20.0)
        del smoothing
        return float(values[-1])

    def _widen(self) -> None:
        """Give the leading eigenvectors levels of their own."""
        space, levels = self.space, self.levels
        if levels.width + MORE_LEVELS > min(MOST_LEVELS, space.known):
            return
        model = space.model(self.unevenness)
        _, _, z, other, _, _ = model.factors(levels)
        _, vectors, _ = model.spectrum(levels, self.sparsity, model.rows(levels, z, other), other)
        count = space.lead(vectors[:, -MORE_LEVELS:], levels.width)
        self.levels = levels.wider(count)

    def _note(self, value: float) -> None:
        if self.best is None or value * self._scale < self.best.bound:
            levels, scale = self.levels, self._scale
            root = math.sqrt(scale)
            units = Levels(levels.frame / root, levels.weights, levels.level * scale, levels.rest_weight)
            self.best = Found(
                self.space.basis[:, : levels.width].copy(),
                units,
                value * scale,
                self.evaluations,
                self.features.walks,
            )
