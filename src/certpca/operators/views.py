"""Operators that change how another operator is seen, without touching its data."""

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from certpca.operators.base import Operator, divided
from certpca.operators.factor import Factor
from certpca.results.certificate import Source
from certpca.runtime.arrays import Array, Indices, Vector, is_host, to_numpy
from certpca.runtime.errors import InvalidProblemError


@final
class Restricted(Operator):
    """A principal submatrix, computed by padding with zeros."""

    def __init__(self, operator: Operator, indices: Indices) -> None:
        self._operator = operator
        self._indices = indices
        self._on_device = operator.xp.asarray(indices, device=operator.device)
        self.size = int(indices.size)
        self.xp, self.dtype, self.device = operator.xp, operator.dtype, operator.device
        self.names = operator.names_of(indices)
        self.description = f"{self.size} features of the {operator.description}"

    def matmat(self, panel: Array) -> Array:
        """Pad, multiply, cut."""
        xp = self.xp
        # Standard arrays have no scatter: place rows with one gather through the inverse map.
        padded = xp.concat([panel, xp.zeros((1, panel.shape[1]), dtype=panel.dtype, device=self.device)])
        position = np.full(self._operator.size, self.size)
        position[self._indices] = np.arange(self.size)
        wide = xp.take(padded, xp.asarray(position, device=self.device), axis=0)
        return xp.take(self._operator.matmat(wide), self._on_device, axis=0)

    def columns(self, indices: Indices) -> Array:
        """Take rows of the parent's columns."""
        return self.xp.take(self._operator.columns(self._indices[indices]), self._on_device, axis=0)

    def diagonal(self) -> Array:
        """Take entries of the parent's diagonal."""
        return self.xp.take(self._operator.diagonal(), self._on_device, axis=0)

    def submatrix(self, indices: Indices) -> Vector:
        """Ask the parent, which may have a faster way."""
        return self._operator.submatrix(self._indices[indices])

    def factor(self) -> Factor:
        """Gather columns of the parent's factor one run of indices at a time."""
        whole = self._operator.factor()
        xp, indices = self.xp, self._indices

        def block(columns: slice, dtype: Any) -> Array:
            return xp.concat([whole.block(slice(int(i), int(i) + 1), dtype) for i in indices[columns]], axis=1)

        return Factor(whole.depth, self.size, block)


