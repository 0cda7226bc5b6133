"""A dual point in a few directions of sample space, and a bound for all others.

With orthonormal columns W in sample space and any x, |Fx|² = |WᵀFx|² + |Rx|², R = (I − WWᵀ)F. So

    Z* ≤ bound of WᵀF + min(λ_max(RRᵀ), the k largest squared columns of R).

The first term is that of `l0_dual`, with matrices that have as many rows as W has columns.

Proof: docs/mathematics.md, 6.1.

Allowance. Where W is only nearly orthonormal, WᵀW = I + Δ with |Δ| ≤ drift < 1: the projection on its range has |Πy|² ≤
|Wᵀy|²/(1 − drift), and I − Π = (I − Π)(I − WWᵀ), so that |(I − Π)y| ≤ |(I − WWᵀ)y|. Products with W round by
γ|W||F| in the Frobenius norm. λ_max(RRᵀ) is proved by a Cholesky factorisation.
"""

import math
from typing import NamedTuple

import numpy as np

from certpca.checker.columns import column_slices
from certpca.checker.data import Prepared
from certpca.checker.dual_points import POINT, point_of
from certpca.checker.limits import LARGEST_FACTORED
from certpca.checker.numbers import Vector, array_of, gamma, largest_eigenvalue, require
from certpca.checker.proved import Proved, bound_alone
from certpca.checker.read_ahead import read_ahead
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Form, features, up_to

SENTENCE = "a dual point along the leading directions of the samples, and a bound for all others"
EVIDENCE = {**POINT, "basis": Form("f", (features, up_to(LARGEST_FACTORED)))}


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Add the bounds for both parts of sample space."""
    del objective
    require(prepared.depth <= prepared.limits.largest_factored, "there are too many samples for a proof of this kind")
    lead = leading_part(prepared, certificate)
    rest = _rest(prepared, lead.basis, certificate.sparsity)
    return bound_alone(prepared, prepared.lift((lead.bound + rest) * (1 + gamma(8))))


class Leading(NamedTuple):
    """What the directions W (`basis`) add to the bound, and how far they are from orthonormal."""

    bound: float
    basis: Vector
    drift: float


def leading_part(prepared: Prepared, certificate: Certificate) -> Leading:
    """Evaluate the dual point along the directions that the evidence names."""
    evidence = certificate.evidence
    given = array_of(evidence, "basis", 2)
    require(given.shape[0] == prepared.depth, "its directions have the wrong length")
    require(1 <= given.shape[1] < prepared.depth, "it has no directions, or no fewer than there are samples")
    require(given.shape[1] <= prepared.limits.largest_factored, "it has too many directions")
    basis, triangle = np.linalg.qr(given)
    # Factorisations differ in signs; the density is written for directions as they are given.
    basis = basis * np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
    count = basis.shape[1]
    drift = float(np.linalg.norm(basis.T @ basis - np.eye(count))) + gamma(prepared.depth + 4) * count * 2
    require(drift < 0.01, "its directions cannot be made orthogonal")  # also where they are not numbers
    point = point_of(_along(prepared, basis, drift), evidence)
    bound = point.lift(certificate.sparsity * point.level + point.largest()) / (1 - drift)
    require(math.isfinite(bound), "its evidence proves nothing")
    return Leading(bound, basis, drift)


def _along(prepared: Prepared, basis: Vector, drift: float) -> Prepared:
    """Return WᵀF; its roundings are at most γ|W||F| in the Frobenius norm."""
    size_of = math.sqrt(basis.shape[1] * (1 + drift))

    def block(columns: slice) -> Vector:
        # Short columns are asked for many at a time, but made of long ones.
        few = column_slices(prepared.depth, columns.stop - columns.start)
        parts = (slice(columns.start + part.start, columns.start + part.stop) for part in few)
        return np.concatenate([basis.T @ part for _, part in read_ahead(parts, prepared.block)], axis=1)

    return Prepared(
        depth=basis.shape[1],
        size=prepared.size,
        block=block,
        form=prepared.form,
        dense=prepared.dense,
        error=gamma(prepared.depth + 8) * size_of * math.sqrt(prepared.trace) * 1.01,
        excess=0.0,
        trace=prepared.trace * (1 + drift) * 1.01,
        unit=prepared.unit,
        limits=prepared.limits,
    )


def _rest(prepared: Prepared, basis: Vector, k: int) -> float:
    """Bound what is left by its largest eigenvalue and by its k largest columns."""
    depth, size = prepared.depth, prepared.size
    total, squares = np.zeros((depth, depth)), np.empty(size)
    for columns, block in prepared.blocks():
        left = block - basis @ (basis.T @ block)
        total += left @ left.T
        squares[columns] = (left**2).sum(axis=0)
    trace = float(squares.sum()) * (1 + gamma(depth + size))
    top = largest_eigenvalue((total + total.T) / 2, gamma(size + 8) * trace)
    columns_only = float(np.sort(squares)[-k:].sum()) * (1 + gamma(depth + size))
    slip = projection_slip(prepared, basis)
    return (math.sqrt(max(min(top, columns_only), 0.0)) + slip) ** 2 * (1 + gamma(8))


def projection_slip(prepared: Prepared, basis: Vector) -> float:
    """Bound how far rounding can have moved R, in the Frobenius norm."""
    # Two products and a difference, each rounded relative to |W|, in the Frobenius norm, times |F|.
    count = basis.shape[1]
    return 4 * (math.sqrt(count) + 1) * gamma(prepared.depth + count + 16) * math.sqrt(prepared.trace)
