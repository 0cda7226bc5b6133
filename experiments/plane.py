"""Bounds where they can be drawn: data of two samples, whose directions are a half circle.

Everything here is a convex problem in three to seven numbers, solved by trying, and what is drawn is feasible whatever
was found: a worse search would draw a higher bound, never a wrong one.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

Array = np.ndarray
LARGEST = 0.985  # length of the Bloch vector: densities stay definite


class Bound(NamedTuple):
    """A quadratic form above every sum of so many features, and the level it was built from."""

    form: Array
    level: Array
    value: float


def directions(count: int = 721) -> Array:
    """Return unit vectors over a half circle, as rows."""
    angles = np.linspace(0, np.pi, count)
    return np.asarray(np.c_[np.cos(angles), np.sin(angles)])


def top_sums(features: Array, k: int, where: Array) -> Array:
    """Return the sum of the k largest squares along each direction: what the best k features capture there."""
    return np.asarray(np.sort((where @ features.T) ** 2, axis=1)[:, -k:].sum(axis=1))


def captured(features: Array, support: Sequence[int]) -> float:
    """Return what a support captures."""
    chosen = features[list(support)]
    return float(np.linalg.eigvalsh(chosen.T @ chosen)[-1])


def best_by_count(features: Array, k: int, group: Sequence[int]) -> list[float]:
    """Return the best that k features capture with 0, 1, ... of a group among them."""
    best = [0.0] * (k + 1)
    for support in combinations(range(len(features)), k):
        inside = len(set(support) & set(group))
        best[inside] = max(best[inside], captured(features, support))
    return best


def _densities() -> Array:
    radii, angles = np.meshgrid(np.linspace(0, LARGEST, 14), np.linspace(0, 2 * np.pi, 73)[:-1])
    x, y = (radii * np.cos(angles)).ravel(), (radii * np.sin(angles)).ravel()
    return 0.5 * np.moveaxis(np.array([[1 + x, y], [y, 1 - x]]), -1, 0)


DENSITIES = _densities()


def _covers(features: Array, levels: Array, density: Array) -> Array:
    """Return for each feature the best Y with Y ⪰ 0 and Y ⪰ aaᵀ − R against a definite density (3.1 of the page)."""
    values, vectors = np.linalg.eigh(density)
    root = vectors * np.sqrt(values) @ vectors.T
    covers = np.zeros((len(features), 2, 2))
    for cover, feature, level in zip(covers, features, levels, strict=True):
        over = np.outer(feature, feature) - level
        c = root @ np.linalg.eigh(root @ over @ root)[1][:, -1]
        q = c @ over @ c
        if q > 1e-12:
            cover[:] = np.outer(over @ c, over @ c) / q
    return covers


def _least(features: Array, levels: Array, plus: Array, other: Array | None = None) -> tuple[float, Array]:
    """Return the largest value over densities of ⟨P, plus⟩ + Σ ⟨P, best Y⟩, and where it is attained.

    With another form in the place of `plus` too, P is split between them as is worst.
    """
    over = features[:, :, None] * features[:, None, :] - levels
    product = np.einsum("pij,fjk->pfik", DENSITIES, over)
    values = np.einsum("pij,ij->p", DENSITIES, plus) + _positive_part(product).sum(axis=1)
    if other is not None:
        values += _positive_part(DENSITIES @ (other - plus))
    place = int(values.argmax())
    return float(values[place]), DENSITIES[place]


def _positive_part(product: Array) -> Array:
    """Return the sum of the positive eigenvalues of products PB of 2 x 2 matrices, whose eigenvalues are real."""
    half = np.trace(product, axis1=-2, axis2=-1) / 2
    root = np.sqrt(np.maximum(half**2 - np.linalg.det(product), 0))
    return np.asarray(np.maximum(half + root, 0) + np.maximum(half - root, 0))


def _found(measure: Callable[[Array], float], start: Array) -> Array:
    for _ in range(4):
        start = minimize(measure, start, method="Nelder-Mead", options={"maxiter": 500, "fatol": 1e-6}).x
    return np.asarray(start)


def _level(root: Array) -> Array:
    lower = np.array([[root[0], 0.0], [root[1], root[2]]])
    return np.asarray(lower @ lower.T)


def number_bound(features: Array, k: int) -> Bound:
    """Return the best bound whose level is a number: kρ + λ_max(Σ Y)."""
    return _bound(features, k, np.zeros((2, 2)), lambda at: at[0] ** 2 * np.eye(2), np.array([1.0]))


def matrix_bound(features: Array, k: int) -> Bound:
    """Return the best bound whose level is a matrix: λ_max(kR + Σ Y)."""
    return _bound(features, k, np.zeros((2, 2)), _level, np.array([1.0, 0.0, 1.0]))


def _bound(features: Array, k: int, minus: Array, level: Callable[[Array], Array], start: Array) -> Bound:
    def parts(at: Array) -> tuple[Array, Array, float, Array]:
        own = level(at)
        levels = np.broadcast_to(own, (len(features), 2, 2))
        price = at[-1] ** 2 if minus.any() else 0.0
        value, density = _least(features, levels, k * own - price * minus)
        return own, levels, value, density

    at = _found(lambda point: parts(point)[2], start)
    own, levels, _, density = parts(at)
    price = at[-1] ** 2 if minus.any() else 0.0
    form = k * own - price * minus + _covers(features, levels, density).sum(axis=0)
    return Bound(form, own, float(np.linalg.eigvalsh(form)[-1]))


def wedge_bound(features: Array, k: int, sides: tuple[Array, Array]) -> Bound:
    """Return the best bound for directions with (r·ξ)(s·ξ) ≤ 0, where σ(rsᵀ + srᵀ)/2 may be taken away."""
    r, s = sides
    minus = (np.outer(r, s) + np.outer(s, r)) / 2
    return _bound(features, k, minus, lambda at: _level(at[:3]), np.array([1.0, 0.0, 1.0, 0.5]))


class Cell(NamedTuple):
    """What is proved of supports with `low` to `high` features of a group."""

    low: int
    high: int
    values: list[float]  # for each count from low to high; convex, so the ends are largest


def count_cell(features: Array, k: int, group: Sequence[int], low: int, high: int) -> Cell:
    """Return the best bound with a level for the group and one for the other features, for these counts."""
    inside = np.isin(np.arange(len(features)), group)

    def parts(at: Array) -> tuple[Array, Array, Array]:
        one, rest = _level(at[:3]), _level(at[3:])
        levels = np.where(inside[:, None, None], one, rest)
        return levels, low * one + (k - low) * rest, high * one + (k - high) * rest

    at = _found(lambda point: _least(features, *parts(point))[0], np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0]))
    levels, at_low, at_high = parts(at)
    covers = _covers(features, levels, _least(features, levels, at_low, at_high)[1]).sum(axis=0)
    shares = np.linspace(0, 1, high - low + 1)
    forms = [(1 - share) * at_low + share * at_high + covers for share in shares]
    return Cell(low, high, [float(np.linalg.eigvalsh(form)[-1]) for form in forms])
