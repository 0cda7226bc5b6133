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
2(α_i + α_j) and rounded a few times. The computed Y is off by at most η = √(|M||J|)(e + γ_4(m² + max|U|)) in norm, and
its product with itself by γ_{|J|}‖Y‖_F², so YYᵀ/s by ((2‖Y‖_F + η)η + γ_{|J|+8}‖Y‖_F²)/s.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
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
ENTRIES = 1 << 21  # of the matrix in memory at a time, beside the rows of M
KEPT_BYTES = 1 << 30  # of F that is prepared once and not once for every block of rows
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
    rest = replace(certificate, constraints=certificate.constraints.on(here))
    tree = search_tree.prove(current, rest, objective)
    outside[here[tree.outside]] |= worst < objective
    inside[here[tree.inside]] = worst < objective
    return Proved(max(tree.bound, worst), outside, inside)


class _Rows:
    """β of all features, and the entries of the rows of M."""

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
        u = np.triu(pairs) + np.triu(pairs, 1).T
        below = np.tril(pairs, -1)
        self._evaluate(prepared, u, below - below.T, alpha, shift, rest)

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

    def _beside(self, mine: Vector, there: Vector, entry: float, longest: float) -> tuple[Vector, float]:
        """Return YYᵀ/s, and how far it can be off in norm."""
        if self.partners.size == 0:
            return np.zeros((self.own.size, self.own.size)), 0.0
        between = mine.T @ there - self.across
        norm = float(np.linalg.norm(between)) * (1 + gamma(between.size + 8))
        largest = float(np.abs(self.across).max())
        off = math.sqrt(between.size) * (entry + gamma(4) * (longest + largest)) * (1 + gamma(8))
        made = between @ between.T / self.room
        doubt = ((2 * norm + off) * off + gamma(self.partners.size + 8) * norm**2) / self.room
        return (made + made.T) / 2, doubt * (1 + gamma(8))

    def _evaluate(self, prepared: Prepared, u: Vector, pull: Vector, alpha: Vector, shift: float, rest: float) -> None:
        k, own, depth = self.k, self.own, prepared.depth
        blocks = _Blocks(prepared)
        mine, places = blocks.columns(own), np.arange(own.size)
        inner, lengths = mine.T @ mine, prepared.diagonal()
        # λ
        longest = float(lengths.max()) * (1 + gamma(depth + 8))
        entry = gamma(depth + 8) * longest
        beside, off = self._beside(mine, blocks.columns(self.partners), entry, longest)
        middle = (inner + inner.T) / 2 - u + beside
        middle[np.diag_indices_from(middle)] += alpha
        sizes = float(sum(np.linalg.norm(part) for part in (inner, u, alpha, beside)))
        doubt = gamma(8) * sizes + own.size * entry + off
        below = shift + rest + self.room + gamma(4) * (abs(shift) + rest + self.room)
        self.leading = max(largest_eigenvalue(middle, doubt), below)
        # The rows of M: C between its features and with J as stored, with the others by the entries of the matrix.
        shares, halves = u * u / (2 * (alpha[:, None] + alpha[None, :])), 1 / (2 * (alpha + rest))[:, None]
        self.shares = np.empty((own.size, self.size))
        for part, block in blocks.walk():
            self.shares[:, part] = (mine.T @ block) ** 2 * halves
        self.shares[:, self.partners] = self.across**2 * halves
        largest = max(float((shares + np.abs(pull)).max()), float(self.shares.max()))
        self.shares[:, own] = shares + pull
        self.sums, self.last = (lengths - shift) ** 2 / (4 * rest), np.empty(own.size)
        height = max(1, ENTRIES // self.size)
        for start in range(0, own.size, height):
            some = places[start : start + height]
            entries = self.shares[some]
            entries[np.arange(some.size), own[some]] = -np.inf
            entries.partition(self.size - k + 1, axis=1)
            chosen = entries[:, self.size - k + 1 :]
            self.last[some] = chosen.min(axis=1)
            self.sums[own[some]] = shares[some, some] + chosen.sum(axis=1)
        # All other rows.
        weights = np.full(self.size, 1 / (4 * rest))
        weights[own] = 1 / (2 * (alpha + rest))
        others = np.setdiff1d(np.arange(self.size), own)
        for start in range(0, others.size, height):
            wanted = others[start : start + height]
            self.sums[wanted] += blocks.largest(wanted, weights, k - 1, own, self.shares[:, wanted].T)
        # Allowances
        edge = longest + abs(shift)
        off = entry + gamma(4) * edge
        square, diagonal = entry * (2 * longest + entry), 2 * edge * off + off**2
        weight = float(weights.max())
        largest = max(largest, (longest + entry) ** 2 * weight, edge**2 / (4 * rest))
        self.doubt = k**2 * (square * weight + diagonal / (4 * rest) + gamma(4 * k + 64) * largest) * (1 + gamma(16))
        require(
            bool(np.isfinite(self.sums).all()) and math.isfinite(self.doubt) and math.isfinite(self.leading),
            "its numbers overflow",
        )

    def forced(self) -> Vector:
        """Return the sum of the largest rows with each feature forced in, allowance included."""
        own, count = self.own, self.k - 1
        others = np.delete(self.sums, own)
        outside = np.sort(others)[::-1][:count]
        place = np.full(self.size, -1)
        place[own] = np.arange(own.size)
        forced = np.empty(self.size)
        height = max(1, ENTRIES // (own.size + count))
        for start in range(0, self.size, height):
            features = np.arange(start, min(start + height, self.size))
            rows = self.sums[own] - np.maximum(0.0, self.last - self.shares[:, features].T)
            mine = np.flatnonzero(place[features] >= 0)
            rows[mine, place[features[mine]]] = -np.inf
            both = np.concatenate([rows, np.broadcast_to(outside, (features.size, outside.size))], axis=1)
            forced[features] = self.sums[features] + largest_sum(both, count)
        return np.asarray(forced + self.doubt)


class _Blocks:
    """F, prepared once where it fits."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._kept: Vector | None = None
        if 8 * prepared.depth * prepared.size <= KEPT_BYTES:
            self._kept = np.concatenate([block for _, block in prepared.blocks()], axis=1)

    def walk(self) -> Any:
        """Yield all columns by blocks."""
        if self._kept is None:
            yield from self._prepared.blocks()
        else:
            yield slice(0, self._prepared.size), self._kept

    def columns(self, wanted: Indices) -> Vector:
        """Return some columns."""
        if self._kept is not None:
            return self._kept[:, wanted]
        chosen = np.empty((self._prepared.depth, wanted.size))
        for part, block in self._prepared.blocks():
            mine = (wanted >= part.start) & (wanted < part.stop)
            chosen[:, mine] = block[:, wanted[mine] - part.start]
        return chosen

    def largest(self, wanted: Indices, weights: Vector, count: int, known: Indices, entries: Vector) -> Vector:
        """Sum, for some rows of the matrix, the largest weighted squares off the diagonal; some entries are known."""
        left = self.columns(wanted).T
        rows = np.empty((wanted.size, self._prepared.size))
        for part, block in self.walk():
            rows[:, part] = left @ block
        np.multiply(rows, rows, out=rows)
        rows *= weights
        rows[:, known] = entries
        rows[np.arange(wanted.size), wanted] = -1.0  # below every square
        if count == 0:
            return np.zeros(wanted.size)
        rows.partition(self._prepared.size - count, axis=1)
        return np.asarray(rows[:, self._prepared.size - count :].sum(axis=1))
