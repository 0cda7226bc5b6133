"""The steps that improve a dual point: the central path of the barrier problem."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from certpca.bounds.l0_dual.problem import DualPoint, DualProblem, Evaluation, Guess, Pair
from certpca.bounds.l0_dual.regions import region_step, with_regions
from certpca.bounds.l0_dual.spectra import diagonal_matrix, largest_eigenvalue, spectral_norm
from certpca.runtime.arrays import Array, Vector, to_vector
from certpca.runtime.packing import MADE_AGAIN

CENTRING = 0.3  # share of the current gap that the next barrier weight aims at
LARGEST_STEP = 1.5  # of the scaled step, in spectral norm
WEIGHT_FLOOR = 1e-13
FIRST_TOLERANCE = 3e-3


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """The step that led here: from which value, log det P and frame."""

    value: float
    volume: float
    step: Array
    root: Array
    basis: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Here:
    """What was found at a density."""

    found: Evaluation
    total: Array
    slack: Vector
    rays: Any
    held: float
    top: float
    bound: float
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class OnPath:
    """A place on the central path, and what the next step depends on."""

    point: DualPoint
    sigma: Vector  # weights of regions, for the scaled problem
    guess: Guess  # from which ρ and θ of this point were sought,
    tolerance: float  # and how accurately
    barrier: float | None = None
    caution: float = 1.0
    rejected: int = 0
    steps: int = 0
    previous: _Move | None = None
    here: _Here | None = field(default=None, metadata=MADE_AGAIN)


def improve(problem: DualProblem, density: Array) -> Iterator[DualPoint]:
    """Yield one dual point after each step along the central path, for as long as the caller wants.

    The bounds need not fall at every step: keep the best.
    """
    path = CentralPath(problem)
    place = path.start(density)
    while True:
        yield place.point
        place = path.step(place)


class CentralPath:
    """The steps along the central path of a problem, on a region of directions given by pairs of rays."""

    def __init__(self, problem: DualProblem, pairs: Sequence[Pair] = ()) -> None:
        self._problem, self._pairs = problem, pairs
        self._finest = 1e-10 if problem.rows.dtype == problem.xp.float64 else 2e-5

    def start(self, density: Array, region_weights: Vector | None = None, guess: Guess | None = None) -> OnPath:
        """Evaluate the dual at a first density."""
        problem, xp = self._problem, self._problem.xp
        weights, basis = xp.linalg.eigh((density + xp.matrix_transpose(density)) / 2)
        sigma = np.full(len(self._pairs), 0.02) if region_weights is None else np.array(region_weights, dtype=float)
        begin = problem.guess() if guess is None else guess
        return self._arrived(*_normalised(xp, basis, weights), sigma, begin, FIRST_TOLERANCE)

    def step(self, place: OnPath) -> OnPath:
        """Go to the next density and evaluate the dual there."""
        here = place.here
        if here is None:  # it was stored: what was found there is found again
            here = self._evaluated(place.point.basis, place.point.weights, place.sigma, place.guess, place.tolerance)
        basis, weights, moved = self._move(place, here)
        guess = Guess(here.found.level, here.found.theta)
        return self._arrived(basis, weights, moved.sigma, guess, moved.tolerance, moved)

    def _arrived(
        self,
        basis: Array,
        weights: Array,
        sigma: Vector,
        guess: Guess,
        tolerance: float,
        moved: OnPath | None = None,
    ) -> OnPath:
        here, unit = self._evaluated(basis, weights, sigma, guess, tolerance), self._problem.scale
        level, theta = here.found.level * unit, to_vector(here.found.theta) * unit
        point = DualPoint(basis, weights, level, sigma * unit, here.bound * unit, here.value * unit, theta)
        if moved is None:
            return OnPath(point, sigma, guess, tolerance, here=here)
        return replace(moved, point=point, guess=guess, here=here)

    def _evaluated(self, basis: Array, weights: Array, sigma: Vector, guess: Guess, tolerance: float) -> _Here:
        problem, xp = self._problem, self._problem.xp
        found = problem.evaluate(basis, weights, tolerance, guess)
        total, slack, rays = with_regions(problem, found.gradient, basis, weights, self._pairs, sigma)
        held = float(xp.sum(weights * xp.linalg.diagonal(total)))
        top = largest_eigenvalue(xp, total)
        bound, value = problem.sparsity * found.level + top, found.value + float(sigma @ slack)
        return _Here(found, total, slack, rays, held, top, bound, value)

    def _move(self, place: OnPath, here: _Here) -> tuple[Array, Array, OnPath]:
        """Choose the next density; return its eigenvectors and eigenvalues, and what the step after it depends on."""
        xp, depth, pairs = self._problem.xp, self._problem.depth, self._pairs
        basis, weights, value, barrier = place.point.basis, place.point.weights, here.value, place.barrier
        volume = float(xp.sum(xp.log(weights)))
        root = xp.sqrt(weights)
        steps = place.steps + 1
        if place.previous is not None and barrier is not None and not pairs:
            last = place.previous
            worse = -value / barrier - volume > -last.value / barrier - last.volume + 3e-6 * abs(value) / barrier
            if worse and place.rejected < 3:
                # The barrier function fell: take a shorter step from the same place.
                last = replace(last, step=last.step * 0.3)
                caution, rejected = max(0.15, 0.6 * place.caution), place.rejected + 1
                moved = replace(place, caution=caution, rejected=rejected, steps=steps, previous=last)
                return *_moved(xp, last.basis, last.root, last.step), moved
        caution = min(1.0, 1.15 * place.caution) if place.rejected == 0 else place.caution
        open_gap = max(here.top - here.held, 0.0)
        tolerance = min(FIRST_TOLERANCE, max(self._finest, 0.1 * open_gap / max(here.bound, 1e-300)))
        current = max(open_gap / (depth + len(pairs)), 1e-14)
        off_centre = current / barrier if barrier is not None else 1.0
        barrier = CENTRING * current if barrier is None else max(min(barrier, CENTRING * current), 0.1 * barrier)
        slope = here.total * root[:, None] * root[None, :]
        slope = slope + diagonal_matrix(xp, barrier - (here.held + barrier * depth) * weights)
        curvature = here.found.curvature
        hessian = curvature + xp.matrix_transpose(curvature) + barrier
        step = slope / hessian
        change = np.zeros(0)
        if pairs:
            step, change = region_step(xp, step, hessian, root, weights, here.rays, here.slack, place.sigma, barrier)
        length = 1.0
        if steps > 3 and off_centre > 2.5:
            length = max(0.35, math.sqrt(2.5 / off_centre))
        length = min(length, caution)
        length *= min(1.0, LARGEST_STEP / (length * max(spectral_norm(xp, step), 1e-300)))
        step = step * length
        moved = replace(
            place,
            sigma=np.maximum(place.sigma + length * change, 1e-12),
            tolerance=tolerance,
            barrier=barrier,
            caution=caution,
            rejected=0,
            steps=steps,
            previous=_Move(value, volume, step, root, basis),
        )
        return *_moved(xp, basis, root, step), moved


def _normalised(xp: Any, basis: Array, weights: Array) -> tuple[Array, Array]:
    floor = WEIGHT_FLOOR * float(weights[-1])
    weights = xp.where(weights > floor, weights, xp.full_like(weights, floor))
    return basis, weights / xp.sum(weights)


def _moved(xp: Any, basis: Array, root: Array, step: Array) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of L(I + E/2)²Lᵀ, scaled to trace one."""
    factor = root[:, None] * step / 2 + diagonal_matrix(xp, root)
    square = factor @ xp.matrix_transpose(factor)
    weights, turn = xp.linalg.eigh(square)  # SciPy's holds the interpreter, and other threads wait
    return _normalised(xp, basis @ turn, weights)
