"""Measured hot loops: the secular equations of a dual point with a matrix as its level, and their derivatives.

In the frame T of a level R = T⁻¹T⁻ᵀ a feature is b = Ta and its form is bbᵀ − I. Only a few coordinates of b are known
one by one; the others together have the squared length s and share one weight. With weights p and p_r the root θ > 0 of

    Σ_l p_l b_l² / (θ + p_l) + p_r s / (θ + p_r) = 1

makes z = σ b/(θ + p), σ² = θ/N, N = Σ_l p_l b_l²/(θ + p_l)² + p_r s/(θ + p_r)², the factor of the best dual matrix zzᵀ.
Where |b|² ≤ 1 there is no root and z = 0. Newton's method on the reciprocal of the left side climbs to the root.
Written against the array API; the compiled twin (numba, host arrays only) does the same without temporaries.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from certpca.runtime.arrays import Array, is_host, namespace
from certpca.runtime.threads import in_threads

NEWTON_STEPS = 60
TOLERANCE = 1e-6  # relative change of θ at which a last step is made: the next change would be its square
STRIP = 1024  # features whose sums are kept apart, so that the order of sums is fixed
WORTH_THREADS = 1 << 15  # entries from which a loop takes longer than waking threads for it
TINY = 1e-280


def factors(
    b: Array, rest: Array, weights: Array, rest_weight: float, guess: Array
) -> tuple[Array, Array, Array, Array]:
    """Return θ, N, the known coordinates of every z (in the type of b) and σ/(θ + p_r), what z has of the others."""
    if is_host(b):
        compiled = _compiled()
        theta = np.array(guess, dtype=np.float64)
        norm, other, z = np.empty_like(theta), np.empty_like(theta), np.empty_like(b)
        given = b, rest, weights, rest_weight, theta, norm, z, other, TOLERANCE, NEWTON_STEPS
        _in_strips(compiled[0], given, b)
        return theta, norm, z, other
    xp = namespace(b)
    squares = xp.astype(b, xp.float64) ** 2
    p, q = weights[None, :], rest_weight
    held, rest_held = squares * p, rest * q
    top = xp.sum(held, axis=1) + rest_held
    live = (xp.sum(squares, axis=1) + rest > 1 + 1e-12) & (top > TINY)
    one = xp.ones_like(top)
    theta = xp.where(live & (guess > 0) & (guess <= top), guess, xp.where(live, top, one))
    for _ in range(NEWTON_STEPS):
        inverse, rest_inverse = 1 / (theta[:, None] + p), 1 / (theta + q)
        terms, rest_term = held * inverse, rest_held * rest_inverse
        left = xp.sum(terms, axis=1) + rest_term
        slope = xp.sum(terms * inverse, axis=1) + rest_term * rest_inverse
        new = theta - (left - left * left) / xp.where(live, slope, one)
        new = xp.where(live, xp.where(new > 0, new, 0.05 * theta), one)
        moved = xp.abs(new - theta) > TOLERANCE * new
        theta = new
        if not bool(xp.any(moved)):
            break
    inverse, rest_inverse = 1 / (theta[:, None] + p), 1 / (theta + q)
    norm = xp.sum(held * inverse**2, axis=1) + rest_held * rest_inverse**2
    zero = xp.zeros_like(theta)
    size = xp.where(live, xp.sqrt(theta / xp.where(live, norm, one)), zero)
    z = b * xp.astype(size[:, None] * inverse, b.dtype)
    return xp.where(live, theta, zero), xp.where(live, norm, zero), z, size * rest_inverse


def derivatives(
    b: Array, rest: Array, weights: Array, rest_weight: float, solved: tuple[Array, Array], pulls: tuple[Array, ...]
) -> tuple[Array, Array, Array, float]:
    """Return the derivatives of Σ φ_i by b, by the squared length of the rest, by the weights and by that of the rest.

    φ = σ² (Σ_j ω_j y_j² + w_r² e) with y_j = Σ_l b_l w_l ṽ_jl + x_j w_r, w = 1/(θ + p). `solved` holds θ and N. `pulls`
    holds H_l = Σ_j ω_j σ y_j ṽ_jl, X = Σ_j ω_j σ y_j x_j, e, and φ. θ moves with everything by its equation.
    """
    theta, norm = solved
    pull, rest_pull, spread, value = pulls
    if is_host(b):
        compiled = _compiled()
        by_b, by_rest = np.empty_like(b), np.empty_like(theta)
        sums = np.zeros((-(-b.shape[0] // STRIP), b.shape[1] + 1))
        given = b, rest, weights, rest_weight, theta, norm, pull, rest_pull, spread, value, by_b, by_rest, sums
        _in_strips(compiled[1], given, b)
        total = sums.sum(axis=0)
        return by_b, by_rest, total[:-1], float(total[-1])
    xp = namespace(b)
    live = theta > 0
    one, zero = xp.ones_like(theta), xp.zeros_like(theta)
    t, n = xp.where(live, theta, one), xp.where(live, norm, one)
    a, h = xp.astype(b, xp.float64), xp.astype(pull, xp.float64)
    p, q = weights[None, :], rest_weight
    w, v = 1 / (t[:, None] + p), 1 / (t + q)
    size = xp.sqrt(t / n)
    share = value / n
    by_theta = value / t - 2 * size * (xp.sum(a * w**2 * h, axis=1) + v**2 * rest_pull) - 2 * size**2 * v**3 * spread
    by_theta = by_theta + 2 * share * (xp.sum(p * a**2 * w**3, axis=1) + q * rest * v**3)
    turn = by_theta / n
    by_b = 2 * (w * size[:, None] * h - p * a * w**2 * share[:, None] + p * a * w * turn[:, None])
    by_p = -2 * size[:, None] * a * w**2 * h + a**2 * w**2 * (turn * t)[:, None]
    by_p = by_p - a**2 * w**3 * (t[:, None] - p) * share[:, None]
    by_rest = -share * q * v**2 + turn * q * v
    by_q = -2 * size * v**2 * rest_pull - 2 * size**2 * v**3 * spread
    by_q = by_q - share * rest * v**3 * (t - q) + turn * rest * t * v**2
    mask = xp.astype(live, xp.float64)
    by_weights = xp.sum(by_p * mask[:, None], axis=0)
    return (
        xp.astype(by_b * mask[:, None], b.dtype),
        xp.where(live, by_rest, zero),
        by_weights,
        float(xp.sum(by_q * mask)),
    )


def _in_strips(loop: Any, given: tuple[Any, ...], b: Array) -> None:
    strips = -(-b.shape[0] // STRIP)
    if b.size < WORTH_THREADS:
        loop(*given, 0, strips)
    else:
        in_threads(lambda first, last: loop(*given, first, last), strips)


@cache
def _compiled() -> tuple[Any, Any]:  # noqa: PLR0915
    """Compile the host loops once, when they are first needed."""
    import numba

    @numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
    def solve(b, rest, p, q, theta, norm, z, other, tolerance, steps, first, last):  # type: ignore[no-untyped-def]
        width = b.shape[1]
        held = np.empty(width)
        for i in range(first * STRIP, min(last * STRIP, b.shape[0])):
            length, top = rest[i], q * rest[i]
            for j in range(width):
                square = np.float64(b[i, j]) * np.float64(b[i, j])
                held[j] = p[j] * square
                length += square
                top += held[j]
            if length <= 1.0 + 1e-12 or top <= TINY:
                theta[i] = norm[i] = other[i] = 0.0
                for j in range(width):
                    z[i, j] = 0.0
                continue
            root = theta[i]
            if not (root > 0.0 and root <= top):
                root = top
            for _ in range(steps):
                inverse = 1.0 / (root + q)
                left = q * rest[i] * inverse
                slope = left * inverse
                for j in range(width):
                    inverse = 1.0 / (root + p[j])
                    term = held[j] * inverse
                    left += term
                    slope += term * inverse
                new = root - (left - left * left) / slope
                if new <= 0.0:
                    new = 0.05 * root
                change = abs(new - root)
                root = new
                if change <= tolerance * root:
                    break
            inverse = 1.0 / (root + q)
            total = q * rest[i] * inverse * inverse
            for j in range(width):
                inverse = 1.0 / (root + p[j])
                total += held[j] * inverse * inverse
            size = math.sqrt(root / total)
            theta[i], norm[i], other[i] = root, total, size / (root + q)
            for j in range(width):
                z[i, j] = size * b[i, j] / (root + p[j])

    @numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
    def differentiate(  # type: ignore[no-untyped-def]
        b, rest, p, q, theta, norm, pull, rest_pull, spread, value, by_b, by_rest, sums, first, last
    ):
        width = b.shape[1]
        for strip in range(first, last):
            for i in range(strip * STRIP, min((strip + 1) * STRIP, b.shape[0])):
                t = theta[i]
                if t <= 0.0:
                    by_rest[i] = 0.0
                    for j in range(width):
                        by_b[i, j] = 0.0
                    continue
                n = norm[i]
                size, share, v = math.sqrt(t / n), value[i] / n, 1.0 / (t + q)
                slope = cubes = 0.0
                for j in range(width):
                    w = 1.0 / (t + p[j])
                    a = np.float64(b[i, j])
                    slope += a * w * w * pull[i, j]
                    cubes += p[j] * a * a * w * w * w
                by_theta = value[i] / t - 2.0 * size * (slope + v * v * rest_pull[i])
                by_theta += -2.0 * size * size * v * v * v * spread[i] + 2.0 * share * (cubes + q * rest[i] * v * v * v)
                turn = by_theta / n
                for j in range(width):
                    w = 1.0 / (t + p[j])
                    a = np.float64(b[i, j])
                    h = np.float64(pull[i, j])
                    by_b[i, j] = 2.0 * w * (size * h - p[j] * a * w * share + p[j] * a * turn)
                    sums[strip, j] += a * w * w * (-2.0 * size * h + a * (turn * t - w * (t - p[j]) * share))
                by_rest[i] = q * v * (turn - share * v)
                sums[strip, width] += (
                    v
                    * v
                    * (
                        -2.0 * size * rest_pull[i]
                        - 2.0 * size * size * v * spread[i]
                        + rest[i] * (turn * t - share * v * (t - q))
                    )
                )

    return solve, differentiate
