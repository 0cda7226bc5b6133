"""The covariance of data that stay in a file: every product is a walk over a reader."""

from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from certpca.operators.base import Operator
from certpca.operators.cost import Cost
from certpca.operators.covariance import Covariance, DenseCovariance, SparseCovariance, Standardisation
from certpca.operators.explicit import ExplicitOperator
from certpca.operators.factor import Factor
from certpca.operators.views import Restricted
from certpca.readers.base import Reader
from certpca.readers.blocks import with_holes_filled
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Array, Indices, Vector, namespace
from certpca.runtime.errors import InvalidProblemError

FORMED_UP_TO = 4096  # features
FORMED_FROM = 2  # rows for each feature
UNIT_VECTORS = 256  # multiplied at a time where columns do not fit the memory budget


class StreamedCovariance(Covariance):
    """Data of a reader, never decoded as a whole; see `Reader`.

    A product takes as many walks over the file as the reader's format needs: two where columns lie together, one
    where rows do. Wide panels share them, so algorithms that multiply panels read the file less often.
    """

    def __init__(
        self,
        data: Reader,
        columns: Standardisation,
        dtype: Any,
        names: tuple[str, ...] | None,
        description: str,
        given: Any = None,
    ) -> None:
        super().__init__(data, columns, dtype, names, description, given)
        self.xp, self.device = namespace(np.empty(0)), "cpu"
        holes = columns.missing is not None or columns.has_nan
        self._fill = columns.mean if holes else None

    @property
    def passes(self) -> float:
        """How often the file has been read so far, by whoever uses the same reader."""
        return float(self._data.passes)

    walks = passes

    @cached_property
    def _formed(self) -> ExplicitOperator | None:
        """The matrix, where there are many more rows than features and rows lie together: one walk in place of many."""
        large = 8 * self.size**2 > self._data.bytes_allowed or self.size > FORMED_UP_TO
        if large or self.rows <= FORMED_FROM * self.size or self._data.by_columns:
            return None
        total = self._data.walk.scatter(self._columns.mean, self._columns.weight, self._fill)
        return ExplicitOperator(self._in_units(total), self.names, self.description)

    def matmat(self, panel: Array) -> Array:
        """Walk over the file, unless the matrix is at hand."""
        return super().matmat(panel) if self._formed is None else self._formed.matmat(panel)

    def columns(self, indices: Indices) -> Array:
        """Walk over the file, unless the matrix is at hand."""
        return super().columns(indices) if self._formed is None else self._formed.columns(indices)

    def entries(self, rows: Indices, columns: Indices) -> Vector:
        """Read columns where they lie together; else walk over the file, unless the matrix is at hand."""
        return self._by_parts.entries(self, rows, columns)

    def captured(self, supports: Indices, loadings: Vector) -> Vector:
        """Read columns likewise."""
        return self._by_parts.captured(self, supports, loadings)

    def images(self, supports: Indices, loadings: Vector) -> Vector:
        """Read columns likewise, and walk back."""
        return self._by_parts.images(self, supports, loadings)

    @property
    def _by_parts(self) -> type[Operator]:
        """Who answers questions about few columns: with a row file a product is one walk, as reading columns is."""
        return Covariance if self._data.by_columns and self._formed is None else Operator

    def quadratic_form(self, support: Indices, loadings: Vector) -> float:
        """Read columns, unless the matrix is at hand."""
        if self._formed is None:
            return super().quadratic_form(support, loadings)
        return self._formed.quadratic_form(support, loadings)

    @property
    def cost(self) -> Cost:
        """A walk over everything, or two; where columns lie together, one for products with FFᵀ."""
        less = self._data.by_columns and self.rows <= self.size
        held = int(self._data.bytes_allowed // (8 * self.rows))
        return Cost(self.rows * self.size, less, isinstance(self._given, Reader), held)

    def factor(self) -> Factor:
        """Give the standardised data themselves, with products by walks over the file."""
        root = self._root

        def forth(panel: Array) -> Array:
            mean, weight = self._like(self._columns.mean, panel), self._like(self._columns.weight, panel)
            weighted = weight[:, None] * panel
            return (self._data.times(weighted, self._fill) - (mean @ weighted)[None, :]) / root

        def back(scores: Array) -> Array:
            mean, weight = self._like(self._columns.mean, scores), self._like(self._columns.weight, scores)
            return weight[:, None] * (self._back(scores) - mean[:, None] * scores.sum(axis=0)[None, :]) / root

        def around(scores: Array) -> Array:
            return self._in_units(
                self._data.sample_product(scores, self._columns.mean, self._columns.weight, self._fill)
            )

        forth, back, around = (partial(self._widely, product) for product in (forth, back, around))
        return replace(super().factor(), forth=forth, back=back, around=around if self._data.by_columns else None)

    def _through_rows(self, panel: Array, shift: Array) -> tuple[Array, Array]:
        product: tuple[Array, Array] = self._data.normal_product(panel, shift, self._fill)
        return product

    def _back(self, scores: Array) -> Array:
        return self._data.transposed_times(scores, self._fill)

    def _raw_columns(self, indices: Indices | slice, dtype: Any) -> Array:
        fill = None if self._fill is None else self._fill[indices]
        raw = self._data[:, indices]
        raw = raw.toarray() if is_sparse(raw) else raw
        return with_holes_filled(raw, dtype, fill, self._columns.missing)

    def _take(self, indices: Indices) -> Any:
        return self._data[:, indices]

    def submatrix(self, indices: Indices) -> Vector:
        """Multiply in float64 by blocks of rows; only the stored form of the columns is in memory, or not even that."""
        if self._formed is not None:
            return self._formed.submatrix(indices)
        part = self.restrict(indices)
        if isinstance(part, DenseCovariance):
            return part.gram()
        if not isinstance(part, Restricted):
            return super().submatrix(indices)
        blocks = []
        for start in range(0, indices.size, UNIT_VECTORS):
            chosen = indices[start : start + UNIT_VECTORS]
            panel = np.zeros((self.size, chosen.size))
            panel[chosen, np.arange(chosen.size)] = 1.0
            blocks.append(self.matmat(panel)[indices])
        block = np.concatenate(blocks, axis=1)
        return np.asarray((block + block.T) / 2)

    def part(self, indices: Indices) -> Operator:
        """Copy the columns, or refuse where they do not fit the memory budget."""
        part = self.restrict(indices)
        if isinstance(part, Restricted):
            msg = (
                f"{indices.size} columns of the file do not fit the memory budget, so none can be left out here; "
                "choose the columns when the file is read, or give the reader more memory"
            )
            raise InvalidProblemError(msg)
        return part

    def restrict(self, indices: Indices) -> Operator:
        """Copy the columns where they fit the memory budget; else pad with zeros and read the file."""
        if self._formed is not None:
            return self._formed.restrict(indices)
        if self._data.block_bytes(indices) > self._data.bytes_allowed:
            return Operator.restrict(self, indices)
        part = self._take(indices)
        about = (self._columns.take(indices), self.dtype, self.names_of(indices), self.description)
        if is_sparse(part):
            fill = None if self._fill is None else self._fill[indices]
            return SparseCovariance(with_holes_filled(part, part.dtype, fill), *about)
        return DenseCovariance(np.ascontiguousarray(part), *about)
