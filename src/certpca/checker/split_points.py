"""Features in a frame of sample space, the first directions of which are counted for each feature by itself.

E is square, with ‖EᵀE − I‖ ≤ δ < 1, so that FᵀF ⪯ HᵀH/(1 − δ) for H = EᵀF. A column of H is a feature: its first v
entries are what counts by itself, b the others. For a price w ≥ 0 of using the feature, Y ⪰ 0 with Y ⪰ bbᵀ − wI is

    Y = 0 where |b|² ≤ w,   and   Y = zzᵀ, z = ((b·g)b − wg)/√q for any g with q = (b·g)² − w|g|² > 0.

The g are those of weights p of directions and one number τ ≥ 0 for each feature: g_j = p_jb_j/(τ + p_j), which is best
where Σ p_jb_j²/(τ + p_j) = w and p is the density of the bound. Where q is not clearly positive g = b will do,
and Y = (1 − w/|b|²)bbᵀ.

Proof: docs/mathematics.md, 12.6.

Allowance. g is whatever was computed for it. With D entries in b and γ = γ_{2D+32}: b·g is off by γ_D|b||g|, |g|² and
|b|² by γ_D of themselves, so q by γ(3|b|² + w)|g|²; it is lowered by four times that, which only enlarges Y. Then z is
off by at most γ_{D+8}(|b|² + w)|g|/√q, division and root included; half of what is allowed.
"""

from dataclasses import dataclass

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.levels import SMALLEST_FORM
from certpca.checker.numbers import Vector, gamma, require

LARGEST_LOOSENESS = 0.25
LARGEST_ENTRY = 2.0


@dataclass(frozen=True, slots=True)
class Frame:
    """E, and bounds on ‖EᵀE − I‖ and on the Frobenius norm of E."""

    directions: Vector
    looseness: float
    size: float

    def lift(self, bound: float, prepared: Prepared) -> float:
        """Turn a bound for H as it was computed into one for the F at hand.

        The entries of a column a of H are off by γ_d|a| times the lengths of the directions.
        """
        off = gamma(prepared.depth + 16) * self.size * prepared.trace**0.5
        return float((max(bound, 0.0) ** 0.5 + off) ** 2 / (1 - self.looseness) * (1 + gamma(16)))


def frame_of(directions: Vector, depth: int) -> Frame:
    """Measure how far directions are from orthonormal."""
    require(directions.shape == (depth, depth), "its frame is not one of the sample space")
    require(float(np.abs(directions).max(initial=0.0)) <= LARGEST_ENTRY, "its frame has too long directions")
    gram = directions.T @ directions
    square = float(np.trace(gram)) * (1 + gamma(depth**2 + 8))
    gram[np.diag_indices(depth)] -= 1.0
    looseness = float(np.linalg.norm(gram)) * (1 + gamma(depth**2 + 8)) + gamma(depth + 8) * (square + 1)
    require(looseness <= LARGEST_LOOSENESS, "its frame is not close to orthonormal")
    return Frame(directions, looseness, square**0.5 * (1 + gamma(4)))


def priced_vectors(rest: Vector, weights: Vector, roots: Vector, prices: Vector) -> tuple[Vector, float]:
    """Return z of the features with these columns b, and the squared length of all their errors."""
    depth = rest.shape[0]
    squares, small = np.einsum("ij,ij->j", rest, rest), gamma(2 * depth + 32)
    with np.errstate(all="ignore"):  # what is not finite is replaced below
        leaning = weights[:, None] / (roots + weights[:, None])
        leaning *= rest
        inner, lengths = np.einsum("ij,ij->j", rest, leaning), np.einsum("ij,ij->j", leaning, leaning)
        q = inner**2 - prices * lengths
        lowered = q - 4 * small * (3 * squares + prices) * lengths
        root = np.sqrt(lowered)
        stray = 2 * small * (squares + prices) * np.sqrt(lengths) / root
        own, back = inner / root, prices / root
    usable = np.isfinite(own) & np.isfinite(back) & np.isfinite(stray) & (lowered > 0.5 * q) & (lowered > SMALLEST_FORM)
    paying = (prices > 0) & (prices < squares * (1 + gamma(depth + 8)))
    free, plain = prices == 0, paying & ~usable
    with np.errstate(all="ignore"):
        share = np.sqrt(np.maximum(1 - prices / squares, 0.0) + gamma(depth + 16))
    own = np.where(free, 1.0, np.where(plain, share, np.where(paying, own, 0.0)))
    back = np.where(paying & usable, back, 0.0)
    stray = np.where(paying & usable, stray, np.where(plain, gamma(4) * share * np.sqrt(squares), 0.0))
    leaning *= back
    z = rest * own
    z -= np.where(back == 0, 0.0, leaning)
    return z, float((stray**2).sum())
