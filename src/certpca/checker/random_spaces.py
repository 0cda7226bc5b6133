"""The largest eigenvalue of a large matrix, bounded but for a stated probability by products with a few random vectors.

The matrix is A = (I − QQᵀ)ZZᵀ(I − QQᵀ) of order d, which is never formed; Q, exactly as it is stored, is a basis of
what is left out. The probability is over random numbers that are drawn from the operating system for every check:
whoever wrote a certificate cannot have known them.

In exact arithmetic. Let λ be the largest eigenvalue of a positive semidefinite matrix A of order d, v a vector of it, θ
the largest Ritz value in the space V spanned by AʲB, j = 0, …, q, where the s columns of B are Gaussian, and suppose
θ < μ = (1 − ε)λ. Let b be the projection of v on the range of B, divided by its length c, which is b·v; and p(x) =
T_q(2x/μ − 1), which is at most one on [0, μ] and τ = T_q(2/(1 − ε) − 1) at λ. The Rayleigh quotient of p(A)b is at most
θ, so

    τ²c²(λ − θ) ≤ Σ_{λ_i < θ} p(λ_i)²b_i²(θ − λ_i) ≤ θ,      hence c ≤ √((1 − ε)/ε)/τ.

The range of B is uniform among all subspaces, so c² has the density x^{s/2−1}(1 − x)^{(d−s)/2−1}/B(s/2, (d − s)/2), and
c² ≤ t has probability at most t^{s/2} Γ(d/2)/(Γ(s/2 + 1)Γ((d − s)/2)) where d ≥ s + 2. (Kuczyński & Woźniakowski, SIAM
J. Matrix Anal. Appl. 13, 1992, study the same question for one vector.) All that chance decides is whether c is large
enough. Where it is, the bound holds after any number of products, so whoever asks may stop when the bound is good.

Allowance. Blocks S_0, …, S_q are computed. The spans V_j of the first j + 1 of them are nested exactly, and V_0
holds b up to `start`, which is what it misses of B divided by the smallest singular value of B. Let r_j be at least
‖(I − P_{j+1})AS_j‖ in the Frobenius norm, where P_j projects on V_j. The blocks are nearly orthonormal, so V_q has an
orthonormal basis with blocks Q_j that span the same V_j, and the E_j = (I − P_{j+1})AQ_j are together at most 1.1‖r‖.
The symmetric matrix A'' = A − Σ(E_jQ_jᵀ + Q_jE_jᵀ) maps V_j into V_{j+1}, for what Q_iE_iᵀ adds there lies in V_i with
i < j − 1. So p(A'') maps what is in V_0 of b into V_q, and the result differs from p(A)b by at most

    η = T_q(r') start + 2δ(U_{q−1}(r') + 2 Σ_{0<j<q} U_{q−1−j}(r')T_j(r)),

with δ = ‖A − A''‖/μ, r = 2/(1 − ε) − 1 and r' = r + 2δ, by the recurrence of the T_j. Then the same argument gives
c ≤ ((1 + η)√((1 − ε)/ε) + η)/τ, and ε is chosen so that the right side is the number that c exceeds but with the
stated probability, whatever the residuals turn out to be. Those are measured; the roundings of products with A are
bounded: each of its factors rounds relative to `norm` ≥ ‖Z‖, as whoever multiplies must see to, while the other is at
most √λ, so images are off by at most κ`norm`√λ. θ is a proved bound for the computed Rayleigh quotients.
A space that has grown to all directions there are needs no chance.
"""

import math
import secrets
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from certpca.checker.numbers import Vector, gamma, largest_eigenvalue, require
from certpca.results.certificate import FAILURE

STARTS = 16
USABLE_DRIFT = 1e-6


class Bounded(NamedTuple):
    """A bound on the largest eigenvalue, which Ritz values were `seen`, and by how much these may fall short."""

    bound: float
    seen: float
    short: float


