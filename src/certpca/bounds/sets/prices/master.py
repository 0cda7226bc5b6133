"""The linear program over supports that are known: which of them to combine, and what features are worth.

    max Σ λ(S) z_S,    every feature in at most one support, of each slot as many as it has copies;

its dual variables are the prices and what a component of each slot is worth. Twins have one row, and one price: a
support stands for all that have others of these in their place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.bounds.sets.prices.assignments import Assignment, Priced, Slot, twins_of
from certpca.runtime.arrays import Indices, Vector

TAKEN = 1e-7  # of a support, from which on it is
VARIED = 1e-6  # variance of the number of twins, up to which it is decided
MOST_SECONDS = 2.0  # for the best combination of known supports
Masks = NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Pool:
    """Supports that were met, and what each captures."""

    matrix: Vector
    supports: list[Indices] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    _known: set[bytes] = field(default_factory=set)
    _masks: list[Masks] = field(default_factory=list)
    twins: Indices = field(init=False)

    def __post_init__(self) -> None:
        self.twins = twins_of(self.matrix)

    def add(self, support: Indices) -> bool:
        """Add a support unless it is there."""
        support = np.sort(support).astype(np.intp)
        if support.size == 0 or support.tobytes() in self._known:
            return False
        self._known.add(support.tobytes())
        mask = np.zeros(self.matrix.shape[0], dtype=bool)
        mask[support] = True
        self.supports.append(support)
        self._masks.append(mask)
        self.values.append(float(np.linalg.eigvalsh(self.matrix[np.ix_(support, support)])[-1]))
        return True

    def masks(self) -> Masks:
        """Return the supports as rows."""
        return np.array(self._masks, dtype=bool).reshape(-1, self.matrix.shape[0])


def eligible(masks: Masks, slot: Slot, free: Indices) -> Masks:
    """Mark the supports that a component of the slot may have."""
    allowed = np.zeros(masks.shape[1], dtype=bool)
    allowed[slot.open(free)] = True
    allowed[list(slot.inside)] = True
    held = masks[:, list(slot.inside)].all(axis=1)
    return np.asarray(held & ~(masks & ~allowed).any(axis=1) & (masks.sum(axis=1) <= slot.sparsity))


class Master:
    """The program of one assignment with the supports that the pool has now."""

    def __init__(self, pool: Pool, assignment: Assignment) -> None:
        from scipy.sparse import csr_matrix

        self.slots = assignment.slots()
        self.copies = np.array([slot.copies for slot in self.slots], dtype=np.float64)
        size = pool.matrix.shape[0]
        free, masks = assignment.free(size), pool.masks()
        chosen = [np.flatnonzero(eligible(masks, slot, free)) for slot in self.slots]
        self.which = np.concatenate(chosen)
        self.slot_of = np.repeat(np.arange(len(chosen)), [part.size for part in chosen])
        self.values = np.array(pool.values)[self.which]
        self.open = np.zeros(size, dtype=bool)
        self.open[free] = True
        # What is given away has no price.
        self.use = csr_matrix((masks[self.which] & self.open).T.astype(np.float64))
        self.blocks = assignment.blocks(pool.twins)
        self.sizes = np.array([len(block) for block in self.blocks], dtype=np.float64)
        members = np.concatenate([np.array(block, dtype=np.intp) for block in [*self.blocks, ()]])
        rows = np.repeat(np.arange(len(self.blocks)), self.sizes.astype(np.intp))
        self.sums = csr_matrix((np.ones(rows.size), (rows, members)), shape=(len(self.blocks), size))
        self.counts = (self.sums @ self.use).tocsr()
        columns = np.arange(self.which.size)
        self.pick = csr_matrix((np.ones(columns.size), (self.slot_of, columns)), shape=(len(self.slots), columns.size))
        self.size = size

    def solved(self) -> tuple[Priced, Vector]:
        """Return prices, and how much of each support is taken."""
        from scipy.optimize import linprog
        from scipy.sparse import vstack

        found = linprog(
            -self.values,
            A_ub=vstack([self.counts, self.pick]).tocsr(),
            b_ub=np.concatenate([self.sizes, self.copies]),
            method="highs",
        )
        duals, rows = np.maximum(-found.ineqlin.marginals, 0.0), len(self.blocks)
        return Priced(self.sums.T @ duals[:rows], duals[rows:], self.copies), np.asarray(found.x)

    def centred(self, bound: float, taken: Vector) -> tuple[Priced, float]:
        """Return prices that prove `bound` and keep all supports that are not taken as far below as can be."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, hstack, vstack

        count, rows, held = len(self.slots), len(self.blocks), taken > TAKEN
        below = hstack([-self.counts.T, -self.pick.T, csr_matrix(np.where(held, 0.0, 1.0)[:, None])]).tocsr()
        total = csr_matrix(np.concatenate([self.sizes, self.copies, [0.0]])[None, :])
        cost = np.zeros(rows + count + 1)
        cost[-1] = -1.0
        found = linprog(
            cost,
            A_ub=vstack([below[~held], total]).tocsr(),
            b_ub=np.concatenate([-self.values[~held], [bound]]),
            A_eq=below[held],  # what is taken is worth what its slot is
            b_eq=-self.values[held],
            bounds=[(0, None)] * (rows + count) + [(0, max(bound, 1e-300))],
            method="highs",
        )
        if found.x is None:
            return self.solved()[0], 0.0
        prices, worth = self.sums.T @ found.x[:rows], found.x[rows:-1]
        return Priced(np.maximum(prices, 0.0), np.maximum(worth, 0.0), self.copies), float(found.x[-1])

    def best_combination(self) -> list[tuple[int, Indices]]:
        """Return the best disjoint supports among the known ones and their twins, with the slots they are for."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        found = milp(
            -self.values,
            constraints=[
                LinearConstraint(self.counts, -np.inf, self.sizes),
                LinearConstraint(self.pick, self.copies, self.copies),
            ],
            integrality=np.ones(self.values.size),
            bounds=Bounds(0, self.copies.max()),
            options={"time_limit": MOST_SECONDS},
        )
        if found.x is None:
            return []
        times = np.rint(found.x).astype(np.intp)
        left = [list(block) for block in self.blocks]
        combined = []
        for column in np.repeat(np.arange(times.size), times):
            slot = int(self.slot_of[column])
            chosen = list(self.slots[slot].inside)
            for row in self.counts[:, [column]].nonzero()[0]:
                count = int(self.counts[row, column])
                chosen += left[row][:count]
                del left[row][:count]
            combined.append((slot, np.array(sorted(chosen), dtype=np.intp)))
        return combined


def most_divided(use: Any, taken: Vector, free: Sequence[int]) -> int | None:
    """Return the free feature whose supports are the least decided, or None where all are."""
    doubt = np.asarray(use @ (taken * (1 - np.clip(taken, 0.0, 1.0)))).ravel()
    best = max(free, key=lambda feature: doubt[feature], default=None)
    return None if best is None or doubt[best] <= 1e-7 else int(best)


def most_varied(master: Master, taken: Vector) -> tuple[tuple[int, ...], int] | None:
    """Return the twins, and the slot, of which the supports that are taken have the most different numbers."""
    most, found = VARIED, None
    for row, block in enumerate(master.blocks):
        if len(block) == 1:
            continue
        counts = master.counts[[row]].toarray()[0]
        for slot, copies in enumerate(master.copies):
            share = np.where(master.slot_of == slot, taken, 0.0) / copies
            spread = float(share @ counts**2 - (share @ counts) ** 2)
            if spread > most:
                most, found = spread, (block, slot)
    return found
