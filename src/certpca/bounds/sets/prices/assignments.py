"""Parts of the problem with disjoint supports: some features are given to components, some to none, others are free."""

from dataclasses import dataclass

import numpy as np

from certpca.runtime.arrays import Indices, Vector


@dataclass(frozen=True, slots=True)
class Slot:
    """A component, or several that are alike: how many features it may have, and which it has."""

    sparsity: int
    inside: tuple[int, ...]
    copies: int

    @property
    def full(self) -> bool:
        """Whether it has as many features as it may."""
        return len(self.inside) >= self.sparsity


@dataclass(frozen=True, slots=True)
class Assignment:
    """Features of each component, in the order of the sparsities, and features of none."""

    sparsities: tuple[int, ...]
    inside: tuple[tuple[int, ...], ...]
    gone: frozenset[int] = frozenset()

    @classmethod
    def of(cls, sparsities: tuple[int, ...]) -> "Assignment":
        """Return the whole problem, in which nothing is decided."""
        return cls(sparsities, tuple(() for _ in sparsities))

    def slots(self) -> list[Slot]:
        """Return components that are alike together, in the order of the first of each."""
        alike: dict[tuple[int, tuple[int, ...]], int] = {}
        for key in zip(self.sparsities, self.inside, strict=True):
            alike[key] = alike.get(key, 0) + 1
        return [Slot(sparsity, inside, copies) for (sparsity, inside), copies in alike.items()]

    def free(self, size: int) -> Indices:
        """Return the features that are still to be given away."""
        taken = set(self.gone).union(*self.inside)
        return np.array([feature for feature in range(size) if feature not in taken], dtype=np.intp)

    def split(self, feature: int) -> tuple["Assignment", list[tuple[int, "Assignment"]]]:
        """Give a feature to none, or to one component of each slot that is not full, by its number."""
        into, seen = [], set()
        for number, key in enumerate(zip(self.sparsities, self.inside, strict=True)):
            if key in seen or len(key[1]) >= key[0]:
                continue
            seen.add(key)
            inside = list(self.inside)
            inside[number] = tuple(sorted((*inside[number], feature)))
            into.append((number, Assignment(self.sparsities, tuple(inside), self.gone)))
        return Assignment(self.sparsities, self.inside, self.gone | {feature}), into


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Prices of features, and what a component of each slot is worth at these as far as is known."""

    prices: Vector
    worth: Vector
    copies: Vector

    @property
    def bound(self) -> float:
        """What these prices prove if no component is worth more."""
        return float(self.prices.sum() + self.copies @ self.worth)