class RandomSpace:
    """A Krylov space that grows by a block with every product; see above.

    Parameters
    ----------
    basis, drift
        Q, whose columns are nearly orthonormal, and how far from that they are.
    norm, terms
        At least ‖Z‖ in the Frobenius norm, as far as roundings of products with Z and Zᵀ are concerned, each of which
        rounds relative to it by at most γ of so many terms.
    """

    def __init__(self, basis: Vector, drift: float, norm: float, terms: int, starts: int = STARTS) -> None:
        self._basis, self._drift, self._norm, self._terms = basis, drift, norm, terms
        self.depth = int(basis.shape[0])
        self.starts = min(starts, self.depth)
        drawn = np.random.default_rng(secrets.randbits(256)).standard_normal((self.depth, self.starts))
        self._space: Vector = np.linalg.qr(drawn)[0]
        # How far any vector in the range of the random columns is from the first block, relative to its length.
        doubt = gamma(self.depth + 8) * float((drawn**2).sum())
        smallest = -largest_eigenvalue(-(drawn.T @ drawn), 2 * doubt)
        require(smallest > 0, "the checker's random numbers are dependent")
        missed = float(np.linalg.norm(drawn - self._space @ (self._space.T @ drawn)))
        missed += gamma(self.depth + self.starts + 8) * (self.starts + 2) * float(np.linalg.norm(drawn))
        self._start = missed / math.sqrt(smallest) * (1 + gamma(16))
        self._images: Vector = np.empty((self.depth, 0))
        self._residual = 0.0  # ‖r‖ without roundings
        self.products = 0

    @property
    def whole(self) -> bool:
        """Whether all directions there are have been multiplied."""
        return int(self._images.shape[1]) >= self.depth

    def panel(self) -> Vector:
        """Return what is to be multiplied by ZZᵀ next."""
        if self._images.shape[1] == self._space.shape[1]:
            self._grow()
        return self._project(self._space[:, self._images.shape[1] :])

    def take(self, image: Vector) -> None:
        """Take the product with the last panel."""
        self._images = np.concatenate([self._images, self._project(image)], axis=1)
        require(bool(np.isfinite(self._images).all()), "its numbers overflow")
        self.products += 1

    def rounds(self, norm: float, terms: int) -> None:
        """Say how products round, where that is known only after the first of them."""
        self._norm, self._terms = norm, terms

    def _project(self, panel: Vector) -> Vector:
        return np.asarray(panel - self._basis @ (self._basis.T @ panel))

    def _grow(self) -> None:
        space, last = self._space, self._images[:, -self.starts :]
        newest = last[:, : self.depth - space.shape[1]]
        for _ in range(3):  # what is left may be roundings alone, which have to be made orthogonal once more
            newest = np.linalg.qr(newest - space @ (space.T @ newest))[0]
        self._space = space = np.concatenate([space, newest], axis=1)
        self._residual = math.hypot(self._residual, float(np.linalg.norm(last - space @ (space.T @ last))))

    def bounded(self) -> Bounded:
        """Bound the largest eigenvalue from what has been multiplied so far, but with probability `FAILURE`."""
        depth, space, images = self.depth, self._space, self._images
        columns = space.shape[1]
        drift = float(np.linalg.norm(space.T @ space - np.eye(columns))) + gamma(depth + 4) * columns * 2
        usable = drift < USABLE_DRIFT and self._drift < USABLE_DRIFT
        require(usable, "its directions leave nothing that can be measured")
        # Each projection rounds relative to the norm of the basis, the products with Z and Zᵀ relative to that of Z.
        count = self._basis.shape[1]
        kappa = 3 * (math.sqrt(count) + 2) * gamma(depth + count + 32) + 2 * gamma(self._terms + 32)
        length = math.sqrt(columns) * (1 + drift)
        ritz = space.T @ images
        seen = float(np.linalg.norm(images)) * (1 + gamma(depth + columns))
        rounding = gamma(depth + 16) * length * seen
        # λ_max of what was computed; the images are off by κ√λ times the norm, which counts against λ itself below.
        theta = max(0.0, largest_eigenvalue((ritz + ritz.T) / 2, rounding)) / (1 - drift) * (1 + gamma(16))
        slip = kappa * self._norm * length
        if self.whole:
            return Bounded(_solved(theta, slip), theta, 0.0)
        own = (math.sqrt(columns) + 2) * gamma(depth + columns + 16) * seen  # of measuring the residuals

        def off(largest: float) -> float:
            return float(2.2 * (self._residual + own + slip * math.sqrt(largest)) / largest)

        epsilon = shortfall(depth, self.starts, self.products - 1, start=self._start, off=off, seen=theta)
        if epsilon >= 1.0:
            return Bounded(math.inf, theta, 1.0)
        return Bounded(_solved(theta / (1 - epsilon), slip / (1 - epsilon)), theta, epsilon)


def _solved(theta: float, off: float) -> float:
    """Return a λ with λ ≥ θ + off √λ, for every smaller one is excluded by λ ≤ θ + off √λ."""
    root = off / 2 + math.sqrt(off**2 / 4 + theta)
    return float(root * root * (1 + gamma(16)))


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

    `start` is how far random vectors are from the first block; `off` gives ‖A − A''‖/λ for the smallest λ that is
    not excluded, θ = `seen`.
    """
    if depth < starts + 2:
        return 1.0
    # What c stays above, except with that probability.
    power = math.lgamma(starts / 2 + 1) + math.lgamma((depth - starts) / 2) - math.lgamma(depth / 2)
    least = math.exp((math.log(failure) + power) / starts) * (1 - 1e-9)

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
