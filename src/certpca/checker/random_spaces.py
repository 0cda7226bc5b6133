"""The largest eigenvalue of a large matrix, bounded but for a stated probability by products with a few random vectors.

The matrix is A = (I − QQᵀ)ZZᵀ(I − QQᵀ) of order d, which is never formed; Q, exactly as it is stored, is a basis of
what is left out. The probability is over random numbers that are drawn from the operating system for every check:
whoever wrote a certificate cannot have known them.

In exact arithmetic. Let v be a unit eigenvector of A for its largest eigenvalue λ, s columns of G Gaussian, b the
unit vector in their range for which c = b·v is largest, and p(x) = Π(x − ρ_i) with q numbers ρ_i < λ₀. Then p(λ)c =
v·p(A)b ≤ |p(A)b|, so c ≤ |p(A)b|/p(λ₀) if λ ≥ λ₀, as p grows beyond the ρ_i. The largest of these |p(A)b| over the
range of G is known after q products. The range is uniform among all subspaces, so c² has the density x^{s/2−1}(1 −
x)^{(d−s)/2−1}/B(s/2, (d − s)/2), and c² ≤ t has probability at most t^{s/2} Γ(d/2)/(Γ(s/2 + 1)Γ((d − s)/2)) where d ≥
s + 2. So but with the stated probability c exceeds a number, and λ < λ₀ for every λ₀ at which some p shows that it
does not. (Kuczyński & Woźniakowski, SIAM J. Matrix Anal. Appl. 13, 1992, study the same question for one vector and
Ritz values.) All that chance decides is whether c is large enough. Where it is, the bound holds after any number of
products and for all p at once, so whoever asks may stop when it is good, and p may depend on all that was seen. The
best p for the spectrum as the random vectors see it on the average has the nodes of its quadrature with λ₀ as one
more node for roots (Gauss and Radau).

Allowance. The columns of S = (S_0, …, S_q) are nearly orthonormal, |SᵀS − I| ≤ drift, and those of S_0 miss b by at
most `start`, which is what they miss of G divided by its smallest singular value: |b − S_0β| ≤ start, |β| ≤ 1.01. M
is any matrix whose block (i, j) is zero for i > j + 1, and E = A(S_0, …, S_{q−1}) − SM. Let Ξ_0 hold the coordinates
of S_0 and

    (λ₀ − ρ_i)Ξ_i = (M − ρ_i)Ξ_{i−1} + Δ_i,     Δ_i the roundings.

As Av = λv, (λ − ρ_i)v·SΞ_{i−1}β = v·(S(M − ρ_i) + E)Ξ_{i−1}β = (λ₀ − ρ_i)v·SΞ_iβ + v·(EΞ_{i−1} − SΔ_i)β, so for λ ≥
λ₀

    c ≤ start + 1.01(√(1 + drift)‖Ξ_q‖ + Σ_i (‖E‖‖Ξ_{i−1}‖ + 1.01‖Δ_i‖)/(λ₀ − ρ_i)).

E is measured, but for the roundings of products with A. Each of its factors rounds relative to `norm` ≥ ‖Z‖, as
whoever multiplies must see to, while the other is at most √λ, so images are off by at most κ`norm`√λ, and √λ/(λ −
ρ_i) falls with λ: it is largest at λ₀. A space that has grown to all directions there are needs no chance.
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
STEPS, NEAR = 60, 1e-4  # towards the smallest λ₀, and how near is near enough, relative


class Bounded(NamedTuple):
    """A bound on the largest eigenvalue, which Ritz values were `seen`, and by what share these may fall short."""

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
        self._ends = [self.starts]  # of blocks
        self.products = 0

    @property
    def whole(self) -> bool:
        """Whether all directions there are have been multiplied."""
        return int(self._images.shape[1]) >= self.depth

    def panel(self) -> Vector:
        """Return what is to be multiplied by ZZᵀ next."""
        return self._project(self._space[:, self._images.shape[1] :])

    def take(self, image: Vector) -> None:
        """Take the product with the last panel."""
        self._images = np.concatenate([self._images, self._project(image)], axis=1)
        require(bool(np.isfinite(self._images).all()), "its numbers overflow")
        self.products += 1
        if self._space.shape[1] < self.depth:
            self._grow(self._images[:, -image.shape[1] :])

    def rounds(self, norm: float, terms: int) -> None:
        """Say how products round, where that is known only after the first of them."""
        self._norm, self._terms = norm, terms

    def _project(self, panel: Vector) -> Vector:
        return np.asarray(panel - self._basis @ (self._basis.T @ panel))

    def _grow(self, last: Vector) -> None:
        space = self._space
        newest = last[:, : self.depth - space.shape[1]]
        for _ in range(3):  # what is left may be roundings alone, which have to be made orthogonal once more
            newest = np.linalg.qr(newest - space @ (space.T @ newest))[0]
        self._space = np.concatenate([space, newest], axis=1)
        self._ends.append(int(self._space.shape[1]))

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
        coordinates = space.T @ images
        multiplied = images.shape[1]
        ritz = coordinates[:multiplied]
        seen = float(np.linalg.norm(images)) * (1 + gamma(depth + columns))
        rounding = gamma(depth + 16) * length * seen
        # λ_max of what was computed; the images are off by κ√λ times the norm, which counts against λ itself below.
        theta = max(0.0, largest_eigenvalue((ritz + ritz.T) / 2, rounding)) / (1 - drift) * (1 + gamma(16))
        slip = kappa * self._norm * length
        if self.whole:
            return Bounded(_solved(theta, slip), theta, 0.0)
        begin = 0
        for end, last in zip(self._ends, self._ends[1:], strict=False):
            coordinates[last:, begin:end] = 0.0
            begin = end
        size = float(np.linalg.norm(coordinates))
        residual = float(np.linalg.norm(images - space @ coordinates)) * (1 + gamma(depth + columns))
        residual += gamma(columns + 16) * (seen + length * size)

        def off(largest: float) -> float:
            return float((residual + slip * math.sqrt(largest)) * (1 + gamma(16)))

        seen_by = Recurrence(coordinates, self._ends[: self.products + 1], off)
        bound = excluded_from(seen_by, least_cosine(depth, self.starts), self._start, drift, theta)
        return Bounded(bound, theta, max(0.0, 1 - theta / bound) if bound > 0 else 0.0)


class Recurrence(NamedTuple):
    """M, where its blocks end, and what ‖E‖ is at most for the smallest λ that is not excluded."""

    matrix: Vector
    ends: list[int]
    off: Callable[[float], float]


def least_cosine(depth: int, starts: int, failure: float = FAILURE) -> float:
    """Return what c stays above, except with that probability; nothing where there are too few directions."""
    if depth < starts + 2:
        return 0.0
    power = math.lgamma(starts / 2 + 1) + math.lgamma((depth - starts) / 2) - math.lgamma(depth / 2)
    return math.exp((math.log(failure) + power) / starts) * (1 - 1e-9)


def excluded_from(seen_by: Recurrence, least: float, start: float, drift: float, theta: float) -> float:
    """Return a λ₀ that no eigenvalue reaches if c is at least `least`; infinity where none is found."""
    if not start < 1e-3:  # |β| ≤ 1.01 counts on that
        return math.inf
    measure = _measure(seen_by)

    def excluded(largest: float) -> bool:
        roots = np.clip(_radau(*measure, len(seen_by.ends) - 1, largest), 0.0, 0.99 * largest)
        return largest_cosine(seen_by, roots, largest, start, drift) < least

    low = max(float(theta), float(np.finfo(float).tiny) ** 0.5)
    high, factor = low, 1.0 + 2.0**-8
    while not excluded(high):
        low, high, factor = high, high * factor, min(factor**2, 2.0**40)
        if not high < theta * 2.0**20 + 1.0:  # such a bound would be of no use
            return math.inf
    for _ in range(STEPS):
        if high - low <= NEAR * high:
            break
        middle = math.sqrt(low * high)
        low, high = (low, middle) if excluded(middle) else (middle, high)
    return float(high * (1 + gamma(16)))  # λ − ρ is then at least the rounded λ₀ − ρ


def largest_cosine(seen_by: Recurrence, roots: Vector, largest: float, start: float, drift: float) -> float:
    """Bound c if the largest eigenvalue is `largest` or more, by the polynomial with these roots."""
    matrix, ends, off = seen_by
    columns, size = matrix.shape[0], float(np.linalg.norm(matrix))
    held = np.zeros((columns, ends[0]))
    held[: ends[0]] = np.eye(ends[0])
    errors = 0.0
    for root, end in zip(roots.tolist(), ends, strict=False):
        long, apart = float(np.linalg.norm(held)) * (1 + gamma(columns * ends[0])), largest - root
        errors += (off(largest) + 2 * gamma(columns + 16) * (size + root)) * long / apart
        held = (matrix[:, :end] @ held[:end] - root * held) / apart
        if not np.isfinite(held).all():
            return math.inf
    square = held.T @ held
    doubt = gamma(columns + 16) * float(np.linalg.norm(held)) ** 2
    reached = math.sqrt(max(largest_eigenvalue((square + square.T) / 2, 2 * doubt), 0.0))
    return float((start + 1.01 * (reached * (1 + drift) + 1.01 * errors)) * (1 + gamma(64)))


def _measure(seen_by: Recurrence) -> tuple[Vector, Vector]:
    """Return about where the spectrum lies that random vectors see on the average, and how much of it."""
    matrix, ends = seen_by.matrix, seen_by.ends
    whole, multiplied = np.zeros((matrix.shape[0], matrix.shape[0])), matrix.shape[1]
    whole[:, :multiplied] = matrix
    whole[:multiplied, multiplied:] = matrix[multiplied:].T
    values, vectors = np.linalg.eigh((whole + whole.T) / 2)
    return np.maximum(values, 0.0), np.square(vectors[: ends[0]]).sum(axis=0)


def _radau(values: Vector, weights: Vector, degree: int, fixed: float) -> Vector:
    """Return about the nodes of the quadrature for such a spectrum that has one more node, the `fixed` one."""
    basis = [np.sqrt(weights / weights.sum())]
    jacobi = np.zeros((degree + 1, degree + 1))
    for at in range(degree):
        image = values * basis[at]
        jacobi[at, at] = basis[at] @ image
        for _ in range(2):
            for other in basis:
                image = image - (other @ image) * other
        length = float(np.linalg.norm(image))
        jacobi[at, at + 1] = jacobi[at + 1, at] = length
        basis.append(image / max(length, float(np.finfo(float).tiny)))
    inner, last = fixed * np.eye(degree) - jacobi[:degree, :degree], np.eye(degree)[-1]
    try:
        jacobi[-1, -1] = fixed - jacobi[-1, -2] ** 2 * float(last @ np.linalg.solve(inner, last))
        return np.asarray(np.linalg.eigvalsh(jacobi)[:-1], dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.zeros(degree)


def _solved(theta: float, off: float) -> float:
    """Return a λ with λ ≥ θ + off √λ, for every smaller one is excluded by λ ≤ θ + off √λ."""
    root = off / 2 + math.sqrt(off**2 / 4 + theta)
    return float(root * root * (1 + gamma(16)))
