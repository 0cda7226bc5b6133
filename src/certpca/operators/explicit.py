"""A matrix that is held in memory, dense or sparse."""

from typing import Any, final

import numpy as np

from certpca.operators.base import LARGEST_FORMED_SIZE, Operator, divided, even_power
from certpca.operators.factor import Factor
from certpca.results.certificate import Source
from certpca.runtime.arrays import Array, Indices, Vector, device_of, is_host, namespace, to_vector
from certpca.runtime.errors import InvalidProblemError

FAR_FEWER = 8  # times as many features as loadings, from which entries are gathered sooner than rows multiplied


@final
class ExplicitOperator(Operator):
    """A dense matrix of any array library. Use `from_matrix`, which checks it first."""

    def __init__(
        self, matrix: Array, names: tuple[str, ...] | None = None, description: str = "matrix", given: Any = None
    ) -> None:
        self._matrix = matrix
        self._given = matrix if given is None else given
        self.size = matrix.shape[0]
        self.xp, self.dtype, self.device = namespace(matrix), matrix.dtype, device_of(matrix)
        self.names = names
        self.description = description

    def matmat(self, panel: Array) -> Array:
        """One dense product."""
        return self.xp.astype(self._matrix, panel.dtype, copy=False) @ panel

    def images(self, supports: Indices, loadings: Vector) -> Vector:
        """Multiply from the left where all is at hand: nothing has to be turned round."""
        if not is_host(self._matrix):
            return super().images(supports, loadings)
        panel = np.zeros((supports.shape[0], self.size), dtype=self._matrix.dtype)
        panel[np.arange(supports.shape[0])[:, None], supports] = loadings
        return np.asarray(panel @ self._matrix)

    def captured(self, supports: Indices, loadings: Vector) -> Vector:
        """Multiply submatrices where these have far fewer entries than products have."""
        if not is_host(self._matrix) or FAR_FEWER * supports.shape[1] > self.size:
            return super().captured(supports, loadings)
        parts = self._matrix[supports[:, :, None], supports[:, None, :]]
        return np.asarray((loadings[:, None, :] @ parts @ loadings[:, :, None])[:, 0, 0])

    def in_single_precision(self) -> Operator:
        """Copy the matrix."""
        return ExplicitOperator(self.xp.astype(self._matrix, self.xp.float32), self.names, self.description)

    def columns(self, indices: Indices) -> Array:
        """Gather rows, which lie together and are the same."""
        rows = self.xp.take(self._matrix, self.xp.asarray(indices, device=self.device), axis=0)
        return self.xp.matrix_transpose(rows)

    def entries(self, rows: Indices, columns: Indices) -> Vector:
        """Gather those alone where the matrix is at hand."""
        if not is_host(self._matrix):
            return super().entries(rows, columns)
        return np.asarray(self._matrix[rows[:, None], columns[None, :]], dtype=np.float64)

    def submatrix(self, indices: Indices) -> Vector:
        """Gather likewise; the matrix is symmetric as it is."""
        return self.entries(indices, indices)

    def diagonal(self) -> Array:
        """Read off."""
        return self.xp.linalg.diagonal(self._matrix)

    def near_one(self) -> Operator:
        """Divide a copy of the matrix."""
        power = even_power(float(to_vector(self.diagonal()).max()))
        if power == 0:
            return self
        made = ExplicitOperator(divided(self._matrix, power), self.names, self.description, self._given)
        made.power = self.power + power
        return made

    def restrict(self, indices: Indices) -> Operator:
        """Copy the submatrix."""
        where = self.xp.asarray(indices, device=self.device)
        part = self.xp.take(self.xp.take(self._matrix, where, axis=0), where, axis=1)
        return ExplicitOperator(part, self.names_of(indices), self.description)

    def part(self, indices: Indices) -> Operator:
        """Copy the submatrix."""
        return self.restrict(indices)

    def source(self) -> Source:
        """Return the matrix as it was given, before rounding-size asymmetry was averaged away."""
        return Source("matrix", self._given)

    def factor(self) -> Factor:
        """Factor by an eigendecomposition, once for each call."""
        return factor_of_matrix(self._matrix, self.xp, self.description)


@final
class SparseOperator(Operator):
    """A scipy.sparse matrix by columns, never made dense unless a factor is asked for."""

    def __init__(
        self, matrix: Any, names: tuple[str, ...] | None = None, description: str = "sparse matrix", given: Any = None
    ) -> None:
        self._matrix = matrix
        self._given = matrix if given is None else given
        self.size = matrix.shape[0]
        self.xp, self.dtype, self.device = _numpy_namespace(), matrix.dtype, "cpu"
        self.names = names
        self.description = description

    def matmat(self, panel: Array) -> Array:
        """One sparse product."""
        return self._matrix @ panel

    def columns(self, indices: Indices) -> Array:
        """Expand the columns asked for."""
        return self._matrix[:, indices].toarray()

    def diagonal(self) -> Array:
        """Read off."""
        return self._matrix.diagonal()

    def submatrix(self, indices: Indices) -> Vector:
        """Expand only the rows and columns asked for."""
        return np.asarray(self._matrix[:, indices][indices].toarray(), dtype=np.float64)

    def near_one(self) -> Operator:
        """Divide a copy of the matrix."""
        power = even_power(float(to_vector(self.diagonal()).max()))
        if power == 0:
            return self
        made = SparseOperator(divided(self._matrix, power), self.names, self.description, self._given)
        made.power = self.power + power
        return made

    def restrict(self, indices: Indices) -> Operator:
        """Keep the submatrix sparse."""
        part = self._matrix[:, indices][indices]
        return SparseOperator(part, self.names_of(indices), self.description)

    def part(self, indices: Indices) -> Operator:
        """Keep the submatrix sparse."""
        return self.restrict(indices)

    def source(self) -> Source:
        """Return the matrix as it was given, before rounding-size asymmetry was averaged away."""
        return Source("matrix", self._given)

    def factor(self) -> Factor:
        """Factor by an eigendecomposition of the dense matrix."""
        if self.size > LARGEST_FORMED_SIZE:
            raise InvalidProblemError(_too_large(self.size, self.description))
        return factor_of_matrix(self._matrix.toarray(), self.xp, self.description)


def factor_of_matrix(matrix: Array, xp: Any, description: str) -> Factor:
    """Factor a dense matrix as FᵀF by its symmetric square root, which is unique.

    Negative eigenvalues count as zero, so FᵀF is never smaller than the matrix. Cubic in the size.
    """
    size = matrix.shape[0]
    if size > LARGEST_FORMED_SIZE:
        raise InvalidProblemError(_too_large(size, description))
    values, vectors = xp.linalg.eigh(xp.astype(matrix, xp.float64, copy=False))
    roots = xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values)))
    whole = (vectors * roots[None, :]) @ xp.matrix_transpose(vectors)
    return Factor(size, size, lambda columns, dtype: xp.astype(whole[:, columns], dtype, copy=False))


def _too_large(size: int, description: str) -> str:
    return (
        f"factoring the {description} of size {size} means an eigendecomposition of that size, "
        f"allowed up to {LARGEST_FORMED_SIZE}; give the data themselves instead of the matrix"
    )


def _numpy_namespace() -> Any:
    return namespace(np.empty(0))
