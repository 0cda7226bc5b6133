"""As `l0_reduced`, with λ_max(RRᵀ) bounded but for a stated probability, where there are many samples.

    Z* ≤ bound of WᵀF + λ,   with λ ≥ λ_max(RRᵀ) but for probability `FAILURE`, or the k largest squared columns of R.

The probability is over random numbers that are drawn from the operating system for every check: whoever wrote the
certificate cannot have known them.

In exact arithmetic. Let λ be the largest eigenvalue of a positive semidefinite matrix A of order d, θ the largest Ritz
value in the space V spanned by AʲB, j = 0, …, q, where the s columns of B are uniform on the sphere, and suppose
θ < μ = (1 − ε)λ. For a column b with component c along the leading eigenvector, and p(x) = T_q(2x/μ − 1), which is at
most one on [0, μ] and τ = T_q(2/(1 − ε) − 1) at λ, the Rayleigh quotient of p(A)b is at most θ, so

    τ²c²(λ − θ) ≤ Σ_{λ_i < θ} p(λ_i)²b_i²(θ − λ_i) ≤ θ,      hence |c| ≤ √((1 − ε)/ε)/τ.

Since c has density at most √(d/2π) at either side of zero, that has probability at most √(2d/π)√((1 − ε)/ε)/τ for one
column, and the s-th power of it for all of them. (Kuczyński & Woźniakowski, SIAM J. Matrix Anal. Appl. 13, 1992, study
the same question with sharper constants.)

Allowance. Blocks S_0, …, S_q are computed. The spans V_j of the first j + 1 of them are nested exactly, and V_0
holds the columns of B up to `start`. Let r_j ≥ ‖(I − P_{j+1})AS_j‖, in the Frobenius norm, where P_j projects on V_j.
The blocks are nearly orthonormal, so V_q has an orthonormal basis with blocks Q_j that span the same V_j, and the
E_j = (I − P_{j+1})AQ_j are together at most 1.1‖r‖. The symmetric matrix A'' = A − Σ(E_jQ_jᵀ + Q_jE_jᵀ) maps V_j into
V_{j+1}, for what Q_iE_iᵀ adds there lies in V_i with i < j − 1. So p(A'') maps what is in V_0 of b into V_q, and the
result differs from p(A)b by at most

    η = T_q(r') start + 2δ(U_{q−1}(r') + 2 Σ_{0<j<q} U_{q−1−j}(r')T_j(r)),

with δ = ‖A − A''‖/μ, r = 2/(1 − ε) − 1 and r' = r + 2δ, by the recurrence of the T_j. Then the same argument gives
|c| ≤ ((1 + η)√((1 − ε)/ε) + η)/τ, and ε is chosen so that the right side is the number that |c| exceeds in some column
but with the stated probability, whatever the residuals turned out to be. Those are measured; the roundings of products
with A are bounded: A = RRᵀ is never formed, and each of its factors rounds relative to ‖F‖ while the other is at most
√λ, so images are off by at most κ‖F‖√λ. θ is a proved bound for the computed Rayleigh quotients.
"""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import Vector, gamma, largest_eigenvalue, require
from certpca.checker.proved import Proved, bound_alone
from certpca.checker.rules import l0_reduced
from certpca.checker.rules.l0_reduced import leading_part, projection_slip
from certpca.results.certificate import FAILURE, Certificate

