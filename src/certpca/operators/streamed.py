"""The covariance of data that stay in a file: every product is a walk over a reader."""

from typing import Any, final

import numpy as np

from certpca.arrays import Array, Indices, namespace
from certpca.operators.base import Operator
from certpca.operators.covariance import Covariance, DenseCovariance, Standardisation
from certpca.operators.readers import Reader, with_holes_filled


@final
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

    def _through_rows(self, panel: Array, shift: Array) -> tuple[Array, Array]:
        product: tuple[Array, Array] = self._data.normal_product(panel, shift, self._fill)
        return product

    def _back(self, scores: Array) -> Array:
        return self._data.transposed_times(scores, self._fill)

    def _raw_columns(self, indices: Indices | slice, dtype: Any) -> Array:
        fill = None if self._fill is None else self._fill[indices]
        return with_holes_filled(self._data[:, indices], dtype, fill, self._columns.missing)

    def _take(self, indices: Indices) -> Any:
        return self._data[:, indices]

    def restrict(self, indices: Indices) -> Operator:
        """Copy the columns where they fit the memory budget; else pad with zeros and read the file."""
        if self.rows * indices.size * self._data.dtype.itemsize > self._data.bytes_allowed:
            return Operator.restrict(self, indices)
        return DenseCovariance(
            np.ascontiguousarray(self._take(indices)),
            self._columns.take(indices),
            self.dtype,
            self.names_of(indices),
            self.description,
        )
