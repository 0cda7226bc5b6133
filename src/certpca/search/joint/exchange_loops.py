"""The compiled loop behind exchanges beside normals; `component.py` has its formulas."""

import math
from typing import Any

import numpy as np
from numba import njit

SOLVABLE = 1e-8  # of a normal, what may be missed by the rows that are left


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
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
    m = normals.shape[1]
    rows = np.empty((width, m))
    for a in range(width):
        rows[a] = normals[support[a]]
    images = columns @ rows  # A N on the support
    inner = np.zeros((m, m))
    gram = np.zeros((m, m))
    for a in range(width):
        for p in range(m):
            for q in range(m):
                inner[p, q] += rows[a, p] * images[support[a], q]
                gram[p, q] += rows[a, p] * rows[a, q]
    values = np.empty((width, size))
    y, turned, pull = np.empty(width), np.empty(size), np.empty(m)
    mapped, form, left = np.empty(m), np.empty((m, m)), np.empty((m, m))
    for slot in range(width):
        inverse, own, entry = inverses[slot], rows[slot], x[slot]
        weights = inverse @ own
        corner = columns[support[slot], slot]
        for p in range(m):
            for q in range(m):
                form[p, q] = (
                    inner[p, q]
                    - own[p] * images[support[slot], q]
                    - own[q] * images[support[slot], p]
                    + corner * own[p] * own[q]
                )
                left[p, q] = gram[p, q] - own[p] * own[q]
        length = 0.0
        for a in range(width):
            y[a] = x[a]
            for p in range(m):
                y[a] += entry * rows[a, p] * weights[p]
            if a == slot:
                y[a] = 0.0
            length += y[a] * y[a]
        if length <= 1e-12:
            values[slot, :] = 0.0
            continue
        own_weight = 0.0
        for p in range(m):
            own_weight += own[p] * weights[p]
        for j in range(size):
            moved = image[j] - entry * columns[j, slot] * (1.0 + own_weight)
            for p in range(m):
                moved += entry * images[j, p] * weights[p]
            turned[j] = moved
        rest = 0.0
        pull[:] = 0.0
        for a in range(width):
            rest += turned[support[a]] * y[a]
            if a != slot:
                for p in range(m):
                    pull[p] += rows[a, p] * turned[support[a]]
        rest /= length
        for j in range(size):
            spread, entering, cross, missed = 1.0, diagonal[j], turned[j], 0.0
            for p in range(m):
                mapped[p] = 0.0
                for q in range(m):
                    mapped[p] += inverse[p, q] * normals[j, q]
                spread += mapped[p] * normals[j, p]
            for p in range(m):
                entering -= 2 * (images[j, p] - columns[j, slot] * own[p]) * mapped[p]
                cross -= mapped[p] * pull[p]
                covered = 0.0
                for q in range(m):
                    entering += mapped[p] * form[p, q] * mapped[q]
                    covered += mapped[q] * left[q, p]
                missed = max(missed, abs(normals[j, p] - covered))
            if missed > SOLVABLE:
                values[slot, j] = rest
            else:
                spread = max(spread, 1.0)
                entering /= spread
                half = (rest - entering) / 2
                values[slot, j] = (rest + entering) / 2 + math.sqrt(half * half + cross * cross / (spread * length))
        for a in range(width):
            values[slot, support[a]] = rest
    return values
