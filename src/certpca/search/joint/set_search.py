"""Search for sets of components on a matrix in memory: alternating re-solves, exchanges between components, kicks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certpca.runtime.arrays import Indices, Vector, top_k
from certpca.runtime.lateness import Late, never
from certpca.search.joint.component import (
    GAIN,
    Mask,
    Member,
    exchange_values,
    filled,
    fitted,
    fitted_alone,
    improved,
    least_gain,
)
from certpca.search.joint.problems import DISJOINT, allowed_features, normals_of

ROUNDS = 100  # of alternating; each raises the sum, and few are ever needed
WORTHWHILE = 1e-4  # relative gain from which components are found again by pairs
ROUGHLY = 1e-6  # relative gain at which rounds end while sets are only compared
TRIES = 8  # exchanges that are refitted before the others count as no better
COLUMNS = 24  # features whose columns begin a search for one component
POLISHED = 2  # of these searches are followed to the end
PRICES = (0.1, 0.3, 1.0, 3.0, 10.0)  # of broken constraints, in units of the largest variance
LARGEST_ASSIGNMENT = 200  # features beyond which sharing them out exactly takes too long

Members = tuple[Member, ...]


def total(members: Sequence[Member]) -> float:
    """Add up the variances along components."""
    return float(sum(member.value for member in members))


@dataclass(frozen=True, slots=True, eq=False)
class SetSearch:
    """A problem on a matrix in memory.

    Parameters
    ----------
    matrix
        Symmetric positive semidefinite.
    problem
        One of `JOINT_PROBLEMS` but "shared", which has a search of its own.
    vectors
        Its leading eigenvectors, as many as starts may be made of.
    movable
        Whether features may move between components: where a total is split, and not each sparsity given.
    late
        Ends all searches with what they have.
    """

    matrix: Vector
    problem: str
    vectors: Vector
    movable: bool = False
    late: Late = never

    # --- one component after the other ---

    def place(self, members: Members, place: int) -> tuple[Mask, Vector | None]:
        """Return the features allowed to one of several components, and its normals."""
        others = members[:place] + members[place + 1 :]
        size = self.matrix.shape[0]
        return allowed_features(self.problem, size, others), normals_of(self.problem, self.matrix, others)

    def alternated(self, members: Members, counts: Sequence[int], gain: float = ROUGHLY) -> Members:
        """Solve for one component after the other while a round raises the sum by such a share."""
        for _ in range(ROUNDS):
            before = total(members)
            for t, count in enumerate(counts):
                if self.late():
                    return members
                allowed, normals = self.place(members, t)
                again = fitted(self.matrix, members[t].support, normals)
                member = members[t] if again is None or again.value < members[t].value else again
                member = improved(self.matrix, member, count, allowed, normals, self.late)
                members = (*members[:t], member, *members[t + 1 :])
            if total(members) <= before * (1 + gain):
                break
        return members

    def climbed(self, members: Members, counts: Sequence[int], *, pairs: bool = False) -> Members:
        """Alternate and exchange features between components until neither helps; by pairs too, which takes longer."""
        counts = list(counts)
        while True:
            members = self.alternated(members, counts)
            if self.late() or len(members) < 2:
                return members
            better = self._exchanged(members) if self.problem == DISJOINT else None
            if better is None and pairs and self.problem != DISJOINT:
                better = self._by_pairs(members, counts)
            if better is None and self.movable:
                better = self._transferred(members)
            if better is None:
                return members
            members = better
            counts = [max(count, member.support.size) for count, member in zip(counts, members, strict=True)]
            if self.movable:
                counts = [member.support.size for member in members]

    # --- two components at a time ---

    def _exchanged(self, members: Members) -> Members | None:
        """Let components take features of others, which get those given up for them or any that are free."""
        least = total(members) * least_gain(self.matrix.shape[0], max(member.support.size for member in members))
        found = self._exchanges(members, least)
        together = max(1, len(found) // 8)
        while found:
            for start in range(0, TRIES if together == 1 else 1):
                changed = self._applied(members, found[start:], together)
                if changed is not None and total(changed) > total(members) + least:
                    return changed
            if together == 1:
                break
            together = max(1, together // 3)
        return None

    def _exchanges(self, members: Members, least: float) -> list[tuple[int, int, int, int, int]]:
        """List exchanges that seem to help, the best first: who loses, who wins, from which slots, and what for."""
        tables = [exchange_values(self.matrix, member, None) for member in members]
        taken = np.zeros(self.matrix.shape[0], dtype=bool)
        for member in members:
            taken[member.support] = True
        found: list[tuple[float, int, int, int, int, int]] = []
        for s, loser in enumerate(members):
            free = np.where(taken, -np.inf, tables[s])
            best_free = free.argmax(axis=1)
            instead = free[np.arange(loser.support.size), best_free] - loser.value
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
        self, members: Members, exchanges: Sequence[tuple[int, int, int, int, int]], together: int
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
        return tuple(fitted_alone(self.matrix, support) for support in supports)

    def _by_pairs(self, members: Members, counts: Sequence[int]) -> Members | None:
        """Let one component forget another, and that one find its place again beside it."""
        for s in range(len(members)):
            for t in range(len(members)):
                if s == t or self.late():
                    continue
                others = tuple(member for place, member in enumerate(members) if place not in (s, t))
                first = self._beside(others, members[s].support, counts[s])
                if first is None or first.value <= members[s].value * (1 + GAIN):
                    continue  # it gains nothing, so the other has nothing to make up for
                second = self._beside((*others, first), members[t].support, counts[t])
                if second is not None:
                    changed = _with(members, {s: first, t: second})
                    if total(changed) > total(members) * (1 + WORTHWHILE):
                        return changed
        return None

    def _transferred(self, members: Members) -> Members | None:
        """Let one component have a feature less and another one more."""
        shrunk: list[tuple[float, int, Member]] = []
        for s, member in enumerate(members):
            if member.support.size < 2:
                continue
            _, normals = self.place(members, s)
            smallest = np.argsort(np.abs(member.loadings), kind="stable")[:3]
            for slot in smallest:
                rest = fitted(self.matrix, np.delete(member.support, slot), normals)
                if rest is not None:
                    shrunk.append((rest.value - member.value, s, rest))
        best: tuple[float, Members] = (total(members) * (1 + GAIN), members)
        for loss, s, rest in sorted(shrunk, key=lambda item: -item[0])[: 2 * len(members)]:
            del loss
            lesser = _with(members, {s: rest})
            for t in range(len(members)):
                if t == s:
                    continue
                allowed, normals = self.place(lesser, t)
                grown = filled(self.matrix, lesser[t], lesser[t].support.size + 1, allowed, normals)
                changed = _with(lesser, {t: grown})
                if total(changed) > best[0]:
                    best = (total(changed), changed)
        return None if best[1] is members else best[1]

    # --- starts ---

    def from_supports(self, supports: Sequence[Indices], counts: Sequence[int]) -> Members | None:
        """Fit components one after the other on given supports; None where one has no room."""
        members: Members = ()
        for support, count in sorted_back(supports, counts):
            size = self.matrix.shape[0]
            allowed = allowed_features(self.problem, size, members)
            normals = normals_of(self.problem, self.matrix, members)
            open_ones = support[allowed[support]]
            member = fitted(self.matrix, open_ones, normals) if open_ones.size else None
            if member is None:
                member = self._anything(count, allowed, normals)
            if member is None:
                return None
            members = (*members, filled(self.matrix, member, count, allowed, normals))
        return self._in_order(members, counts)

    def _anything(self, count: int, allowed: Mask, normals: Vector | None) -> Member | None:
        """Fit the allowed features of largest variance."""
        variances = np.where(allowed, np.diagonal(self.matrix), -1.0)
        if normals is not None and self.problem != DISJOINT:  # those that no other component touches come first
            untouched = ~normals.any(axis=1)
            for choice in (np.where(untouched, variances, -1.0), variances):
                support = top_k(choice, count)
                member = fitted(self.matrix, support[choice[support] >= 0], normals) if choice.max() >= 0 else None
                if member is not None:
                    return member
            return None
        support = top_k(variances, count)
        support = support[variances[support] >= 0]
        return fitted(self.matrix, support, normals) if support.size else None

    @staticmethod
    def _in_order(members: Members, counts: Sequence[int]) -> Members:
        """Undo the order of `sorted_back`."""
        order = np.argsort(-np.asarray(counts), kind="stable")[::-1]
        back: list[Member] = [members[0]] * len(members)
        for member, place in zip(members, order, strict=True):
            back[place] = member
        return tuple(back)

    def greedy(self, counts: Sequence[int], order: Sequence[int]) -> Members | None:
        """Find one component after the other, each the best that the ones before it leave room for."""
        members: dict[int, Member] = {}
        for t in order:
            others = tuple(members.values())
            allowed = allowed_features(self.problem, self.matrix.shape[0], others)
            normals = normals_of(self.problem, self.matrix, others)
            member = self._alone(counts[t], allowed, normals)
            if member is None:
                return None
            members[t] = member
        return tuple(members[t] for t in range(len(counts)))

    def _alone(self, count: int, allowed: Mask, normals: Vector | None) -> Member | None:
        """Search for one component from columns and eigenvectors, the better half after each product."""
        weights = np.where(allowed, np.maximum(np.diagonal(self.matrix), 0.0), 0.0)
        columns = top_k(weights, min(COLUMNS, int(allowed.sum())))
        scale = np.sqrt(np.maximum(weights[columns], np.finfo(float).tiny))
        images = np.concatenate([self.vectors, self.matrix[:, columns] / scale], axis=1)
        if normals is not None:
            images = images - normals @ (normals.T @ images)
        images = np.where(allowed[:, None], images, 0.0)
        for _ in range(4):
            panel = np.zeros_like(images)
            for column, image in zip(panel.T, images.T, strict=True):
                support = top_k(np.abs(image), count)
                column[support] = image[support] / max(float(np.linalg.norm(image[support])), np.finfo(float).tiny)
            images = np.where(allowed[:, None], self.matrix @ panel, 0.0)
            values = np.einsum("ij,ij->j", panel, images)
            if normals is not None:
                images = images - normals @ (normals.T @ images)
            ahead = np.argsort(-values, kind="stable")[: max(4, values.size // 2)]
            images, panel = images[:, ahead], panel[:, ahead]
        best: dict[bytes, Member] = {}
        for image in images.T:
            support = top_k(np.where(allowed, np.abs(image), -1.0), count)
            support = support[allowed[support]]
            if support.tobytes() not in best:
                member = fitted(self.matrix, support, normals)
                if member is not None:
                    best[support.tobytes()] = member
        finalists = sorted(best.values(), key=lambda member: -member.value)[:POLISHED]
        if not finalists:
            anything = self._anything(count, allowed, normals)
            finalists = [] if anything is None else [anything]
        polished = [improved(self.matrix, member, count, allowed, normals, self.late) for member in finalists]
        return max(polished, key=lambda member: member.value, default=None)

    def rotated(self, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
        """Begin with a random rotation of leading eigenvectors, each cut down to its largest loadings."""
        width = len(counts)
        extra = int(rng.integers(0, self.vectors.shape[1] - width + 1)) if self.vectors.shape[1] > width else 0
        basis = self.vectors[:, : width + extra]
        mixing = np.linalg.qr(rng.standard_normal((basis.shape[1], basis.shape[1])))[0][:, :width]
        images = np.abs(basis @ mixing)
        if self.problem == DISJOINT:
            return self.from_supports(shared_out(images**2, counts), counts)
        return self.from_supports([top_k(image, count) for image, count in zip(images.T, counts, strict=True)], counts)

    def penalised(self, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
        """Begin with components that may break the constraints at a price, which rises until they hardly do."""
        size = self.matrix.shape[0]
        everything = np.ones(size, dtype=bool)
        start = rng.standard_normal((self.vectors.shape[1], len(counts)))
        images = np.abs(self.vectors @ start)
        supports = [top_k(image, count) for image, count in zip(images.T, counts, strict=True)]
        members = [fitted(self.matrix, support, None) for support in supports]
        largest = float(np.diagonal(self.matrix).max())
        for price in PRICES:
            for t in rng.permutation(len(counts)):
                others = [member for s, member in enumerate(members) if s != t and member is not None]
                normals = normals_of(self.problem, self.matrix, others)
                if self.late() or normals is None:
                    return None
                priced = self.matrix - price * largest * (normals @ normals.T)
                start_t = members[t]
                assert start_t is not None
                member = fitted(priced, start_t.support, None)
                assert member is not None
                members[t] = improved(priced, member, counts[t], everything, None, self.late)
        return self.from_supports([member.support for member in members if member is not None], counts)

    def kicked(self, members: Members, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
        """Change a set at random: other features for one component, two anew, or all once more in another order."""
        way = 0 if self.problem == DISJOINT else int(rng.integers(3))
        return (self._replaced, self._anew, self._reordered)[way](members, counts, rng)

    def _replaced(self, members: Members, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
        """Replace some features of a component, more likely by ones that go well with it."""
        t = int(rng.integers(len(members)))
        member = members[t]
        image = np.abs(self.matrix[:, member.support] @ member.loadings) ** 2
        image[member.support] = 0.0
        weight = image + 1e-3 * image.max() + np.finfo(float).tiny
        weight[member.support] = 0.0
        count = min(int(rng.integers(1, max(2, member.support.size // 2 + 1))), int((weight > 0).sum()))
        if count == 0:
            return None
        entering = rng.choice(image.size, size=count, replace=False, p=weight / weight.sum())
        support = np.union1d(rng.permutation(member.support)[count:], entering)
        if self.problem == DISJOINT:  # the others give up what is taken of theirs
            supports = [support if s == t else np.setdiff1d(other.support, support) for s, other in enumerate(members)]
            return self.from_supports(supports, counts)
        changed = fitted(self.matrix, support, self.place(members, t)[1])
        return None if changed is None else _with(members, {t: changed})

    def _anew(self, members: Members, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
        """Find two components again from random directions, beside the others."""
        gone = rng.permutation(len(members))[:2].tolist()
        kept = {t: member for t, member in enumerate(members) if t not in gone}
        for t in gone:
            image = np.abs(self.vectors @ rng.standard_normal(self.vectors.shape[1]))
            grown = self._beside(tuple(kept.values()), top_k(image, counts[t]), counts[t])
            if grown is None:
                return None
            kept[t] = grown
        return tuple(kept[t] for t in range(len(members)))

    def _reordered(self, members: Members, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
        """Improve all from where they are, each beside the ones before it in a random order."""
        new: dict[int, Member] = {}
        for t in rng.permutation(len(members)).tolist():
            grown = self._beside(tuple(new.values()), members[t].support, counts[t])
            if grown is None:
                return None
            new[t] = grown
        return tuple(new[t] for t in range(len(members)))

    def _beside(self, others: Members, support: Indices, count: int) -> Member | None:
        """Improve the component on a support beside others that stay as they are."""
        allowed = allowed_features(self.problem, self.matrix.shape[0], others)
        normals = normals_of(self.problem, self.matrix, others)
        member = fitted(self.matrix, support, normals)
        return None if member is None else improved(self.matrix, member, count, allowed, normals, self.late)


def _with(members: Members, changes: dict[int, Member]) -> Members:
    return tuple(changes.get(t, member) for t, member in enumerate(members))


def sorted_back(supports: Sequence[Indices], counts: Sequence[int]) -> list[tuple[Indices, int]]:
    """Order supports so that the smallest, which have the least room for constraints, come first."""
    order = np.argsort(-np.asarray(counts), kind="stable")[::-1]
    return [(supports[t], counts[t]) for t in order]


def shared_out(profits: Vector, counts: Sequence[int]) -> list[Indices]:
    """Give each feature to at most one component, as many as it may have, so that the sum of profits is large."""
    from scipy.optimize import linear_sum_assignment

    wanted = int(sum(counts))
    if wanted > LARGEST_ASSIGNMENT:
        return _roughly_shared_out(profits, counts)
    useful = np.unique(np.concatenate([top_k(column, min(wanted, column.size)) for column in profits.T]))
    slots = np.repeat(np.arange(len(counts)), counts)
    rows, columns = linear_sum_assignment(profits[useful][:, slots], maximize=True)
    owner = slots[columns]
    return [np.sort(useful[rows[owner == t]]) for t in range(len(counts))]


def _roughly_shared_out(profits: Vector, counts: Sequence[int]) -> list[Indices]:
    """Let each feature go where it is worth most; what is left over fills up those that got too few."""
    owner = profits.argmax(axis=1)
    supports = []
    for t, count in enumerate(counts):
        own = np.flatnonzero(owner == t)
        supports.append(own[top_k(profits[own, t], min(count, own.size))])
    free = np.ones(profits.shape[0], dtype=bool)
    for support in supports:
        free[support] = False
    for t, count in enumerate(counts):
        left, missing = np.flatnonzero(free), count - supports[t].size
        if missing > 0:
            more = left[top_k(profits[left, t], min(missing, left.size))]
            supports[t], free[more] = np.union1d(supports[t], more), False
    return supports
