"""Dual matrices of the semidefinite relaxation.

    Z* ≤ λ_max(A − U) + k max|U_ij|   for every symmetric U.

A unit x with at most k nonzeros has Σ|x_i x_j| ≤ k, so xᵀUx ≤ k max|U_ij|. U is given in one of three forms.

Dense: its lower triangle on some features; on the others U is A itself, so that A − U vanishes there. That keeps
max|U_ij| where √(A_jj max A_ii) does not exceed it.

Parted: its lower triangle on some features M, and elsewhere the matrix itself, shifted and clipped: with numbers Y
(a row for each of M), δ (a row for each of the others, R) and μ ≥ max over M of |U_ij|,

    U_ij = clip(A_ij + Y_i·δ_j, ±μ)               for i in M and j in R, and the other way round,
    U_ij = clip(A_ij, ±μ)                         on R.

With D = A − U, any x > 0 and any room σ > 0: λ_max(D_RR) ≤ b = max_j (|D_RR|x)_j / x_j, as for every nonnegative
matrix, and 2qᵀD_RM p ≤ |D_RM p|²/σ + σ|q|², so that

    λ_max(A − U) ≤ max(λ_max(D_MM + D_MR D_RM/σ), b + σ).

Clipped: numbers W = [w R] (size × q), a set S, δ and μ define, with signs s on S,

    U_ij = w_i w_j                                on S × S,
    U_ij = clip(W_i·W_j + δ_j s_i, ±μ)            for i in S and j not, and the other way round,
    U_ij = clip(W_i·W_j, ±μ)                      off S.

With E = U − WWᵀ, any unit vector v, e ≥ ‖E‖ and ε ≥ ‖Ev‖: splitting x = av + y with y orthogonal to v,
−xᵀEx ≤ e|y|² + (a² + 2|a||y|) ε, so −E ⪯ e(I − vvᵀ) + 1.62 ε I. Hence, with V = [W √e v],

    λ_max(A − U) ≤ λ_max(FᵀF − VVᵀ) + e + 1.62 ε.

FᵀF − VVᵀ ⪯ τI is the same as H − M X⁻¹Mᵀ ⪯ τI with H = FFᵀ, M = FV and X = τI + VᵀV (both say that a block
matrix is positive semidefinite), and X⁻¹ ⪰ 2Y − YXY for every symmetric Y. ‖E‖ is at most the largest
eigenvalue of the 2 × 2 matrix of the norms of its blocks.

Proof: docs/mathematics.md, 9.1 to 9.5.

Allowance. Dense: every entry of A − U is an inner product and a difference, γ_depth(tr A + ‖U‖). Parted: so too; off
M × M the matrix U is the one that was computed, whatever was rounded on the way. Clipped: products of W
and the sums of their squares are rounded up as norms (`_clipping`); in `_deflated_top` V is turned so that its columns
are nearly orthogonal, and what that and the products with 2Y − YXY lose is added to τ. λ_max is proved by Cholesky
factorisations.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from certpca.checker.columns import column_slices
from certpca.checker.data import Prepared
from certpca.checker.limits import LARGEST_DENSE
from certpca.checker.numbers import (
    Indices,
    Mask,
    Vector,
    array_of,
    gamma,
    indices_of,
    largest_eigenvalue,
    require,
)
from certpca.checker.proved import Proved, bound_alone
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Form, Forms, features, triangle, up_to

SENTENCE = "a dual point of the semidefinite relaxation"
WIDEST_FACTOR = 1024  # columns of W
MOST_DIRECTIONS = 64  # columns of Y
LIGHTEST = 2.0**-100  # share of the largest weight, so that no product with it vanishes
EVIDENCE: Forms = {
    "matrix": Form("f", (triangle(LARGEST_DENSE),), degree=1.0),
    "features": Form("i", (features,)),
    "directions": Form("f", (features, up_to(MOST_DIRECTIONS))),
    "shifts": Form("f", (features, up_to(MOST_DIRECTIONS)), degree=1.0),
    "weights": Form("f", (features,)),
    "top": Form("f", degree=1.0),
    "factor": Form("f", (features, up_to(WIDEST_FACTOR)), degree=0.5),
    "active": Form("i", (features,)),
    "vector": Form("f", (features,)),
    "repair": Form("f", (features,), degree=1.0),
    "level": Form("f", degree=1.0),
}
PAIRS = 1 << 22  # of features at a time
ACROSS_BYTES = 1 << 26  # of D_RM at a time
STRAY = 1.62


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Evaluate one dual matrix."""
    del objective
    evidence, sparsity = certificate.evidence, certificate.sparsity
    rule = _clipped if "matrix" not in evidence else _parted if "shifts" in evidence else _dense
    bound = rule(prepared, evidence, sparsity)
    require(math.isfinite(bound), "its dual matrix proves nothing")
    return bound_alone(prepared, prepared.lift(bound))


