"""Limited-memory BFGS with backtracking, for functions whose caller keeps the best point seen.

(Nocedal & Wright, Numerical Optimization, 2006, section 7.2.) Unlike SciPy's it has no bounds and little overhead.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from certpca.runtime.arrays import Vector

BACKTRACKS = 12
SMALL_STEPS = 3
MANY = 1 << 16  # numbers from which what is remembered is in single precision: it takes most of the memory


def descend(
    function: Callable[[Vector], tuple[float, Vector]],
    point: Vector,
    *,
    steps: int,
    tolerance: float,
    stop: Callable[[float], bool],
    memory: int,
) -> None:
    """Minimise until `stop` says so, the steps are used up, or three decreases in a row are within the tolerance."""
    value, gradient = function(point)
    kind = np.float32 if point.size >= MANY else np.float64
    moves, changes = np.empty((memory, point.size), dtype=kind), np.empty((memory, point.size), dtype=kind)
    weights, order, small = np.empty(memory), list[int](), 0
    for _ in range(steps):
        if stop(value):
            return
        direction = _direction(gradient, moves, changes, weights, order)
        slope = float(gradient @ direction)
        if not slope < 0:
            order, direction, slope = [], -gradient, -float(gradient @ gradient)
        step = 1.0
        for _ in range(BACKTRACKS):
            fresh = np.multiply(direction, step, dtype=np.float64)
            fresh += point
            fresh_value, fresh_gradient = function(fresh)
            if fresh_value <= value + 1e-4 * step * slope:
                break
            fresh = fresh_gradient = gradient  # their memory goes before the next are made
            if stop(min(value, fresh_value)):
                return
            step *= min(0.5, max(0.1, -0.5 * slope * step / (fresh_value - value - step * slope)))
        else:
            if not order:
                return
            order = []
            continue
        slot = order.pop(0) if len(order) == memory else len(order)
        np.subtract(fresh, point, out=moves[slot], casting="same_kind")
        np.subtract(fresh_gradient, gradient, out=changes[slot], casting="same_kind")
        curvature = float(moves[slot] @ changes[slot])
        if curvature > 1e-12 * float(changes[slot] @ changes[slot]):
            weights[slot] = 1 / curvature
            order.append(slot)
        else:
            order = []
        small = small + 1 if value - fresh_value <= tolerance else 0
        point, value, gradient = fresh, fresh_value, fresh_gradient
        del direction
        if small >= SMALL_STEPS:
            return


def _direction(gradient: Vector, moves: Any, changes: Any, weights: Vector, order: list[int]) -> Any:
    direction, factors = np.negative(gradient, dtype=moves.dtype), {}
    for slot in reversed(order):
        factors[slot] = float(weights[slot] * (moves[slot] @ direction))
        direction -= factors[slot] * changes[slot]
    if order:
        newest = order[-1]
        direction *= 1 / float(weights[newest] * (changes[newest] @ changes[newest]))
    for slot in order:
        direction += (factors[slot] - float(weights[slot] * (changes[slot] @ direction))) * moves[slot]
    return direction
