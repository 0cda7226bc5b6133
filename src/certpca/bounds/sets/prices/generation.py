"""Column generation: prices from the supports that are known, supports that are worth more at these, and so on."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certpca.bounds.sets.prices.assignments import Assignment, Priced, Slot
from certpca.bounds.sets.prices.master import Master, Pool, eligible
from certpca.bounds.sets.prices.pricing import good_supports, value_of
from certpca.bounds.sets.regions.pricing import Worth, least_prices
from certpca.runtime.arrays import Indices, Vector

ROUNDS = 300
CENTRED_ROUNDS = 12
ADDED = 30  # supports of a slot in a round
FROM_POOL = 40  # known supports from which a round starts too
BEYOND = 0.3  # of what is spare, that prices may miss it by
FEATURES = 100  # by themselves that it starts from
MANY = 200  # features from which on directions, and not supports, say what prices are worth
FEW_LOADINGS = 12  # up to which supports are few enough even there
DIRECTIONS = 240  # of a slot,
DIRECTION_ROUNDS = 10
NOTHING = 1e-9  # share of the value that is never worth another round


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """The optimum of the linear program as far as local search can tell, and prices that prove nearly that."""

    value: float
    priced: Priced
    master: Master
    taken: Vector


class Generation:
    """Prices for assignments of one problem, which share what was met."""

    def __init__(self, pool: Pool, late: Callable[[], bool], accuracy: float = NOTHING, many: int = MANY) -> None:
        self.pool, self.late, self._rng, self._many = pool, late, np.random.default_rng(0), many
        self.accuracy = max(accuracy, NOTHING)
        self._last: tuple[Assignment, int, Generated] | None = None  # by directions

    def run(self, assignment: Assignment, spare: float | None = None) -> Generated:
        """Solve the program of an assignment; what is `spare` of the bound, if any, keeps prices away from ties."""
        if self.pool.matrix.shape[0] > self._many and max(assignment.sparsities) > FEW_LOADINGS:
            if self._last is None or self._last[:2] != (assignment, len(self.pool.supports)):
                made = self._by_directions(assignment)
                self._last = assignment, len(self.pool.supports), made
            return self._last[2]
        self._begin(assignment)
        master, priced, taken = self._solved(assignment)
        for _ in range(ROUNDS):
            if not self._grow(assignment, priced, self.accuracy * max(priced.bound, 0.0)):
                break
            master, priced, taken = self._solved(assignment)
            if self.late():
                break
        value, best = priced.bound, self._corrected(assignment, priced)
        for _ in range(0 if spare is None else CENTRED_ROUNDS):
            if self.late():
                break
            allowed = value + max(spare or 0.0, NOTHING * value)
            centred, width = master.centred(allowed, taken)
            grown = self._grow(assignment, centred, -0.5 * width)
            corrected = self._corrected(assignment, centred)
            if corrected.bound <= allowed + BEYOND * (spare or 0.0):
                best = corrected
            if not grown:
                break
            master, priced, taken = self._solved(assignment)
            value = max(value, priced.bound)
        return Generated(value, best, master, taken)

    def _by_directions(self, assignment: Assignment) -> Generated:
        """Find prices from the directions of supports that are known, which stand for all supports along them."""
        size = self.pool.matrix.shape[0]
        self._begin(assignment)
        free, slots = assignment.free(size), assignment.slots()
        copies = np.array([slot.copies for slot in slots], dtype=np.float64)
        known: Vector | None = None
        value, best = math.inf, Priced(np.zeros(size), np.full(len(slots), math.inf), copies)
        for _ in range(DIRECTION_ROUNDS):
            along = [self._along(slot, free, best.prices) for slot in slots]
            worth = [
                Worth(part[free], part[list(slot.inside)].sum(axis=0), slot.sparsity - len(slot.inside), slot.copies)
                for slot, part in zip(slots, along, strict=True)
            ]
            known, value = least_prices(worth, self.late, known)
            prices = np.zeros(size)
            prices[free] = known
            grown = self._grow(assignment, Priced(prices, np.zeros(len(slots)), copies), 0.0)
            found = self._corrected(assignment, Priced(prices, np.zeros(len(slots)), copies))
            if found.bound < best.bound:
                best = found
            if not grown or best.bound <= value * (1 + self.accuracy) or self.late():
                break
        master, _, taken = self._solved(assignment)
        return Generated(value, best, master, taken)

    def _along(self, slot: Slot, free: Indices, prices: Vector) -> Vector:
        """Return (Ax)_i²/xᵀAx for the leading loadings x of supports of a slot that are worth most."""
        pool, size = self.pool, prices.size
        masks = pool.masks()
        mine = np.flatnonzero(eligible(masks, slot, free))
        worth = np.array(pool.values)[mine] - masks[mine] @ prices
        chosen = mine[np.argsort(-worth, kind="stable")[:DIRECTIONS]]
        x = np.zeros((size, chosen.size))
        for place, number in enumerate(chosen):
            support = pool.supports[number]
            x[support, place] = np.linalg.eigh(pool.matrix[np.ix_(support, support)])[1][:, -1]
        image = pool.matrix @ x
        image[list(slot.barred)] = 0.0
        return np.asarray(image**2 / np.maximum((x * image).sum(axis=0), np.finfo(float).tiny))

    def _solved(self, assignment: Assignment) -> tuple[Master, Priced, Vector]:
        master = Master(self.pool, assignment)
        return master, *master.solved()

    def _begin(self, assignment: Assignment) -> None:
        """See to it that every slot has a support, and the empty ones some that are apart."""
        matrix, size = self.pool.matrix, self.pool.matrix.shape[0]
        free = assignment.free(size)
        for slot in assignment.slots():
            self.pool.add(np.array(slot.inside, dtype=np.intp))
            left = free
            for _ in range(slot.copies):
                if left.size == 0:
                    break
                found = good_supports(matrix, np.zeros(size), slot, left, np.eye(size)[:, left])
                self.pool.add(found[0])
                left = np.setdiff1d(left, found[0])
        for feature in free:
            self.pool.add(np.array([feature]))

    def _grow(self, assignment: Assignment, priced: Priced, margin: float) -> bool:
        """Add supports that are worth more than their slot, by a margin; say whether there were any."""
        matrix, size = self.pool.matrix, self.pool.matrix.shape[0]
        free, grown = assignment.free(size), False
        starts = self._starts(priced.prices)
        for slot, worth in zip(assignment.slots(), priced.worth, strict=True):
            for support in good_supports(matrix, priced.prices, slot, free, starts)[:ADDED]:
                if value_of(matrix, priced.prices, support) > worth + margin:
                    grown |= self.pool.add(support)
        return grown

    def _starts(self, prices: Vector) -> Vector:
        """Start from features, others each time where they are many, and from known supports that are worth most."""
        pool, size = self.pool, prices.size
        features = np.arange(size) if size <= FEATURES else self._rng.choice(size, FEATURES, replace=False)
        worth = np.array(pool.values) - pool.masks() @ prices
        known = np.argsort(-worth, kind="stable")[:FROM_POOL]
        columns = np.zeros((size, known.size))
        for place, number in enumerate(known):
            support = pool.supports[number]
            columns[support, place] = np.linalg.eigh(pool.matrix[np.ix_(support, support)])[1][:, -1]
        return np.hstack([np.eye(size)[:, features], columns])

    def _corrected(self, assignment: Assignment, priced: Priced) -> Priced:
        """Return prices with what slots are worth at them, by the best support that is known."""
        master = Master(self.pool, assignment)
        worth = master.values - master.use.T @ priced.prices
        best = [max(float(worth[master.slot_of == slot].max(initial=0.0)), 0.0) for slot in range(len(master.slots))]
        return Priced(priced.prices, np.array(best), priced.copies)
