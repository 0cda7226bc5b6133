"""Pairs of features, with numbers of their own on the rows that matter, then a search tree over the features left.

    Z* ≤ λ + the sum of the k largest β_i,   λ = max(λ_max((A − U + diag α)_MM + YYᵀ/s), c + α₀ + s).

U is symmetric, K antisymmetric, α > 0; all are stored on some features M, and U also between M and some features J
beside them. Elsewhere U_ij = A_ij for i ≠ j, U_ii = A_ii − c, K = 0 and α_i = α₀. So A − U + diag α has a block on M,
Y = (A − U)_MJ beside it, and c + α₀ on the rest of its diagonal; as 2xᵀYz ≤ xᵀYYᵀx/s + s zᵀz for every s > 0, its
eigenvalues are at most λ. (Without J there is no s: it counts as zero.) With C_ij = U_ij²/(2(α_i + α_j)) + K_ij,

    β_i = C_ii + the k − 1 largest C_ij, j ≠ i.

*Why.* For a unit x on a support S of k features, xᵀAx = xᵀ(A − U)x + Σ U_ij x_i x_j, and as in `search_tree`
2U_ij x_i x_j ≤ (α_i + α_j)x_i²x_j² + U_ij²/(α_i + α_j), U_ii x_i² ≤ α_i x_i⁴ + U_ii²/(4α_i); the quartic terms add
up to Σ α_i x_i², the others to Σ_{i,j∈S} C_ij, where K cancels, and row by row that is at most the sum of k of the β.

A feature i. Supports that contain i have λ + β_i + the k − 1 largest β_j of the others, where a row of M that does not
choose i gives up its last entry for C_ji. Features that are not among those `left` count with that bound; for the
supports of those that are left the same is done again with other numbers, and in the end a tree, or the first bound.

Proof: docs/mathematics.md, 8.5; under constraints 17.2.

Allowance. Everything is for FᵀF with the F at hand and lifted at the end. With m the longest column, a computed entry
G_ij is off by e = γ_depth m², its square by δ = e(2m² + e), the square of the diagonal less c by
2(m² + |c|)e' + e'² with e' = e + γ_4(m² + |c|). Every sum has at most k² of the C, each off by these over
2(α_i + α_j) and rounded a few times. The C of a row of M with a feature that is forced in is worked out anew, not as
it was when the row chose: what differs is twice as much as one of them is off, in k rows, so k(k + 2) of them are
allowed for. The computed Y is off by at most η = √(|M||J|)(e + γ_4(m² + max|U|)) in norm, and
its product with itself by γ_{|J|}‖Y‖_F², so YYᵀ/s by ((2‖Y‖_F + η)η + γ_{|J|+8}‖Y‖_F²)/s.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.largest_squares import LargestEntries, sums_of_largest
from certpca.checker.numbers import (
    Indices,
    Vector,
    array_of,
    gamma,
    indices_of,
    largest_eigenvalue,
    largest_sum,
    require,
)
from certpca.checker.proved import Proved
from certpca.checker.rules import search_tree
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Form, features, numbered, parts_of, up_to, within

SENTENCE = "bounds from all pairs of features, then a search tree over those that are left"
MOST_ROWS = 2048  # of M
ENTRIES = 1 << 21  # of rows with a feature forced in that are compared at a time
SMALLEST = 2.0**-300  # of α: far above where squares vanish
ROWS = "rows"
_SIDE = up_to(MOST_ROWS)
EVIDENCE = {
    **search_tree.EVIDENCE,
    **within(
        numbered(ROWS),
        {
            "scale": Form("f", degree=1.0),
            "features": Form("i", (_SIDE,)),
            "pairs": Form("f", (_SIDE, _SIDE)),
            "alpha": Form("f", (_SIDE,)),
            "shift": Form("f"),
            "rest": Form("f"),
            "partners": Form("i", (features,)),
            "across": Form("f", (_SIDE, features)),
            "room": Form("f"),
            "left": Form("i", (features,)),
        },
    ),
}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Evaluate the rows in rounds, each without the features that those before it left out, then the tree."""
    k, parts = certificate.sparsity, parts_of(certificate.evidence)
    require(2 <= k < prepared.size, "pairs are for two features or more, and fewer than all")
    require(f"{ROWS}0" in parts, "its evidence lacks rows")
    outside, inside = np.zeros(prepared.size, dtype=bool), np.zeros(prepared.size, dtype=bool)
    here, worst, current = np.arange(prepared.size), 0.0, prepared
    for number in itertools.count():
        evidence = parts.get(f"{ROWS}{number}")
        if evidence is None:
            break
        require(k < current.size, "it goes on with too few features")
        rows = _Rows(current, evidence, k)
        forced = np.array([current.lift(value) for value in rows.forced() + rows.leading])
        require(bool(np.isfinite(forced).all()), "its numbers overflow")
        # Among the features left only, unless supports with the others are known to be worse.
        outside[here[forced < objective]] |= worst < objective
        if "left" not in evidence:
            require(f"{ROWS}{number + 1}" not in parts and certificate.tree is None, "it does not say what is left")
            bound = current.lift(rows.leading + float(largest_sum(rows.sums, k)) + rows.doubt)
            return Proved(max(bound, worst), outside, inside)
        left = np.zeros(current.size, dtype=bool)
        left[indices_of(evidence, "left", current.size)] = True
        require(int(left.sum()) >= k, "it leaves too few features")
        worst = max(worst, float(forced[~left].max(initial=0.0)))
        here, current = here[left], current.keep(left)
        del rows, forced  # the memory of a round goes before the next
    rest = replace(certificate, constraints=certificate.constraints.on(here))
    tree = search_tree.prove(current, rest, objective)
    outside[here[tree.outside]] |= worst < objective
    inside[here[tree.inside]] = worst < objective
    return Proved(max(tree.bound, worst), outside, inside)


