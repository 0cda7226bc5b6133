"""The supports of a node of a search tree that constraints allow: what is in, what is free, and what that implies.

A group with a feature in is in; one with a feature that is neither in nor free is out, and so is one that has more
features than there are places left. Where there are groups, supports may have fewer features than places, as nothing
need fit the last ones; then all free features together hold every support.
"""

import numpy as np

from certpca.checker.numbers import Indices, Vector
from certpca.results.constraints import FREE, Constraints

TRIED = 20  # choices looked at for each that may be listed
COST = 1e4  # of looking at one, in multiplications


class AllowedSupports:
    """What constraints allow among `size` features, in supports of at most `sparsity`."""

    def __init__(self, size: int, sparsity: int, constraints: Constraints = FREE) -> None:
        meant = constraints.completed
        self._sparsity, self._groups = sparsity, [np.array(group, dtype=np.intp) for group in meant.groups]
        self._number = np.full(size, -1)  # of the group that a feature is in
        for number, group in enumerate(self._groups):
            self._number[group] = number
        self.first = np.array(meant.include, dtype=np.intp)
        free = np.ones(size, dtype=bool)
        free[self.first] = False
        free[list(meant.exclude)] = False
        self.free = np.flatnonzero(free)

    @property
    def grouped(self) -> bool:
        """Whether there are groups."""
        return bool(self._groups)

    def completed(self, inside: Indices, free: Indices) -> tuple[Indices, Indices] | None:
        """Return what is in and free with all that follows, in the order given; None where no support is left."""
        if not self._groups:
            return inside, free
        count, sizes = len(self._groups), np.array([group.size for group in self._groups])
        chosen, open_ones = (
            np.bincount(self._number[some][self._number[some] >= 0], minlength=count) for some in (inside, free)
        )
        torn = chosen + open_ones < sizes
        if (torn & (chosen > 0)).any():
            return None  # a group is partly in and partly out
        joining = np.append(chosen > 0, False)[self._number[free]]  # the last entry serves features without a group
        inside, free = np.concatenate([inside, free[joining]]), free[~joining]
        leaving = np.append(torn | (sizes > self._sparsity - inside.size), False)[self._number[free]]
        return inside, free[~leaving]

    def filled(self, free: Indices, weights: Vector, budget: int) -> Indices:
        """Return free features with large weights that are allowed together and fit the budget."""
        numbers, taken = self._number[free], np.zeros(free.size, dtype=bool)
        for place in np.argsort(-weights, kind="stable"):
            mine = numbers == numbers[place] if numbers[place] >= 0 else np.arange(free.size) == place
            if not taken[place] and int(mine.sum()) + int(taken.sum()) <= budget:
                taken |= mine
        return free[taken]

    def cost(self, free: Indices, most: int) -> float:
        """Return what `unions` may cost, in multiplications."""
        return COST * min(TRIED * most, 2.0 ** min(free.size, 60))

    def unions(self, free: Indices, budget: int, most: int) -> list[Indices] | None:
        """Return the choices of free features that fit the budget, with room for no other; None if too many."""
        numbers = self._number[free]
        units = [free[numbers == number] for number in np.unique(numbers[numbers >= 0])]
        units = sorted(
            [*units, *(free[at : at + 1] for at in np.flatnonzero(numbers < 0))], key=lambda unit: -unit.size
        )
        return _fitting(units, budget, most)


def _fitting(units: list[Indices], budget: int, most: int) -> list[Indices] | None:
    """Choose units in all ways that fit and leave no room for another, unless that takes too long to find out."""
    sizes = [unit.size for unit in units]
    beyond = np.concatenate([np.cumsum(sizes[::-1])[::-1], [0]]) if units else np.zeros(1)
    found = list[Indices]()
    stack: list[tuple[int, int, tuple[int, ...], int]] = [(0, budget, (), budget + 1)]  # and the smallest passed over
    for _ in range(TRIED * most):
        if not stack:
            return found
        at, room, chosen, passed = stack.pop()
        while at < len(units) and sizes[at] > room:
            at += 1
        if at == len(units):
            if passed > room:
                found.append(np.concatenate([units[number] for number in chosen] or [np.zeros(0, dtype=np.intp)]))
                if len(found) > most:
                    return None
            continue
        if beyond[at] + passed <= room:
            continue  # whatever is chosen, what was passed over still fits
        stack.append((at + 1, room, chosen, min(passed, sizes[at])))
        stack.append((at + 1, room - sizes[at], (*chosen, at), passed))
    return None
