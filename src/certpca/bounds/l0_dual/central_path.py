"""The steps that improve a dual point: the central path of the barrier problem."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.l0_dual.problem import DualPoint, DualProblem, Evaluation, Pair
from certpca.bounds.l0_dual.regions import region_step, with_regions
from certpca.bounds.l0_dual.spectra import diagonal_matrix, largest_eigenvalue, spectral_norm
from certpca.runtime.arrays import Array, Vector, to_vector

CENTRING = 0.3  # share of the current gap that the next barrier weight aims at


LARGEST_STEP = 1.5  # of the scaled step, in spectral norm


WEIGHT_FLOOR = 1e-13


def improve(
    problem: DualProblem, density: Array, pairs: Sequence[Pair] = (), region_weights: Vector | None = None
) -> "CentralPath":
    """Yield one dual point after each step along the central path, for as long as the caller wants.

    The bounds need not fall at every step: keep the best.
    """
    return CentralPath(problem, density, pairs, region_weights)


class CentralPath:
    """The steps of `improve`; where they stand can be stored, and gone on from by another process."""

    def __init__(
        self, problem: DualProblem, density: Array, pairs: Sequence[Pair] = (), region_weights: Vector | None = None
    ) -> None:
        xp = problem.xp
        self._problem, self._pairs = problem, pairs
        weights, basis = xp.linalg.eigh((density + xp.matrix_transpose(density)) / 2)
        self._basis, self._weights = _normalised(xp, basis, weights)
        self._sigma = (
            np.full(len(pairs), 0.02) if region_weights is None else np.array(region_weights, dtype=np.float64)
        )
        self._barrier: float | None = None
        self._caution, self._rejected, self._steps, self._tolerance = 1.0, 0, 0, 3e-3
        self._previous: _Move | None = None
        self._finest = 1e-10 if problem.rows.dtype == xp.float64 else 2e-5
        self._here: _Here | None = None

    def __iter__(self) -> "CentralPath":
        return self

    def __next__(self) -> DualPoint:
        if self._here is not None:
            self._move(self._here)
        self._here = here = self._evaluated()
        unit, found = self._problem.scale, here.found
        return DualPoint(
            self._basis,
            self._weights,
            found.level * unit,
            self._sigma.copy() * unit,
            here.bound * unit,
            here.value * unit,
            to_vector(found.theta) * unit,
        )

    def state(self) -> dict[str, Any]:
        """Return where the path stands, so that `restore` goes on with the step that would come next."""
        assert self._here is not None
        previous = self._previous
        return {
            "basis": to_vector(self._basis),
            "weights": to_vector(self._weights),
            "sigma": self._sigma,
            "barrier": self._barrier,
            "caution": self._caution,
            "rejected": self._rejected,
            "steps": self._steps,
            "tolerance": self._tolerance,
            "previous": None
            if previous is None
            else [previous.value, previous.volume, *map(to_vector, (previous.step, previous.root, previous.basis))],
            "problem": self._here.before,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state; the evaluation there is made again."""
        there = self._problem.adopt
        self._basis, self._weights = there(state["basis"]), there(state["weights"])
        self._sigma, self._barrier = state["sigma"], state["barrier"]
        self._caution, self._rejected = state["caution"], state["rejected"]
        self._steps, self._tolerance = state["steps"], state["tolerance"]
        if state["previous"] is not None:
            value, volume, *arrays = state["previous"]
            self._previous = _Move(value, volume, *map(there, arrays))
        self._problem.restore(state["problem"])
        self._here = self._evaluated()

    def _evaluated(self) -> "_Here":
        problem, xp = self._problem, self._problem.xp
        before = problem.state()
        found = problem.evaluate(self._basis, self._weights, self._tolerance)
        total, slack, rays = with_regions(problem, found.gradient, self._basis, self._weights, self._pairs, self._sigma)
        held = float(xp.sum(self._weights * xp.linalg.diagonal(total)))
        top = largest_eigenvalue(xp, total)
        bound, value = problem.sparsity * found.level + top, found.value + float(self._sigma @ slack)
        return _Here(before, found, total, slack, rays, held, top, bound, value)

    def _move(self, here: "_Here") -> None:
        """Choose the next density."""
        xp, depth, pairs = self._problem.xp, self._problem.depth, self._pairs
        weights, value, barrier = self._weights, here.value, self._barrier
        volume = float(xp.sum(xp.log(weights)))
        root = xp.sqrt(weights)
        self._steps += 1
        if self._previous is not None and barrier is not None and not pairs:
            last = self._previous
            worse = -value / barrier - volume > -last.value / barrier - last.volume + 3e-6 * abs(value) / barrier
            if worse and self._rejected < 3:
                # The barrier function fell: take a shorter step from the same place.
                self._rejected, self._caution = self._rejected + 1, max(0.15, 0.6 * self._caution)
                self._previous = replace(last, step=last.step * 0.3)
                self._basis, self._weights = _moved(xp, last.basis, last.root, self._previous.step)
                return
        self._caution = min(1.0, 1.15 * self._caution) if self._rejected == 0 else self._caution
        self._rejected = 0
        open_gap = max(here.top - here.held, 0.0)
        self._tolerance = min(3e-3, max(self._finest, 0.1 * open_gap / max(here.bound, 1e-300)))
        current = max(open_gap / (depth + len(pairs)), 1e-14)
        off_centre = current / barrier if barrier is not None else 1.0
        barrier = CENTRING * current if barrier is None else max(min(barrier, CENTRING * current), 0.1 * barrier)
        slope = here.total * root[:, None] * root[None, :]
        slope = slope + diagonal_matrix(xp, barrier - (here.held + barrier * depth) * weights)
        curvature = here.found.curvature
        hessian = curvature + xp.matrix_transpose(curvature) + barrier
        step = slope / hessian
        change = np.empty(0)
        if pairs:
            step, change = region_step(xp, step, hessian, root, weights, here.rays, here.slack, self._sigma, barrier)
        length = 1.0
        if self._steps > 3 and off_centre > 2.5:
            length = max(0.35, math.sqrt(2.5 / off_centre))
        length = min(length, self._caution)
        length *= min(1.0, LARGEST_STEP / (length * max(spectral_norm(xp, step), 1e-300)))
        step = step * length
        if pairs:
            self._sigma = np.maximum(self._sigma + length * change, 1e-12)
        self._barrier, self._previous = barrier, _Move(value, volume, step, root, self._basis)
        self._basis, self._weights = _moved(xp, self._basis, root, step)


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
    """What was found at a density, and the state of the problem before."""

    before: dict[str, Any]
    found: Evaluation
    total: Array
    slack: Vector
    rays: Any
    held: float
    top: float
    bound: float
    value: float


def _normalised(xp: Any, basis: Array, weights: Array) -> tuple[Array, Array]:
    floor = WEIGHT_FLOOR * float(weights[-1])
    weights = xp.where(weights > floor, weights, xp.full_like(weights, floor))
    return basis, weights / xp.sum(weights)


def _moved(xp: Any, basis: Array, root: Array, step: Array) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of L(I + E/2)²Lᵀ, scaled to trace one."""
    factor = root[:, None] * step / 2 + diagonal_matrix(xp, root)
    square = factor @ xp.matrix_transpose(factor)
    if isinstance(square, np.ndarray):
        from scipy.linalg import eigh

        weights, turn = eigh(square, driver="evd", overwrite_a=True, check_finite=False)
    else:
        weights, turn = xp.linalg.eigh(square)
    return _normalised(xp, basis @ turn, weights)
