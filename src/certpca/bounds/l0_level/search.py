"""The search for levels: cheap descents on what is known of the features, and walks over them that add to that.

A round minimises the smoothed bound of the model by a quasi-Newton method, without touching the data, and then corrects
it: the leading eigenvectors of the bound's matrix within the known directions are multiplied by the whole matrix, which
takes two walks, and what is new joins the known directions. So eigenvectors that the descent made large elsewhere are
found, as in a cutting-plane method. The leading eigenvectors get levels of their own, and the smoothing falls once a
descent comes to its end; falling sooner leaves it at a worse point.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from certpca.bounds.l0_level.features import Features
from certpca.bounds.l0_level.model import Levels, Model
from certpca.bounds.l0_level.space import leading_space, spread_axes, trimmed
from certpca.bounds.pair_bound.quasi_newton import descend
from certpca.runtime.arrays import Array, Vector, to_vector

FULL_UP_TO = 200  # directions of sample space up to which all have levels of their own
BEGIN_WIDTH = 32  # directions multiplied at a time: as many as cost no more than one, where memory is the limit
KRYLOV_ROUNDS = 2
FIRST_LEVELS = 12  # directions that have levels of their own from the start
MORE_LEVELS = 4  # that get them at a time
MOST_LEVELS = 64
CORRECTED = 24  # eigenvectors that are multiplied by the whole matrix
SMOOTHINGS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)  # relative to the bound
STEPS = 100  # of a descent
MEMORY = 40
DESCENTS = 3  # at one smoothing
PATIENCE = 2  # rounds at the last smoothing
LITTLE = 2e-3  # of the gap, that a round must close to count
START_SHARES = (0.2, 0.05)  # of the density that is spread over all directions,
START_LEVELS = (0.25, 0.5, 0.8)  # and levels relative to the k-th largest feature along the first direction


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Levels on the directions W, and about the bound they prove, all in the units of the matrix."""

    directions: Vector
    levels: Levels
    bound: float