@final
class Rescaled(Operator):
    """An operator divided by an even power of two: what it returns is divided, and its factor by the root."""

    def __init__(self, operator: Operator, power: int) -> None:
        self._operator, self._power = operator, power
        self.power = operator.power + power
        self.size = operator.size
        self.xp, self.dtype, self.device = operator.xp, operator.xp.float64, operator.device
        self.names = operator.names
        self.description = operator.description

    def matmat(self, panel: Array) -> Array:
        """Divide in double precision: single precision may have no room for the products."""
        xp = self.xp
        product = self._operator.matmat(xp.astype(panel, xp.float64, copy=False))
        return xp.astype(divided(product, self._power), panel.dtype, copy=False)

    def columns(self, indices: Indices) -> Array:
        """Divide columns."""
        return self.xp.astype(divided(self._operator.columns(indices), self._power), self.dtype, copy=False)

    def diagonal(self) -> Array:
        """Divide the diagonal."""
        return self.xp.astype(divided(self._operator.diagonal(), self._power), self.dtype, copy=False)

    def trace(self) -> float:
        """Divide the trace."""
        return float(divided(self._operator.trace(), self._power))

    def submatrix(self, indices: Indices) -> Vector:
        """Divide a submatrix."""
        return np.asarray(divided(self._operator.submatrix(indices), self._power))

    def quadratic_form(self, support: Indices, loadings: Vector) -> float:
        """Ask the operator, which may need no submatrix."""
        return float(divided(self._operator.quadratic_form(support, loadings), self._power))

    def source(self) -> Source:
        """Ask the operator: certificates are about its matrix."""
        return self._operator.source()

    def standardisation(self) -> tuple[Vector, Vector] | None:
        """Divide by the root of the power too."""
        given = self._operator.undeflated
        made = given.standardisation()
        return None if made is None else (made[0], np.ldexp(made[1], (self.power - given.power) // 2))

    def factor(self) -> Factor:
        """Divide the factor."""
        whole, xp, root = self._operator.factor(), self.xp, math.ldexp(1.0, -self._power // 2)

        def block(columns: slice, dtype: Any) -> Array:
            return xp.astype(whole.block(columns, xp.float64) * root, dtype, copy=False)

        return Factor(whole.depth, whole.size, block)


@final
class HostView(Operator):
    """An operator on a device, seen as NumPy."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.size = operator.size
        self.xp, self.device = np, "cpu"
        self.dtype = to_numpy(operator.xp.empty(0, dtype=operator.dtype, device=operator.device)).dtype
        self.power = operator.power
        self.names = operator.names
        self.description = operator.description
        self.reading = operator.reading
        self.within = operator.within

    def matmat(self, panel: Array) -> Array:
        """Send the panel to the device and bring the product back."""
        xp = self._operator.xp
        return to_numpy(self._operator.matmat(xp.asarray(panel, device=self._operator.device)))

    def columns(self, indices: Indices) -> Array:
        """Bring columns to the host."""
        return to_numpy(self._operator.columns(indices))

    def diagonal(self) -> Array:
        """Bring the diagonal to the host."""
        return to_numpy(self._operator.diagonal())

    def submatrix(self, indices: Indices) -> Vector:
        """Already on the host."""
        return self._operator.submatrix(indices)

    def quadratic_form(self, support: Indices, loadings: Vector) -> float:
        """Already a host number."""
        return self._operator.quadratic_form(support, loadings)

    def source(self) -> Source:
        """Ask the operator behind the view."""
        return self._operator.source()

    def near_one(self) -> Operator:
        """Divide behind the view, where it may be cheaper."""
        near = self._operator.near_one()
        return self if near is self._operator else HostView(near)

    def restrict(self, indices: Indices) -> Operator:
        """Restrict behind the view, where it may be cheaper."""
        return HostView(self._operator.restrict(indices))

    def part(self, indices: Indices) -> Operator:
        """Take the part behind the view."""
        return HostView(self._operator.part(indices))

    def factor(self) -> Factor:
        """Bring blocks of the factor to the host."""
        whole = self._operator.factor()
        xp = self._operator.xp

        def block(columns: slice, dtype: Any) -> Array:
            kind = xp.float32 if np.dtype(dtype) == np.float32 else xp.float64
            return to_numpy(whole.block(columns, kind))

        return Factor(whole.depth, self.size, block)


@final
class Precise(Operator):
    """An operator whose panels are float64, whatever type is fastest for its data."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.size = operator.size
        self.xp, self.dtype, self.device = operator.xp, operator.xp.float64, operator.device
        self.names = operator.names
        self.description = operator.description

    def matmat(self, panel: Array) -> Array:
        """Multiply; products follow the type of the panel."""
        return self._operator.matmat(panel)

    def columns(self, indices: Indices) -> Array:
        """Take columns as products with unit vectors, which are float64."""
        unit = np.zeros((self.size, indices.size))
        unit[indices, np.arange(indices.size)] = 1.0
        return self.matmat(self.adopt(unit))

    def diagonal(self) -> Array:
        """Convert the diagonal."""
        return self.xp.astype(self._operator.diagonal(), self.dtype)

    def factor(self) -> Factor:
        """Pass on the factor, which is given in any type asked for."""
        return self._operator.factor()


@final
class Products(Operator):
    """A symmetric matrix of which only products are known, living where an operator does; it may be indefinite."""

    def __init__(self, operator: Operator, multiply: Callable[[Array], Array], dtype: Any = None) -> None:
        self._multiply = multiply
        self.size = operator.size
        self.xp, self.device = operator.xp, operator.device
        self.dtype = operator.dtype if dtype is None else dtype
        self.description = "matrix known by its products"

    def matmat(self, panel: Array) -> Array:
        """Multiply."""
        return self._multiply(panel)

    def columns(self, indices: Indices) -> Array:
        """Multiply unit vectors."""
        unit = np.zeros((self.size, indices.size))
        unit[indices, np.arange(indices.size)] = 1.0
        return self.matmat(self.adopt(unit))

    def diagonal(self) -> Array:
        """Take it from the columns."""
        return self.xp.linalg.diagonal(self.columns(np.arange(self.size)))

    def factor(self) -> Factor:
        """Refuse: the matrix may have negative eigenvalues."""
        msg = f"the {self.description} may not be positive semidefinite, so it has no factor"
        raise InvalidProblemError(msg)


def deflated(operator: Operator, panel: Vector) -> Products:
    """Subtract WWᵀ from an operator."""
    there = operator.adopt(panel)
    turned = operator.xp.matrix_transpose(there)
    return Products(operator, lambda block: operator.matmat(block) - there @ (turned @ block))


def on_host(operator: Operator) -> Operator:
    """Return an operator whose panels are NumPy's."""
    return operator if is_numpy(operator) else HostView(operator)


def is_numpy(operator: Operator) -> bool:
    """Say whether an operator's panels are already NumPy's."""
    return is_host(operator.xp.empty(0))
