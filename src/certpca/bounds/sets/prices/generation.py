"""Column generation: prices from the supports that are known, supports that are worth more at these, and so on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certpca.bounds.sets.prices.assignments import Assignment, Priced
from certpca.bounds.sets.prices.master import Master, Pool
from certpca.bounds.sets.prices.pricing import good_supports, value_of
from certpca.runtime.arrays import Vector

ROUNDS = 300
CENTRED_ROUNDS = 12
ADDED = 30  # supports of a slot in a round
FROM_POOL = 40  # known supports from which a round starts too
NOTHING = 1e-9  # share of the value that is not worth another round


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """The optimum of the linear program as far as local search can tell, and prices that prove nearly that."""

    value: float
    priced: Priced
    master: Master
    taken: Vector


class Generation:
    """Prices for assignments of one problem, which share what was met."""

    def __init__(self, pool: Pool, late: Callable[[], bool]) -> None:
        self.pool, self.late = pool, late

    def run(self, assignment: Assignment, spare: float) -> Generated:
        """Solve the program of an assignment; what is `spare` of the bound then keeps prices away from ties."""
        self._begin(assignment)
        master, priced, taken = self._solved(assignment)
        for _ in range(ROUNDS):
            if not self._grow(assignment, priced, np.full(priced.worth.size, NOTHING * max(priced.bound, 1e-300))):
                break
            master, priced, taken = self._solved(assignment)
            if self.late():
                break
        value, best = priced.bound, self._corrected(assignment, priced)
        for _ in range(CENTRED_ROUNDS):
            if self.late():
                break
            centred, width = master.centred(value + max(spare, NOTHING * value), taken)
            if not self._grow(assignment, centred, np.full(priced.worth.size, -0.5 * width)):
                best = self._corrected(assignment, centred)
                break
            master, priced, taken = self._solved(assignment)
            value = max(value, priced.bound)
        return Generated(value, best, master, taken)

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

    def _grow(self, assignment: Assignment, priced: Priced, margins: Vector) -> bool:
        """Add supports that are worth more than their slot, by a margin; say whether there were any."""
        matrix, size = self.pool.matrix, self.pool.matrix.shape[0]
        free, grown = assignment.free(size), False
        starts = self._starts(priced.prices)
        for slot, worth, margin in zip(assignment.slots(), priced.worth, margins, strict=True):
            for support in good_supports(matrix, priced.prices, slot, free, starts)[:ADDED]:
                if value_of(matrix, priced.prices, support) > worth + margin:
                    grown |= self.pool.add(support)
        return grown

    def _starts(self, prices: Vector) -> Vector:
        """Start from every feature and from the known supports that are worth most."""
        pool, size = self.pool, prices.size
        worth = np.array(pool.values) - pool.masks() @ prices
        known = np.argsort(-worth, kind="stable")[:FROM_POOL]
        columns = np.zeros((size, known.size))
        for place, number in enumerate(known):
            support = pool.supports[number]
            columns[support, place] = np.linalg.eigh(pool.matrix[np.ix_(support, support)])[1][:, -1]
        return np.hstack([np.eye(size), columns])

    def _corrected(self, assignment: Assignment, priced: Priced) -> Priced:
        """Return prices with what slots are worth at them, by the best support that is known."""
        master = Master(self.pool, assignment)
        worth = master.values - master.use.T @ priced.prices
        best = [max(float(worth[master.slot_of == slot].max(initial=0.0)), 0.0) for slot in range(len(master.slots))]
        return Priced(priced.prices, np.array(best), priced.copies)
