"""Improve several narrow supports of a small matrix together: every step is one call of LAPACK and of BLAS for all.

With unit loadings x on a support S, image g = Ax and objective λ, thresholding to T captures at least ‖g_T‖² / λ, since
‖g_T‖ = yᵀAx ≤ √(yᵀAy · λ) for y along g_T. An exchange of i for j captures at least the larger eigenvalue of the 2×2
matrix in `search/swaps.py`. So a move whose bound exceeds λ raises the objective, and needs no trial.
"""

from collections.abc import Iterator

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.runtime.budget import Progress
from certpca.search.constrained import Fitted
from certpca.search.swaps import GAIN_TOLERANCE
from certpca.search.thresholding import at_places, largest_in_rows, unseen

ALMOST_ALL = 1e-4  # left of a squared length without a loading, from which nothing is said: it would be rounding


def climbed(operator: Operator, supports: Indices, diagonal: Vector, progress: Progress) -> Iterator[Fitted]:
    """Threshold, and exchange where that does not help, until nothing does; those that meet go on as one.

    Parameters
    ----------
    operator, diagonal
        A matrix at hand, and its diagonal.
    supports
        Sorted, one in each row.
    progress
        A step is one of all supports.
    """
    level, seen = 1 + GAIN_TOLERANCE, set[bytes]()
    supports = supports[unseen(supports, seen)]
    while len(supports):
        count, width = supports.shape
        rows = to_vector(operator.columns(supports.ravel())).T
        parts = at_places(rows, np.repeat(supports, width, axis=0)).reshape(count, width, width)
        rows = rows.reshape(count, width, operator.size)
        values, vectors = np.linalg.eigh(parts)
        objectives, loadings = values[:, -1], vectors[:, :, -1]
        images = (loadings[:, None, :] @ rows)[:, 0]
        largest = largest_in_rows(np.abs(images), width)
        moving = (at_places(images, largest) ** 2).sum(axis=1) > level * objectives**2
        stay = np.flatnonzero(~moving)
        if stay.size:
            bounds = _exchanged(diagonal, rows[stay], supports[stay], loadings[stay], objectives[stay], images[stay])
            best = bounds.reshape(stay.size, -1).argmax(axis=1)
            leaving, entering = np.divmod(best, operator.size)
            helps = bounds[np.arange(stay.size), leaving, entering] > level * objectives[stay]
            changed = stay[helps]
            largest[changed] = supports[changed]
            largest[changed, leaving[helps]] = entering[helps]
            largest[changed] = np.sort(largest[changed], axis=1)
            moving[changed] = True
        may_go = not progress.exhausted and progress.tick(float(objectives.max()))
        going = np.flatnonzero(moving) if may_go else stay[:0]
        going = going[unseen(largest[going], seen)]
        moving[:] = False
        moving[going] = True
        for place in np.flatnonzero(~moving).tolist():
            yield Fitted(supports[place], loadings[place], float(objectives[place]))
        supports = largest[going]


def _exchanged(
    diagonal: Vector, rows: Vector, supports: Indices, loadings: Vector, objectives: Vector, images: Vector
) -> Vector:
    """Return what each exchange captures at least: of every support, each member for each feature."""
    squares = loadings**2
    rest = 1.0 - squares
    rest[rest < ALMOST_ALL] = np.inf
    first = (objectives[:, None] * (1.0 - 2.0 * squares) + squares * diagonal[supports]) / rest
    cross = images[:, None, :] - loadings[:, :, None] * rows
    cross *= cross
    cross /= rest[:, :, None]
    half = (first[:, :, None] - diagonal) / 2
    cross += half**2
    bounds = np.sqrt(cross, out=cross)
    bounds -= half
    bounds += first[:, :, None]
    bounds[np.arange(len(supports))[:, None], :, supports] = 0.0  # members cannot enter
    return bounds
