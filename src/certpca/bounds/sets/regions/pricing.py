"""Prices of features from directions: the least Σ w_i + Σ_t max over ξ of what the best k_t features are worth at w.

The maximum is over directions of the planes through those that are known to be good. What a direction is worth is a
convex function of the prices, whatever supports it would choose, so that a few dozen of them do what thousands of
supports would not. The maximum is smoothed; the bound is proved later, by levels.
"""

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np

from certpca.bounds.l0_level.features import Features
from certpca.runtime.arrays import Vector, to_vector

ANGLES = 24  # of the plane through the two leading directions,
FEWER_ANGLES = 8  # and of the others
SMOOTHINGS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4)  # shares of what one component captures
STEPS = 80
CONSIDERED = 4  # features that may get a price, for each that can be chosen
FREE = 1e-4  # of the largest price: smaller ones are none


def good_prices(
    features: Features, leading: Vector, directions: Vector, sparsities: tuple[int, ...], late: Callable[[], bool]
) -> Vector:
    """Return a price for each feature, from the two leading directions of all features and those of components."""
    panel = _planes(leading, directions)
    worth = np.square(to_vector(features.along(panel)).astype(np.float64))
    most = min(features.size, CONSIDERED * sum(sparsities))
    considered = np.sort(np.argsort(-worth.max(axis=1), kind="stable")[:most])
    prices = np.zeros(features.size)
    prices[considered] = _least(worth[considered], sparsities, late)
    prices[prices < FREE * prices.max(initial=0.0)] = 0.0
    return prices


def _planes(leading: Vector, directions: Vector) -> Vector:
    """Return unit vectors all around the planes through pairs of directions."""
    columns = []
    every = np.concatenate([leading, directions], axis=1)
    every = every / np.maximum(np.linalg.norm(every, axis=0), np.finfo(float).tiny)
    for first, second in combinations(range(every.shape[1]), 2):
        basis = np.linalg.qr(every[:, [first, second]])[0]
        count = ANGLES if (first, second) == (0, 1) else FEWER_ANGLES
        angles = math.pi * np.arange(count) / count
        columns.append(basis @ np.array([np.cos(angles), np.sin(angles)]))
    return np.concatenate([every, *columns], axis=1)


def _least(worth: Vector, sparsities: tuple[int, ...], late: Callable[[], bool]) -> Vector:
    """Minimise the smoothed bound on prices of the features at hand."""
    from scipy.optimize import minimize

    counted = sorted(Counter(sparsities).items())
    best, at = math.inf, np.zeros(worth.shape[0])
    unit = max(float(_chosen(worth, counted[-1][0])[0].max()), np.finfo(float).tiny)

    def smoothed(prices: Vector, smoothing: float) -> tuple[float, Vector]:
        nonlocal best, at
        value = exact = float(prices.sum())
        slope = np.ones_like(prices)
        for count, times in counted:
            sums, mask = _chosen(worth - prices[:, None], count)
            top = float(sums.max())
            share = np.exp((sums - top) / smoothing)
            value += times * (top + smoothing * math.log(float(share.sum())))
            exact += times * top
            slope -= times * (mask @ (share / share.sum()))
        if exact < best:
            best, at = exact, prices.copy()
        return value, slope

    point, bounds = at, [(0.0, None)] * at.size
    for smoothing in SMOOTHINGS:
        if late():
            break
        found = minimize(
            smoothed, point, (smoothing * unit,), "L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": STEPS}
        )
        point = np.asarray(found.x)
    return at


def _chosen(worth: Vector, count: int) -> tuple[Vector, Vector]:
    """Return the sum of the largest positive entries of each column, and where they are."""
    size = worth.shape[0]
    mask = np.zeros(worth.shape)
    rows = np.argpartition(worth, size - count, axis=0)[size - count :] if count < size else np.arange(size)[:, None]
    np.put_along_axis(mask, np.broadcast_to(rows, (rows.shape[0], worth.shape[1])), 1.0, axis=0)
    mask *= worth > 0
    return np.einsum("ij,ij->j", mask, worth), mask
