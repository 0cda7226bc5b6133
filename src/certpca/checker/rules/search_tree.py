"""Search trees: every support is in some leaf, and each leaf has a bound that is recomputed here.

    Z* ≤ max over leaves of a bound of λ_max(A_SS) for all supports S of the leaf.

A node has features fixed in (I) and free ones (R); at the root all are free. Its supports have k members, I among
them and the others from R; smaller supports capture no more than larger ones, so these are enough. The tree is a list
of nodes, the root first, and a node is a list of operations:

    {"fix": …, "out": […], "in": […]}    A bound for the supports of the node that contain i lets i be left out if it
                                         counts for the result; one for those without i lets i be fixed in.
    {"split": i, "in": m, "out": n}      Its children by number; no node is used twice.
    {"leaf": …}                          A bound for all supports of the node.

The result is the largest bound met anywhere. Leaves are "empty" (no supports), "eigenvalue" (λ_max of all features of
the node), "trace", "list" (every support), "squares", "pairs", and "cheapest" (the smallest of the bounds it allows).

Pairs. With N = I ∪ R, b = k − |I|, any symmetric U, antisymmetric K, α > 0 and C_ij = U_ij²/(2(α_i + α_j)) + K_ij,

    λ_max(A_SS) ≤ λ_max((A − U + diag α)_NN) + Σ_{i,j∈S} C_ij,

because 2U_ij x_i x_j ≤ (α_i + α_j)x_i²x_j² + U_ij²/(α_i + α_j) for i < j, U_ii x_i² ≤ α_i x_i⁴ + U_ii²/(4α_i), the
quartic terms add up to Σα_i x_i² and K cancels. The double sum is at most T: in every row those of I, the entry of
the row itself, and the largest others that the budget allows; of the rows those of I and the largest others. A
feature forced in is in every row; one forced out is in none.

Squares. The same with U = A − cI and constant α, where the best α gives c + √T with C_ij = U_ij².

Allowance. All bounds are for the computed matrix on the features at hand; its distance from the exact one in norm is
added at the end. Each C_ij rounds a few times and T has at most k² of them: γ_{4|N|}k² max|C_ij|. Eigenvalues are
proved by Cholesky factorisations.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.dual_points import POINT
from certpca.checker.numbers import (
    Indices,
    Mask,
    Vector,
    array_of,
    gamma,
    indices_of,
    largest_eigenvalue,
    largest_sum,
    require,
)
from certpca.checker.proved import Proved
from certpca.checker.screening import SCREEN, screened
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Form, numbered, parts_of, up_to, within

SENTENCE = "a search tree that covers every choice of features, with a bound for each leaf"
LARGEST_SEARCHED = 8192  # features
MOST_LISTED = 5_000  # supports that one leaf may list
BATCH_ENTRIES = 1 << 23
_SIDE = up_to(LARGEST_SEARCHED)
EVIDENCE = {
    "scale": Form("f", degree=1.0),
    **within(SCREEN, POINT),
    **within(
        numbered("point"),
        {"features": Form("i", (_SIDE,)), "pairs": Form("f", (_SIDE, _SIDE)), "alpha": Form("f", (_SIDE,))},
    ),
}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Take the worst leaf of a tree over the features that a first dual point leaves."""
    left = screened(prepared, certificate, objective)
    walked = _Tree(left.kept, certificate.evidence, certificate.sparsity)
    walked.walk(certificate.tree)
    decided = []
    for kept in (walked.outside, walked.inside):
        mask = np.zeros(left.kept.size, dtype=bool)
        for features, bound in kept:
            mask[features] = (bound + walked.slack) * (1 + gamma(8)) < objective
        decided.append(mask)
    return left.proved((walked.worst + walked.slack) * (1 + gamma(8)), *decided)


@dataclass(slots=True)
class _Node:
    number: Any
    inside: Indices
    free: Indices