SENTENCE = f"{l0_reduced.SENTENCE} that holds unless the checker's random numbers mislead (probability {FAILURE:g})"
EVIDENCE = l0_reduced.EVIDENCE
STARTS, PRODUCTS = 16, 14
OTHER_DRAWS = 0.02  # relative; by how much Ritz values of other random numbers may be larger. A tenth of it was seen.
USABLE_DRIFT = 1e-6
HOPELESS = 0.5


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Add the bounds for both parts of sample space, as proved now and as other random numbers will confirm it."""
    del objective
    lead = leading_part(prepared, certificate)
    rest = _random_rest(prepared, lead.basis, lead.drift, certificate.sparsity)
    again = (lead.bound + rest * (1 + OTHER_DRAWS)) * (1 + gamma(8))
    bound = prepared.lift((lead.bound + rest) * (1 + gamma(8)))
    return bound_alone(prepared, bound, prepared.lift(again))


def _longest_columns(prepared: Prepared, basis: Vector, k: int) -> float:
    """Bound what is left by its k largest columns."""
    squares = np.empty(prepared.size)
    for columns, block in prepared.blocks():
        squares[columns] = ((block - basis @ (basis.T @ block)) ** 2).sum(axis=0)
    together = float(np.sort(squares)[-k:].sum()) * (1 + gamma(prepared.depth + prepared.size))
    return (math.sqrt(together) + projection_slip(prepared, basis)) ** 2 * (1 + gamma(8))


@dataclass(slots=True)
class _Krylov:
    """Blocks of a space and their images, with how far all that is from what exact arithmetic would give.

    `start`: how far the random columns are from the first block, relative to their lengths. `drift`: how far the blocks
    are from orthonormal ones. `residual`: ‖r‖ without roundings.
    """

    space: Vector
    images: Vector
    start: float
    drift: float
    residual: float


def _random_rest(prepared: Prepared, basis: Vector, drift: float, k: int) -> float:
    """Bound the largest eigenvalue of what is left, except with probability `FAILURE`."""
    depth, size, count = prepared.depth, prepared.size, basis.shape[1]
    starts = min(STARTS, depth)
    degree = min(PRODUCTS, depth // starts) - 1
    drawn = np.random.default_rng(secrets.randbits(256)).standard_normal((depth, starts))
    found = _krylov(prepared, basis, drawn, degree)
    columns = found.space.shape[1]
    require(found.drift < USABLE_DRIFT and drift < USABLE_DRIFT, "its directions leave nothing that can be measured")
    # Each projection rounds relative to the norm of W, the products with F and Fᵀ relative to that of F.
    kappa = 3 * (math.sqrt(count) + 2) * gamma(depth + count + 32) + 2 * gamma(depth + size + 32)
    length = math.sqrt(columns) * (1 + found.drift)
    ritz = found.space.T @ found.images
    seen = float(np.linalg.norm(found.images)) * (1 + gamma(depth + columns))
    rounding = gamma(depth + 16) * length * seen
    # λ_max of what was computed; the images are off by κ√(λ|F|²), which counts against λ itself below.
    theta = max(0.0, largest_eigenvalue((ritz + ritz.T) / 2, rounding)) / (1 - found.drift) * (1 + gamma(16))
    slip = kappa * math.sqrt(prepared.trace) * length
    if columns >= depth:
        return _solved(theta, slip)
    own = (math.sqrt(columns) + 2) * gamma(depth + columns + 16) * seen  # of measuring the residuals

    def off(largest: float) -> float:
        return 2.2 * (found.residual + own + slip * math.sqrt(largest)) / largest

    start = found.start + gamma(depth + 16) * starts
    epsilon = shortfall(depth, starts, degree, start=start, off=off, seen=theta)
    if epsilon > HOPELESS:  # what is left is so small that roundings hide it
        return _longest_columns(prepared, basis, k)
    return _solved(theta / (1 - epsilon), slip / (1 - epsilon))


def _solved(theta: float, off: float) -> float:
    """Return a λ with λ ≥ θ + off √λ, for every smaller one is excluded by λ ≤ θ + off √λ."""
    return (off / 2 + math.sqrt(off**2 / 4 + theta)) ** 2 * (1 + gamma(16))


def _krylov(prepared: Prepared, basis: Vector, drawn: Vector, degree: int) -> _Krylov:
    """Span the space of the drawn columns and `degree` products with what is left."""
    starts = drawn.shape[1]

    def project(panel: Vector) -> Vector:
        return np.asarray(panel - basis @ (basis.T @ panel))

    def product(panel: Vector) -> Vector:
        inside, image = project(panel), np.zeros(panel.shape[::-1])
        for _, block in prepared.blocks():
            image += (block.T @ inside).T @ block.T  # a third of the time of the same product turned round
        return project(image.T)

    space = np.linalg.qr(drawn)[0]
    lengths = np.sqrt((drawn**2).sum(axis=0))
    start = float(np.linalg.norm((drawn - space @ (space.T @ drawn)) / lengths))
    images = newest = product(space)
    residual = 0.0
    for _ in range(degree):
        for _ in range(3):  # what is left may be roundings alone, which have to be made orthogonal once more
            newest = np.linalg.qr(newest - space @ (space.T @ newest))[0]
        space = np.concatenate([space, newest], axis=1)
        last = images[:, -starts:]
        residual = math.hypot(residual, float(np.linalg.norm(last - space @ (space.T @ last))))
        newest = product(newest)
        images = np.concatenate([images, newest], axis=1)
    columns = space.shape[1]
    drift = float(np.linalg.norm(space.T @ space - np.eye(columns))) + gamma(prepared.depth + 4) * columns * 2
    require(bool(np.isfinite(images).all()) and math.isfinite(drift), "its numbers overflow")
    return _Krylov(space, images, start, drift, residual)


def shortfall(
    depth: int,
    starts: int,
    degree: int,
    *,
    start: float = 0.0,
    off: Callable[[float], float] = lambda largest: 0.0 * largest,
    seen: float = 1.0,
    failure: float = FAILURE,
) -> float:
    """Return an ε by which the Ritz value falls short with probability at most `failure`; one where there is none.

    `start` is as in `_Krylov`; `off` gives ‖A − A''‖/λ for the smallest λ that is not excluded, θ = `seen`.
    """
    # What |c| stays above, in at least one column, except with that probability.
    least = math.exp(math.log(failure) / starts) / math.sqrt(2 * depth / math.pi)

    def enough(epsilon: float) -> bool:
        largest = seen / (1 - epsilon)
        delta = off(largest) / (1 - epsilon) if largest > 0 else math.inf
        outer = 2 / (1 - epsilon) - 1
        wider = outer + 2 * delta
        if not degree * math.acosh(wider) < 600:  # of such numbers nothing would be left
            return False
        first, second, other = _chebyshev(outer, degree), _chebyshev(wider, degree), _second_kind(wider, degree)
        share = math.sqrt((1 - epsilon) / epsilon)
        for q in range(1, degree + 1):  # the space holds polynomials of smaller degree too, which magnify less
            mixed = other[q - 1] + 2 * sum(other[q - 1 - j] * first[j] for j in range(1, q))
            eta = second[q] * start + 2 * delta * mixed
            if ((1 + eta) * share + eta) * (1 + 1e-9) <= least * first[q]:
                return True
        return False

    low, high = 1e-9, 1 - 1e-9
    if not enough(high):
        return 1.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _chebyshev(x: float, degree: int) -> list[float]:
    """Return T_0, …, T_degree at x ≥ 1."""
    values = [1.0, x]
    while len(values) <= degree:
        values.append(2 * x * values[-1] - values[-2])
    return values


def _second_kind(x: float, degree: int) -> list[float]:
    """Return U_0, …, U_degree at x ≥ 1."""
    values = [1.0, 2 * x]
    while len(values) <= degree:
        values.append(2 * x * values[-1] - values[-2])
    return values
