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

BLOCK_BYTES = 32 << 20  # of rows of the matrix at a time


@dataclass(frozen=True, slots=True, eq=False)
class Strongest:
    """The columns of F, their squared lengths, and for each row of FᵀF the largest squares beside the diagonal.

    `squares` is sorted from largest to smallest, `partners` says where they lie.
    """

    columns: NDArray[np.float32]
    diagonal: Vector
    squares: NDArray[np.float32]
    partners: NDArray[np.int32]

    @property
    def size(self) -> int:
        """The number of features."""
        return self.diagonal.size

    def products(self, features: Indices) -> Vector:
        """Return the rows of FᵀF of some features, in double precision."""
        return (self.columns[:, features].T @ self.columns).astype(np.float64)


def strongest(factor: Factor, count: int, late: Callable[[], bool]) -> Strongest | None:
    """Look at all pairs of features once; none where there is no time for that."""
    columns = np.empty((factor.depth, factor.size), dtype=np.float32)
    for part, block in factor.blocks(max(1, BLOCK_BYTES // (4 * factor.depth)), np.float32):
        columns[:, part] = to_numpy(block)
    return among(columns, count, late)


def among(columns: NDArray[np.float32], count: int, late: Callable[[], bool]) -> Strongest | None:
    """Look at all pairs of given columns."""
    size = columns.shape[1]
    diagonal = np.einsum("ij,ij->j", columns, columns, dtype=np.float64)
    squares, partners = np.empty((size, count), np.float32), np.empty((size, count), np.int32)
    height = max(16, BLOCK_BYTES // (4 * size))
    for start in range(0, size, height):
        if late():
            return None
        rows = slice(start, min(start + height, size))
        products = columns[:, rows].T @ columns

        def select(first: int, last: int, made: Any = products, own: int = start) -> None:
            part = slice(own + first, own + last)
            _select(made[first:last], own + first, squares[part], partners[part])

        in_threads(select, products.shape[0])
    order = np.argsort(-squares, axis=1, kind="stable")
    return Strongest(
        columns, diagonal, np.take_along_axis(squares, order, axis=1), np.take_along_axis(partners, order, axis=1)
    )


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
