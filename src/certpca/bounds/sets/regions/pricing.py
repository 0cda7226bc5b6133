"""Prices of features from directions: the least Σ w_i + Σ_t max over ξ of what the best k_t features are worth at w.

The maximum is over directions of the planes through those that are known to be good. What a direction is worth is a
convex function of the prices, whatever supports it would choose, so that a few dozen of them do what thousands of
supports would not. The maximum is smoothed; the bound is proved later, by levels.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

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
    counted = sorted(Counter(sparsities).items())
    prices[considered] = least_prices([Worth(worth[considered], 0.0, k, times) for k, times in counted], late)[0]
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


class Worth(NamedTuple):
    """What features are worth along directions, as columns, to `times` components that may have the `most` of them.

    `sure` is what each direction has without them.
    """

    features: Vector
    sure: Vector | float
    most: int
    times: int


def least_prices(worth: Sequence[Worth], late: Callable[[], bool], start: Vector | None = None) -> tuple[Vector, float]:
    """Minimise the smoothed bound on prices of the features at hand; return them, and the bound by these directions."""
    from scipy.optimize import minimize

    size = worth[0].features.shape[0]
    best, at = math.inf, np.zeros(size) if start is None else start
    unit = max(*(float((_chosen(each.features, each.most)[0] + each.sure).max()) for each in worth), 1e-300)

    def smoothed(prices: Vector, smoothing: float) -> tuple[float, Vector]:
        nonlocal best, at
        value = exact = float(prices.sum())
        slope = np.ones_like(prices)
        for each in worth:
            sums, mask = _chosen(each.features - prices[:, None], each.most)
            sums = sums + each.sure
            top = float(sums.max())
            share = np.exp((sums - top) / smoothing)
            value += each.times * (top + smoothing * math.log(float(share.sum())))
            exact += each.times * top
            slope -= each.times * (mask @ (share / share.sum()))
        if exact < best:
            best, at = exact, prices.copy()
        return value, slope

    point, bounds = at, [(0.0, None)] * size
    for smoothing in SMOOTHINGS if start is None else SMOOTHINGS[2:]:
        if late():
            break
        found = minimize(
            smoothed, point, (smoothing * unit,), "L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": STEPS}
        )
        point = np.asarray(found.x)
    return at, best


def _chosen(worth: Vector, count: int) -> tuple[Vector, Vector]:
    """Return the sum of the largest positive entries of each column, and where they are."""
    size = worth.shape[0]
    mask = np.zeros(worth.shape)
    rows = np.argpartition(worth, size - count, axis=0)[size - count :] if count < size else np.arange(size)[:, None]
    np.put_along_axis(mask, np.broadcast_to(rows, (rows.shape[0], worth.shape[1])), 1.0, axis=0)
    mask *= worth > 0
    return np.einsum("ij,ij->j", mask, worth), mask
