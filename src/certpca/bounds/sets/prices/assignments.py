"""Parts of the problem with disjoint supports: some features are given to components, some to none, others are free."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from certpca.runtime.arrays import Indices, Vector

Given = tuple[tuple[int, ...], ...]
Kind = tuple[int, tuple[int, ...], frozenset[int]]

DIGITS = 12  # in which twins agree


@dataclass(frozen=True, slots=True)
class Slot:
    """A component, or several that are alike: how many features it may have, and which it has."""

    sparsity: int
    inside: tuple[int, ...]
    copies: int
    barred: frozenset[int] = frozenset()  # free features that it may not have

    @property
    def full(self) -> bool:
        """Whether it has as many features as it may."""
        return len(self.inside) >= self.sparsity

    def open(self, free: Indices) -> Indices:
        """Return the free features that it may have."""
        return free[~np.isin(free, list(self.barred))] if self.barred else free


@dataclass(frozen=True, slots=True)
class Assignment:
    """Features that each component has, and free ones it may not have, in the order of the sparsities; those of none.

    Features that are twins are free for the same components or for none of these, so that they can be exchanged.
    """

    sparsities: tuple[int, ...]
    inside: Given
    barred: tuple[frozenset[int], ...]
    gone: frozenset[int] = frozenset()

    @classmethod
    def of(cls, sparsities: tuple[int, ...], inside: Given | None = None, gone: Iterable[int] = ()) -> "Assignment":
        """Return the whole problem, or a part in which components have features and others are of none."""
        nothing: Given = tuple(() for _ in sparsities)
        return cls(sparsities, inside or nothing, tuple(frozenset() for _ in sparsities), frozenset(gone))

    def _kinds(self) -> list[Kind]:
        return list(zip(self.sparsities, self.inside, self.barred, strict=True))

    def slots(self) -> list[Slot]:
        """Return components that are alike together, in the order of the first of each."""
        counted = Counter(self._kinds())
        return [Slot(sparsity, inside, copies, barred) for (sparsity, inside, barred), copies in counted.items()]

    def component(self, slot: Slot) -> int:
        """Return the number of the first component of a slot."""
        return self._kinds().index((slot.sparsity, slot.inside, slot.barred))

    def free(self, size: int) -> Indices:
        """Return the features that are still to be given away."""
        taken = set(self.gone).union(*self.inside)
        return np.array([feature for feature in range(size) if feature not in taken], dtype=np.intp)

    def split(self, feature: int) -> tuple["Assignment", list[tuple[int, "Assignment"]]]:
        """Give a feature to none, or to one component of each slot that may have it, by its number."""
        into, seen = [], set()
        for number, kind in enumerate(self._kinds()):
            if kind in seen or len(kind[1]) >= kind[0] or feature in kind[2]:
                continue
            seen.add(kind)
            into.append((number, self._given(feature, number)))
        return self._lost(frozenset({feature})), into

    def split_twins(self, block: tuple[int, ...], number: int) -> tuple["Assignment", list[tuple[int, "Assignment"]]]:
        """Give the first of some twins to a component, or bar them all from it and those that are alike."""
        own = self._kinds()[number]
        barred = [
            held | frozenset(block) if kind == own else held
            for kind, held in zip(self._kinds(), self.barred, strict=True)
        ]
        none = replace(self, barred=tuple(barred))
        if frozenset.intersection(*barred):
            none = none._lost(frozenset.intersection(*barred))
        return none, [(number, self._given(block[0], number))]

    def _given(self, feature: int, number: int) -> "Assignment":
        inside = list(self.inside)
        inside[number] = tuple(sorted((*inside[number], feature)))
        return replace(self, inside=tuple(inside), barred=self._without(frozenset({feature})))

    def _lost(self, features: frozenset[int]) -> "Assignment":
        return replace(self, barred=self._without(features), gone=self.gone | features)

    def _without(self, features: frozenset[int]) -> tuple[frozenset[int], ...]:
        return tuple(held - features for held in self.barred)

    def blocks(self, twins: Indices) -> list[tuple[int, ...]]:
        """Return the free features, those together that have the same number among `twins` and the same components."""
        found: dict[tuple[int, ...], list[int]] = {}
        for feature in self.free(twins.size).tolist():
            key = (int(twins[feature]), *(feature in held for held in self.barred))
            found.setdefault(key, []).append(feature)
        return [tuple(block) for block in found.values()]


def twins_of(matrix: Vector) -> Indices:
    """Return numbers of features: those with the same one can be exchanged, which changes nothing but roundings."""
    matrix = np.round(matrix / max(float(np.abs(matrix).max(initial=0.0)), np.finfo(float).tiny), DIGITS) + 0.0
    numbers = np.arange(matrix.shape[0])
    first: dict[bytes, list[int]] = {}  # by their entries in order: few others have the same ones
    for feature, row in enumerate(np.sort(matrix, axis=1)):
        for other in first.setdefault(row.tobytes(), []):
            if _exchanged_alike(matrix, feature, other):
                numbers[feature] = other
                break
        else:
            first[row.tobytes()].append(feature)
    return numbers


def _exchanged_alike(matrix: Vector, first: int, second: int) -> bool:
    order = np.arange(matrix.shape[0])
    order[[first, second]] = second, first
    return bool((matrix[np.ix_(order, order)] == matrix).all())


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
