"""Products and moments by walks over a table, by columns or by rows: what a reader has, whatever its format.

While one block is multiplied the next one is read.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from certpca.readers import merged_moments
from certpca.readers.blocks import moments_of_block, with_holes_filled
from certpca.readers.missing import code_in, negatives
from certpca.readers.moments import Moments
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Array, Indices, Vector
from certpca.runtime.prefetch import read_ahead


class Table(Protocol):
    """Samples x features, some of whose values may be missing."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""

    def missing_code(self) -> int | None:
        """Return the integer that marks missing values, or None where NaN does."""


class Columns(Table, Protocol):
    """A table that is read by columns."""

    def parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the columns into runs that fit the budget when converted."""

    def read(self, columns: slice | Indices) -> Any:
        """Return columns as they are stored."""


class Rows(Table, Protocol):
    """A table that is read by rows."""

    def row_parts(self, dtype: Any) -> Iterator[slice]:
        """Cut the rows into runs that fit the budget when converted."""

    def read_rows(self, rows: slice) -> Any:
        """Return rows as they are stored."""


class Walk(ABC):
    """What a walk over a table gives, in the order that the table is best read in.

    `fill` has a number for each column, which stands where a value is missing; products are in the type of the panel.
    """

    by_columns: ClassVar[bool]

    @abstractmethod
    def found_code(self) -> int | None:
        """Look for what marks missing values in whole numbers."""

    @abstractmethod
    def moments(self, *, center: bool) -> Moments:
        """Take moments of every block while it is in memory."""

    @abstractmethod
    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Return X·panel."""

    @abstractmethod
    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Return Xᵀ·scores."""

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Return Xᵀ(X·panel − 1·shift) and 1ᵀ(X·panel − 1·shift)."""
        scores = self.times(panel, fill) - shift[None, :]
        return self.transposed_times(scores, fill), scores.sum(axis=0)

    def sample_product(self, scores: Array, mean: Vector, weight: Vector, fill: Vector | None) -> Array:
        """Return (X − 1·meanᵀ)·diag(weight)²·(X − 1·meanᵀ)ᵀ·scores."""
        inner, centre = weighted(self.transposed_times(scores, fill), scores, mean, weight)
        return self.times(inner, fill) - centre @ inner


def weighted(product: Array, scores: Array, mean: Vector, weight: Vector) -> tuple[Array, Array]:
    """Return diag(weight)²·(X − 1·meanᵀ)ᵀ·scores from Xᵀ·scores, and the means in the type of the scores."""
    centre, weights = mean.astype(scores.dtype), weight.astype(scores.dtype)[:, None]
    # Weights one after the other: their squares may be out of range.
    return weights * (weights * (product - centre[:, None] * scores.sum(axis=0))), centre


@dataclass(frozen=True, slots=True)
class ColumnWalk(Walk):
    """A walk by columns: a product with the covariance takes two, one in sample space takes one."""

    table: Columns
    by_columns: ClassVar[bool] = True

    def found_code(self) -> int | None:
        """Look at every block."""
        blocks = read_ahead(self.table.parts(np.int64), self.table.read)
        return code_in(negatives(block) for _, block in blocks)

    def moments(self, *, center: bool) -> Moments:
        """Take moments of every block while it is in memory, and put them side by side."""
        code = self.table.missing_code()
        blocks = read_ahead(self.table.parts(np.float64), self.table.read)
        return merged_moments.of_columns(moments_of_block(block, code, center=center) for _, block in blocks)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Add up over columns."""
        product = np.zeros((self.table.shape[0], panel.shape[1]), dtype=panel.dtype)
        for part, block in self._blocks(panel.dtype, fill):
            product += block @ panel[part]
        return product

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Multiply every block of columns."""
        product = np.empty((self.table.shape[1], scores.shape[1]), dtype=scores.dtype)
        for part, block in self._blocks(scores.dtype, fill):
            product[part] = block.T @ scores
        return product

    def sample_product(self, scores: Array, mean: Vector, weight: Vector, fill: Vector | None) -> Array:
        """Multiply there and back while a block of columns is in memory: one walk."""
        product = np.zeros(scores.shape, dtype=scores.dtype)
        for part, block in self._blocks(scores.dtype, fill):
            inner, centre = weighted(block.T @ scores, scores, mean[part], weight[part])
            product += block @ inner - centre @ inner
        return product

    def _blocks(self, dtype: Any, fill: Vector | None) -> Iterator[tuple[slice, Any]]:
        """Walk over the columns, ready to be multiplied."""
        code = None if fill is None else self.table.missing_code()

        def ready(part: slice) -> Any:
            return with_holes_filled(self.table.read(part), dtype, None if fill is None else fill[part], code)

        return read_ahead(self.table.parts(dtype), ready)


@dataclass(frozen=True, slots=True)
class RowWalk(Walk):
    """A walk by rows: a product with the covariance takes one."""

    table: Rows
    by_columns: ClassVar[bool] = False

    def found_code(self) -> int | None:
        """Look at every block."""
        blocks = read_ahead(self.table.row_parts(np.int64), self.table.read_rows)
        return code_in(negatives(block) for _, block in blocks)

    def moments(self, *, center: bool) -> Moments:
        """Take moments of every block while it is in memory, and add them up."""
        code = self.table.missing_code()
        blocks = read_ahead(self.table.row_parts(np.float64), self.table.read_rows)
        parts = (moments_of_block(block, code, center=center) for _, block in blocks)
        return merged_moments.of_rows(parts, self.table.shape[1], center=center)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Multiply every block of rows."""
        product = np.empty((self.table.shape[0], panel.shape[1]), dtype=panel.dtype)
        for rows, block in self._blocks(panel.dtype, fill):
            product[rows] = block @ panel
        return product

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Add up over rows."""
        product = np.zeros((self.table.shape[1], scores.shape[1]), dtype=scores.dtype)
        for rows, block in self._blocks(scores.dtype, fill):
            product += block.T @ scores[rows]
        return product

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Multiply there and back while a block of rows is in memory: one walk."""
        product = np.zeros(panel.shape, dtype=panel.dtype)
        total = np.zeros(panel.shape[1], dtype=panel.dtype)
        for _, block in self._blocks(panel.dtype, fill):
            scores = block @ panel - shift[None, :]
            product += block.T @ scores
            total += scores.sum(axis=0)
        return product, total

    def scatter(self, mean: Vector, weight: Vector, fill: Vector | None) -> Vector:
        """Return diag(weight)(X − 1·meanᵀ)ᵀ(X − 1·meanᵀ)diag(weight) in one walk."""
        size = self.table.shape[1]
        total: Vector = np.zeros((size, size))
        for _, block in self._blocks(np.float64, fill):
            if is_sparse(block):  # stays sparse: the means are taken off the sum
                scaled, centre, height = block.copy(), mean * weight, block.shape[0]
                scaled.data *= weight[scaled.indices]
                total += (scaled.T @ scaled).toarray() - height * np.outer(centre, centre)
                # Sums over a block differ from the means.
                rest = np.asarray(scaled.sum(axis=0)) - height * centre
                total -= np.outer(rest, centre) + np.outer(centre, rest)
            else:
                centred = (block - mean) * weight
                total += centred.T @ centred
        return total

    def _blocks(self, dtype: Any, fill: Vector | None) -> Iterator[tuple[slice, Any]]:
        """Walk over the rows, ready to be multiplied."""
        code = None if fill is None else self.table.missing_code()
        return read_ahead(
            self.table.row_parts(dtype), lambda rows: with_holes_filled(self.table.read_rows(rows), dtype, fill, code)
        )
