"""One component among others: the best unit vector on few features that is orthogonal to given vectors.

Let x be the best unit vector on a support S with Nᵀx = 0, where the columns of N (the normals) come from the other
components. Writing N' for the rows of N in S without feature i, and M = (N'ᵀN')⁺,

    y = x − x_i e_i + x_i N'M n_i        is what is left of x without i,
    d = e_j − N'M n_j                    brings in feature j,

both are orthogonal to the normals, and to each other. So the larger eigenvalue of A on the plane that they span bounds
the variance after exchanging i for j from below; without normals it is that of `search/swaps.py`.
"""

from dataclasses import dataclass

import numpy as np

from certpca.runtime.arrays import Indices, Mask, Vector, top_k
from certpca.runtime.lateness import Late, never
from certpca.search.joint.exchange_loops import best_exchanges_alone, exchange_table, exchange_table_alone, image_of
from certpca.search.joint.leading import leading_pairs

GAIN = 1e-10  # relative improvement below which two supports count as equal
CHEAP, DEAR_GAIN = 300_000, 1e-5  # features times those in a component, beyond which smaller gains are let go
DEPENDENT = 1e-12  # singular values of normals below which they ask for nothing


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A component of a set: its support, sorted, its loadings there and the variance along them."""

    support: Indices
    loadings: Vector
    value: float


def fitted(matrix: Vector, support: Indices, normals: Vector | None) -> Member | None:
    """Return the best component on a support that is orthogonal to the normals, or None where none is."""
    support = np.sort(support)
    active = None if normals is None else _range_of(normals[support])
    if active is None:
        return fitted_alone(matrix, support)
    part = matrix[np.ix_(support, support)]
    if active.shape[1] >= support.size:
        return None
    free = np.linalg.qr(active, mode="complete")[0][:, active.shape[1] :]
    value, inner = _leading(free.T @ part @ free)
    loadings = free @ inner
    loadings -= active @ (active.T @ loadings)
    return Member(support, loadings / np.linalg.norm(loadings), value)


def fitted_alone(matrix: Vector, support: Indices) -> Member:
    """Return the best component on a support."""
    support = np.sort(support)
    value, loadings = _leading(matrix[np.ix_(support, support)])
    return Member(support, loadings, value)


def _range_of(rows: Vector) -> Vector | None:
    """Return an orthonormal basis of what normals are on a support, or None where they vanish there."""
    if rows.shape[1] == 0 or not rows.any():
        return None
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    kept = values > DEPENDENT
    return np.asarray(left[:, kept]) if kept.any() else None


def _leading(matrix: Vector) -> tuple[float, Vector]:
    values, vectors = leading_pairs(matrix, 1)
    return float(values[0]), vectors[:, 0]


def exchange_values(matrix: Vector, member: Member, normals: Vector | None) -> Vector:
    """Bound from below what each exchange leads to: a row for each feature of the support, a column for each of all.

    Columns of the support itself hold what is left without the feature of the row.
    """
    support, x = member.support, member.loadings
    diagonal, image = np.ascontiguousarray(np.diagonal(matrix)), image_of(matrix, support, x)
    if normals is None or not normals.shape[1]:
        return np.asarray(exchange_table_alone(matrix, diagonal, support, x, image))
    columns, normals = np.ascontiguousarray(matrix[support].T), np.ascontiguousarray(normals)
    rows = normals[support]
    without = (rows.T @ rows)[None] - rows[:, :, None] * rows[:, None, :]
    inverses = np.linalg.pinv(without, rcond=1e-10, hermitian=True)
    return np.asarray(exchange_table(columns, diagonal, support, x, image, normals, inverses))


def best_exchanges(matrix: Vector, member: Member, allowed: Mask, normals: Vector | None) -> tuple[Indices, Vector]:
    """Return for each feature of the support the best one to enter instead, and what that leads to at least."""
    barred = np.where(allowed, 0.0, -np.inf)
    barred[member.support] = -np.inf
    if normals is None or not normals.shape[1]:
        support, x = member.support, member.loadings
        diagonal, image = np.ascontiguousarray(np.diagonal(matrix)), image_of(matrix, support, x)
        best, gains = best_exchanges_alone(matrix, diagonal, support, x, image, barred)
        return best, gains
    values = exchange_values(matrix, member, normals) + barred
    best = values.argmax(axis=1)
    return best, values[np.arange(best.size), best]


def addition_values(matrix: Vector, member: Member, normals: Vector | None) -> Vector:
    """Bound from below what each further feature leads to."""
    support, x = member.support, member.loadings
    image = image_of(matrix, support, x)
    diagonal = np.diagonal(matrix)
    if normals is None:
        values = _larger(member.value, diagonal, image**2)
    else:
        rows = normals[support]
        inverse = np.linalg.pinv(rows.T @ rows, rcond=1e-10, hermitian=True)
        mapped = normals @ inverse
        images = matrix[:, support] @ rows
        form = rows.T @ images[support]
        entering = diagonal - 2 * (images * mapped).sum(axis=1) + ((mapped @ form) * mapped).sum(axis=1)
        spread = np.maximum(1.0 + (mapped * normals).sum(axis=1), 1.0)
        cross = image - mapped @ (rows.T @ image[support])
        values = _larger(member.value, entering / spread, cross**2 / spread)
        missed = normals - mapped @ (rows.T @ rows)
        values[np.abs(missed).max(axis=1, initial=0.0) > 1e-8] = member.value
    values[support] = member.value
    return values


def _larger(first: Vector | float, second: Vector, squared_cross: Vector) -> Vector:
    return np.asarray((first + second) / 2 + np.sqrt(((first - second) / 2) ** 2 + squared_cross))


def thresholded(matrix: Vector, member: Member, count: int, allowed: Mask, normals: Vector | None) -> Member | None:
    """Move to the features that the image weighs most, less what the normals take of it."""
    image = image_of(matrix, member.support, member.loadings)
    if normals is not None:
        image = image - normals @ np.linalg.lstsq(normals[member.support], image[member.support])[0]
    support = top_k(np.where(allowed, np.abs(image), -1.0), count)
    support = support[allowed[support]]
    if np.array_equal(support, member.support):
        return None
    return fitted(matrix, support, normals)


def improved(
    matrix: Vector, member: Member, count: int, allowed: Mask, normals: Vector | None, late: Late = never
) -> Member:
    """Threshold, fill up and exchange features while that raises the variance; several at a time while that works."""
    member = filled(matrix, member, count, allowed, normals)
    together, gain = max(1, count // 8), least_gain(matrix.shape[0], count)
    while not late():
        other = thresholded(matrix, member, count, allowed, normals)
        if other is not None and other.value > member.value + gain * abs(member.value):
            member = other
            continue
        best, gains = best_exchanges(matrix, member, allowed, normals)
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > member.value + gain * abs(member.value)]
        better = None
        while order.size and better is None:
            entering: dict[int, int] = {}
            for slot in order:
                entering.setdefault(int(best[slot]), int(slot))
                if len(entering) == together:
                    break
            support = member.support.copy()
            support[list(entering.values())] = list(entering)
            found = fitted(matrix, support, normals)
            if found is not None and found.value > member.value + gain * abs(member.value):
                better, together = found, 2 * len(entering)
            elif together == 1:
                break
            else:
                together = max(1, len(entering) // 3)
        if better is None:
            return member
        member = better
    return member


def least_gain(size: int, count: int) -> float:
    """Return the relative gain that is worth another step: more of it where a step takes longer."""
    return GAIN if size * count <= CHEAP else DEAR_GAIN


def filled(matrix: Vector, member: Member, count: int, allowed: Mask, normals: Vector | None) -> Member:
    """Add the features that help most until there are so many, or no more are allowed."""
    while member.support.size < count:
        values = addition_values(matrix, member, normals)
        values[~allowed] = -np.inf
        values[member.support] = -np.inf
        room = count - member.support.size
        # Half of what is missing at a time, so that large supports grow in a few steps.
        chosen = top_k(values, min(max(1, room // 2), values.size))
        chosen = chosen[np.isfinite(values[chosen])]
        if not chosen.size:
            break
        found = fitted(matrix, np.concatenate([member.support, chosen]), normals)
        if found is None:
            break
        member = found if found.value >= member.value else _padded(member, found.support)
    return member


def _padded(member: Member, support: Indices) -> Member:
    """Write a component on more features, with zeros there."""
    loadings = np.zeros(support.size)
    loadings[np.searchsorted(support, member.support)] = member.loadings
    return Member(support, loadings, member.value)
