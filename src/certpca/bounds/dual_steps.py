"""Steps towards a good dual point: for all directions, without features that are ruled out, and region by region."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.bounds.direction_tree import Cover, Splitting
from certpca.bounds.evidence import level_of, unpacked
from certpca.bounds.goals import Goal, Incumbent
from certpca.bounds.l0_dual.central_path import improve
from certpca.bounds.l0_dual.problem import DualPoint, DualProblem
from certpca.bounds.stalling import Stall
from certpca.results.certificate import Certificate
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.runtime.budget import Progress

ROOT_STEPS = 80
NEAR = (0.7, 2.0)  # ratios of sparsities at which a density is worth going on from; upwards it is nearly right
WARM_STEPS = 4
CHEAP_STEP = 4e9  # multiplications up to which the relaxation is solved to its end
MORE_LEAVES = 2  # that a split of a region adds at most


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
    """
    best: DualPoint | None = None
    value, stalled, first, done = -np.inf, 0, 0, False
    enough = 1e-3 if incumbent.operator.size * problem.depth**2 <= CHEAP_STEP else 0.02
    steps = _Steps(problem, incumbent, warm)
    if (stored := progress.load("root")) is not None:
        best, value, stalled = problem.point(stored["best"]), stored["value"], stored["stalled"]
        incumbent.restore(stored["incumbent"])
        problem.restore(stored["problem"])
        if stored["steps"] is None:
            return best
        first = stored["step"] + 1
        steps.restore(stored["steps"])

    def state() -> dict[str, Any]:
        assert best is not None
        return {
            "best": best.state(),
            "value": value,
            "stalled": stalled,
            "step": step,
            "incumbent": incumbent.state(),
            "problem": problem.state(),
            "steps": None if done else steps.state(),
        }

    begin = progress.seconds
    for step, point in enumerate(steps, first):
        value = max(value, point.value)
        if best is None or point.bound < best.bound:
            stalled = 0 if best is None or best.bound - point.bound > 0.01 * (best.bound - value) else stalled + 1
            best = point
        else:
            stalled += 1
        if step % 8 == 4:
            leading = to_vector(point.basis[:, -3:])
            incumbent.try_images([_image(problem, leading[:, column]) for column in range(leading.shape[1])])
        bound = min(best.bound + tail, cheap)
        begin, took = progress.seconds, progress.seconds - begin
        with progress.setting_aside(took):  # there must be time for another step like this
            going = progress.tick(incumbent.objective, bound)
        rest = best.bound - value  # what is left for the optimiser; the relaxation itself cannot go below `value`
        nearly = rest <= max(1e-10 * best.bound, enough * max(value + tail - incumbent.objective, 0.0))
        done = goal.reached(incumbent.objective, bound) or nearly or stalled >= 12 or step >= ROOT_STEPS
        progress.store("root", state, now=done or not going)
        if done or not going:
            return best
    raise AssertionError


