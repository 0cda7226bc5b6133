"""The climb written with arrays, one call of LAPACK for each support: what the compiled loops are compared with."""

import numpy as np

from certpca.search.narrow.loops import ALMOST_ALL, LEVEL
from certpca.search.thresholding import largest_in_rows


def climbed(matrix, support):
    """Threshold, and exchange where that does not help, until nothing does; return the support and its objective."""
    while True:
        values, vectors = np.linalg.eigh(matrix[np.ix_(support, support)])
        objective, loadings = values[-1], vectors[:, -1]
        image = loadings @ matrix[support]
        moved = largest_in_rows(np.abs(image)[None, :], support.size)[0]
        if not (image[moved] ** 2).sum() > LEVEL * objective**2:
            bounds = exchanged(matrix, support, loadings, objective, image)
            leaving, entering = np.unravel_index(bounds.argmax(), bounds.shape)
            if not bounds[leaving, entering] > LEVEL * objective:
                return support, objective
            moved = np.sort(np.append(np.delete(support, leaving), entering))
        support = moved


def exchanged(matrix, support, loadings, objective, image):
    """Return what each exchange captures at least: each member for each feature."""
    diagonal, squares = matrix.diagonal(), loadings**2
    rest = 1.0 - squares
    rest[rest < ALMOST_ALL] = np.inf
    first = (objective * (1.0 - 2.0 * squares) + squares * diagonal[support]) / rest
    cross = (image - loadings[:, None] * matrix[support]) ** 2 / rest[:, None]
    half = (first[:, None] - diagonal) / 2
    bounds = first[:, None] - half + np.sqrt(cross + half**2)
    bounds[:, support] = 0.0  # members cannot enter
    return bounds
