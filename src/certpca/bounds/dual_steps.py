"""Steps towards a good dual point: for all directions, and again without features that are ruled out."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certpca.bounds.evidence import level_of, unpacked
from certpca.bounds.goals import Goal, Incumbent, Known
from certpca.bounds.l0_dual.central_path import CentralPath, OnPath
from certpca.bounds.l0_dual.problem import DualPoint, DualProblem
from certpca.results.certificate import Certificate
from certpca.runtime.arrays import Array, Indices, to_vector
from certpca.runtime.budget import Progress
from certpca.runtime.resumable import resumable

ROOT_STEPS = 80
NEAR = (0.7, 2.0)  # ratios of sparsities at which a density is worth going on from; upwards it is nearly right
WARM_STEPS = 4
LOOK_EVERY = 8  # steps between local searches from the directions of the dual
CHEAP_STEP = 4e9  # multiplications up to which the relaxation is solved to its end
LITTLE = 0.02  # share of what the relaxation leaves open that need not be gained from it where a step is dear


@dataclass(frozen=True, slots=True, eq=False)
class _Descent:
    """Where the search for a dual point stands."""

    place: OnPath
    best: DualPoint
    value: float  # the largest ψ: the relaxation itself cannot go below it
    stalled: int
    steps: int
    known: Known

    def then(self, place: OnPath, known: Known) -> "_Descent":
        """Return where it stands one step later."""
        point, value = place.point, max(self.value, place.point.value)
        gained = self.best.bound - point.bound
        stalled = 0 if gained > max(0.01 * (self.best.bound - value), 0.0) else self.stalled + 1
        best = point if gained > 0 else self.best
        return _Descent(place, best, value, stalled, self.steps + 1, known)


def root_point(
    problem: DualProblem,
    incumbent: Incumbent,
    goal: Goal,
    warm: Certificate | None,
    cheap: float,
    progress: Progress,
    tail: float = 0.0,
) -> DualPoint:
    """Improve the dual point for all directions until the relaxation itself is what is left of the gap.

    What directions that the problem leaves out add to the bound, about, is the `tail`.

    Steps go on from the density of an earlier certificate. The central path is hard to find again from a point close to
    its end for another sparsity: if a few steps do not do, they begin anew at the incumbent's direction.
    """
    path = CentralPath(problem)
    # Rounded, so that loadings that differ in their last digits, as they do between files and arrays, start alike.
    direction = problem.directions(incumbent.best.support, incumbent.best.loadings).astype(np.float32)
    begin = problem.start(direction.astype(np.float64))
    near = warm is not None and NEAR[0] * warm.sparsity <= problem.sparsity <= NEAR[1] * warm.sparsity

    def start() -> OnPath:
        if warm is None or not near:
            return path.start(begin)
        density = unpacked(np.asarray(warm.evidence["density"], dtype=np.float64), problem.depth)
        return path.start(0.95 * problem.adopt(density) + 0.05 * begin, guess=problem.guess(level_of(warm)))

    def step(at: _Descent) -> OnPath:
        return path.start(begin) if near and at.steps + 1 == WARM_STEPS else path.step(at.place)

    def look(at: OnPath, number: int, known: Known) -> Known:
        if number % LOOK_EVERY != LOOK_EVERY // 2:
            return known
        return incumbent.improved(known, list(problem.image(to_vector(at.point.basis[:, -3:])).T))

    share = 1e-3 if incumbent.operator.size * problem.depth**2 <= CHEAP_STEP else LITTLE

    def enough(at: _Descent) -> bool:
        objective, rest = at.known.objective, at.best.bound - at.value
        nearly = rest <= max(1e-10 * at.best.bound, share * max(at.value + tail - objective, 0.0))
        return goal.reached(objective, bound(at)) or nearly or at.stalled >= 12 or at.steps >= ROOT_STEPS

    def bound(at: _Descent) -> float:
        return min(at.best.bound + tail, cheap)

    return _descended(problem, incumbent, progress, "root", start, step, enough, bound, look)


def without_the_rest(
    problem: DualProblem,
    point: DualPoint,
    features: Indices,
    incumbent: Incumbent,
    goal: Goal,
    progress: Progress,
) -> tuple[DualProblem, DualPoint]:
    """Solve the dual again with only the features that can be in an optimal support."""
    fewer = problem.on(features)
    path = CentralPath(fewer)

    def start() -> OnPath:
        density: Array = 0.95 * fewer.adopt(point.density()) + 0.05 * fewer.tail()
        return path.start(density, guess=fewer.guess(point.level, point.theta[features]))

    def enough(at: _Descent) -> bool:
        value, bound, objective = at.place.point.value, at.best.bound, at.known.objective
        nearly = bound - value <= LITTLE * max(value - objective, 0.0)
        return at.steps >= ROOT_STEPS // 2 or goal.reached(objective, bound) or nearly

    def step(at: _Descent) -> OnPath:
        return path.step(at.place)

    return fewer, _descended(fewer, incumbent, progress, "shrunk", start, step, enough, lambda at: at.best.bound)


def _descended(
    problem: DualProblem,
    incumbent: Incumbent,
    progress: Progress,
    name: str,
    start: Callable[[], OnPath],
    step: Callable[[_Descent], OnPath],
    enough: Callable[[_Descent], bool],
    bound: Callable[[_Descent], float],
    look: Callable[[OnPath, int, Known], Known] = lambda _at, _number, known: known,
) -> DualPoint:
    """Make steps until that is enough, and return the best point; the incumbent takes over what `look` found."""

    def first() -> _Descent:
        place = start()
        return _Descent(place, place.point, place.point.value, 0, 0, incumbent.best)

    def following(at: _Descent) -> _Descent:
        place = step(at)
        return at.then(place, look(place, at.steps + 1, at.known))

    last = resumable(
        following,
        first,
        progress,
        name,
        _Descent,
        enough=enough,
        tell=lambda at: (at.known.objective, bound(at), ""),
        adopt=problem.adopt,
    )
    incumbent.best = last.known
    return last.best
