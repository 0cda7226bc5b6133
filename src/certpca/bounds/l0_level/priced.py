"""Features with a price: the secular equations of the level R + wI, and their derivatives.

In the frame T of R that level is I + wE, E = TTᵀ, on the directions that have levels of their own, and 1 + w/r
elsewhere: no longer diagonal. With weights p and p_r and the squared length s of the rest, the root θ > 0 of

    b·y + s y_r = 1,   (θ/p + I + wE) y = b,   y_r = 1/(θ/p_r + 1 + w/r)

makes z = σ y/p (and σ y_r/p_r times the rest), σ² = θ/N, N = Σ y²/p + s y_r²/p_r. For w = 0 that is `secular`. Each
Newton step factors a matrix of as many rows as there are directions with levels of their own, for the few features that
have a price.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from certpca.runtime.arrays import Vector
from certpca.runtime.threads import in_threads

NEWTON_STEPS = 60
TOLERANCE = 1e-6  # relative change of θ at which a last step is made: the next change would be its square
STRIP = 64  # features whose sums are kept apart, so that the order of sums is fixed


class Frame(NamedTuple):
    """What the equations of all features have in common: p, p_r, E and r."""

    weights: Vector
    rest_weight: float
    gram: Vector
    level: float


class Solved(NamedTuple):
    """θ, N, the known coordinates of every z, and what z has of the others; y and y_r."""

    theta: Vector
    norm: Vector
    z: Vector
    other: Vector
    y: Vector
    rest_y: Vector


class Slopes(NamedTuple):
    """Derivatives by b and s of each feature, by p, p_r, E and r, and by each price."""

    b: Vector
    rest: Vector
    weights: Vector
    rest_weight: float
    gram: Vector
    level: float
    prices: Vector


def priced_factors(b: Vector, rest: Vector, prices: Vector, frame: Frame, near: Solved | None = None) -> Solved:
    """Solve the equation of every feature, from roots that are near; where there is no root, z is zero."""
    count, width = b.shape
    theta = near.theta.copy() if near is not None and near.theta.size == count else np.zeros(count)
    numbers, panels = (np.zeros((3, count)), np.zeros((2, count, width)))
    found = Solved(theta, numbers[0], panels[0], numbers[1], panels[1], numbers[2])
    given = np.ascontiguousarray(b, dtype=np.float64), np.asarray(rest, dtype=np.float64), prices, *frame, *found
    _in_strips(_compiled()[0], (*given, TOLERANCE, NEWTON_STEPS), count)
    return found


def priced_derivatives(rest: Vector, prices: Vector, frame: Frame, solved: Solved, pulls: Sequence[Vector]) -> Slopes:
    """Differentiate Σ φ_i, with `pulls` as in `secular.derivatives`, θ moving with everything by its equation."""
    count, width = solved.y.shape
    strips = -(-count // STRIP)
    by_b, by_rest, by_prices = np.zeros((count, width)), np.zeros(count), np.zeros(count)
    sums, grams = np.zeros((strips, width + 2)), np.zeros((strips, width, width))
    pull, *others = (np.ascontiguousarray(some, dtype=np.float64) for some in pulls)
    given = np.asarray(rest, dtype=np.float64), prices, *frame, solved.theta, solved.norm, solved.y, solved.rest_y
    _in_strips(_compiled()[1], (*given, pull, *others, by_b, by_rest, by_prices, sums, grams), count)
    total, gram = sums.sum(axis=0), grams.sum(axis=0)
    gram = (gram + gram.T) / 2
    return Slopes(by_b, by_rest, total[:width], float(total[width]), gram, float(total[width + 1]), by_prices)


def _in_strips(loop: Any, given: tuple[Any, ...], count: int) -> None:
    in_threads(lambda first, last: loop(*given, first, last), -(-count // STRIP))


@cache
def _compiled() -> tuple[Any, Any]:  # noqa: PLR0915
    """Compile the loops once, when they are first needed."""
    import numba

    @numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
    def factored(p, gram, w, theta, lower):  # type: ignore[no-untyped-def]
        """Write the Cholesky factor of θ/p + I + wE, row by row."""
        for i in range(p.size):
            for j in range(i + 1):
                total = w * gram[i, j]
                if i == j:
                    total += 1.0 + theta / p[i]
                for k in range(j):
                    total -= lower[i, k] * lower[j, k]
                if i == j:
                    lower[i, i] = math.sqrt(total)
                else:
                    lower[i, j] = total / lower[j, j]

    @numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
    def substituted(lower, right, found):  # type: ignore[no-untyped-def]
        """Solve with a Cholesky factor."""
        width = right.size
        for i in range(width):
            total = right[i]
            for k in range(i):
                total -= lower[i, k] * found[k]
            found[i] = total / lower[i, i]
        for i in range(width - 1, -1, -1):
            found[i] /= lower[i, i]
            for k in range(i):
                found[k] -= lower[i, k] * found[i]

    @numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
    def solve(  # type: ignore[no-untyped-def]
        b, rest, prices, p, q, gram, level, theta, norm, z, other, y, rest_y, tolerance, steps, first, last
    ):
        width = b.shape[1]
        lower, found = np.empty((width, width)), np.empty(width)
        for i in range(first * STRIP, min(last * STRIP, b.shape[0])):
            w = prices[i]
            top = q * rest[i]
            for j in range(width):
                top += p[j] * b[i, j] * b[i, j]
            guess, root = theta[i], 0.0
            theta[i] = 0.0
            if not top > 0.0:
                continue
            factored(p, gram, w, 0.0, lower)
            substituted(lower, b[i], found)
            left = rest[i] / (1.0 + w / level)
            for j in range(width):
                left += b[i, j] * found[j]
            if left <= 1.0 + 1e-12:
                continue
            root = guess if guess > 0.0 and guess <= top else top
            rest_part, slope, near = 0.0, 1.0, False
            for _ in range(steps):
                factored(p, gram, w, root, lower)
                substituted(lower, b[i], found)
                rest_part = 1.0 / (root / q + 1.0 + w / level)
                left, slope = rest[i] * rest_part, rest[i] * rest_part * rest_part / q
                for j in range(width):
                    left += b[i, j] * found[j]
                    slope += found[j] * found[j] / p[j]
                if near:
                    break
                change = (left - left * left) / slope
                near = abs(change) <= tolerance * root
                root = root - change if root > change else 0.05 * root
            size = math.sqrt(root / slope)
            theta[i], norm[i], rest_y[i], other[i] = root, slope, rest_part, size * rest_part / q
            for j in range(width):
                y[i, j] = found[j]
                z[i, j] = size * found[j] / p[j]

    @numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
    def differentiate(  # type: ignore[no-untyped-def]
        rest,
        prices,
        p,
        q,
        gram,
        level,
        theta,
        norm,
        y,
        rest_y,
        pull,
        rest_pull,
        spread,
        value,
        by_b,
        by_rest,
        by_prices,
        sums,
        grams,
        first,
        last,
    ):
        width = y.shape[1]
        lower, u, right = np.empty((width, width)), np.empty(width), np.empty(width)
        for strip in range(first, last):
            for i in range(strip * STRIP, min((strip + 1) * STRIP, y.shape[0])):
                t, n, w, s, v = theta[i], norm[i], prices[i], rest[i], rest_y[i]
                if t <= 0.0:
                    continue
                size, share = math.sqrt(t / n), value[i] / n
                drawn = rest_pull[i] + size * v / q * spread[i]
                by_v = 2.0 * (size * drawn - share * s * v) / q
                for j in range(width):
                    right[j] = 2.0 * (size * pull[i, j] - share * y[i, j]) / p[j]
                factored(p, gram, w, t, lower)
                substituted(lower, right, u)
                by_theta = value[i] / t - by_v * v * v / q
                uey = yey = 0.0
                for j in range(width):
                    by_theta -= u[j] * y[i, j] / p[j]
                    total = 0.0
                    for k in range(width):
                        total += gram[j, k] * y[i, k]
                    uey += u[j] * total
                    yey += y[i, j] * total
                turn = by_theta / n
                for j in range(width):
                    by_b[i, j] = u[j] + 2.0 * turn * y[i, j]
                    ratio = y[i, j] / p[j]
                    sums[strip, j] += ratio * (-2.0 * size * pull[i, j] / p[j] + share * ratio)
                    sums[strip, j] += ratio * t * (u[j] / p[j] + turn * ratio)
                    for k in range(width):
                        grams[strip, j, k] -= w * (u[j] + turn * y[i, j]) * y[i, k]
                ratio = v / q
                sums[strip, width] += ratio * (-2.0 * size * drawn / q + share * s * ratio)
                sums[strip, width] += ratio * ratio * t * (by_v + turn * s)
                sums[strip, width + 1] += w * v * v / (level * level) * (by_v + turn * s)
                by_rest[i] = -share * v * v / q + turn * v
                by_prices[i] = -uey - turn * yey - v * v / level * (by_v + turn * s)

    return solve, differentiate