class _Tree:
    """The exact matrix is within `slack` of `matrix` in norm; all bounds are for `matrix` until the end."""

    def __init__(self, prepared: Prepared, evidence: Mapping[str, Any], sparsity: int) -> None:
        require(prepared.size <= LARGEST_SEARCHED, f"search trees are for up to {LARGEST_SEARCHED} features")
        self.prepared = prepared
        self.matrix, self.slack = prepared.dense(np.arange(prepared.size))
        self.diagonal: Vector | None = None
        self.points, self.sparsity = parts_of(evidence), sparsity
        self.scale = float(array_of(evidence, "scale", 0)) / prepared.unit
        require(self.scale > 0, "its scale is not positive")
        self.worst = 0.0
        # Bounds for the supports with, or without, a feature decided at the root.
        self.outside: list[tuple[Indices, float]] = []
        self.inside: list[tuple[Indices, float]] = []

    def walk(self, tree: Any) -> None:
        most = self.prepared.limits.most_nodes
        require(isinstance(tree, list) and 0 < len(tree) <= most, "its tree is malformed")
        everything, used = np.arange(self.matrix.shape[0]), set[int]()
        stack = [_Node(0, np.zeros(0, dtype=np.intp), everything)]
        while stack:
            node = stack.pop()
            number = node.number
            require(type(number) is int and 0 <= number < len(tree), "its tree names a node that is not there")
            require(number not in used, "its tree uses a node twice")  # else the walk might never end
            used.add(number)
            stack.extend(self._visit(node, tree[number]))

    def _count(self, bound: float) -> None:
        require(math.isfinite(bound), "a bound in its tree is not finite")  # max would pass over NaN
        self.worst = max(self.worst, bound)

    def _visit(self, node: _Node, record: Any) -> list[_Node]:
        require(isinstance(record, list), "its tree is malformed")
        for operation in record:
            require(isinstance(operation, Mapping), "its tree is malformed")
            if "fix" in operation:
                self._fix(node, operation)
            elif "split" in operation:
                return self._split(node, operation)
            else:
                self._count(self._leaf(node, operation))
                return []
        require(False, "a branch of its tree does not end in a leaf")
        return []

    def _split(self, node: _Node, operation: Mapping[str, Any]) -> list[_Node]:
        feature = operation["split"]
        require(type(feature) is int and bool((node.free == feature).any()), "a split is not on a free feature")
        rest = node.free[node.free != feature]
        return [
            _Node(operation["in"], np.append(node.inside, feature), rest),
            _Node(operation["out"], node.inside, rest),
        ]

    def _fix(self, node: _Node, operation: Mapping[str, Any]) -> None:
        out, inside = self._listed(node, operation["out"]), self._listed(node, operation["in"])
        require(not bool((out & inside).any()), "a feature is fixed both in and out")
        kind = operation["fix"]
        require(kind in ("squares", "pairs"), f"unknown way to fix features {kind!r}")
        value, shares, doubt = self._shares(node, kind, operation)
        forced_in, forced_out = _forced(shares, node.inside.size, self.sparsity - node.inside.size, out, inside)
        for mask, totals, kept in ((out, forced_in, self.outside), (inside, forced_out, self.inside)):
            if mask.any():
                require(bool(np.isfinite(totals).all()), "a bound in its tree is not finite")
                self._count(value(float(totals.max()) + doubt))
                if node.number == 0:
                    kept.append((node.free[mask], self.worst))
        node.inside = np.concatenate([node.inside, node.free[inside]])
        node.free = node.free[~out & ~inside]

    def _listed(self, node: _Node, features: Any) -> Mask:
        require(
            isinstance(features, list) and all(type(feature) is int for feature in features),
            "a list of features in its tree is malformed",
        )
        mask = np.isin(node.free, features)
        require(len(set(features)) == len(features) == int(mask.sum()), "it fixes a feature that is not free")
        return mask

    def _leaf(self, node: _Node, operation: Mapping[str, Any]) -> float:
        kind, budget = operation.get("leaf"), self.sparsity - node.inside.size
        features = np.concatenate([node.inside, node.free])
        if budget < 0 or node.free.size < budget:
            return 0.0  # no supports, whatever the leaf says
        require(kind != "empty", "a leaf with supports is said to have none")
        if budget == 0:
            features = node.inside
        if budget in (0, node.free.size) or kind == "eigenvalue":
            return self._eigenvalue(features)
        if kind == "list":
            return self._list(node, budget)
        if kind == "trace":
            return self._trace(node, budget)
        require(kind in ("squares", "pairs", "cheapest"), f"unknown leaf {kind!r}")
        bounds = []
        if kind == "cheapest":
            bounds += [self._eigenvalue(features), self._trace(node, budget)]
        for way, needed in (("squares", "shift"), ("pairs", "point")):
            if kind == way or (kind == "cheapest" and needed in operation):
                value, shares, doubt = self._shares(node, way, operation)
                bounds.append(value(_total(shares, node.inside.size, budget) + doubt))
        bounds = [bound for bound in bounds if not math.isnan(bound)]
        require(bool(bounds), "a leaf proves nothing")
        return min(bounds)

    # --- bounds -------------------------------------------------------------------------------------------------

    def _eigenvalue(self, features: Indices) -> float:
        self.prepared.work.spend(2.0 * features.size**3)
        return max(0.0, largest_eigenvalue(self.matrix[np.ix_(features, features)]))

    def _trace(self, node: _Node, budget: int) -> float:
        """Bound by the trace of FᵀF, which has no negative eigenvalues."""
        if self.diagonal is None:
            self.diagonal = np.concatenate([(block**2).sum(axis=0) for _, block in self.prepared.blocks()])
        total = float(self.diagonal[node.inside].sum() + np.sort(self.diagonal[node.free])[-budget:].sum())
        return self.prepared.lift(total * (1 + gamma(self.prepared.depth + self.prepared.size + 8)))

    def _list(self, node: _Node, budget: int) -> float:
        count = math.comb(node.free.size, budget)
        require(count <= MOST_LISTED, f"a leaf lists more than {MOST_LISTED:,} supports")
        self.prepared.work.spend(2.0 * count * self.sparsity**3)
        worst = 0.0
        width = max(1, BATCH_ENTRIES // self.sparsity**2)
        for batch in _batches(itertools.combinations(node.free.tolist(), budget), width):
            supports = np.hstack([np.tile(node.inside, (len(batch), 1)), np.array(batch, dtype=np.intp)])
            worst = max(worst, _largest_of_many(self.matrix[supports[:, :, None], supports[:, None, :]]))
        return worst

    def _shares(
        self, node: _Node, kind: str, operation: Mapping[str, Any]
    ) -> tuple[Callable[[float], float], Vector, float]:
        """Return how T becomes a bound, C, and how far T can be off."""
        budget = self.sparsity - node.inside.size
        require(1 <= budget < node.free.size, "it uses a bound at a node that is decided already")
        features = np.concatenate([node.inside, node.free])
        here = self.matrix[np.ix_(features, features)]
        self.prepared.work.spend(20.0 * features.size**2 + (2.0 * features.size**3 if kind == "pairs" else 0.0))
        slip = gamma(4 * features.size + 64)  # T is a sum of at most k² entries, each rounded a few times
        if kind == "squares":
            shift = operation["shift"]
            require(isinstance(shift, float) and math.isfinite(shift), "a shift is not a number")
            shift *= self.scale
            u = here.copy()
            u[np.diag_indices_from(u)] -= shift
            shares = u * u
            # The difference on the diagonal is rounded relative to its terms, not to itself.
            edge = np.abs(np.diagonal(here)).max() + abs(shift)
            doubt = slip * self.sparsity**2 * (float(shares.max()) + float(edge) ** 2)

            def bound(total: float) -> float:
                require(not math.isnan(total), "a bound in its tree is not finite")
                return float(shift + math.sqrt(max(total, 0.0)) * (1 + gamma(8)) + slip * edge)

            return bound, shares, doubt
        u, k, alpha = self._point(operation["point"], features)
        pairs = u * u / (2 * (alpha[:, None] + alpha[None, :]))
        shares = pairs + k
        doubt = slip * self.sparsity**2 * float((pairs + np.abs(k)).max())
        rest = here - u
        rest[np.diag_indices_from(rest)] += alpha
        sizes = float(np.linalg.norm(here) + np.linalg.norm(u) + np.linalg.norm(alpha))
        leading = largest_eigenvalue(rest, gamma(8) * sizes)
        return (lambda total: float(leading + total + gamma(8) * (abs(leading) + abs(total)))), shares, doubt

    def _point(self, number: Any, features: Indices) -> tuple[Vector, Vector, Vector]:
        require(type(number) is int and number >= 0, "a point of its tree is malformed")
        point = self.points.get(f"point{number}", {})
        own = indices_of(point, "features", self.matrix.shape[0])
        pairs, alpha = array_of(point, "pairs", 2), array_of(point, "alpha", 1)
        require(pairs.shape == (own.size, own.size) and alpha.shape == own.shape, "a point has the wrong shape")
        place = np.searchsorted(own, features)
        require(
            bool((place < own.size).all()) and bool((own[np.minimum(place, own.size - 1)] == features).all()),
            "a point does not cover its node",
        )
        part, alpha = pairs[np.ix_(place, place)], alpha[place] * self.scale
        require(bool((alpha > 0).all()) and bool(np.isfinite(alpha).all()), "a point has a weight that is not positive")
        # Features of a node are not sorted: where the order is reversed, U and K have changed triangles.
        upper = np.less_equal.outer(place, place)
        u = np.where(upper, part, part.T) * self.scale
        below = np.where(upper, part.T, part) * self.scale
        k = np.where(upper, -below, below)
        np.fill_diagonal(k, 0.0)
        return u, k, alpha


def _batches(supports: Iterator[tuple[int, ...]], width: int) -> Iterator[list[tuple[int, ...]]]:
    while batch := list(itertools.islice(supports, width)):
        yield batch


def _largest_of_many(matrices: Vector) -> float:
    """Bound the largest eigenvalue of many matrices, by Cholesky factorisations as `largest_eigenvalue` does."""
    size = matrices.shape[1]
    require(bool(np.isfinite(matrices).all()), "its numbers overflow")
    if not matrices.any():
        return 0.0
    values = np.linalg.eigvalsh(matrices)
    level = float(values[:, -1].max())
    span = max(float(np.abs(values).max()), float(np.finfo(float).tiny))
    level += 16 * gamma(size + 8) * span
    shifted = -matrices
    shifted[:, np.arange(size), np.arange(size)] += level
    try:
        finished = bool(np.isfinite(np.linalg.cholesky(shifted)).all())
    except np.linalg.LinAlgError:
        finished = False
    if not finished:
        return max(largest_eigenvalue(matrix) for matrix in matrices)
    diagonals = np.abs(shifted[:, np.arange(size), np.arange(size)]).sum(axis=1)
    return level + gamma(size + 8) * 2 * float(diagonals.max()) + gamma(2) * (abs(level) + span)


# --- sums of shares ---------------------------------------------------------------------------------------------------


def _row_sums(shares: Vector, fixed: int, budget: int) -> tuple[Vector, Vector, Vector]:
    """Bound the sum of each row over the supports of the node.

    Rows of I have all of I and the largest `budget` free entries; a free row counts only where it is chosen itself, so
    it has its own entry for sure and `budget` − 1 others. Also returned are the smallest free entry that is chosen
    (∞ where none is) and the largest that is not.
    """
    size = shares.shape[0]
    free, own = size - fixed, np.arange(size - fixed)
    entries = shares[:, fixed:].copy()
    entries[fixed + own, own] = -np.inf
    sums = shares[:, :fixed].sum(axis=1)
    sums[fixed:] += np.diagonal(shares)[fixed:]
    last, following = np.full(size, np.inf), np.empty(size)
    for rows, chosen in ((slice(0, fixed), budget), (slice(fixed, size), budget - 1)):
        places = [free - chosen - 1, free - chosen] if chosen else [free - 1]
        ordered = np.partition(entries[rows], places, axis=1)
        following[rows] = ordered[:, free - chosen - 1]
        if chosen:
            last[rows] = ordered[:, free - chosen]
            sums[rows] += ordered[:, free - chosen :].sum(axis=1)
    return sums, last, following


def _total(shares: Vector, fixed: int, budget: int) -> float:
    """Return T."""
    sums, _, _ = _row_sums(shares, fixed, budget)
    return float(sums[:fixed].sum() + largest_sum(sums[fixed:], budget))


def _forced(shares: Vector, fixed: int, budget: int, out: Mask, inside: Mask) -> tuple[Vector, Vector]:
    """Return T with each feature of `out` forced in, and with each of `inside` forced out."""
    sums, last, following = _row_sums(shares, fixed, budget)
    entering, leaving = fixed + np.flatnonzero(out), fixed + np.flatnonzero(inside)
    # Forced in: a row without it gives up its last entry. (Rows that choose nothing are not counted then: budget 1.)
    part = shares[:, entering]
    chosen = (part >= last[:, None]) | np.isinf(last)[:, None]
    rows = np.where(chosen, sums[:, None], sums[:, None] - np.where(np.isinf(last), 0.0, last)[:, None] + part)
    rows[entering, np.arange(entering.size)] = -np.inf
    with_it = rows[:fixed].sum(axis=0) + sums[entering] + largest_sum(rows[fixed:].T, budget - 1)
    # Forced out: a row with it takes the next entry instead.
    part = shares[:, leaving]
    rows = np.where(part >= last[:, None], sums[:, None] - part + following[:, None], sums[:, None])
    rows[leaving, np.arange(leaving.size)] = -np.inf
    without_it = rows[:fixed].sum(axis=0) + largest_sum(rows[fixed:].T, budget)
    return np.asarray(with_it), np.asarray(without_it)
