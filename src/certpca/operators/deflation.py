"""What is left of a matrix when a component has been taken out of it; `deflations.py` says in which ways."""

from collections.abc import Callable
from functools import partial
from typing import Any, final

import numpy as np

from certpca.operators.base import LARGEST_FORMED_SIZE, Operator
from certpca.operators.deflations import deflation_named, semidefinite_ones
from certpca.operators.factor import Factor
from certpca.operators.views import Restricted
from certpca.results.certificate import Source
from certpca.runtime.arrays import Array, Indices, Vector, to_vector
from certpca.runtime.errors import InvalidProblemError


def deflate(
    operator: Operator, support: Indices, loadings: Vector, method: str = "schur", earlier: Vector | None = None
) -> Operator:
    """Take a component out of a matrix; see the table in `deflations.py`.

    Parameters
    ----------
    operator
        The matrix the component was found on, itself deflated where there were components before.
    support, loadings
        The component: a unit vector by its nonzero entries.
    method
        The name of one of `DEFLATIONS`.
    earlier
        The components taken out before, as columns: those of `orthogonal-hotelling` depend on them.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> from certpca.operators.deflation import deflate
    >>> left = deflate(certpca.from_matrix(np.diag([3.0, 2.0, 1.0])), np.array([0]), np.array([1.0]))
    >>> left.diagonal().tolist()
    [0.0, 2.0, 1.0]
    """
    deflation = deflation_named(method)
    component = np.zeros(operator.size)
    component[support] = loadings
    x = deflation.direction(component, np.zeros((operator.size, 0)) if earlier is None else earlier)
    if x is None:
        return operator
    panel = operator.xp.asarray(x[:, None], dtype=operator.xp.float64, device=operator.device)
    image = to_vector(operator.matmat(panel))[:, 0]
    value = float(x @ image)
    if not value > 0:  # a positive semidefinite matrix has Ax = 0 here: there is nothing to take out
        return operator
    v, h = deflation.vectors(x, image, value)
    factor = partial(_oblique, operator, np.flatnonzero(x), x[x != 0], v) if deflation.semidefinite else None
    return Downdated(operator, v, h, factor, method)


@final
class Downdated(Operator):
    """An operator less vhᵀ + hvᵀ. Without a `factor` it can be indefinite, so there is nothing to certify."""

    def __init__(
        self, operator: Operator, v: Vector, h: Vector, factor: Callable[[], Factor] | None, method: str
    ) -> None:
        self._operator = operator
        self._left, self._right = np.stack([v, h], axis=1), np.stack([h, v], axis=1)
        self._factor = factor
        self._method = method
        self._adopted: dict[Any, tuple[Array, Array]] = {}
        self._source: Source | None = None
        self.size = operator.size
        self.xp, self.dtype, self.device = operator.xp, operator.dtype, operator.device
        self.names = operator.names
        parent = operator if isinstance(operator, Downdated) else None
        self._undeflated: Operator = operator if parent is None else parent._undeflated
        self._indefinite: bool = factor is None or (parent is not None and parent._indefinite)
        self._taken: int = 1 if parent is None else parent._taken + 1
        plural = "s" if self._taken > 1 else ""
        self.description = f"{self._undeflated.description} less {self._taken} component{plural} ({method})"

    @property
    def undeflated(self) -> Operator:
        """The matrix before any component was taken out of it."""
        return self._undeflated

    def matmat(self, panel: Array) -> Array:
        """Multiply by the parent and subtract."""
        if panel.dtype not in self._adopted:
            left, right = (
                self.xp.asarray(part, dtype=panel.dtype, device=self.device) for part in (self._left, self._right)
            )
            self._adopted[panel.dtype] = left, self.xp.matrix_transpose(right)
        left, right = self._adopted[panel.dtype]
        return self._operator.matmat(panel) - left @ (right @ panel)

    def columns(self, indices: Indices) -> Array:
        """Subtract from the parent's columns."""
        return self._operator.columns(indices) - self.adopt(self._left @ self._right[indices].T)

    def diagonal(self) -> Array:
        """Subtract from the parent's diagonal."""
        return self._operator.diagonal() - self.adopt((self._left * self._right).sum(axis=1))

    def trace(self) -> float:
        """Subtract in float64, whatever the type of the diagonal."""
        return self._operator.trace() - float((self._left * self._right).sum())

    def submatrix(self, indices: Indices) -> Vector:
        """Subtract in float64."""
        part = self._left[indices] @ self._right[indices].T
        return self._operator.submatrix(indices) - (part + part.T) / 2

    def quadratic_form(self, support: Indices, loadings: Vector) -> float:
        """Ask the parent, which may need no submatrix."""
        part = (loadings @ self._left[support]) @ (loadings @ self._right[support])
        return self._operator.quadratic_form(support, loadings) - float(part)

    def restrict(self, indices: Indices) -> Operator:
        """Restrict the parent, which may be cheaper than padding with zeros."""
        # A factor of the restricted parent may live in another space, so columns of this one's are gathered.
        factor = None if self._factor is None else Restricted(self, indices).factor
        v, h = self._left[indices].T
        return Downdated(self._operator.restrict(indices), v, h, factor, self._method)

    def factor(self) -> Factor:
        """Give F − (Fx)vᵀ."""
        self._refuse_indefinite()
        assert self._factor is not None
        return self._factor()

    def source(self) -> Source:
        """Form the matrix, or its factor where that is smaller or the matrix is too large."""
        self._refuse_indefinite()
        if self._source is None:
            given = self._undeflated.source()
            wide = given.kind == "data" and given.values.shape[0] < self.size
            if given.kind == "matrix" or (not wide and self.size <= LARGEST_FORMED_SIZE):
                self._source = super().source()
            else:
                blocks = self.factor().blocks(max(1, self.size // 16), self.xp.float64)
                self._source = Source("data", np.concatenate([to_vector(block) for _, block in blocks], axis=1))
        return self._source

    def _refuse_indefinite(self) -> None:
        if self._indefinite:
            msg = (
                f"the {self.description} can have negative eigenvalues, so it has no factor and no certificate; "
                f"use deflation={' or '.join(map(repr, semidefinite_ones()))}"
            )
            raise InvalidProblemError(msg)


def _oblique(operator: Operator, support: Indices, loadings: Vector, v: Vector) -> Factor:
    """Return F − (Fx)vᵀ."""
    whole, xp = operator.factor(), operator.xp
    image = np.zeros((whole.depth, 1))
    for index, loading in zip(support.tolist(), loadings.tolist(), strict=True):
        image += loading * to_vector(whole.block(slice(index, index + 1), xp.float64))

    def block(columns: slice, dtype: Any) -> Array:
        left, right = (xp.asarray(part, dtype=dtype, device=operator.device) for part in (image, v[None, columns]))
        return whole.block(columns, dtype) - left * right

    return Factor(whole.depth, whole.size, block)
