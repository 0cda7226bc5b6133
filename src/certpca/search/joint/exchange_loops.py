"""The compiled loops behind exchanges beside normals; `component.py` has their formulas."""

import math
from typing import Any

import numpy as np
from numba import njit

SOLVABLE = 1e-8  # of a normal, what may be missed by the rows that are left
NOTHING = 1e-12  # squared length below which nothing is left of a component


@njit(cache=True, nogil=True, error_model="numpy")
def image_of(matrix: Any, support: Any, x: Any) -> Any:
    """Return Ax without a copy of the rows of a symmetric matrix."""
    image = np.zeros(matrix.shape[0])
    for slot in range(support.size):
        row, entry = matrix[support[slot]], x[slot]
        for j in range(image.size):
            image[j] += entry * row[j]
    return image


@njit(cache=True, nogil=True, error_model="numpy")
def exchange_row(matrix: Any, diagonal: Any, support: Any, x: Any, image: Any, slot: int, values: Any) -> None:
    """Fill in what each feature leads to that enters in place of one, where nothing is asked but few features."""
    row, entry, length, rest = matrix[support[slot]], x[slot], 0.0, 0.0
    for a in range(support.size):
        if a != slot:
            length += x[a] * x[a]
            rest += (image[support[a]] - entry * row[support[a]]) * x[a]
    if length <= NOTHING:
        values[:] = 0.0
        return
    rest /= length
    for j in range(values.size):
        turned, half = image[j] - entry * row[j], (rest - diagonal[j]) / 2
        values[j] = rest - half + math.sqrt(half * half + turned * turned / length)
    for a in range(support.size):
        values[support[a]] = rest


@njit(cache=True, nogil=True, error_model="numpy")
def exchange_table_alone(matrix: Any, diagonal: Any, support: Any, x: Any, image: Any) -> Any:
    """Return these rows for all features of the support."""
    values = np.empty((support.size, matrix.shape[0]))
    for slot in range(support.size):
        exchange_row(matrix, diagonal, support, x, image, slot, values[slot])
    return values


@njit(cache=True, nogil=True, error_model="numpy")
def best_exchanges_alone(matrix: Any, diagonal: Any, support: Any, x: Any, image: Any, barred: Any) -> Any:
    """Return the largest entry of each row and where it is; `barred` is −∞ for features that may not enter, else 0."""
    best, gains = np.empty(support.size, dtype=np.intp), np.empty(support.size)
    values = np.empty(matrix.shape[0])
    for slot in range(support.size):
        exchange_row(matrix, diagonal, support, x, image, slot, values)
        values += barred
        best[slot] = values.argmax()
        gains[slot] = values[best[slot]]
    return best, gains


@njit(cache=True, nogil=True, error_model="numpy")
def exchange_table(columns: Any, diagonal: Any, support: Any, x: Any, image: Any, normals: Any, inverses: Any) -> Any:
    """Bound from below what each exchange leads to, for each feature of the support (rows) and each of all.

    Parameters
    ----------
    columns, diagonal
        The columns of the matrix on the support, n × k, and its diagonal.
    support, x, image
        The component, and its image Ax.
    normals, inverses
        What it is orthogonal to, n × m, and (N'ᵀN')⁺ for each feature left out, k × m × m.
    """
    size, width = columns.shape
    rows = normals[support]
    images = columns @ rows  # A N on the support
    inner, gram = rows.T @ images[support], rows.T @ rows
    values, turned = np.empty((width, size)), np.empty(size)
    for slot in range(width):
        own, entry, at = rows[slot], x[slot], support[slot]
        weights = inverses[slot] @ own
        y = x + entry * (rows @ weights)
        y[slot] = 0.0
        length = y @ y
        if length <= NOTHING:
            values[slot, :] = 0.0
            continue
        factor = entry * (1.0 + own @ weights)
        for j in range(size):  # A y
            turned[j] = image[j] - factor * columns[j, slot]
            for p in range(weights.size):
                turned[j] += entry * images[j, p] * weights[p]
        there = turned[support]
        rest = (there @ y) / length
        there[slot] = 0.0
        pull = rows.T @ there
        across = np.outer(own, images[at])
        form = inner - across - across.T + columns[at, slot] * np.outer(own, own)  # N'ᵀAN'
        left = gram - np.outer(own, own)  # N'ᵀN'
        _enter(
            values[slot],
            columns[:, slot],
            diagonal,
            turned,
            length,
            rest,
            own,
            normals,
            images,
            inverses[slot],
            form,
            left,
            pull,
        )
        for a in range(width):
            values[slot, support[a]] = rest
    return values


@njit(cache=True, nogil=True, error_model="numpy")
def _enter(
    values: Any,
    column: Any,
    diagonal: Any,
    turned: Any,
    length: float,
    rest: float,
    own: Any,
    normals: Any,
    images: Any,
    inverse: Any,
    form: Any,
    left: Any,
    pull: Any,
) -> None:
    """Fill in a row of the table: what each feature leads to that enters in place of one."""
    size, m = normals.shape
    mapped = np.empty(m)
    for j in range(size):
        spread, entering, cross, missed = 1.0, diagonal[j], turned[j], 0.0
        for p in range(m):
            mapped[p] = 0.0
            for q in range(m):
                mapped[p] += inverse[p, q] * normals[j, q]
            spread += mapped[p] * normals[j, p]
        for p in range(m):
            entering -= 2 * (images[j, p] - column[j] * own[p]) * mapped[p]
            cross -= mapped[p] * pull[p]
            covered = 0.0
            for q in range(m):
                entering += mapped[p] * form[p, q] * mapped[q]
                covered += mapped[q] * left[q, p]
            missed = max(missed, abs(normals[j, p] - covered))
        spread = max(spread, 1.0)
        half = (rest - entering / spread) / 2
        larger = rest - half + math.sqrt(half * half + cross * cross / (spread * length))
        values[j] = rest if missed > SOLVABLE else larger