class _Rows:
    """β of all features, and what they become with one of them forced in."""

    def __init__(self, prepared: Prepared, evidence: Mapping[str, Any], k: int) -> None:
        self.k, self.size = k, prepared.size
        scale = float(array_of(evidence, "scale", 0)) / prepared.unit
        require(scale > 0 and math.isfinite(scale), "its scale is not positive")
        self.own = own = indices_of(evidence, "features", prepared.size)
        pairs, alpha = array_of(evidence, "pairs", 2) * scale, array_of(evidence, "alpha", 1) * scale
        require(own.size <= MOST_ROWS and pairs.shape == (own.size, own.size), "its pairs have the wrong shape")
        require(alpha.shape == own.shape, "its weights have the wrong shape")
        shift, rest = (float(array_of(evidence, name, 0)) * scale for name in ("shift", "rest"))
        require(bool((alpha >= SMALLEST).all()) and rest >= SMALLEST, "a weight is not positive")
        require(bool(np.isfinite([*alpha, shift, rest]).all()), "its numbers overflow")
        self._read_across(evidence, scale)
        prepared.work.spend(
            prepared.size**2 * (prepared.depth + 10.0) + own.size**2 * (2.0 * own.size + self.partners.size)
        )
        u, pull = np.triu(pairs) + np.triu(pairs, 1).T, np.tril(pairs, -1)
        del pairs
        pull = pull - pull.T
        self._evaluate(prepared, u, pull, alpha, shift, rest)

    def _read_across(self, evidence: Mapping[str, Any], scale: float) -> None:
        """Read U between M and J, and s."""
        self.partners, self.across, self.room = np.zeros(0, dtype=np.intp), np.zeros((self.own.size, 0)), 0.0
        if "partners" not in evidence:
            return
        self.partners = indices_of(evidence, "partners", self.size)
        require(np.intersect1d(self.own, self.partners).size == 0, "a partner is among its features")
        self.across, self.room = array_of(evidence, "across", 2) * scale, float(array_of(evidence, "room", 0)) * scale
        require(self.across.shape == (self.own.size, self.partners.size), "its pairs have the wrong shape")
        require(self.room >= SMALLEST and math.isfinite(self.room), "its room is not positive")
        require(bool(np.isfinite(self.across).all()), "its numbers overflow")

    def _evaluate(self, prepared: Prepared, u: Vector, pull: Vector, alpha: Vector, shift: float, rest: float) -> None:
        k, own, depth = self.k, self.own, prepared.depth
        self.others = np.setdiff1d(np.arange(self.size), own)
        self._places = np.searchsorted(self.others, self.partners)
        self._outside, self._mine = _on(prepared, self.others), _on(prepared, own).block(slice(0, own.size))
        # λ
        lengths = prepared.diagonal()
        longest = float(lengths.max()) * (1 + gamma(depth + 8))
        entry = gamma(depth + 8) * longest
        below = shift + rest + self.room + gamma(4) * (abs(shift) + rest + self.room)
        self.leading = max(self._eigenvalue(prepared, u, alpha, entry, longest), below)
        # C between features of M as stored
        shares = u * u / (2 * (alpha[:, None] + alpha[None, :]))
        largest = float((shares + np.abs(pull)).max())
        self._stored, self._halves = shares + pull, 1 / (2 * (alpha + rest))[:, None]
        every, mine = slice(0, own.size), LargestEntries(own.size, k - 1)
        mine.show(every, np.where(np.eye(own.size, dtype=bool), -np.inf, self._stored))

        def with_own(columns: slice, block: Vector) -> Vector:
            entries = self._beside_own(columns, block)
            mine.show(every, entries)
            return entries.T

        self.sums = (lengths - shift) ** 2 / (4 * rest)
        self.sums[self.others] += sums_of_largest(self._outside, k - 1, 1 / (4 * rest), with_own)
        self.sums[own], self.last = np.diagonal(shares) + mine.sums(), mine.smallest()
        # Allowances
        edge = longest + abs(shift)
        off = entry + gamma(4) * edge
        square, diagonal = entry * (2 * longest + entry), 2 * edge * off + off**2
        weight = max(1 / (4 * rest), float(self._halves.max()))
        across = np.abs(self.across).max(axis=1, initial=0.0)[:, None] ** 2 * self._halves
        largest = max(largest, float(across.max()), (longest + entry) ** 2 * weight, edge**2 / (4 * rest))
        each = square * weight + diagonal / (4 * rest) + gamma(4 * k + 64) * largest
        self.doubt = k * (k + 2) * each * (1 + gamma(16))
        require(
            bool(np.isfinite(self.sums).all()) and math.isfinite(self.doubt) and math.isfinite(self.leading),
            "its numbers overflow",
        )

    def _eigenvalue(self, prepared: Prepared, u: Vector, alpha: Vector, entry: float, longest: float) -> float:
        """Bound λ_max of the matrix on M, with what is beside it."""
        inner = self._mine.T @ self._mine
        beside, off = self._beside(prepared, entry, longest)
        middle = (inner + inner.T) / 2 - u + beside
        middle[np.diag_indices_from(middle)] += alpha
        sizes = float(sum(np.linalg.norm(part) for part in (inner, u, alpha, beside)))
        del inner, beside
        return largest_eigenvalue(middle, gamma(8) * sizes + self.own.size * entry + off, spare=True)

    def _beside(self, prepared: Prepared, entry: float, longest: float) -> tuple[Vector, float]:
        """Return YYᵀ/s, and how far it can be off in norm."""
        if self.partners.size == 0:
            return np.zeros((self.own.size, self.own.size)), 0.0
        between = np.negative(self.across)
        for part, block in _on(prepared, self.partners).blocks():
            between[:, part] += self._mine.T @ block
        norm = float(np.linalg.norm(between)) * (1 + gamma(between.size + 8))
        largest = float(np.abs(self.across).max())
        off = math.sqrt(between.size) * (entry + gamma(4) * (longest + largest)) * (1 + gamma(8))
        made = between @ between.T / self.room
        doubt = ((2 * norm + off) * off + gamma(self.partners.size + 8) * norm**2) / self.room
        return (made + made.T) / 2, doubt * (1 + gamma(8))

    def _beside_own(self, columns: slice, block: Vector) -> Vector:
        """Return C between M and some of the others: with J as stored, else by the entries of the matrix."""
        entries = self._mine.T @ block
        np.multiply(entries, entries, out=entries)
        entries *= self._halves
        first, last = np.searchsorted(self._places, [columns.start, columns.stop])
        entries[:, self._places[first:last] - columns.start] = self.across[:, first:last] ** 2 * self._halves
        return np.asarray(entries)

    def forced(self) -> Vector:
        """Return the sum of the largest rows with each feature forced in, allowance included."""
        forced = np.empty(self.size)
        forced[self.own] = self._forced(self._stored, np.arange(self.own.size))
        for columns, block in self._outside.blocks():
            forced[self.others[columns]] = self._forced(self._beside_own(columns, block))
        return np.asarray(self.sums + forced + self.doubt)

    def _forced(self, entries: Vector, mine: Indices | None = None) -> Vector:
        """Sum the largest other rows for some features, whose entries in rows of M are given; `mine` are their own."""
        outside = np.sort(self.sums[self.others])[::-1][: self.k - 1]
        made = np.empty(entries.shape[1])
        height = max(1, ENTRIES // (self.own.size + outside.size))
        for start in range(0, made.size, height):
            some = slice(start, start + height)
            rows = self.sums[self.own] - np.maximum(0.0, self.last - entries[:, some].T)
            if mine is not None:
                rows[np.arange(len(rows)), mine[some]] = -np.inf
            both = np.concatenate([rows, np.broadcast_to(outside, (len(rows), outside.size))], axis=1)
            made[some] = largest_sum(both, self.k - 1)
        return made


def _on(prepared: Prepared, features: Indices) -> Prepared:
    mask = np.zeros(prepared.size, dtype=bool)
    mask[features] = True
    return prepared.keep(mask)