class LevelSearch:
    """Iterates over rounds; each gives the best levels so far for one sparsity, and the last is followed by none.

    Parameters
    ----------
    features
        Where products come from; `features.walks` counts them.
    sparsity
        k of the bound.
    objective
        What the best loadings known capture.
    directions
        Directions of sample space to begin with, that of the best loadings first.
    late
        Whether to stop; asked between two evaluations.
    """

    def __init__(
        self,
        features: Features,
        sparsity: int,
        objective: float,
        directions: Vector,
        late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.features, self.sparsity, self.objective, self._late = features, sparsity, objective, late
        self.evaluations = 0
        self.unevenness = 1.0
        self._full = features.depth <= FULL_UP_TO
        width = features.depth if self._full else min(BEGIN_WIDTH, features.depth)
        self.space = leading_space(features, objective, directions, width, 0 if self._full else KRYLOV_ROUNDS)
        self.levels = self._start(min(directions.shape[1], self.space.known))
        self.stage = self._descents = self._idle = 0
        self.best: Found | None = None

    def at(self, sparsity: int, objective: float) -> "LevelSearch":
        """Return a search for another sparsity that goes on from these levels and from what is known."""
        other = object.__new__(LevelSearch)
        other.__dict__.update(self.__dict__)
        other.sparsity, other.objective, other.best = sparsity, objective, None
        other.stage = other._descents = other._idle = 0
        return other

    def bound_at(self, sparsity: int) -> float:
        """Return about the bound that the levels at hand prove for any sparsity; it takes no walk."""
        return float(self._spectrum(self._model(), sparsity)[2][-1]) * self.space.scale

    # --- rounds -------------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Found]:
        """Go through the rounds until they do not help any more."""
        while self._idle < PATIENCE:
            before = math.inf if self.best is None else self.best.bound
            smoothing = SMOOTHINGS[min(self.stage, len(SMOOTHINGS) - 1)]
            ended = self._descend(smoothing)
            best = self._note(self._corrected() * self.space.scale)
            added = self._widen()
            self._descents += 1
            if ended or self._descents >= DESCENTS:
                self.stage, self._descents = self.stage + 1, 0
            if self.stage >= len(SMOOTHINGS):
                useful = before - best.bound > LITTLE * (best.bound - self.objective)
                self._idle = 0 if useful or added else self._idle + 1
            yield best
            if self._late():
                return

    def _descend(self, smoothing: float) -> bool:
        """Minimise the smoothed bound of the model; say whether that came to its end."""
        model, base, k = self._model(), self.levels, self.sparsity
        still = np.zeros(base.steps())
        relative = smoothing * max(float(self._spectrum(model, k)[2][-1]), np.finfo(float).tiny)
        best, before = (math.inf, still), self.evaluations

        def function(step: Vector) -> tuple[float, Vector]:
            nonlocal best
            self.evaluations += 1
            try:
                found = model.evaluate(base, step, k, relative)
            except np.linalg.LinAlgError:  # a frame that is singular, or not a number
                return math.inf, still
            if not math.isfinite(found.value) or not np.isfinite(found.gradient).all():
                return math.inf, still
            if found.value < best[0]:
                best = found.value, step.copy()
            return found.value, found.gradient

        tolerance = 1e-3 * relative
        descend(function, still, steps=STEPS, tolerance=tolerance, stop=lambda _: self._late(), memory=MEMORY)
        self.levels = base.moved(best[1])
        return self.evaluations - before < STEPS

    def _corrected(self) -> float:
        """Add what the leading eigenvectors are multiplied into, and return about the largest eigenvalue."""
        space, levels, k, xp = self.space, self.levels, self.sparsity, self.space.xp
        if space.known + CORRECTED > space.most and not space.whole:
            trimmed(space, levels, self._model(), 2 * CORRECTED)
        rows, other, values, vectors, beyond = self._spectrum(self._model(), k)
        if space.whole:
            return float(values[-1])
        mean = (beyond - k * levels.level) / self.unevenness
        leading = xp.asarray(vectors[:, -CORRECTED:], dtype=rows.dtype, device=space.device)
        added = space.add(space.combined((rows @ leading) * xp.astype(other, rows.dtype)[:, None]))
        rows, _, values, _, _ = self._spectrum(self._model(), k)
        if added and mean > 0:
            fresh = to_vector(xp.matrix_transpose(rows[:, -added:]) @ rows[:, -added:])
            self.unevenness = min(max(float(np.linalg.eigvalsh(fresh)[-1]) / mean, 1.0), 20.0)
        return float(values[-1])

    def _widen(self) -> int:
        """Give the leading eigenvectors levels of their own, and return how many had none."""
        space, levels = self.space, self.levels
        if self._full:  # few enough for all to have them, once those that matter most have settled
            self.levels = levels.wider(space.known - levels.width)
            return self.levels.width - levels.width
        room = min(MOST_LEVELS, space.known) - levels.width
        if room < MORE_LEVELS:
            return 0
        vectors = self._spectrum(self._model(), self.sparsity)[3]
        count = space.lead(vectors[:, -MORE_LEVELS:], levels.width)
        self.levels = levels.wider(count)
        return count

    def _note(self, bound: float) -> Found:
        if self.best is None or bound < self.best.bound:
            levels, scale = self.levels, self.space.scale
            mine = Levels(levels.frame / math.sqrt(scale), levels.weights, levels.level * scale, levels.rest_weight)
            self.best = Found(self.space.basis[:, : levels.width].copy(), mine, bound)
        return self.best

    # --- parts --------------------------------------------------------------------------------------------------------

    def _model(self) -> Model:
        return self.space.model(self.unevenness)

    def _spectrum(self, model: Model, sparsity: int) -> tuple[Array, Array, Vector, Vector, float]:
        """Return what dual vectors have along known directions and of others, and the spectrum of the bound there."""
        _, _, z, other, _, _ = model.factors(self.levels)
        rows = model.rows(self.levels, z, other)
        return rows, other, *model.spectrum(self.levels, sparsity, rows, other)

    def _start(self, given: int) -> Levels:
        """Lean on the first direction, with a number as the level: the best of a few."""
        space, k, depth = self.space, self.sparsity, self.features.depth
        space.turn(spread_axes(space, given), given)
        width = min(space.known, given + FIRST_LEVELS)
        along = to_vector(space.along[:, :width])
        energies, trace = np.square(along).sum(axis=0), float(space.lengths.sum())
        beyond = max(trace - float(energies.sum()), 0.0) / max(depth - width, 1)
        own = along[:, 0] ** 2
        level = max(float(np.partition(own, own.size - k)[own.size - k]), 1e-9 * float(own.max()))
        model = self._model()
        best: tuple[float, Levels] | None = None
        for share in START_SHARES:
            tail = share * (0.7 * np.append(energies, beyond) / trace + 0.3 / depth)
            tail[0] += 1 - share
            for factor in START_LEVELS:
                r = factor * level
                levels = Levels(np.eye(width) / math.sqrt(r), r * tail[:-1], r, r * float(tail[-1]))
                _, _, z, other, _, _ = model.factors(levels)
                values, _, rest = model.spectrum(levels, k, model.rows(levels, z, other), other)
                value = max(float(values[-1]), rest)
                self.evaluations += 1
                if best is None or value < best[0]:
                    best = value, levels
        assert best is not None
        return best[1]

    # --- checkpoints --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return where the search stands, on the host; what features have along directions is not part of it."""
        return {
            "basis": self.space.basis,
            "levels": _stored(self.levels),
            "best": None
            if self.best is None
            else {"directions": self.best.directions, "levels": _stored(self.best.levels), "bound": self.best.bound},
            "counts": (self.stage, self._descents, self._idle, self.evaluations),
            "unevenness": self.unevenness,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state, after one walk over the features."""
        self.space.take_up(state["basis"])
        self.levels, best = Levels(**state["levels"]), state["best"]
        self.best = None if best is None else Found(best["directions"], Levels(**best["levels"]), best["bound"])
        self.stage, self._descents, self._idle, self.evaluations = state["counts"]
        self.unevenness = state["unevenness"]


def _stored(levels: Levels) -> dict[str, Any]:
    return {field.name: getattr(levels, field.name) for field in fields(levels)}
