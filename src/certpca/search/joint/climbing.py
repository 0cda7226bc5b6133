"""Climbing from a set to a better one: alternating re-solves, exchanges between components, and features that move."""

from collections.abc import Sequence

import numpy as np

from certpca.search.joint.component import (
    GAIN,
    Member,
    best_exchanges,
    exchange_values,
    filled,
    fitted,
    fitted_alone,
    improved,
    least_gain,
)
from certpca.search.joint.problems import DISJOINT
from certpca.search.joint.set_problem import Members, SetProblem, total, with_changes

ROUNDS = 100  # of alternating; each raises the sum, and few are ever needed
WORTHWHILE = 1e-4  # relative gain from which components are found again by pairs
ROUGHLY = 1e-6  # relative gain at which rounds end while sets are only compared
TRIES = 8  # exchanges that are refitted before the others count as no better


def alternated(search: SetProblem, members: Members, counts: Sequence[int], gain: float = ROUGHLY) -> Members:
    """Solve for one component after the other while a round raises the sum by such a share."""
    for _ in range(ROUNDS):
        before = total(members)
        for t, count in enumerate(counts):
            if search.late():
                return members
            allowed, normals = search.place(members, t)
            member = members[t]
            if normals is not None:  # which may ask for less than before; without, it is the best on its support
                again = fitted(search.matrix, member.support, normals)
                member = member if again is None or again.value < member.value else again
            member = improved(search.matrix, member, count, allowed, normals, search.late)
            members = (*members[:t], member, *members[t + 1 :])
        if total(members) <= before * (1 + gain):
            break
    return members


def climbed(search: SetProblem, members: Members, counts: Sequence[int], *, pairs: bool = False) -> Members:
    """Alternate and exchange features between components until neither helps; by pairs too, which takes longer."""
    counts = list(counts)
    while True:
        members = alternated(search, members, counts)
        if search.late() or len(members) < 2:
            return members
        better = _exchanged(search, members) if search.problem == DISJOINT else None
        if better is None and pairs and search.problem != DISJOINT:
            better = _by_pairs(search, members, counts)
        if better is None and search.movable:
            better = _transferred(search, members)
        if better is None:
            return members
        members = better
        counts = [max(count, member.support.size) for count, member in zip(counts, members, strict=True)]
        if search.movable:
            counts = [member.support.size for member in members]


def _exchanged(search: SetProblem, members: Members) -> Members | None:
    """Let components take features of others, which get those given up for them or any that are free."""
    least = total(members) * least_gain(search.matrix.shape[0], max(member.support.size for member in members))
    found = _exchanges(search, members, least)
    together = max(1, len(found) // 8)
    while found:
        for start in range(0, TRIES if together == 1 else 1):
            changed = _applied(search, members, found[start:], together)
            if changed is not None and total(changed) > total(members) + least:
                return changed
        if together == 1:
            break
        together = max(1, together // 3)
    return None


def _exchanges(search: SetProblem, members: Members, least: float) -> list[tuple[int, int, int, int, int]]:
    """List exchanges that seem to help, the best first: who loses, who wins, from which slots, and what for."""
    tables = [exchange_values(search.matrix, member, None) for member in members]
    untouched = np.ones(search.matrix.shape[0], dtype=bool)
    for member in members:
        untouched[member.support] = False
    found: list[tuple[float, int, int, int, int, int]] = []
    for s, loser in enumerate(members):
        best_free, instead = best_exchanges(search.matrix, loser, untouched, None)
        instead = instead - loser.value
        for t, winner in enumerate(members):
            if s == t:
                continue
            # Slot of the winner × slot of the loser; in return the feature given up, or the best free one.
            back = tables[s][:, winner.support].T - loser.value
            both = tables[t][:, loser.support] - winner.value + np.maximum(back, instead[None, :])
            slots = both.argmax(axis=0)
            for b in np.flatnonzero(both[slots, np.arange(slots.size)] > least).tolist():
                a = int(slots[b])
                given = int(winner.support[a]) if back[a, b] >= instead[b] else int(best_free[b])
                found.append((float(both[a, b]), s, t, a, b, given))
    return [exchange[1:] for exchange in sorted(found, reverse=True)]


def _applied(
    search: SetProblem, members: Members, exchanges: Sequence[tuple[int, int, int, int, int]], together: int
) -> Members | None:
    """Make the first exchanges that have no feature in common."""
    supports = [member.support.copy() for member in members]
    touched: set[int] = set()
    made = 0
    for s, t, a, b, given in exchanges:
        features = {int(members[t].support[a]), int(members[s].support[b]), given}
        if made < together and not features & touched:
            touched |= features
            made += 1
            supports[t][a], supports[s][b] = members[s].support[b], given
    if not made:
        return None
    return tuple(
        member if np.array_equal(support, member.support) else fitted_alone(search.matrix, support)
        for support, member in zip(supports, members, strict=True)
    )


def _by_pairs(search: SetProblem, members: Members, counts: Sequence[int]) -> Members | None:
    """Let one component forget another, and that one find its place again beside it."""
    for s in range(len(members)):
        for t in range(len(members)):
            if s == t or search.late():
                continue
            others = tuple(member for place, member in enumerate(members) if place not in (s, t))
            first = search.beside(others, members[s].support, counts[s])
            if first is None or first.value <= members[s].value * (1 + GAIN):
                continue  # it gains nothing, so the other has nothing to make up for
            second = search.beside((*others, first), members[t].support, counts[t])
            if second is not None:
                changed = with_changes(members, {s: first, t: second})
                if total(changed) > total(members) * (1 + WORTHWHILE):
                    return changed
    return None


def _transferred(search: SetProblem, members: Members) -> Members | None:
    """Let one component have a feature less and another one more."""
    shrunk: list[tuple[float, int, Member]] = []
    for s, member in enumerate(members):
        if member.support.size < 2:
            continue
        _, normals = search.place(members, s)
        smallest = np.argsort(np.abs(member.loadings), kind="stable")[:3]
        for slot in smallest:
            rest = fitted(search.matrix, np.delete(member.support, slot), normals)
            if rest is not None:
                shrunk.append((rest.value - member.value, s, rest))
    best: tuple[float, Members] = (total(members) * (1 + GAIN), members)
    for loss, s, rest in sorted(shrunk, key=lambda item: -item[0])[: 2 * len(members)]:
        del loss
        lesser = with_changes(members, {s: rest})
        for t in range(len(members)):
            if t == s:
                continue
            allowed, normals = search.place(lesser, t)
            grown = filled(search.matrix, lesser[t], lesser[t].support.size + 1, allowed, normals)
            changed = with_changes(lesser, {t: grown})
            if total(changed) > best[0]:
                best = (total(changed), changed)
    return None if best[1] is members else best[1]
