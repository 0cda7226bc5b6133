"""The dual of the sparsity constraint in sample space: minimise kρ + λ_max(Σ Y_i) over all dual points.

With a density matrix P (positive definite, trace one) and a level ρ, the best Y_i for the functional ⟨P, ·⟩ has the
value θ_i of a secular equation; ψ(P) = min_ρ kρ + Σ θ_i(P, ρ) is concave with gradient G = Σ Y_i, and for every P and ρ

    ψ(P) ≤ value of the relaxation ≤ kρ + λ_max(G).

(d'Aspremont, Bach & El Ghaoui, "Optimal Solutions for Sparse Principal Component Analysis", JMLR 2008, moved from the
penalised to the constrained problem.) The optimiser follows the central path of max ψ(P) + μ log det P. There
G = λI − μP⁻¹, so the gap is μ times the depth, and small eigenvalues of P are only polynomially small, which tames the
sensitivity of G to them; exponentiated-gradient steps suffer from it. In the frame P = LLᵀ, L = Q√p, and for
P(E) = L(I + E)Lᵀ the gradient is R = LᵀGL − γp + μ(I − dp) with γ = ⟨P, G⟩; the Hessian is replaced by its diagonal
H_jl = W_jl + W_lj + μ, W_jl = p_l Σ_i ρp_j/(θ_i + ρp_j) Z_il², summed by groups of similar θ. One step costs two
products with all features, one solve of their secular equations, and one eigendecomposition of the depth.

Regions of directions enter as pairs of rays (r, s): on (r·ξ)(s·ξ) ≤ 0 the term σM, M = −(rsᵀ + srᵀ)/2, may be added
to G for σ ≥ 0.
"""

import math
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.bounds.l0_dual.blocks import dual_sums, held_by, panel_of, solved
from certpca.bounds.l0_dual.features import SINGLE_FROM, rows_along, sample_space_rows
from certpca.operators.base import Operator
from certpca.runtime.arrays import Array, Indices, Vector, to_vector
from certpca.runtime.errors import InvalidProblemError

THETA_GROUPS = 24


Pair = tuple[Vector, Vector]


