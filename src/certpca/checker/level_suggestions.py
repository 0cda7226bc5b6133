"""Which vectors c to take for the dual matrices of a level, as c = Wg + ha.

They are the best ones for the density that the frame and the weights of the level describe, found from Wᵀa and |a|²
alone. Nothing here has to be right: every c gives a valid dual matrix.
"""

import numpy as np

from certpca.checker.levels import SMALLEST_FORM, Level
from certpca.checker.numbers import Vector

NEWTON_STEPS = 40
SYSTEMS = 256  # that are solved at a time, for features with prices


def coordinates(along: Vector, squares: Vector, level: Level) -> tuple[Vector, Vector]:
    """Return g and h of such a c = Wg + ha, from Wᵀa and |a|².

    With orthonormal W that is c = W(Tᵀc̃ − hWᵀa) + ha, c̃ = pb/(θ + p), b = TWᵀa and h = p_r/(r(θ + p_r)).
    """
    scales = level.scales[:, None]
    along = scales * along
    b = level.frame @ along
    whole = level.directions.shape[0] == level.directions.shape[1]
    rest = np.zeros_like(squares) if whole else np.maximum(squares - (along**2).sum(axis=0), 0.0) / level.number
    weights = np.append(level.weights, level.rest_weight)[:, None]
    theta = roots(np.concatenate([b**2, rest[None, :]]), weights)
    inner = level.weights[:, None] * b / (theta + level.weights[:, None])
    outer = 0.0 * theta if whole else level.rest_weight / (level.number * (theta + level.rest_weight))
    return scales * (level.frame.T @ inner - outer * along), outer


def priced_coordinates(along: Vector, squares: Vector, level: Level, prices: Vector) -> tuple[Vector, Vector]:
    """Return g and h for features with prices.

    R + wI is not diagonal in the frame T of R, so each has a system of its own:
    c = W(Tᵀy − hWᵀa) + ha with (θ/p + I + wTTᵀ)y = b, h = 1/(r(θ/p_r + 1) + w), and θ such that b·y + hr|rest|² = 1.
    """
    scales = level.scales[:, None]
    along = scales * along
    b = (level.frame @ along).T
    whole = level.directions.shape[0] == level.directions.shape[1]
    number = level.number if level.number > 0 else 1.0
    rest = np.zeros_like(squares) if whole else np.maximum(squares - (along**2).sum(axis=0), 0.0) / number
    gram, width = level.frame @ level.frame.T, level.frame.shape[0]
    p, q = np.maximum(level.weights, SMALLEST_FORM), max(level.rest_weight, SMALLEST_FORM)
    g, h = np.zeros_like(along), np.zeros_like(squares)
    for begin in range(0, prices.size, SYSTEMS):
        part = slice(begin, begin + SYSTEMS)
        systems = np.eye(width) + prices[part, None, None] * gram
        theta, y, outer = (b[part] ** 2 * p).sum(axis=1) + q * rest[part], b[part], rest[part]
        for _ in range(NEWTON_STEPS):
            shifted = systems.copy()
            shifted[:, range(width), range(width)] += theta[:, None] / p
            if not np.isfinite(shifted).all():
                break
            try:
                y = np.asarray(np.linalg.solve(shifted, b[part, :, None])[:, :, 0], dtype=np.float64)
            except np.linalg.LinAlgError:
                break
            outer = 1 / (theta / q + 1 + prices[part] / number)
            left = (b[part] * y).sum(axis=1) + rest[part] * outer
            slope = (y**2 / p).sum(axis=1) + rest[part] * outer**2 / q
            new = theta - (left - left**2) / slope
            new = np.where(new > 0, new, 0.05 * theta)
            done = bool((np.abs(new - theta) <= 1e-10 * new).all())
            theta = np.where(np.isfinite(new), new, theta)
            if done:
                break
        h[part] = 0.0 if whole else outer / number
        g[:, part] = scales * (level.frame.T @ y.T - h[part] * along[:, part])
    return g, h


def inverse_times(along: Vector, level: Level, prices: Vector) -> Vector:
    """Return about ((r + w)I + SWᵀW)⁻¹SWᵀa, for (R + wI)⁻¹a; any vector would do."""
    assert level.inverse is not None
    found: Vector = level.inverse @ along
    paying = np.flatnonzero(prices)
    if paying.size:
        product, right = level.matrix @ level.gram, (level.matrix @ along[:, paying]).T
        unit = np.eye(product.shape[0])
        for begin in range(0, paying.size, SYSTEMS):
            part = slice(begin, begin + SYSTEMS)
            systems = (level.number + prices[paying[part], None, None]) * unit + product
            try:
                found[:, paying[part]] = np.linalg.solve(systems, right[part, :, None])[:, :, 0].T
            except np.linalg.LinAlgError:  # what is there bounds less well, and nothing wrongly
                break
    return found


def roots(held: Vector, weights: Vector) -> Vector:
    """Solve Σ_l p_l h_l/(θ + p_l) = 1 for each column by Newton's method on the reciprocal; θ only suggests."""
    weighted = weights * held
    theta = weighted.sum(axis=0)
    active = np.flatnonzero((theta > 0) & (held.sum(axis=0) > 1) & np.isfinite(theta))
    theta = np.maximum(np.nan_to_num(theta), np.finfo(float).tiny)
    for _ in range(NEWTON_STEPS):
        if active.size == 0:
            break
        now = theta[active]
        inverse = 1.0 / (now + weights)
        terms = weighted[:, active] * inverse
        left, slope = terms.sum(axis=0), (terms * inverse).sum(axis=0)
        new = now - (left - left**2) / slope
        new = np.where(new > 0, new, 0.05 * now)
        theta[active] = new
        active = active[np.abs(new - now) > 1e-10 * new]
    return np.asarray(theta)