def _dense(prepared: Prepared, evidence: Mapping[str, Any], sparsity: int) -> float:
    kept, level_squared = prepared, 0.0
    if "features" in evidence:
        chosen = indices_of(evidence, "features", prepared.size)
        mask = np.zeros(prepared.size, dtype=bool)
        mask[chosen] = True
        diagonal = np.concatenate([(block**2).sum(axis=0) for _, block in prepared.blocks()])
        if not mask.all():
            level_squared = float(diagonal[~mask].max() * diagonal.max()) * (1 + gamma(4 * prepared.depth + 16))
        kept = prepared.keep(mask)
    rest, length, peak = _left_by_matrix(kept, evidence)
    level = max(peak, math.sqrt(level_squared) * (1 + gamma(4)))
    # Every entry of A is an inner product, and one more rounding comes from the subtraction.
    doubt = gamma(prepared.depth + 8) * (prepared.trace + length)
    suggestion = float(array_of(evidence, "top", 0)) / prepared.unit
    top = max(largest_eigenvalue(rest, doubt, suggestion), 0.0)
    return (top + sparsity * level) * (1 + gamma(8))


def _left_by_matrix(kept: Prepared, evidence: Mapping[str, Any]) -> tuple[Vector, float, float]:
    """Return A − U on the features kept, the length of U and its largest entry."""
    size, most = kept.size, kept.limits.largest_dense
    require(size <= most, f"its dual matrix is larger than {most} x {most}")
    packed = array_of(evidence, "matrix", 1) / kept.unit
    require(packed.size == size * (size + 1) // 2, "its dual matrix has the wrong size")
    rest = np.zeros((size, size))
    rest[np.tril_indices(size)] = packed
    rest += np.tril(rest, -1).T
    length = float(np.linalg.norm(rest))
    np.negative(rest, out=rest)
    for columns, left in kept.blocks():
        for others, right in kept.blocks():
            rest[columns, others] += left.T @ right
    return rest, length, float(np.abs(packed).max())


def _parted(prepared: Prepared, evidence: Mapping[str, Any], sparsity: int) -> float:
    size = prepared.size
    mask = _mask(indices_of(evidence, "features", size), size)
    inside = int(mask.sum())
    outside = size - inside
    require(outside > 0, "its dual matrix leaves no feature out")
    directions = array_of(evidence, "directions", 2)
    require(directions.shape[0] == inside, "its directions have the wrong length")
    require(1 <= directions.shape[1] <= MOST_DIRECTIONS, "it has no directions, or too many")
    shifts = array_of(evidence, "shifts", 2) / prepared.unit
    require(shifts.shape == (outside, directions.shape[1]), "its shifts have the wrong shape")
    weights = array_of(evidence, "weights", 1)
    require(weights.shape == (outside,) and bool((weights > 0).all()), "its weights are not positive")
    weights = weights / weights.max()
    require(bool((weights >= LIGHTEST).all()), "its weights are too unlike")
    depth = float(prepared.depth)
    prepared.work.spend(depth * size**2 + float(outside) * inside**2 + float(inside) ** 3)
    kept = prepared.keep(mask)
    rest, length, peak = _left_by_matrix(kept, evidence)
    level = float(array_of(evidence, "level", 0)) / prepared.unit
    require(level >= 0, "its level is negative")
    level = max(level, peak)
    coupling, squares, beside = _beside(kept, prepared.keep(~mask), directions, shifts, weights, level)
    require(math.isfinite(beside) and math.isfinite(squares), "its numbers overflow")
    suggestion = float(array_of(evidence, "top", 0)) / prepared.unit
    room = max(suggestion - beside, (beside + prepared.trace) * 2.0**-40, float(np.finfo(float).tiny))
    coupling /= room
    # D_MR D_RM is a matrix of inner products too; then there is a quotient and a sum.
    doubt = gamma(outside + 16) * squares / room + gamma(4) * (prepared.trace + length)
    rest += coupling
    top = max(largest_eigenvalue(rest, doubt, suggestion), (beside + room) * (1 + gamma(4)))
    top += gamma(prepared.depth + 8) * (prepared.trace + length)  # entries of A are inner products
    return (max(top, 0.0) + sparsity * level) * (1 + gamma(8))


def _beside(
    kept: Prepared, others: Prepared, directions: Vector, shifts: Vector, weights: Vector, level: float
) -> tuple[Vector, float, float]:
    """Return D_MR D_RM, at least the sum of the squares of D_RM, and b."""
    coupling, squares, sums = np.zeros((kept.size, kept.size)), 0.0, np.zeros(others.size)
    for rows in column_slices(max(others.depth, kept.size), others.size, ACROSS_BYTES):
        left = others.block(rows)
        across = np.empty((left.shape[1], kept.size))
        for columns, right in kept.blocks():
            product = left.T @ right
            across[:, columns] = product - np.clip(product + shifts[rows] @ directions[columns].T, -level, level)
        across = across[across.any(axis=1)]
        coupling += across.T @ across
        squares += float((across**2).sum())
        # Of U on R the lower triangle is what counts, so that it is symmetric.
        product = np.tril(_beyond(left.T @ left, level))
        sums[rows] += (product + np.tril(product, -1).T) @ weights[rows]
        for later in column_slices(others.depth, others.size - rows.stop):
            columns = slice(rows.stop + later.start, rows.stop + later.stop)
            product = _beyond(left.T @ others.block(columns), level)
            sums[columns] += weights[rows] @ product
            sums[rows] += product @ weights[columns]
    count = float(others.size)
    beside = float((sums / weights).max()) * (1 + gamma(count + 16))
    return coupling, squares * (1 + gamma(count * kept.size + 16)), beside


def _beyond(product: Vector, level: float) -> Vector:
    """Return the size of what clipping takes off."""
    product -= np.clip(product, -level, level)
    return np.abs(product, out=product)


def _clipped(prepared: Prepared, evidence: Mapping[str, Any], sparsity: int) -> float:
    size = prepared.size
    factor = array_of(evidence, "factor", 2) / math.sqrt(prepared.unit)
    require(factor.shape[0] == size and 1 <= factor.shape[1] <= WIDEST_FACTOR, "its factor has the wrong shape")
    most = prepared.limits.largest_dense
    require(prepared.depth <= most, f"a matrix of order {prepared.depth} is too large to be factored")
    prepared.work.spend(float(size) ** 2 * factor.shape[1] + 60.0 * prepared.depth**3)
    active = indices_of(evidence, "active", size)
    vector = array_of(evidence, "vector", 1)
    require(vector.shape == active.shape and bool((vector != 0).all()), "its vector does not match its support")
    vector = vector / np.abs(vector).max()
    vector = vector / (float(np.linalg.norm(vector)) * (1 + gamma(size + 8)))  # at most of unit length
    repair = array_of(evidence, "repair", 1) / prepared.unit
    require(repair.shape == (size,), "its repair has the wrong length")
    level = float(array_of(evidence, "level", 0)) / prepared.unit
    require(level >= 0, "its level is negative")
    # On S × S nothing is clipped, so the level must cover it.
    level = max(level, float((factor[active, 0] ** 2).max()) * (1 + gamma(4)))
    spread, stray = _clipping(factor, active, vector, np.where(_mask(active, size), 0.0, repair), level)
    panel = np.zeros((size, factor.shape[1] + 1))
    panel[:, :-1] = factor
    panel[active, -1] = math.sqrt(spread) * vector
    suggestion = float(array_of(evidence, "top", 0)) / prepared.unit - spread
    top = _deflated_top(prepared, panel, suggestion)
    # The last column is rounded: √e v is off by one rounding, and so is its square.
    top += spread * (1 + gamma(8)) + STRAY * stray
    return (top + sparsity * level) * (1 + gamma(8))


def _mask(indices: Indices, size: int) -> Mask:
    mask = np.zeros(size, dtype=bool)
    mask[indices] = True
    return mask


def _clipping(
    factor: Vector, active: Indices, vector: Vector, repair: Vector, level: float, pairs: int = PAIRS
) -> tuple[float, float]:
    """Bound ‖E‖ and ‖Ev‖."""
    size, width = factor.shape
    lengths = np.sqrt((factor**2).sum(axis=1)) * (1 + gamma(width + 4))
    panel = factor[active, 1:]
    whole = float(np.linalg.norm(factor)) * (1 + gamma(size * width))
    inner = stray_squared = 0.0
    if width > 1:
        gram = panel.T @ panel
        squares = float((panel**2).sum()) * (1 + gamma(panel.size + 4))
        inner = max(0.0, largest_eigenvalue((gram + gram.T) / 2, gamma(active.size + 4) * squares))
        there = panel @ (panel.T @ vector)
        slip = gamma(active.size + width + 8) * squares
        stray_squared += (float(np.linalg.norm(there)) + slip) ** 2
    others = np.flatnonzero(~_mask(active, size))
    reach = float(lengths[active].max())
    near = others[(lengths[others] * reach * (1 + gamma(4)) > level) | (repair[others] != 0)]
    signs, across = np.sign(vector), 0.0
    height = max(1, pairs // active.size)
    for start in range(0, near.size, height):
        rows = near[start : start + height]
        product = factor[rows] @ factor[active].T
        change = np.clip(product + repair[rows, None] * signs, -level, level) - product
        across += float((change**2).sum())
        stray_squared += float(((change @ vector) ** 2).sum())
    slip = gamma(width + 8) * (2 * whole**2 + math.sqrt(active.size) * (float(np.linalg.norm(repair)) + 2 * level))
    count = gamma(size * size)  # however the squares are summed
    across = math.sqrt(across) * (1 + count) + slip * math.sqrt(max(near.size, 1))
    stray = math.sqrt(stray_squared) * (1 + count) + slip * math.sqrt(max(near.size, 1)) + count * across
    ordered = others[np.argsort(-lengths[others])]
    beyond = math.sqrt(_clipped_squares(factor[ordered], lengths[ordered], level, pairs)) * (1 + count)
    beyond += gamma(width + 8) * (2 * whole**2)
    half = (inner - beyond) / 2
    # The vector may be a little shorter than one; a unit vector strays as much more.
    spread = (inner + beyond) / 2 + math.sqrt(half**2 + across**2)
    return spread * (1 + gamma(16)), stray * (1 + gamma(2 * size + 32))


def _clipped_squares(factor: Vector, lengths: Vector, level: float, pairs: int) -> float:
    """Sum the squares of what clipping takes off the products of rows, which are sorted by length.

    By the inequality of Cauchy and Schwarz short rows need no look.
    """
    total, start, size = 0.0, 0, factor.shape[0]
    while start < size:
        reach = int((lengths * lengths[start] * (1 + gamma(4)) > level).sum())
        if reach <= start:
            break
        stop = min(reach, start + max(1, pairs // (reach - start)))
        excess = np.maximum(np.abs(factor[start:stop] @ factor[start:reach].T) - level, 0.0)
        excess *= excess
        total += 2 * float(excess.sum()) - float(excess[:, : stop - start].sum())
        start = stop
    return total * (1 + gamma(size * size + 8))


def _deflated_top(prepared: Prepared, panel: Vector, suggestion: float) -> float:
    """Bound λ_max(FᵀF − VVᵀ), trying τ from the suggestion upwards.

    V is turned so that its columns are nearly orthogonal, which changes VVᵀ only by roundings, and every column is
    divided by the root of τ plus its squared length: then X is nearly the identity and no rounding is magnified.
    """
    depth, width = prepared.depth, panel.shape[1]
    length = float(np.linalg.norm(panel)) * (1 + gamma(panel.size))
    _, turn = np.linalg.eigh(panel.T @ panel)
    drift = float(np.linalg.norm(turn @ turn.T - np.eye(width))) + 2 * width * gamma(width + 4)
    require(drift < 0.01, "its factor has no usable axes")
    panel = panel @ turn
    turned_off = (drift + 4 * width * gamma(width + 8)) * length**2
    gram, product = np.zeros((depth, depth)), np.zeros((depth, width))
    for columns, block in prepared.blocks():
        gram += block @ block.T
        product += block @ panel[columns]
    inner = panel.T @ panel
    slip = gamma(prepared.size + 16)
    off_product = slip * math.sqrt(prepared.trace * width)
    floor = max(gamma(prepared.size + depth + 8) * prepared.trace, float(np.finfo(float).tiny) * 2**60)
    tau, slope, step = max(suggestion - turned_off, floor), 0.5, floor
    earlier: tuple[float, float] | None = None
    for _ in range(60):
        scale = 1 / np.sqrt(tau + np.diagonal(inner))
        system = (inner + tau * np.eye(width)) * np.outer(scale, scale)
        scaled = product * scale
        y = np.linalg.inv(system)
        y = (y + y.T) / 2
        norm_y, norm_system = float(np.linalg.norm(y)), float(np.linalg.norm(system)) + 2 * slip * width
        t = 2 * y - y @ system @ y
        t = (t + t.T) / 2
        # Entries of the scaled system are at most one and off by their roundings; so are the two products with it.
        off_t = 2 * norm_y**2 * slip * width + 4 * gamma(width + 16) * (norm_y + norm_y**2 * norm_system)
        norm_t = float(np.linalg.norm(t)) + off_t
        off_scaled = 2 * off_product + gamma(16) * float(np.linalg.norm(scaled))
        size_of = float(np.linalg.norm(scaled)) + off_scaled
        rest = gram - scaled @ t @ scaled.T
        doubt = slip * prepared.trace + gamma(2 * width + 16) * norm_t * size_of**2 + off_t * size_of**2
        doubt += 2 * norm_t * size_of * off_scaled + gamma(4) * (prepared.trace + norm_t * size_of**2)
        bound = largest_eigenvalue((rest + rest.T) / 2, doubt)
        if bound <= tau:
            return float(tau + turned_off)
        # The bound grows with τ, but more slowly: aim a little beyond where they meet.
        if earlier is not None and tau > earlier[0]:
            slope = min(max((bound - earlier[1]) / (tau - earlier[0]), 0.0), 0.99)
        earlier = tau, bound
        # Where the slope is nearly one that is too little, so steps at least double.
        tau += max(1.2 * (bound - tau) / (1 - slope), step)
        step *= 2
    require(False, "its largest eigenvalue could not be bounded")
    return math.inf
