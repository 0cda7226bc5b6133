"""Products with all features, wherever they are, each counted as one walk over the data."""

from abc import ABC, abstractmethod

import numpy as np

from certpca.bounds.l0_dual.features import dual_depth, sample_space_rows
from certpca.bounds.l0_dual.row_blocks import RowBlocks
from certpca.operators.base import Operator
from certpca.runtime.arrays import Array, Vector, namespace, to_vector
from certpca.runtime.limits import limits

LARGEST_HELD_BYTES = 6 << 30
SMALL_BYTES, TIMES_THE_DATA = 16 << 20, 1.5  # of a copy on the host that is made all the same


class Features(ABC):
    """F with `depth` rows, the directions of sample space, and a column for each of `size` features."""

    def __init__(self, operator: Operator, depth: int) -> None:
        self.operator, self.depth, self.size = operator, depth, operator.size
        self.walks = 0

    def along(self, directions: Vector) -> Array:
        """Return Fᵀ directions, where the operator keeps its arrays, in the type that products are made in."""
        self.walks += 1
        return self._along(directions)

    def combined(self, panel: Array) -> Vector:
        """Return F panel on the host, in float64."""
        self.walks += 1
        return self._combined(panel)

    def spread(self, directions: Vector) -> Vector:
        """Return FFᵀ directions on the host: one walk where the data can be multiplied there and back on it."""
        return self.combined(self.along(directions))

    @abstractmethod
    def lengths(self) -> Vector:
        """Return the squared length of every feature."""

    @abstractmethod
    def _along(self, directions: Vector) -> Array: ...

    @abstractmethod
    def _combined(self, panel: Array) -> Vector: ...


class HeldFeatures(Features):
    """Features that fit in memory, on the host, on a device, or on the workers of a cluster."""

    def __init__(self, operator: Operator, rows: RowBlocks | None = None) -> None:
        self._rows = sample_space_rows(operator) if rows is None else rows
        super().__init__(operator, self._rows.shape[1])

    def lengths(self) -> Vector:
        """Return the squared length of every feature."""
        return to_vector(self._rows.lengths())

    def _along(self, directions: Vector) -> Array:
        return self._rows.times(directions)

    def _combined(self, panel: Array) -> Vector:
        rows = self._rows
        there = rows.xp.astype(panel, rows.dtype, copy=False)
        parts = [there[part, :] for part in rows.bounds]
        return to_vector(rows.place.sum("combination", _combined, rows.parts, parts))


class WalkedFeatures(Features):
    """Features that stay where they are: every product reads them once."""

    def __init__(self, operator: Operator) -> None:
        self._factor = operator.factor()
        super().__init__(operator, self._factor.depth)

    def lengths(self) -> Vector:
        """Return the diagonal of the matrix."""
        return to_vector(self.operator.diagonal())

    def spread(self, directions: Vector) -> Vector:
        """Return FFᵀ directions."""
        if self._factor.around is None and self._factor.forth is not None:
            return super().spread(directions)
        self.walks += 1
        operator = self.operator
        there = operator.xp.asarray(directions, dtype=operator.xp.float32, device=operator.device)
        return to_vector(self._factor.sample_product(there))

    def _along(self, directions: Vector) -> Array:
        operator = self.operator
        there = operator.xp.asarray(directions, dtype=operator.xp.float32, device=operator.device)
        return self._factor.transposed_times(there)

    def _combined(self, panel: Array) -> Vector:
        return to_vector(self._factor.times(panel))


def features_of(operator: Operator) -> Features:
    """Hold the features where they fit, in the sample space that the checker will use."""
    depth = dual_depth(operator)
    copy = 4 * depth * operator.size
    if depth > limits().largest_factored or copy > LARGEST_HELD_BYTES or much_larger(copy, operator):
        return WalkedFeatures(operator)
    return HeldFeatures(operator)


def much_larger(copy: int, operator: Operator) -> bool:
    """Say whether a copy would take much more memory than dense data on the host: bytes are converted as quickly."""
    source = operator.undeflated.source()
    values = source.values
    if operator.undeflated is not operator or source.kind != "data" or not isinstance(values, np.ndarray):
        return False
    few_rows = values.shape[0] <= operator.size  # else the sample space is not that of the data
    return few_rows and copy > max(SMALL_BYTES, TIMES_THE_DATA * values.nbytes)


def _combined(rows: Array, panel: Array) -> Array:
    xp = namespace(rows)
    if isinstance(rows, np.ndarray):  # a tall matrix on the left is multiplied twice as fast turned round
        return (panel.T @ rows).T
    return xp.matrix_transpose(rows) @ panel
