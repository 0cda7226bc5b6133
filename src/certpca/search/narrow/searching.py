"""What calls the compiled loops: it lays out memory for what they find, and tells of their steps."""

import math
from typing import Any

import numpy as np

from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.budget import Progress
from certpca.search.constrained import Fitted
from certpca.search.krylov import Eigenpairs
from certpca.search.narrow.eigenvectors import leading_two
from certpca.search.narrow.loops import climbed, raced

BASIS = 96  # rows at most of the basis in which eigenvectors are found
ACCURACY = 1e-7  # residual of the first eigenvector, so that its eigenvalue need not be found again
MOST_MOVES = 400  # of a support: each raises the objective, and a few are common


class NarrowSearch:
    """Looks for few loadings in a small symmetric matrix.

    Parameters
    ----------
    matrix
        On the host.
    sparsity
        Fewer than there are features.
    """

    def __init__(self, matrix: Vector, sparsity: int) -> None:
        self._matrix = np.require(matrix, np.float64, ["C", "W"])  # one layout, so that loops are compiled once
        self._diagonal = self._matrix.diagonal().copy()
        self._sparsity = sparsity

    def leading(self, rng: np.random.Generator) -> Eigenpairs:
        """Return two eigenvectors, the first of them accurate."""
        size = self._diagonal.size
        rows = min(size, BASIS)
        basis, between = np.empty((rows, size)), np.empty((2, rows))
        basis[0] = rng.standard_normal(size)
        values, vectors = np.zeros(2), np.zeros((2, size))
        residual = leading_two(self._matrix, basis, between, ACCURACY, values, vectors)
        return Eigenpairs(values, vectors.T, residual / max(values[0], np.finfo(float).tiny))

    def raced(
        self, vectors: Vector, following: int, finalists: int, cut: int, rounds: int, progress: Progress
    ) -> Indices:
        """Threshold the matrix's columns and those of `vectors`, and go on from the best; return the best supports.

        Parameters
        ----------
        vectors
            More starts.
        following, cut
            One in `cut` of so many goes on, or as many as there are finalists.
        finalists
            How many supports are asked for.
        rounds
            One, or two.
        progress
            A step is one round.
        """
        starts = self._diagonal.size + vectors.shape[1]
        room = starts + max(finalists, min(starts, following) // cut)
        supports, loadings = np.empty((room, self._sparsity), np.intp), np.empty((room, self._sparsity))
        best, tops = np.empty(finalists, np.intp), np.empty(_steps(min(rounds, 2), progress))
        count = raced(self._matrix, np.ascontiguousarray(vectors.T, np.float64), supports, loadings, best, tops, cut)
        _tell(tops, progress)
        found: Indices = supports[best[:count]]
        return found

    def climbed(self, supports: Indices, progress: Progress) -> list[Fitted]:
        """Threshold, and exchange where that does not help, until nothing does; those that meet go on as one.

        Parameters
        ----------
        supports
            Sorted, one in each row.
        progress
            A step is one of all supports.
        """
        over = progress.exhausted
        tops = np.full(1 if over else _steps(MOST_MOVES, progress), -math.inf)
        ends, loadings = np.empty_like(supports), np.empty(supports.shape)
        values = np.empty(len(supports))
        count = climbed(self._matrix, self._diagonal, supports, ends, loadings, values, tops)
        if not over:
            _tell(tops[tops > -math.inf], progress)
        return [Fitted(ends[row], loadings[row], value) for row, value in enumerate(values[:count].tolist())]


def _steps(most: int, progress: Progress) -> int:
    """Return how many steps may be made at a time, at least one."""
    return max(1, math.ceil(min(most, progress.steps_left)))


def _tell(tops: Any, progress: Progress) -> None:
    for top in tops.tolist():
        if not progress.tick(top):
            return
