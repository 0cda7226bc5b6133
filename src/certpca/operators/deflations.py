"""The ways to take a component out of a matrix, a class each under `@register`.

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

from abc import ABC, abstractmethod
from typing import ClassVar, TypeVar

import numpy as np

from certpca.runtime.arrays import Vector
from certpca.runtime.errors import InvalidProblemError

DEPENDENT = 1e-8  # length of q relative to x below which x adds no direction to the earlier components


class Deflation(ABC):
    """One line of the table above.

    `semidefinite` says that it equals (I − vxᵀ)A(I − xvᵀ) with its own v: the rest has a factor, and certificates.
    """

    name: ClassVar[str]
    semidefinite: ClassVar[bool]

    def direction(self, x: Vector, earlier: Vector) -> Vector | None:
        """Return the unit vector that stands for x after the earlier components (columns), or None where none does."""
        del earlier
        return x

    @abstractmethod
    def vectors(self, x: Vector, image: Vector, value: float) -> tuple[Vector, Vector]:
        """Return v and h, given the direction x, its image g = Ax and λ = xᵀAx > 0."""


DEFLATIONS: dict[str, Deflation] = {}
DeflationType = TypeVar("DeflationType", bound=type[Deflation])


def register(deflation: DeflationType) -> DeflationType:
    """Make a deflation available under its name."""
    DEFLATIONS[deflation.name] = deflation()
    return deflation


def deflation_named(name: str) -> Deflation:
    """Return a deflation by its name, or say which there are."""
    if name not in DEFLATIONS:
        msg = f"deflation must be one of {', '.join(DEFLATIONS)}, got {name!r}"
        raise InvalidProblemError(msg)
    return DEFLATIONS[name]


def semidefinite_ones() -> list[str]:
    """Name the deflations whose rest can be certified."""
    return [name for name, deflation in DEFLATIONS.items() if deflation.semidefinite]


@register
class Schur(Deflation):
    """Take out everything that the scores of the component explain by regression."""

    name = "schur"
    semidefinite = True

    def vectors(self, x: Vector, image: Vector, value: float) -> tuple[Vector, Vector]:
        """Give A − ggᵀ/λ."""
        del x
        return image / value, image / 2


@register
class Projection(Deflation):
    """Take out the direction of the component."""

    name = "projection"
    semidefinite = True

    def vectors(self, x: Vector, image: Vector, value: float) -> tuple[Vector, Vector]:
        """Give (I − xxᵀ)A(I − xxᵀ)."""
        return x, image - value / 2 * x


@register
class Hotelling(Deflation):
    """Take out the variance along the direction of the component."""

    name = "hotelling"
    semidefinite = False

    def vectors(self, x: Vector, image: Vector, value: float) -> tuple[Vector, Vector]:
        """Give A − λxxᵀ."""
        del image
        return x, value / 2 * x


@register
class OrthogonalHotelling(Hotelling):
    """Take out the variance along the part of the component that is orthogonal to the earlier ones."""

    name = "orthogonal-hotelling"

    def direction(self, x: Vector, earlier: Vector) -> Vector | None:
        """Return q."""
        if not earlier.shape[1]:
            return x
        for _ in range(2):  # once leaves rounding errors of the size of x
            x = x - earlier @ np.linalg.lstsq(earlier, x)[0]
        length = float(np.linalg.norm(x))
        return x / length if length > DEPENDENT else None
