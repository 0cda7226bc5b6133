"""Whose turn it is: of the tree that should first halve the gap, from how its bound fell so far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

HEAD_START = 1.0  # seconds of the first tree alone: nothing that ends by then needs another
FLOOR = 0.3  # share of the time of both that a tree gets however little it promises, while the others go on
LATELY = 1 / 3  # of the time so far, in which a fall of the gap tells what is to come
FLAT = 0.02  # fall of the logarithm of the gap, for one of the time, that counts as none
FOREVER = 50.0  # logarithm of a multiple of the time so far


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What a tree made of its time: seconds so far and the gap then, after each of its steps."""

    spent: float = 0.0
    seen: tuple[tuple[float, float], ...] = ()
    over: bool = False  # it is stuck, or stalled

    def then(self, seconds: float, gap: float) -> "Record":
        """Return the record with one more step."""
        spent = self.spent + seconds
        return replace(self, spent=spent, seen=(*self.seen, (spent, gap)))

    @property
    def gap(self) -> float:
        """The gap after the last step."""
        return self.seen[-1][1] if self.seen else math.inf

    def seconds_until(self, gap: float) -> float:
        """Return how long it should take to a gap, if that falls as a power of the time; 0 where nothing tells it."""
        earlier = [(at, wide) for at, wide in self.seen if 0 < at <= (1 - LATELY) * self.spent]
        if not earlier or self.gap <= gap:
            return 0.0
        at, wide = earlier[-1]
        fall = math.log(wide / self.gap) / math.log(self.spent / at)
        if fall <= FLAT or gap <= 0:
            return math.inf
        times = math.log(self.gap / gap) / fall
        return self.spent * math.expm1(times) if times < FOREVER else math.inf


def next_turn(records: Sequence[Record], enough: float) -> int | None:
    """Return the number of the tree that is to make a step; none where all are over. `enough` is the gap wanted."""
    live = [number for number, record in enumerate(records) if not record.over]
    if not live:
        return None
    first = live[0]
    if len(live) == 1 or records[first].spent < HEAD_START:
        return first
    least = min(live, key=lambda number: records[number].spent)
    if records[least].spent < FLOOR * sum(records[number].spent for number in live):
        return least
    wanted = max(min(record.gap for record in records) / 2, enough, math.ulp(1.0))
    return min(live, key=lambda number: (records[number].seconds_until(wanted), records[number].gap))
