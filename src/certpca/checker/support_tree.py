"""Walks over search trees of supports, in which every bound is recomputed; features may have prices.

A node has features fixed in (I) and free ones (R); at the root all are free but those that constraints force in or
leave out. Its supports have k members, I among them and the others from R; smaller supports capture no more than larger
ones, so these are enough. Groups of which supports have all or none (`allowed_supports`) are followed in every node:
there the bounds below are for all supports, which are more, and lists for the allowed ones alone. The tree is a list
of nodes, the root first, and a node is a list of operations:

    {"fix": …, "out": […], "in": […]}    A bound for the supports of the node that contain i lets i be left out if it
                                         counts for the result; one for those without i lets i be fixed in.
    {"split": i, "in": m, "out": n}      Its children by number; no node is used twice.
    {"leaf": …}                          A bound for all supports of the node.

The result is the largest bound met anywhere. Leaves are "empty" (no supports), "eigenvalue" (λ_max of all features of
the node), "trace", "list" (every support), "squares", "pairs", "cheapest" (the smallest of the bounds it allows), and
"raised".

Pairs. With N = I ∪ R, b = k − |I|, any symmetric U, antisymmetric K, α > 0 and C_ij = U_ij²/(2(α_i + α_j)) + K_ij,

    λ_max(A_SS) ≤ λ_max((A − U + diag α)_NN) + Σ_{i,j∈S} C_ij,

because 2U_ij x_i x_j ≤ (α_i + α_j)x_i²x_j² + U_ij²/(α_i + α_j) for i < j, U_ii x_i² ≤ α_i x_i⁴ + U_ii²/(4α_i), the
quartic terms add up to Σα_i x_i² and K cancels. The double sum is at most T: in every row those of I, the entry of
the row itself, and the largest others that the budget allows; of the rows those of I and the largest others. A
feature forced in is in every row; one forced out is in none.

Squares. The same with U = A − cI and constant α, where the best α gives c + √T with C_ij = U_ij².

Prices. Where features have prices w ≥ 0, what is bounded is λ_max(A_SS) − Σ_{i∈S} w_i, and supports of fewer features
count too, the empty one as zero. Prices are linear: they are taken off C_ii, which counts where i is chosen; a place in
a row, or among the rows, that would count less than zero stays empty; "squares" then need an α of their own and give
c + α + T with C_ij = U_ij²/(4α); other leaves take off what features that are surely in cost, or list all smaller
supports as well.

Non-negative loadings. For x ≥ 0 and N ≥ 0 entrywise, xᵀAx ≤ xᵀ(A + N)x: the tree may be about A + N (`raised`), and
the leaf "raised" bounds by λ_max of all features of the node with an N of its own.

Proof: docs/mathematics.md, 8.1 to 8.4, 8.6, 17.2 and 17.3.

Allowance. All bounds are for the computed matrix on the features at hand; its distance from the exact one in norm is
added at the end. Each C_ij rounds a few times and T has at most k² of them: γ_{4|N|}k² max|C_ij|. Eigenvalues are
proved by Cholesky factorisations.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.checker.allowed_supports import AllowedSupports
from certpca.checker.counted_sums import Counts, largest_counted_total
from certpca.checker.data import Prepared
from certpca.checker.many_matrices import batches_of, largest_of_many, places_in
from certpca.checker.numbers import (
    SMALLEST_DIVISOR,
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
from certpca.checker.pair_shares import forced_totals, largest_total
from certpca.checker.raised import raised_by
from certpca.results.constraints import FREE, Constraints
from certpca.results.evidence_forms import Form, numbered, parts_of, up_to, within

LARGEST_SEARCHED = 8192  # features
MOST_LISTED = 5_000  # supports that one leaf may list
BATCH_ENTRIES = 1 << 23
_SIDE = up_to(LARGEST_SEARCHED)
TREE = {
    "scale": Form("f", degree=1.0),
    **within(
        numbered("point"),
        {"features": Form("i", (_SIDE,)), "pairs": Form("f", (_SIDE, _SIDE)), "alpha": Form("f", (_SIDE,))},
    ),
}


@dataclass(slots=True)
class _Node:
    number: Any
    inside: Indices
    free: Indices


class SupportTree:
    """A walk over a search tree.

    The exact matrix is within `slack` of `matrix` in norm; all bounds are for `matrix` until the end.
    """

    def __init__(
        self,
        prepared: Prepared,
        evidence: Mapping[str, Any],
        sparsity: int,
        prices: Vector | None = None,
        dense: tuple[Vector, float] | None = None,
        *,
        of_data: bool = True,
        constraints: Constraints = FREE,
        counts: Counts | None = None,
    ) -> None:
        require(prepared.size <= LARGEST_SEARCHED, f"search trees are for up to {LARGEST_SEARCHED} features")
        self.prepared = prepared
        self.matrix, self.slack = prepared.dense(np.arange(prepared.size)) if dense is None else dense
        self.raise_from = self.matrix if constraints.nonnegative else None
        if "raised" in evidence:
            require(constraints.nonnegative, "it raises entries although loadings may be negative")
            self.matrix, self.slack = raised_by(
                self.matrix, self.slack, array_of(evidence, "raised", 2) / prepared.unit
            )
            of_data = False
        self.of_data = of_data  # else the matrix is another one, whose trace bounds nothing
        self.diagonal: Vector | None = None
        self.points, self.sparsity = parts_of(evidence), sparsity
        self.allowed = AllowedSupports(prepared.size, sparsity, constraints)
        self.fewer = prices is not None  # as smaller supports may be worth more
        self.counts = counts
        self.prices = np.zeros(prepared.size) if prices is None else prices
        self.scale = float(array_of(evidence, "scale", 0)) / prepared.unit
        require(self.scale > 0, "its scale is not positive")
        self.worst = 0.0
        # Bounds for the supports with, or without, a feature decided at the root.
        self.outside: list[tuple[Indices, float]] = []
        self.inside: list[tuple[Indices, float]] = []

    def walk(self, tree: Any, inside: Indices | None = None, free: Indices | None = None) -> None:
        """Meet every node: those of all supports, or of the ones that have `inside` and the rest from `free`."""
        most = self.prepared.limits.most_nodes
        require(isinstance(tree, list) and 0 < len(tree) <= most, "its tree is malformed")
        inside = self.allowed.first if inside is None else inside
        free = self.allowed.free if free is None else free
        used, stack = set[int](), [_Node(0, inside, free)]
        while stack:
            node = stack.pop()
            number = node.number
            require(type(number) is int and 0 <= number < len(tree), "its tree names a node that is not there")
            require(number not in used, "its tree uses a node twice")  # else the walk might never end
            used.add(number)
            stack.extend(self._visit(node, tree[number]))

    @property
    def bound(self) -> float:
        """What no support of the tree is worth more than, for the exact matrix."""
        return (self.worst + self.slack) * (1 + gamma(8))

    def _count(self, bound: float) -> None:
        require(math.isfinite(bound), "a bound in its tree is not finite")  # max would pass over NaN
        self.worst = max(self.worst, bound)

    def _visit(self, node: _Node, record: Any) -> list[_Node]:
        require(isinstance(record, list), "its tree is malformed")
        for operation in record:
            completed = self.allowed.completed(node.inside, node.free)
            if completed is None:
                return []  # no supports, whatever follows
            node.inside, node.free = completed
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
        budget = self.sparsity - node.inside.size
        forced_in, forced_out = forced_totals(shares, node.inside.size, budget, out, inside, fewer=self.fewer)
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
        if budget < 0 or (node.free.size < budget and not (self.fewer or self.allowed.grouped)):
            return 0.0  # no supports, whatever the leaf says
        require(kind != "empty", "a leaf with supports is said to have none")
        if budget == 0:
            features = node.inside
        decided = 0 in (budget, node.free.size) or (budget >= node.free.size and not self.fewer)
        if kind == "eigenvalue" or (decided and kind != "raised"):
            return self._eigenvalue(features, node.inside)
        if kind == "list":
            return self._list(node, budget)
        if kind == "raised":
            return self._raised(operation["raised"], features)
        if kind == "trace":
            require(self.of_data, "the trace of its matrix bounds nothing")
            return self._trace(node, budget)
        require(kind in ("squares", "pairs", "cheapest"), f"unknown leaf {kind!r}")
        bounds = []
        if kind == "cheapest":
            bounds += [self._eigenvalue(features, node.inside), self._trace(node, budget)]
        for way, needed in (("squares", "shift"), ("pairs", "point")):
            if kind == way or (kind == "cheapest" and needed in operation):
                value, shares, doubt = self._shares(node, way, operation)
                total = self._total(node, shares, budget)
                bounds.append(value(total + doubt))
        bounds = [bound for bound in bounds if not math.isnan(bound)]
        require(bool(bounds), "a leaf proves nothing")
        return min(bounds)

    def _total(self, node: _Node, shares: Vector, budget: int) -> float:
        """Return T, over supports with so many of each block where these are counted."""
        if self.counts is None:
            return largest_total(shares, node.inside.size, budget, fewer=self.fewer)
        require(self.fewer, "features of blocks are counted where no place may stay empty")
        self.prepared.work.spend(20.0 * shares.size + 1e4 * self.counts.least.size**2)
        return largest_counted_total(shares, node.inside.size, budget, self.counts.less(node.inside).on(node.free))

    # --- bounds -------------------------------------------------------------------------------------------------

    def _eigenvalue(self, features: Indices, paid: Indices) -> float:
        """Bound by λ_max of some features, less the price of those that are in every support."""
        self.prepared.work.spend(2.0 * features.size**3)
        if features.size == 0:
            return 0.0
        price = float(self.prices[paid].sum()) * (1 - gamma(paid.size + 4))
        leading = largest_eigenvalue(self.matrix[np.ix_(features, features)])
        return max(0.0, leading - price + gamma(4) * (abs(leading) + price))

    def _raised(self, number: Any, features: Indices) -> float:
        """Bound by λ_max of some features with entries raised for them alone."""
        require(self.raise_from is not None, "it raises entries although loadings may be negative")
        require(type(number) is int and number >= 0, "a leaf does not say what it raises")
        assert self.raise_from is not None
        self.prepared.work.spend(2.0 * features.size**3)
        part = self.points.get(f"raise{number}", {})
        place = places_in(indices_of(part, "features", self.matrix.shape[0]), features)
        entries = array_of(part, "entries", 2) / self.prepared.unit
        require(
            entries.shape[0] == entries.shape[1] > int(place.max(initial=0)), "entries to raise have the wrong shape"
        )
        part_of = self.raise_from[np.ix_(features, features)]
        matrix, doubt = raised_by(part_of, 0.0, entries[np.ix_(place, place)])  # the distance is added in the end
        return largest_eigenvalue(matrix, doubt)

    def _trace(self, node: _Node, budget: int) -> float:
        """Bound by the trace of FᵀF, which has no negative eigenvalues."""
        if not self.of_data:
            return math.nan
        if self.diagonal is None:
            self.diagonal = np.concatenate([(block**2).sum(axis=0) for _, block in self.prepared.blocks()])
        slip = gamma(self.prepared.depth + self.prepared.size + 8)
        total = float(self.diagonal[node.inside].sum() + largest_sum(self.diagonal[node.free], budget))
        lifted = self.prepared.lift(total * (1 + slip))
        if not self.fewer:
            return lifted
        # A smaller trace is lifted by less.
        worth, price = self.diagonal - self.prices, float(self.prices[node.inside].sum())
        best = float(worth[node.inside].sum() + largest_sum(np.maximum(worth[node.free], 0.0), budget))
        return best + (lifted - total) + 4 * slip * (total + price + abs(best) + lifted)

    def _list(self, node: _Node, budget: int) -> float:
        if self.allowed.grouped:
            self.prepared.work.spend(self.allowed.cost(node.free, MOST_LISTED))
            unions = self.allowed.unions(node.free, budget, MOST_LISTED)
            require(unions is not None, f"a leaf lists more than {MOST_LISTED:,} supports")
            return max(self._eigenvalue(np.append(node.inside, union), node.inside) for union in unions or [])
        most = min(budget, node.free.size)
        counts = range(most + 1) if self.fewer else [budget]
        require(
            sum(math.comb(node.free.size, count) for count in counts) <= MOST_LISTED,
            f"a leaf lists more than {MOST_LISTED:,} supports",
        )
        return max(self._list_of(node, count) for count in counts)

    def _list_of(self, node: _Node, count: int) -> float:
        """Bound the supports with so many free features, one by one."""
        self.prepared.work.spend(2.0 * math.comb(node.free.size, count) * self.sparsity**3)
        worst, members = 0.0, node.inside.size + count
        if members == 0:
            return worst
        width = max(1, BATCH_ENTRIES // members**2)
        places = np.arange(members)
        for batch in batches_of(itertools.combinations(node.free.tolist(), count), width):
            chosen = np.array(batch, dtype=np.intp).reshape(len(batch), count)
            supports = np.hstack([np.tile(node.inside, (len(batch), 1)), chosen])
            matrices, doubt = self.matrix[supports[:, :, None], supports[:, None, :]], 0.0
            if self.fewer:
                price = self.prices[supports].sum(axis=1)
                doubt = gamma(members + 8) * (float(price.max()) + float(np.abs(matrices[:, places, places]).max()))
                matrices[:, places, places] -= price[:, None]
            worst = max(worst, largest_of_many(matrices) + doubt)
        return worst

    def _shares(
        self, node: _Node, kind: str, operation: Mapping[str, Any]
    ) -> tuple[Callable[[float], float], Vector, float]:
        """Return how T becomes a bound, C, and how far T can be off."""
        budget = self.sparsity - node.inside.size
        require(
            1 <= budget < node.free.size or (self.fewer and min(budget, node.free.size) >= 1),
            "it uses a bound at a node that is decided already",
        )
        features = np.concatenate([node.inside, node.free])
        here = self.matrix[np.ix_(features, features)]
        self.prepared.work.spend(20.0 * features.size**2 + (2.0 * features.size**3 if kind == "pairs" else 0.0))
        slip = gamma(4 * features.size + 64)  # T is a sum of at most k² entries, each rounded a few times
        own, diagonal = self.prices[features], np.diag_indices(features.size)
        if kind == "squares":
            shift = operation["shift"]
            require(isinstance(shift, float) and math.isfinite(shift), "a shift is not a number")
            shift *= self.scale
            u = here.copy()
            u[diagonal] -= shift
            shares = u * u
            # The difference on the diagonal is rounded relative to its terms, not to itself.
            edge = np.abs(np.diagonal(here)).max() + abs(shift)
            doubt = slip * self.sparsity**2 * (float(shares.max()) + float(edge) ** 2)
            if self.fewer or "alpha" in operation:
                alpha = operation["alpha"]
                require(isinstance(alpha, float) and 0 < alpha < math.inf, "an α is not a positive number")
                alpha *= self.scale
                require(alpha > SMALLEST_DIVISOR, "an α is too small to divide by")
                shares, doubt = shares / (4 * alpha), doubt / (4 * alpha) + slip * self.sparsity**2 * float(own.max())
                shares[diagonal] -= own
                level = float(shift + alpha + slip * (edge + alpha))
                return (lambda total: float(level + total + gamma(8) * (abs(level) + abs(total)))), shares, doubt

            def bound(total: float) -> float:
                require(not math.isnan(total), "a bound in its tree is not finite")
                return float(shift + math.sqrt(max(total, 0.0)) * (1 + gamma(8)) + slip * edge)

            return bound, shares, doubt
        u, k, alpha = self._point(operation["point"], features)
        pairs = u * u / (2 * (alpha[:, None] + alpha[None, :]))
        shares = pairs + k
        shares[diagonal] -= own
        doubt = slip * self.sparsity**2 * (float((pairs + np.abs(k)).max()) + float(own.max()))
        rest = here - u
        rest[diagonal] += alpha
        sizes = float(np.linalg.norm(here) + np.linalg.norm(u) + np.linalg.norm(alpha))
        leading = largest_eigenvalue(rest, gamma(8) * sizes)
        return (lambda total: float(leading + total + gamma(8) * (abs(leading) + abs(total)))), shares, doubt

    def _point(self, number: Any, features: Indices) -> tuple[Vector, Vector, Vector]:
        require(type(number) is int and number >= 0, "a point of its tree is malformed")
        point = self.points.get(f"point{number}", {})
        own = indices_of(point, "features", self.matrix.shape[0])
        pairs, alpha = array_of(point, "pairs", 2), array_of(point, "alpha", 1)
        require(pairs.shape == (own.size, own.size) and alpha.shape == own.shape, "a point has the wrong shape")
        place = places_in(own, features)
        part, alpha = pairs[np.ix_(place, place)], alpha[place] * self.scale
        require(bool((alpha > 0).all()) and bool(np.isfinite(alpha).all()), "a point has a weight that is not positive")
        # Features of a node are not sorted: where the order is reversed, U and K have changed triangles.
        upper = np.less_equal.outer(place, place)
        u = np.where(upper, part, part.T) * self.scale
        below = np.where(upper, part.T, part) * self.scale
        k = np.where(upper, -below, below)
        np.fill_diagonal(k, 0.0)
        return u, k, alpha
