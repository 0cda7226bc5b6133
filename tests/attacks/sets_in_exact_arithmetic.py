"""Exact arithmetic as the judge of components chosen together: what the best ones capture, from below, in rationals."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from tests.attacks.exact_arithmetic import Exact

STEPS = 60  # of bisection: to 1e-18 of where it begins
NEAR = 1e-9  # sets that floating point cannot tell from the best one


def leading_from_below(judge: Exact, support: tuple[int, ...]) -> Fraction:
    """Return a rational number below the largest eigenvalue on a support, by hardly anything."""
    value = Fraction(judge.values.get(support, 0.0)) * judge.unit
    width = abs(value) / 10**9 + judge.unit / 10**9
    low, high = value - width, value + width
    while judge.within(support, low):
        low -= width
        width *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if judge.within(support, middle) else (middle, high)
    return low


def disjoint_choices(size: int, sparsities: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Return every choice of disjoint supports: the largest ones, or all where features are few."""

    def chosen(left: frozenset[int], counts: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if not counts:
            yield ()
            return
        for width in range(1, min(counts[0], len(left)) + 1):
            for support in combinations(sorted(left), width):
                for rest in chosen(left - set(support), counts[1:]):
                    yield (support, *rest)

    yield from chosen(frozenset(range(size)), sparsities)


def joint_optimum(
    judges: dict[int, Exact], size: int, sparsities: tuple[int, ...], above: float = -math.inf
) -> Fraction:
    """Return what the best disjoint supports capture, from below by hardly anything.

    Where that is far below another number, floating point decides, which takes less time.
    """
    unit = judges[1].unit
    values = {support: value for judge in judges.values() for support, value in judge.values.items()}
    totals = {choice: sum(values[support] for support in choice) for choice in disjoint_choices(size, sparsities)}
    best = max(totals.values())
    slack = NEAR * (abs(best) + 1)
    if math.isfinite(above) and Fraction(above) > unit * Fraction(best + slack):
        return unit * Fraction(best)
    near = [choice for choice, total in totals.items() if total >= best - slack]
    return max(
        sum((leading_from_below(judges[len(support)], support) for support in choice), Fraction(0))
        for choice in near[:4]
    )
