"""A level that is a matrix, R = rI + WSWᵀ, as evidence gives it, and the proof that it is positive semidefinite.

r ≥ 0, W and S are taken exactly as they are read (after scaling by powers of two, which may drop numbers below the
normal range: R is made of what is left).

R ⪰ 0. Let L hold the lengths of the columns of W, or any other positive numbers. With τ ≥ λ_max(−LSL) and
σ ≥ λ_max(L⁻¹WᵀWL⁻¹), both proved, ξᵀRξ ≥ r|ξ|² − max(τ, 0)|L⁻¹Wᵀξ|² ≥ (r − max(τ, 0)σ)|ξ|². This `least`
eigenvalue must not be negative; nothing is asked of W, which may be far from orthonormal. Entries of LSL round twice,
so the matrix is off by at most γ_4 of its Frobenius norm; those of L⁻¹WᵀWL⁻¹ are at most one and off by γ_{d+4}.

‖R‖ is at most ϱ = r + Σ_ij l_i|S_ij|l_j, with the lengths l of the columns of W; so is, in the Frobenius norm, what
forming R adds up in absolute value, entry by entry.

Underflow. Columns of W have their largest entry between one half and one, or are zero; S, r and prices are at most 2¹⁰⁰
in units in which the data are near one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import Vector, array_of, gamma, indices_of, largest_eigenvalue, require

LARGEST_LEVEL = 2.0**100
SMALLEST_FORM = 2.0**-200  # of anything that is divided by


@dataclass(frozen=True, slots=True)
class Level:
    """R = rI + WSWᵀ (`number`, `directions`, `matrix`), ϱ ≥ ‖R‖ (`size`), and `least`, which no eigenvalue is below.

    `gram` is WᵀW, rounded, and `lengths` are at least those of the columns of W. `scales`, which directions were
    divided by, `frame`, `weights` and `rest_weight` only suggest vectors c; so does `inverse`, about (rI + SWᵀW)⁻¹S,
    for R⁻¹a.
    """

    number: float
    directions: Vector
    matrix: Vector
    size: float
    least: float
    gram: Vector
    lengths: Vector
    scales: Vector
    frame: Vector
    weights: Vector
    rest_weight: float
    inverse: Vector | None

    def times(self, vectors: Vector) -> Vector:
        """Return about R vectors."""
        within = self.directions @ (self.matrix @ (self.directions.T @ vectors))
        product: Vector = within + self.number * vectors
        return product

    def formed(self) -> Vector:
        """Return R, off by at most γ_{2m+4}ϱ in norm."""
        whole: Vector = (self.directions @ self.matrix) @ self.directions.T
        whole[np.diag_indices(whole.shape[0])] += self.number
        both: Vector = whole + whole.T
        both *= 0.5
        return both


def level_of(prepared: Prepared, evidence: Mapping[str, Any]) -> Level:
    """Read a level, refusing one that is not positive semidefinite, and what suggests dual matrices for it."""
    directions = array_of(evidence, "directions", 2)
    depth, width = directions.shape
    require(depth == prepared.depth and 1 <= width <= depth, "its directions have the wrong form")
    packed, frame = array_of(evidence, "matrix", 1), array_of(evidence, "frame", 2)
    weights = array_of(evidence, "weights", 1)
    require(packed.size == width * (width + 1) // 2, "the matrix of its level has the wrong size")
    require(frame.shape == (width, width) and weights.size == width + 1, "its frame or weights have the wrong size")
    number = float(array_of(evidence, "level", 0)) / prepared.unit
    matrix = np.zeros((width, width))
    matrix[np.tril_indices(width)] = packed / prepared.unit
    matrix = matrix + np.tril(matrix, -1).T
    # Powers of two bring every direction near one; what that drops, R does without.
    powers = np.frexp(np.abs(directions).max(axis=0))[1]
    directions = np.ldexp(directions, -powers)
    with np.errstate(over="ignore"):  # and is refused
        matrix = np.ldexp(matrix, powers[:, None] + powers[None, :])
    matrix[np.abs(matrix) < 2.0**-400] = 0.0
    largest = max(float(np.abs(matrix).max()), number)
    require(number >= 0 and largest <= LARGEST_LEVEL, "its level is negative or too large")
    gram = directions.T @ directions
    lengths = np.linalg.norm(directions, axis=0) * (1 + gamma(depth + 4))
    least = number - _below_zero(directions, matrix, gram) * (1 + gamma(4))
    require(least >= 0, "its level is not positive semidefinite")
    size = (number + float(lengths @ np.abs(matrix) @ lengths)) * (1 + gamma(2 * width + 8))
    inverse = None
    if least > SMALLEST_FORM:
        try:
            inverse = np.linalg.inv(np.eye(width) * number + matrix @ gram) @ matrix
        except np.linalg.LinAlgError:
            inverse = None
    scales, frame = np.ldexp(1.0, powers), frame * math.sqrt(prepared.unit)
    weights = np.abs(weights)
    suggestions = scales, frame, weights[:-1], float(weights[-1]), inverse
    return Level(number, directions, matrix, size, least, gram, lengths, *suggestions)


def prices_of(prepared: Prepared, evidence: Mapping[str, Any]) -> Vector:
    """Read a price for each feature, zero where nothing is said, refusing those that are negative."""
    prices = np.zeros(prepared.size)
    if "prices" in evidence:
        priced, given = indices_of(evidence, "priced", prepared.size), array_of(evidence, "prices", 1)
        require(given.size == priced.size, "its prices are not one for each feature that has one")
        require(bool((given >= 0).all()), "a price is negative")
        prices[priced] = given / prepared.unit
        require(float(prices.max()) <= LARGEST_LEVEL, "its prices are too large")
        prices[prices < 2.0**-400] = 0.0
    return prices


def _below_zero(directions: Vector, matrix: Vector, gram: Vector) -> float:
    """Bound how far WSWᵀ reaches below zero."""
    depth, width = directions.shape
    lengths = np.linalg.norm(directions, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    scaled = matrix * lengths[:, None] * lengths[None, :]
    below = largest_eigenvalue(-(scaled + scaled.T) / 2, gamma(8) * float(np.linalg.norm(scaled)))
    if below <= 0.0 or not scaled.any():
        return 0.0
    cosines = gram / lengths[:, None] / lengths[None, :]
    return below * largest_eigenvalue((cosines + cosines.T) / 2, gamma(depth + 16) * width * 1.01)
