"""For every feature the other features whose products with it are largest in square."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from certpca.bounds.pair_rows.columns import Columns, Single
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.threads import in_threads

MATRIX_UP_TO = 1024  # features whose matrix is kept, or where that is no larger than the data


@dataclass(frozen=True, slots=True, eq=False)
class Strongest:
    """The columns of F, their squared lengths, and for each row of FᵀF the largest squares beside the diagonal.

    `squares` is sorted from largest to smallest, `partners` says where they lie. `matrix` is FᵀF where that is kept.
    """

    columns: Columns
    diagonal: Vector
    squares: Single
    partners: NDArray[np.integer[Any]]
    matrix: Single | None = None

    @property
    def size(self) -> int:
        """The number of features."""
        return self.diagonal.size

    def products(self, features: Indices) -> Iterator[tuple[slice, Single]]:
        """Walk over all rows of FᵀF with the entries of some features."""
        if self.matrix is not None:
            yield slice(0, self.size), self.matrix[:, features]
            return
        mine = self.columns.take(features)
        for part, block in self.columns.blocks():
            yield part, block.T @ mine

    def rows(self, features: Indices) -> Vector:
        """Return the rows of FᵀF of some features, in double precision."""
        rows = np.empty((features.size, self.size))
        for part, products in self.products(features):
            rows[:, part] = products.T
        return rows

    def between(self, rows: Indices, columns: Indices) -> Vector:
        """Return a part of FᵀF in double precision."""
        if self.matrix is not None:
            return self.matrix[np.ix_(rows, columns)].astype(np.float64)
        return (self.columns.take(rows).T @ self.columns.take(columns)).astype(np.float64)

    def captured(self, group: Indices, weights: Single) -> float:
        """Return wᵀFᵀFw for weights of some features."""
        if self.matrix is not None:
            return float(weights @ self.matrix[np.ix_(group, group)] @ weights)
        image = self.columns.take(group) @ weights
        return float(image @ image)

    def image(self, group: Indices, weights: Single) -> Vector:
        """Return FᵀFw for weights of some features, in double precision."""
        if self.matrix is not None:
            return (weights @ self.matrix[group]).astype(np.float64)
        there = self.columns.take(group) @ weights
        return np.concatenate([there @ block for _, block in self.columns.blocks()]).astype(np.float64)

    def of(self, features: Indices, count: int, late: Callable[[], bool]) -> "Strongest | None":
        """Look at the pairs of some features alone."""
        matrix = None if self.matrix is None else self.matrix[np.ix_(features, features)]
        return among(self.columns.on(features), count, late, matrix)


def among(columns: Columns, count: int, late: Callable[[], bool], matrix: Single | None = None) -> Strongest | None:
    """Look at all pairs of given columns, whose matrix may be known; none where there is no time for that."""
    size, parts = columns.size, columns.parts()
    diagonal = np.concatenate([np.einsum("ij,ij->j", block, block, dtype=np.float64) for _, block in columns.blocks()])
    squares = np.full((size, count), -1.0, np.float32)
    partners = np.zeros((size, count), np.uint16 if size <= 1 << 16 else np.int32)

    def show(rows: slice, products: Single, first: int) -> None:
        def select(begin: int, end: int) -> None:
            part = slice(rows.start + begin, rows.start + end)
            _select(products[begin:end], part.start - first, first, squares[part], partners[part])

        in_threads(select, products.shape[0])

    kept = matrix
    if kept is None and size <= max(columns.depth, MATRIX_UP_TO):
        kept = np.empty((size, size), np.float32)
    for number, left in enumerate(parts):
        block = None if matrix is not None else columns.take(left)
        # Pairs with the parts before were looked at there.
        for right in parts[number:]:
            if late():
                return None
            if matrix is not None:
                products = matrix[left, right]
            elif block is not None:
                products = block.T @ (block if right is left else columns.take(right))
            show(left, products, right.start)
            turned = np.ascontiguousarray(products.T)
            if right is not left:
                show(right, turned, left.start)
            if kept is not None and kept is not matrix:
                kept[left, right], kept[right, left] = products, turned
    order = np.argsort(-squares, axis=1, kind="stable")
    squares[:] = np.take_along_axis(squares, order, axis=1)
    partners[:] = np.take_along_axis(partners, order, axis=1)
    return Strongest(columns, diagonal, squares, partners, kept)


@njit(cache=True, nogil=True)
def _select(products: Any, own: int, start: int, kept: Any, where: Any) -> None:
    """Keep the largest squares of each row in a heap whose first entry is the smallest.

    The first row has its diagonal entry at `own`, and the first column is feature `start`.
    """
    size, count = products.shape[1], kept.shape[1]
    for row in range(products.shape[0]):
        heap, place = kept[row], where[row]
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
            heap[at], place[at] = value, start + column
