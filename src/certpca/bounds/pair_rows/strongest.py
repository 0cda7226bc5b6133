"""For every feature the other features whose products with it are largest in square."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certpca.operators.factor import Factor
from certpca.runtime.arrays import Indices, Vector, to_numpy
from certpca.runtime.threads import in_threads

BLOCK_BYTES = 8 << 20  # of rows of the matrix at a time
MATRIX_UP_TO = 1024  # features whose matrix is kept, or where that is no larger than the data


@dataclass(frozen=True, slots=True, eq=False)
class Strongest:
    """The columns of F, their squared lengths, and for each row of FᵀF the largest squares beside the diagonal.

    `squares` is sorted from largest to smallest, `partners` says where they lie. `matrix` is FᵀF where that is kept.
    """

    columns: NDArray[np.float32]
    diagonal: Vector
    squares: NDArray[np.float32]
    partners: NDArray[np.int32]
    matrix: NDArray[np.float32] | None = None

    @property
    def size(self) -> int:
        """The number of features."""
        return self.diagonal.size

    def products(self, features: Indices) -> Vector:
        """Return the rows of FᵀF of some features, in double precision."""
        if self.matrix is not None:
            return self.matrix[features].astype(np.float64)
        return (self.columns[:, features].T @ self.columns).astype(np.float64)

    def between(self, rows: Indices, columns: Indices) -> Vector:
        """Return a part of FᵀF in double precision."""
        if self.matrix is not None:
            return self.matrix[np.ix_(rows, columns)].astype(np.float64)
        return (self.columns[:, rows].T @ self.columns[:, columns]).astype(np.float64)

    def captured(self, group: Indices, weights: NDArray[np.float32]) -> float:
        """Return wᵀFᵀFw for weights of some features."""
        if self.matrix is not None:
            return float(weights @ self.matrix[np.ix_(group, group)] @ weights)
        image = self.columns[:, group] @ weights
        return float(image @ image)

    def image(self, group: Indices, weights: NDArray[np.float32]) -> Vector:
        """Return FᵀFw for weights of some features, in double precision."""
        if self.matrix is not None:
            return (weights @ self.matrix[group]).astype(np.float64)
        return ((self.columns[:, group] @ weights) @ self.columns).astype(np.float64)

    def of(self, features: Indices, count: int, late: Callable[[], bool]) -> "Strongest | None":
        """Look at the pairs of some features alone."""
        matrix = None if self.matrix is None else self.matrix[np.ix_(features, features)]
        return among(self.columns[:, features], count, late, matrix)


def strongest(factor: Factor, count: int, late: Callable[[], bool]) -> Strongest | None:
    """Look at all pairs of features once; none where there is no time for that."""
    columns = np.empty((factor.depth, factor.size), dtype=np.float32)
    for part, block in factor.blocks(max(1, BLOCK_BYTES // (4 * factor.depth)), np.float32):
        columns[:, part] = to_numpy(block)
    return among(columns, count, late)


def among(
    columns: NDArray[np.float32], count: int, late: Callable[[], bool], matrix: NDArray[np.float32] | None = None
) -> Strongest | None:
    """Look at all pairs of given columns, whose matrix may be known."""
    depth, size = columns.shape
    kept = matrix
    if kept is None and size <= max(depth, MATRIX_UP_TO):
        kept = np.empty((size, size), np.float32)
    diagonal = np.einsum("ij,ij->j", columns, columns, dtype=np.float64)
    squares, partners = np.empty((size, count), np.float32), np.empty((size, count), np.int32)
    height = max(16, BLOCK_BYTES // (4 * size))
    for start in range(0, size, height):
        if late():
            return None
        rows = slice(start, min(start + height, size))
        products = columns[:, rows].T @ columns if matrix is None else matrix[rows]
        if kept is not None and kept is not matrix:
            kept[rows] = products

        def select(first: int, last: int, made: Any = products, own: int = start) -> None:
            part = slice(own + first, own + last)
            _select(made[first:last], own + first, squares[part], partners[part])

        in_threads(select, products.shape[0])
        order = np.argsort(-squares[rows], axis=1, kind="stable")
        squares[rows] = np.take_along_axis(squares[rows], order, axis=1)
        partners[rows] = np.take_along_axis(partners[rows], order, axis=1)
    return Strongest(columns, diagonal, squares, partners, kept)


@njit(cache=True, nogil=True)
def _select(products: Any, own: int, kept: Any, where: Any) -> None:
    """Keep the largest squares of each row in a heap whose first entry is the smallest."""
    size, count = products.shape[1], kept.shape[1]
    for row in range(products.shape[0]):
        heap, place = kept[row], where[row]
        heap[:], place[:] = -1.0, -1
        for column in range(size):
            value = products[row, column] * products[row, column]
            if value <= heap[0] or column == own + row:
                continue
            at = 0
            while True:  # sink
                child = 2 * at + 1
                if child >= count:
                    break
                if child + 1 < count and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= value:
                    break
                heap[at], place[at] = heap[child], place[child]
                at = child
            heap[at], place[at] = value, column
