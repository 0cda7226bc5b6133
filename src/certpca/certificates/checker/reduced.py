"""The dual bound in a few directions of sample space, and a bound for all others.

With orthonormal columns W in sample space and any x, |Fx|² = |WᵀFx|² + |(I − WWᵀ)Fx|². The first term is at most the
dual bound of WᵀF, whose matrices have as many rows as W has columns. The second is at most the largest eigenvalue of
RRᵀ, R = (I − WWᵀ)F, and at most the sum of the k largest squared columns of R.

Where W is only nearly orthonormal, WᵀW = I + Δ with |Δ| ≤ drift < 1: the projection on its range has |Πy|² ≤
|Wᵀy|²/(1 − drift), and I − Π = (I − Π)(I − WWᵀ), so that |(I − Π)y| ≤ |(I − WWᵀ)y|.

The largest eigenvalue of RRᵀ is proved by a factorisation where there are few samples. Where there are many, it is
bounded with a stated probability over random numbers that depend on the data and the evidence in a way nobody controls.
Let λ be the largest eigenvalue of a positive semidefinite matrix A of order d, θ the largest Ritz value in the space
spanned by AʲB, j = 0, …, q, where the s columns of B are uniform on the sphere, and suppose θ < μ = (1 − ε)λ. For a
column b with component c along the leading eigenvector, and p(x) = T_q(2x/μ − 1), which is at most one on [0, μ] and
τ = T_q(2/(1 − ε) − 1) at λ, the Rayleigh quotient of p(A)b is at most θ, so

    τ²c²(λ − θ) ≤ Σ_{λ_i < θ} p(λ_i)²b_i²(θ − λ_i) ≤ θ,      hence c² ≤ (1 − ε)/(ετ²).

Since c has density at most √(d/2π) at either side of zero, that has probability at most √(2d/π)√((1 − ε)/ε)/τ for one
column, and the s-th power of it for all of them. (Kuczyński & Woźniakowski, SIAM J. Matrix Anal. Appl. 13, 1992, study
the same question with sharper constants.) Arithmetic is not exact here: θ is raised by `ARITHMETIC`, far more than the
roundings of products that are orthogonalised again and again.
"""

import math
from hashlib import blake2b

import numpy as np

from certpca.arrays import Vector
from certpca.certificates.checker.columns import column_slices
from certpca.certificates.checker.data import Prepared
from certpca.certificates.checker.dual import point_of
from certpca.certificates.checker.numbers import array_of, gamma, largest_eigenvalue, require
from certpca.read_ahead import read_ahead
from certpca.result import FAILURE, Certificate

LARGEST_FACTORED = 8192
STARTS, PRODUCTS = 16, 14
ARITHMETIC = 1e-3


def reduced_bound(prepared: Prepared, certificate: Certificate, *, random: bool) -> float:
    """Add the bounds for both parts of sample space."""
    evidence, k = certificate.evidence, certificate.sparsity
    given = array_of(evidence, "basis", 2)
    require(given.shape[0] == prepared.depth, "its directions have the wrong length")
    require(1 <= given.shape[1] < prepared.depth, "it has no directions, or no fewer than there are samples")
    require(random or prepared.depth <= LARGEST_FACTORED, "there are too many samples for a proof of this kind")
    basis, triangle = np.linalg.qr(given)
    # Factorisations differ in signs; the density is written for directions as they are given.
    basis = basis * np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
    count = basis.shape[1]
    drift = float(np.linalg.norm(basis.T @ basis - np.eye(count))) + gamma(prepared.depth + 4) * count * 2
    require(drift < 0.01, "its directions cannot be made orthogonal")  # also where they are not numbers
    inner = _along(prepared, basis, drift)
    point = point_of(inner, evidence, "")
    lead = point.lift(k * point.level + point.largest()) / (1 - drift)
    require(math.isfinite(lead), "its evidence proves nothing")
    rest = _random_rest(prepared, basis, certificate) if random else _rest(prepared, basis, k)
    return prepared.lift((lead + rest) * (1 + gamma(8)))


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
    # Two products and a difference, each rounded relative to |W|, in the Frobenius norm, times |F|.
    count = basis.shape[1]
    slip = 4 * (math.sqrt(count) + 1) * gamma(depth + count + 16) * math.sqrt(prepared.trace)
    return (math.sqrt(max(min(top, columns_only), 0.0)) + slip) ** 2 * (1 + gamma(8))


def _random_rest(prepared: Prepared, basis: Vector, certificate: Certificate) -> float:
    """Bound the largest eigenvalue of what is left, except with probability `FAILURE`."""
    depth = prepared.depth
    starts, products = min(STARTS, depth), PRODUCTS
    mixed = blake2b(certificate.fingerprint.encode(), digest_size=16)
    for name in ("basis", "density", "level"):
        mixed.update(np.ascontiguousarray(certificate.evidence[name]).tobytes())
    rng = np.random.default_rng(int.from_bytes(mixed.digest()))

    def project(panel: Vector) -> Vector:
        return np.asarray(panel - basis @ (basis.T @ panel))

    def product(panel: Vector) -> Vector:
        inside, image = project(panel), np.zeros(panel.shape[::-1])
        for _, block in prepared.blocks():
            image += (block.T @ inside).T @ block.T  # a third of the time of the same product turned round
        return project(image.T)

    space = np.linalg.qr(rng.standard_normal((depth, starts)))[0]
    images = product(space)
    newest = images
    for _ in range(min(products, depth // starts) - 1):
        for _ in range(2):
            newest = newest - space @ (space.T @ newest)
        newest = np.linalg.qr(newest)[0]
        space = np.concatenate([space, newest], axis=1)
        newest = product(newest)
        images = np.concatenate([images, newest], axis=1)
    ritz = space.T @ images
    value = float(np.linalg.eigvalsh((ritz + ritz.T) / 2)[-1])
    require(math.isfinite(value), "its numbers overflow")
    degree = space.shape[1] // starts - 1
    if space.shape[1] >= depth:
        return max(value, 0.0) * (1 + ARITHMETIC)
    return max(value, 0.0) * (1 + ARITHMETIC) / (1 - shortfall(depth, starts, degree))


def shortfall(depth: int, starts: int, degree: int) -> float:
    """Return the smallest ε by which the Ritz value falls short with probability at most `FAILURE`."""
    wanted = math.log(FAILURE) / starts

    def log_failure(epsilon: float) -> float:
        growth = degree * math.acosh(2 / (1 - epsilon) - 1)
        chebyshev = growth + math.log1p(math.exp(-2 * growth)) - math.log(2)
        return 0.5 * math.log(2 * depth / math.pi) + 0.5 * math.log((1 - epsilon) / epsilon) - chebyshev

    low, high = 1e-9, 1 - 1e-9
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if log_failure(middle) <= wanted else (middle, high)
    return high
