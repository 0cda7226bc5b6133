"""What is left of a matrix when a component has been taken out of it.

With x the component, g = Ax and λ = xᵀAx, every deflation is A − vhᵀ − hvᵀ for two vectors v and h, so none is formed:

| method | what is left | v | h |
|---|---|---|---|
| schur | A − ggᵀ/λ | g/λ | g/2 |
| projection | (I − xxᵀ)A(I − xxᵀ) | x | g − λx/2 |
| hotelling | A − λxxᵀ | x | λx/2 |
| orthogonal-hotelling | A − (qᵀAq)qqᵀ | q | (qᵀAq)q/2 |

where q is the part of x that is orthogonal to the earlier components, scaled to unit length. The first two equal
(I − vxᵀ)A(I − xvᵀ), so with A = FᵀF they are positive semidefinite and F − (Fx)vᵀ is a factor. Sparse components are
no eigenvectors, and then Hotelling's deflations can have negative eigenvalues.

The methods are those of Mackey, "Deflation methods for sparse PCA", NIPS 2008.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, final

import numpy as np

from certpca.operators.base import LARGEST_FORMED_SIZE, Factor, Operator
from certpca.operators.views import Restricted
from certpca.results.certificate import Source
from certpca.runtime.arrays import Array, Indices, Vector, to_vector
from certpca.runtime.errors import InvalidProblemError

SEMIDEFINITE = ("schur", "projection")
DEFLATIONS = (*SEMIDEFINITE, "hotelling", "orthogonal-hotelling")
DEPENDENT = 1e-8  # length of q relative to x below which x adds no direction to the earlier components


def deflate(
    operator: Operator, support: Indices, loadings: Vector, method: str = "schur", earlier: Vector | None = None
) -> Operator:
    """Take a component out of a matrix; see the table above.

    Parameters
    ----------
    operator
        The matrix the component was found on, itself deflated where there were components before.
    support, loadings
        The component: a unit vector by its nonzero entries.
    method
        One of `DEFLATIONS`.
    earlier
        The components taken out before, as columns: `orthogonal-hotelling` needs them.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> from certpca.operators.deflation import deflate
    >>> left = deflate(certpca.from_matrix(np.diag([3.0, 2.0, 1.0])), np.array([0]), np.array([1.0]))
    >>> left.diagonal().tolist()
    [0.0, 2.0, 1.0]
    """
    checked_deflation(method)
    x = np.zeros(operator.size)
    x[support] = loadings
    if method == "orthogonal-hotelling" and earlier is not None and earlier.shape[1] > 0:
        for _ in range(2):  # once leaves rounding errors of the size of x
            x = x - earlier @ np.linalg.lstsq(earlier, x)[0]
        length = float(np.linalg.norm(x))
        if length <= DEPENDENT:
            return operator
        x /= length
    panel = operator.xp.asarray(x[:, None], dtype=operator.xp.float64, device=operator.device)
    image = to_vector(operator.matmat(panel))[:, 0]
    value = float(x @ image)
    if not value > 0:  # a positive semidefinite matrix has Ax = 0 here: there is nothing to take out
        return operator
    if method == "schur":
        v, h = image / value, image / 2
    elif method == "projection":
        v, h = x, image - value / 2 * x
    else:
        v, h = x, value / 2 * x
    factor = partial(_oblique, operator, support, loadings, v) if method in SEMIDEFINITE else None
    return Downdated(operator, v, h, factor, method)


def checked_deflation(method: str) -> str:
    """Return the name of a deflation, or say which there are."""
    if method not in DEFLATIONS:
        msg = f"deflation must be one of {', '.join(DEFLATIONS)}, got {method!r}"
        raise InvalidProblemError(msg)
    return method


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
                f"use deflation={' or '.join(map(repr, SEMIDEFINITE))}"
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
