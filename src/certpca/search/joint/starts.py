"""Sets to begin with: fitted on given supports, found one after the other, from rotations, and by penalties."""

from collections.abc import Sequence

import numpy as np

from certpca.runtime.arrays import Indices, Mask, Vector, top_k
from certpca.search.joint.component import Member, filled, fitted, improved
from certpca.search.joint.problems import DISJOINT, allowed_features, normals_of
from certpca.search.joint.set_problem import Members, SetProblem
from certpca.search.joint.sharing_out import shared_out

COLUMNS = 24  # features whose columns begin a search for one component
POLISHED = 2  # of these searches are followed to the end
PRICES = (0.1, 0.3, 1.0, 3.0, 10.0)  # of broken constraints, in units of the largest variance


def from_supports(search: SetProblem, supports: Sequence[Indices], counts: Sequence[int]) -> Members | None:
    """Fit components one after the other on given supports; None where one has no room."""
    members: Members = ()
    for support, count in _sorted_back(supports, counts):
        size = search.matrix.shape[0]
        allowed = allowed_features(search.problem, size, members)
        normals = normals_of(search.problem, search.matrix, members)
        open_ones = support[allowed[support]]
        member = fitted(search.matrix, open_ones, normals) if open_ones.size else None
        if member is None:
            member = _anything(search, count, allowed, normals)
        if member is None:
            return None
        members = (*members, filled(search.matrix, member, count, allowed, normals))
    return _in_order(members, counts)


def _anything(search: SetProblem, count: int, allowed: Mask, normals: Vector | None) -> Member | None:
    """Fit the allowed features of largest variance."""
    variances = np.where(allowed, np.diagonal(search.matrix), -1.0)
    if normals is not None and search.problem != DISJOINT:  # those that no other component touches come first
        untouched = ~normals.any(axis=1)
        for choice in (np.where(untouched, variances, -1.0), variances):
            support = top_k(choice, count)
            member = fitted(search.matrix, support[choice[support] >= 0], normals) if choice.max() >= 0 else None
            if member is not None:
                return member
        return None
    support = top_k(variances, count)
    support = support[variances[support] >= 0]
    return fitted(search.matrix, support, normals) if support.size else None


def _in_order(members: Members, counts: Sequence[int]) -> Members:
    """Undo the order of `_sorted_back`."""
    order = np.argsort(-np.asarray(counts), kind="stable")[::-1]
    back: list[Member] = [members[0]] * len(members)
    for member, place in zip(members, order, strict=True):
        back[place] = member
    return tuple(back)


def greedy(search: SetProblem, counts: Sequence[int], order: Sequence[int]) -> Members | None:
    """Find one component after the other, each the best that the ones before it leave room for."""
    members: dict[int, Member] = {}
    for t in order:
        others = tuple(members.values())
        allowed = allowed_features(search.problem, search.matrix.shape[0], others)
        normals = normals_of(search.problem, search.matrix, others)
        member = _alone(search, counts[t], allowed, normals)
        if member is None:
            return None
        members[t] = member
    return tuple(members[t] for t in range(len(counts)))


def _alone(search: SetProblem, count: int, allowed: Mask, normals: Vector | None) -> Member | None:
    """Search for one component from columns and eigenvectors, the better half after each product."""
    weights = np.where(allowed, np.maximum(np.diagonal(search.matrix), 0.0), 0.0)
    columns = top_k(weights, min(COLUMNS, int(allowed.sum())))
    scale = np.sqrt(np.maximum(weights[columns], np.finfo(float).tiny))
    images = np.concatenate([search.vectors, search.matrix[:, columns] / scale], axis=1)
    if normals is not None:
        images = images - normals @ (normals.T @ images)
    images = np.where(allowed[:, None], images, 0.0)
    for _ in range(4):
        panel = np.zeros_like(images)
        for column, image in zip(panel.T, images.T, strict=True):
            support = top_k(np.abs(image), count)
            column[support] = image[support] / max(float(np.linalg.norm(image[support])), np.finfo(float).tiny)
        images = np.where(allowed[:, None], search.matrix @ panel, 0.0)
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
            member = fitted(search.matrix, support, normals)
            if member is not None:
                best[support.tobytes()] = member
    finalists = sorted(best.values(), key=lambda member: -member.value)[:POLISHED]
    if not finalists:
        anything = _anything(search, count, allowed, normals)
        finalists = [] if anything is None else [anything]
    polished = [improved(search.matrix, member, count, allowed, normals, search.late) for member in finalists]
    return max(polished, key=lambda member: member.value, default=None)


def rotated(search: SetProblem, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
    """Begin with a random rotation of leading eigenvectors, each cut down to its largest loadings."""
    width = len(counts)
    extra = int(rng.integers(0, search.vectors.shape[1] - width + 1)) if search.vectors.shape[1] > width else 0
    basis = search.vectors[:, : width + extra]
    mixing = np.linalg.qr(rng.standard_normal((basis.shape[1], basis.shape[1])))[0][:, :width]
    images = np.abs(basis @ mixing)
    if search.problem == DISJOINT:
        return from_supports(search, shared_out(images**2, counts), counts)
    return from_supports(search, [top_k(image, count) for image, count in zip(images.T, counts, strict=True)], counts)


def penalised(search: SetProblem, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
    """Begin with components that may break the constraints at a price, which rises until they hardly do."""
    size = search.matrix.shape[0]
    everything = np.ones(size, dtype=bool)
    start = rng.standard_normal((search.vectors.shape[1], len(counts)))
    images = np.abs(search.vectors @ start)
    supports = [top_k(image, count) for image, count in zip(images.T, counts, strict=True)]
    members = [fitted(search.matrix, support, None) for support in supports]
    largest = float(np.diagonal(search.matrix).max())
    for price in PRICES:
        for t in rng.permutation(len(counts)):
            others = [member for s, member in enumerate(members) if s != t and member is not None]
            normals = normals_of(search.problem, search.matrix, others)
            if search.late() or normals is None:
                return None
            priced = search.matrix - price * largest * (normals @ normals.T)
            start_t = members[t]
            assert start_t is not None
            member = fitted(priced, start_t.support, None)
            assert member is not None
            members[t] = improved(priced, member, counts[t], everything, None, search.late)
    return from_supports(search, [member.support for member in members if member is not None], counts)


def _sorted_back(supports: Sequence[Indices], counts: Sequence[int]) -> list[tuple[Indices, int]]:
    """Order supports so that the smallest, which have the least room for constraints, come first."""
    order = np.argsort(-np.asarray(counts), kind="stable")[::-1]
    return [(supports[t], counts[t]) for t in order]
