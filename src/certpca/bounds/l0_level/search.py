"""The search for levels: cheap descents on what is known of the features, and walks over them that add to that.

A round minimises the smoothed bound of the model by a quasi-Newton method, without touching the data, and then corrects
it: the leading eigenvectors of the bound's matrix within the known directions are multiplied by the whole matrix, which
takes two walks, and what is new joins the known directions. So eigenvectors that the descent made large elsewhere are
found, as in a cutting-plane method. The leading eigenvectors get levels of their own, and the smoothing falls once a
descent comes to its end; falling sooner leaves it at a worse point.
"""

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from certpca.bounds.l0_level.aim import Aim, Spectrum, one_component
from certpca.bounds.l0_level.descent import descended
from certpca.bounds.l0_level.features import Features
from certpca.bounds.l0_level.model import Evaluation, Levels, Model
from certpca.bounds.l0_level.space import Space, lead_space, spread_axes, trimmed
from certpca.runtime import budget
from certpca.runtime.arrays import Array, Vector, to_vector
from certpca.runtime.threads import one_thread_each

FULL_UP_TO = (
    24  # directions of sample space up to which all have levels of their own: more are slower and hardly tighter
)
BEGIN_WIDTH = 32  # directions multiplied at a time: as many as cost no more than one, where memory is the limit
KRYLOV_ROUNDS = 2
FIRST_LEVELS = 12  # directions that have levels of their own from the start
MORE_LEVELS = 8  # that get them at a time
MOST_LEVELS = 64
CORRECTED = 24  # eigenvectors that are multiplied by the whole matrix
SMOOTHINGS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)  # relative to the bound
STEPS = 100  # of a descent
MEMORY = 40
ENDED = 1e-4  # of the smoothing: decreases below that end a descent
DESCENTS = 3  # at one smoothing, at most
SLOW = 0.02  # of the gap: a round that closes less is the last at its smoothing,
SLOW_WALKS = 0.3  # and where every round walks over a file: falling soon saves more walks than it costs
PATIENCE = 2  # rounds at the last smoothing
LITTLE = 2e-3  # of the gap, that a round must close to count
PRICED = 3  # features that may get a price, for each that can be chosen,
OFTEN = 0.02  # beyond once, that they must be used,
FIRST_PRICE = 0.1  # of the level, times how often they are used beyond once
FREE = 1e-4  # of the largest price: smaller ones are given up
START_SHARES = (0.2, 0.05)  # of the density that is spread over all directions,
START_LEVELS = (0.25, 0.5, 0.8)  # and levels relative to the k-th largest feature along the first direction


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Levels on the directions W, and about the bound they prove, all in the units of the matrix.

    `lifted` has a column for each eigenvalue of a sum but the last: its eigenvector times the root of what it has above
    the last. Without these columns times their transposes, the matrix has the last one as its largest.
    """

    directions: Vector
    levels: Levels
    bound: float
    lifted: Vector = field(default_factory=lambda: np.empty((0, 0)))


@dataclass(frozen=True, slots=True, eq=False)
class OnLevels:
    """Where a search stands: all that its next round depends on.

    `basis` are the known directions, `levels` those of its first columns; `stage` is the number of the smoothing,
    `descents` how many there were at it, and `idle` the rounds at the last one that did not help; `closed` is the share
    of the gap that the last round closed.
    """

    basis: Vector
    levels: Levels
    best: Found
    unevenness: float = 1.0
    stage: int = 0
    descents: int = 0
    idle: int = 0
    closed: float = 1.0

    @property
    def done(self) -> bool:
        """Whether more rounds would hardly help."""
        return self.idle >= PATIENCE


class LevelSearch:
    """Makes rounds for one sparsity, or for several components.

    Parameters
    ----------
    features
        Where products come from; `features.walks` counts them.
    aim
        k of the bound for one component, or what is asked of several.
    objective
        What the best loadings known capture.
    late
        Whether to stop; asked between two evaluations.
    full_up_to
        Directions of sample space up to which all have levels of their own.
    """

    def __init__(
        self,
        features: Features,
        aim: int | Aim,
        objective: float,
        late: Callable[[], bool] = lambda: False,
        full_up_to: int = FULL_UP_TO,
    ) -> None:
        self.aim = one_component(aim) if isinstance(aim, int) else aim
        self.features, self.objective, self._late = features, objective, late
        self.evaluations = 0
        self.correcting = 0.0  # seconds that what follows a descent took in the last round
        self.space = Space(features, objective)
        self._full = features.depth <= full_up_to
        self._levels = Levels(np.eye(0), np.empty(0), 1.0, 1.0)
        self._unevenness = 1.0

    def at(self, sparsity: int, objective: float, late: Callable[[], bool] = lambda: False) -> "LevelSearch":
        """Return a search for another sparsity that shares what is known; `begin` it where this one ended."""
        other = copy(self)
        other.aim, other.objective, other._late = one_component(sparsity), objective, late
        return other

    def start(self, directions: Vector, prices: Vector | None = None) -> OnLevels:
        """Begin with directions of sample space, those of the best loadings first, and a price for each feature."""
        width = self.features.depth if self._full else min(BEGIN_WIDTH, self.features.depth)
        lead_space(self.space, directions, width, 0 if self._full else KRYLOV_ROUNDS)
        self._levels = self._first(min(directions.shape[1], self.space.known))
        if prices is not None:
            priced = np.flatnonzero(prices > 0)
            self._levels = replace(self._levels, priced=priced, prices=prices[priced] / self.space.scale)
        return self._state(self._found(self._spectra()[2]))

    def begin(self, at: OnLevels) -> OnLevels:
        """Go on from where a search for another sparsity ended."""
        self._take_up(at)
        return self._state(self._found(self._spectra()[2]))

    def bound_at(self, at: OnLevels, sparsity: int) -> float:
        """Return about the bound that levels prove for any sparsity; it takes no walk."""
        self._take_up(at)
        return self._bound(self._spectra(one_component(sparsity))[2]) * self.space.scale

    def images(self, at: OnLevels, count: int) -> Vector:
        """Return what all features have along the leading eigenvectors of the bound's matrix; it takes no walk."""
        self._take_up(at)
        vectors = _leading(self._spectra()[2], count)
        return to_vector(self.space.along @ self.space.there(vectors))

    def taken_up(self, at: OnLevels) -> tuple[Levels, float]:
        """Know what a state knows, and return its levels and unevenness in the units of the space."""
        self._take_up(at)
        return self._levels, self._unevenness

    # --- rounds -------------------------------------------------------------------------------------------------------

    def rounds(self, at: OnLevels) -> Iterator[OnLevels]:
        """Make rounds until they do not help any more, or it is late."""
        while not at.done:
            at = self.step(at)
            yield at
            if self._late():
                return

    def step(self, at: OnLevels) -> OnLevels:
        """Make a round: a descent, a correction, and levels for the leading eigenvectors."""
        self._take_up(at)
        relative = SMOOTHINGS[min(at.stage, len(SMOOTHINGS) - 1)]
        ended, begin = self._descend(relative), budget.clock()
        spectra = self._corrected()
        best, bound = at.best, self._bound(spectra) * self.space.scale
        if not bound < best.bound:  # what is known now may show that the best was not that good
            best = replace(best, bound=max(best.bound, self._seen_now(best)))
        best = self._found(spectra) if bound < best.bound else best
        added = self._widen() + self._reprice(relative)
        self.correcting = budget.clock() - begin
        stage, descents, idle = at.stage, at.descents + 1, at.idle
        closed, gap = max(at.best.bound - best.bound, 0.0), best.bound - self.objective
        slow = SLOW_WALKS if self.features.operator.cost.reads else SLOW
        if ended or descents >= DESCENTS or closed < slow * gap:
            stage, descents = stage + 1, 0
        if stage >= len(SMOOTHINGS):
            idle = 0 if closed > LITTLE * gap or added else idle + 1
        return self._state(best, stage, descents, idle, closed / max(closed + gap, np.finfo(float).tiny))

    def _take_up(self, at: OnLevels) -> None:
        """Know what a state knows, which takes a walk where another process, or another search, left it."""
        if at.basis is not self.space.basis:
            self.space.take_up(at.basis)
        self._levels, self._unevenness = at.levels.times(1 / self.space.scale), at.unevenness

    def _state(self, best: Found, stage: int = 0, descents: int = 0, idle: int = 0, closed: float = 1.0) -> OnLevels:
        levels = self._levels.times(self.space.scale)
        return OnLevels(self.space.basis, levels, best, self._unevenness, stage, descents, idle, closed)

    def _found(self, spectra: list[Spectrum]) -> Found:
        """Return what is known of the levels as they are, in the units of the matrix."""
        space, lifted = self.space, np.empty((self.features.depth, 0))
        for spectrum in spectra:
            values, vectors = spectrum.values, spectrum.vectors
            if spectrum.part.leading > 1:
                some = min(spectrum.part.leading, values.size)
                above = np.sqrt(space.scale * (values[-some:] - values[-some]))[1:]
                lifted = space.basis @ (vectors[:, values.size - above.size :] * above)
        basis = space.basis[:, : self._levels.width].copy()
        return Found(basis, self._levels.times(space.scale), self._bound(spectra) * space.scale, lifted)

    def _seen_now(self, found: Found) -> float:
        """Return about the bound of earlier levels, by what is known now; where prices are, that is not asked."""
        space, levels = self.space, found.levels.times(1 / self.space.scale)
        if space.whole or self.aim.priced:
            return found.bound
        inside = space.inside(found.directions)
        model = space.model(self._unevenness, space.along @ space.there(inside))
        _, _, z, other, _, _ = model.factors(levels)
        spectra = model.spectra(levels, self.aim, model.rows(levels, z, other), other)
        return sum(spectrum.bound for spectrum in spectra) * space.scale

    def _descend(self, smoothing: float) -> bool:
        """Minimise the smoothed bound of the model; say whether that came to its end."""
        model, base, aim = self._model(), self._levels, self.aim
        relative, before = self._relative(smoothing), self.evaluations

        def evaluate(step: Vector) -> Evaluation:
            self.evaluations += 1
            return model.evaluate(base, step, aim, relative)

        with one_thread_each(1, self.space.work):
            found = descended(
                evaluate,
                base.steps(),
                steps=STEPS,
                tolerance=ENDED * relative,
                late=self._late,
                memory=MEMORY,
            )
        self._levels = base.moved(found.step)
        return self.evaluations - before < STEPS

    def _corrected(self) -> list[Spectrum]:
        """Add what the leading eigenvectors are multiplied into, and return the spectra with that."""
        space, levels, xp = self.space, self._levels, self.space.xp
        if space.known + CORRECTED > space.most and not space.whole:
            trimmed(space, levels, self._model(), 2 * CORRECTED)
        rows, other, spectra = self._spectra()
        if space.whole:
            return spectra
        first = spectra[0]
        mean = (first.beyond - (0.0 if first.level else first.part.sparsity * levels.level)) / self._unevenness
        leading = rows @ space.there(_leading(spectra, CORRECTED))
        added = space.add(space.combined(leading * xp.astype(other, rows.dtype)[:, None]))
        rows, _, spectra = self._spectra()
        if added and mean > 0:
            fresh = to_vector(xp.matrix_transpose(rows[:, -added:]) @ rows[:, -added:])
            self._unevenness = min(max(float(np.linalg.eigvalsh(fresh)[-1]) / mean, 1.0), 20.0)
        return spectra

    def _widen(self) -> int:
        """Give the leading eigenvectors levels of their own, and return how many had none."""
        space, levels = self.space, self._levels
        if self._full:  # few enough for all to have them, once those that matter most have settled
            self._levels = levels.wider(space.known - levels.width)
            return self._levels.width - levels.width
        room = min(MOST_LEVELS, space.known) - levels.width
        if room < MORE_LEVELS:
            return 0
        count = space.lead(_leading(self._spectra()[2], MORE_LEVELS), levels.width)
        self._levels = levels.wider(count)
        return count

    # --- parts --------------------------------------------------------------------------------------------------------

    def _model(self) -> Model:
        return self.space.model(self._unevenness)

    def _spectra(self, aim: Aim | None = None) -> tuple[Array, Array, list[Spectrum]]:
        """Return what dual vectors have along known directions and of others, and the spectra of the bound there."""
        model, levels = self._model(), self._levels
        _, _, z, other, _, _ = model.factors(levels)
        rows = model.rows(levels, z, other)
        return rows, other, model.spectra(levels, aim or self.aim, rows, other)

    def _bound(self, spectra: list[Spectrum]) -> float:
        return float(self._levels.prices.sum()) + sum(spectrum.bound for spectrum in spectra)

    def _relative(self, smoothing: float) -> float:
        """Return a smoothing for eigenvalues as large as those of a component."""
        return smoothing * max(self._bound(self._spectra()[2]) / self.aim.components, np.finfo(float).tiny)

    def _reprice(self, smoothing: float) -> int:
        """Give prices to features that are used more than once, and return how many had none."""
        levels, aim = self._levels, self.aim
        if not aim.priced:
            return 0
        model = self._model()
        new = np.setdiff1d(model.most_used(levels, aim, PRICED * round(aim.sparsity * aim.components)), levels.priced)
        tried = replace(
            levels,
            priced=np.concatenate([levels.priced, new]),
            prices=np.concatenate([levels.prices, np.full(new.size, 1e-9 * levels.level)]),
        )
        found = model.evaluate(tried, np.zeros(tried.steps()), aim, self._relative(smoothing))
        often = -found.gradient[tried.steps() - new.size :] / tried.prices[levels.prices.size :]
        taken = often > OFTEN
        kept = levels.prices > FREE * levels.prices.max(initial=0.0)
        self._levels = replace(
            levels,
            priced=np.concatenate([levels.priced[kept], new[taken]]),
            prices=np.concatenate([levels.prices[kept], FIRST_PRICE * levels.level * often[taken]]),
        )
        return int(taken.sum())

    def _first(self, given: int) -> Levels:
        """Lean on the first directions, with a number as the level: the best of a few."""
        space, k, depth = self.space, round(self.aim.sparsity), self.features.depth
        space.turn(spread_axes(space, given), given)
        width = min(space.known, given + FIRST_LEVELS)
        along = to_vector(space.along[:, :width])
        energies, trace = np.square(along).sum(axis=0), float(space.lengths.sum())
        beyond = max(trace - float(energies.sum()), 0.0) / max(depth - width, 1)
        lead = min(self.aim.components, given)
        own = np.square(along[:, :lead]).sum(axis=1) / (1 if self.aim.parts[0].once else lead)
        level = max(float(np.partition(own, own.size - k)[own.size - k]), 1e-9 * float(own.max()))
        model = self._model()
        best: tuple[float, Levels] | None = None
        for share in START_SHARES:
            tail = share * (0.7 * np.append(energies, beyond) / trace + 0.3 / depth)
            tail[:lead] += (1 - share) / lead
            for factor in START_LEVELS:
                r = factor * level
                levels = Levels(np.eye(width) / math.sqrt(r), r * tail[:-1], r, r * float(tail[-1]))
                _, _, z, other, _, _ = model.factors(levels)
                spectra = model.spectra(levels, self.aim, model.rows(levels, z, other), other)
                value = sum(spectrum.suspected for spectrum in spectra)
                self.evaluations += 1
                if best is None or value < best[0]:
                    best = value, levels
        assert best is not None
        return best[1]


def _leading(spectra: list[Spectrum], count: int) -> Vector:
    """Return leading eigenvectors, as many of each part."""
    each = -(-count // len(spectra))
    return np.concatenate([spectrum.vectors[:, -each:] for spectrum in spectra], axis=1)