@dataclass(frozen=True, slots=True, eq=False)
class DualPoint:
    """P = Q diag(p) Qᵀ and ρ, with weights σ of regions; `bound` and `value` are estimates in the matrix's own units.

    `bound` is kρ + λ_max as computed while optimising, `value` is ψ: what is still to be gained lies between them.
    """

    basis: Array
    weights: Array
    level: float
    region_weights: Vector
    bound: float
    value: float
    theta: Vector

    def density(self) -> Vector:
        """Return P on the host."""
        basis, weights = to_vector(self.basis), to_vector(self.weights)
        return np.asarray((basis * weights) @ basis.T)


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Where the search for ρ and θ begins, for the scaled problem; no ρ where nothing is known."""

    level: float | None
    theta: Array


class DualProblem:
    """The features as rows, scaled so that the largest eigenvalue is one.

    With `directions` of sample space, only what the features have along these: a smaller problem about a part of the
    matrix. From `single_from` entries on the rows are in single precision.
    """

    def __init__(
        self, operator: Operator, sparsity: int, directions: Vector | None = None, *, single_from: int = SINGLE_FROM
    ) -> None:
        xp = operator.xp
        if directions is None:
            rows = sample_space_rows(operator, single_from)
        else:
            rows = rows_along(operator, directions, single_from)
        self.xp, self.device = xp, operator.device
        self.sparsity = sparsity
        self.depth = rows.shape[1]
        gram = rows.gram()
        values, vectors = xp.linalg.eigh((gram + xp.matrix_transpose(gram)) / 2)
        self.scale = float(values[-1])
        if not self.scale > 0:
            msg = "the matrix is zero: its bound is zero"
            raise InvalidProblemError(msg)
        self.rows = rows.divided(math.sqrt(self.scale))
        self._spread = to_vector(values) / self.scale
        self._axes = vectors
        self.lengths = self.rows.lengths()

    def at(self, sparsity: int) -> "DualProblem":
        """Return the problem for another sparsity; the two share the rows."""
        other = copy(self)
        other.sparsity = sparsity
        return other

    def on(self, features: Indices) -> "DualProblem":
        """Return the problem for some of the features."""
        other = copy(self)
        other.rows = self.rows.take(features)
        other.lengths = self.xp.take(self.lengths, self.xp.asarray(features, device=self.device), axis=0)
        return other

    def start(self, direction: Vector | None = None, share: float = 0.2) -> Array:
        """Return a density that leans on one direction of sample space and keeps all others alive."""
        xp = self.xp
        tail = self.tail()
        lead = to_vector(self._axes[:, -1]) if direction is None else direction / np.linalg.norm(direction)
        one = xp.asarray(lead, dtype=xp.float64, device=self.device)
        return share * tail + (1 - share) * one[:, None] * one[None, :]

    def tail(self) -> Array:
        """Return a density spread over all of sample space."""
        spread = np.maximum(self._spread, 0.0)
        weights = 0.7 * spread / spread.sum() + 0.3 / self.depth
        there = self.xp.asarray(weights, dtype=self.xp.float64, device=self.device)
        return (self._axes * there[None, :]) @ self.xp.matrix_transpose(self._axes)

    def guess(self, level: float | None = None, theta: Vector | None = None) -> Guess:
        """Return where a search for ρ and θ begins; what is known of them is in the matrix's own units."""
        count = int(self.lengths.shape[0])
        there = self.adopt(np.zeros(count) if theta is None else theta / self.scale)
        return Guess(None if level is None else level / self.scale, there)

    def adopt(self, array: Vector) -> Array:
        """Place host numbers where the rows are."""
        return self.xp.asarray(array, dtype=self.xp.float64, device=self.device)

    def directions(self, support: Any, loadings: Vector) -> Vector:
        """Return the direction of sample space that sparse loadings point to."""
        return self.rows.combination(np.asarray(support), loadings)

    def image(self, directions: Vector) -> Vector:
        """Return what the features have along directions of sample space, shape (features, directions)."""
        return to_vector(self.rows.times(directions))

    def evaluate(self, basis: Array, weights: Array, tolerance: float, guess: Guess) -> "Evaluation":
        """Compute ψ, its level, its gradient in the basis, and the diagonal of its Hessian."""
        xp, k, rows = self.xp, self.sparsity, self.rows
        place = rows.place
        panels = rows.map("panel", panel_of, basis=place.share(xp.astype(basis, rows.dtype)))
        high, low = float(xp.max(self.lengths)), 0.0
        passes = 6
        if guess.level is None:
            values = to_vector(rows.joined(place.map("level", held_by, panels, weights=weights)))
            level = 0.7 * float(np.partition(values, values.size - k)[values.size - k])
            passes = 25
        else:
            level = guess.level
        level = min(max(level, 0.0), 0.999 * high)
        floor = 1e-12 * high
        earlier: tuple[float, float] | None = None
        found: list[Any] = rows.split(guess.theta)
        for turn in range(passes):
            found = place.map("secular", solved, panels, found, weights=weights, level=level, alone=True)
            parts = place.gather(found)
            total = math.fsum(part[2] for part in parts)
            settled = abs(total - k) <= tolerance * k or (level == 0.0 and total <= k)
            if settled or turn == passes - 1:
                break
            low, high = (max(low, level), high) if total > k else (low, min(high, level))
            new = _next_level(level, total, k, earlier)
            if not low < new < high:
                new = math.sqrt(low * high) if low > 0 else 0.25 * high
            earlier, level = (level, total), (0.0 if new <= floor else new)
        theta = xp.concat([part[0] for part in parts])
        value = k * level + float(xp.sum(theta))
        if level > 0:  # ψ is the minimum over ρ: take off what an inexact ρ can have added
            value -= abs(total - k) * min(high - low, 10 * level * abs(total / k - 1))
        trusted = abs(total - k) <= 0.05 * k or level == 0.0
        edges = _edges(to_vector(theta)) if level > 0 else None
        gram, squares = place.sum(
            "dual",
            dual_sums,
            panels,
            found,
            weights=weights,
            level=level,
            edges=edges,
            reuse=not place.keeps,
            alone=True,
        )
        curvature = self._curvature(squares, edges, level, weights)
        return Evaluation(value if trusted else -math.inf, level, gram, curvature, theta)

    def _curvature(self, squares: Array, edges: Vector | None, level: float, weights: Array) -> Array:
        """Sum W over groups of features with similar θ: O(size · depth) instead of O(size · depth²)."""
        xp = self.xp
        if edges is None:
            return xp.zeros((self.depth, self.depth), dtype=xp.float64, device=self.device)
        centre = xp.asarray(np.exp((edges[:-1] + edges[1:]) / 2), dtype=xp.float64, device=self.device)
        shift = level * weights
        ratio = shift[None, :] / (centre[:, None] + shift[None, :])
        return (xp.matrix_transpose(ratio) @ squares) * weights[None, :]


def _edges(theta: Vector) -> Vector | None:
    """Return the ends of groups of similar θ, on a logarithmic scale."""
    live = theta[theta > 0]
    if live.size == 0:
        return None
    logs = np.log([live.min(), live.max()])
    return np.linspace(logs[0], logs[1] + 1e-9, THETA_GROUPS + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """ψ at a density, with its level, gradient and curvature."""

    value: float
    level: float
    gradient: Array
    curvature: Array
    theta: Array


def _next_level(level: float, total: float, k: int, earlier: tuple[float, float] | None) -> float:
    """Take a secant step for log(total) against log(level), or a guess where there is no secant."""
    if earlier is not None and min(total, earlier[1], level, earlier[0]) > 0 and level != earlier[0]:
        slope = math.log(total / earlier[1]) / math.log(level / earlier[0])
        if slope < -1e-3:
            return level * math.exp(max(-4.0, min(4.0, math.log(k / total) / slope)))
        return -1.0
    return level * math.sqrt(total / k) if total > 0 and level > 0 else -1.0