class _Steps:
    """Go on from the density of an earlier certificate; if a few steps do not do, begin at the incumbent's direction.

    The central path is hard to find again from a point close to its end for another sparsity: if that point is not good
    at once, it will not be soon.
    """

    def __init__(self, problem: DualProblem, incumbent: Incumbent, warm: Certificate | None) -> None:
        self._problem = problem
        # Rounded, so that loadings that differ in their last digits, as they do between files and arrays, start alike.
        direction = problem.directions(incumbent.support, incumbent.loadings).astype(np.float32)
        self._begin = problem.start(direction.astype(np.float64))
        self._warm_steps: int | None = None  # that are left; None once the path is the problem's own
        if warm is not None and NEAR[0] * warm.sparsity <= problem.sparsity <= NEAR[1] * warm.sparsity:
            density = unpacked(np.asarray(warm.evidence["density"], dtype=np.float64), problem.depth)
            again = problem.at(problem.sparsity)
            again.warm_start(level_of(warm), None)
            self._path = improve(again, 0.95 * problem.adopt(density) + 0.05 * self._begin)
            self._warm_steps = WARM_STEPS
        else:
            self._path = improve(problem, self._begin)

    def __iter__(self) -> "_Steps":
        return self

    def __next__(self) -> DualPoint:
        if self._warm_steps == 0:
            self._path, self._warm_steps = improve(self._problem, self._begin), None
        if self._warm_steps is not None:
            self._warm_steps -= 1
        return next(self._path)

    def state(self) -> dict[str, Any]:
        """Return where the steps stand."""
        return {"warm_steps": self._warm_steps, "path": self._path.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self._warm_steps = state["warm_steps"]
        own = self._warm_steps is None
        self._path = improve(self._problem if own else self._problem.at(self._problem.sparsity), self._begin)
        self._path.restore(state["path"])


def without_the_rest(
    problem: DualProblem,
    point: DualPoint,
    features: Indices,
    incumbent: Incumbent,
    goal: Goal,
    progress: Progress,
) -> DualPoint:
    """Solve the dual again with only the features that can be in an optimal support."""
    problem.keep(features)
    start = problem.adopt(point.density())
    problem.warm_start(point.level, None)
    steps = improve(problem, 0.95 * start + 0.05 * problem.tail())
    best: DualPoint | None = None
    first, done = 0, False
    if (stored := progress.load("shrunk")) is not None:
        best = problem.point(stored["best"])
        problem.restore(stored["problem"])
        if stored["steps"] is None:
            return best
        first = stored["step"] + 1
        steps.restore(stored["steps"])

    def state() -> dict[str, Any]:
        assert best is not None
        return {
            "best": best.state(),
            "step": step,
            "problem": problem.state(),
            "steps": None if done else steps.state(),
        }

    begin = progress.seconds
    for step, again in enumerate(steps, first):
        best = again if best is None or again.bound < best.bound else best
        begin, took = progress.seconds, progress.seconds - begin
        with progress.setting_aside(took):
            going = progress.tick(incumbent.objective, best.bound)
        nearly = best.bound - again.value <= 0.02 * max(again.value - incumbent.objective, 0.0)
        done = step >= ROOT_STEPS // 2 or goal.reached(incumbent.objective, best.bound) or nearly
        progress.store("shrunk", state, now=done or not going)
        if done or not going:
            break
    assert best is not None
    return best


def split_regions(
    problem: DualProblem,
    point: DualPoint,
    features: Indices,
    incumbent: Incumbent,
    goal: Goal,
    progress: Progress,
    leaf_seconds: float,
) -> Cover | None:
    """Split regions for as long as that helps and what comes of it can be proved, one leaf after the other."""

    def search(directions: Sequence[Vector]) -> float:
        images = []
        for direction in directions:
            image = np.zeros(incumbent.operator.size)
            image[features] = _image(problem, direction)
            images.append(image)
        return incumbent.try_images(images)

    leaves = 1

    def late() -> bool:
        return progress.exhausted or progress.late((leaves + MORE_LEAVES) * leaf_seconds)

    splitting = Splitting(problem, point, incumbent.objective, goal.target_gap, search, progress.checkpoint, late)
    if (stored := progress.load("cover")) is not None:
        splitting.restore(stored["splitting"])
        incumbent.restore(stored["incumbent"])

    def state() -> dict[str, Any]:
        return {"splitting": splitting.state(), "incumbent": incumbent.state()}

    found, stall = None, Stall(progress)
    for found in splitting:
        leaves = len(found.leaves())
        going = progress.tick(incumbent.objective, found.bound) and not late()
        done = goal.reached(incumbent.objective, found.bound) or not going
        done = done or stall.over(incumbent.objective, found.bound)
        progress.store("cover", state, now=done)
        if done:
            break
    else:  # a split was given up
        if found is not None:
            progress.store("cover", state, now=True)
    return found


def _image(problem: DualProblem, direction: Vector) -> Vector:
    return np.asarray(problem.image(direction[:, None])[:, 0])
