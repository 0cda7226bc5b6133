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
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from certpca.arrays import Array, Indices, Vector, device_of, to_vector
from certpca.errors import InvalidProblemError
from certpca.linalg.row_blocks import RowBlocks, feature_rows, finished_gram, rows_in_memory
from certpca.operators.base import LARGEST_FORMED_SIZE, Operator
from certpca.relaxation.dual_blocks import dual_sums, held_by, panel_of, solved

SINGLE_FROM = 4_000_000  # entries of F from which products are made in single precision
THETA_GROUPS = 24
SMALL_DEPTH = 300  # up to here eigenvalues cost less than the calls that would avoid them
CENTRING = 0.3  # share of the current gap that the next barrier weight aims at
LARGEST_STEP = 1.5  # of the scaled step, in spectral norm
WEIGHT_FLOOR = 1e-13

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

    def state(self) -> dict[str, Any]:
        """Return everything, on the host."""
        return {
            **{field.name: getattr(self, field.name) for field in fields(self)},
            "basis": to_vector(self.basis),
            "weights": to_vector(self.weights),
        }


class DualProblem:
    """The features as rows, scaled so that the largest eigenvalue is one.

    With `directions` of sample space, only what the features have along these: a smaller problem about a part of the
    matrix.
    """

    def __init__(self, operator: Operator, sparsity: int, directions: Vector | None = None) -> None:
        xp = operator.xp
        rows = _feature_rows(operator) if directions is None else _rows_along(operator, directions)
        self.xp, self.device = xp, operator.device
        self.sparsity = sparsity
        size, self.depth = rows.shape
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
        self._theta = xp.zeros(size, dtype=xp.float64, device=self.device)
        self._level: float | None = None

    def at(self, sparsity: int) -> "DualProblem":
        """Return the problem for another sparsity; the two share the rows and nothing that changes."""
        other = copy(self)
        other.sparsity, other._level = sparsity, None
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

    def warm_start(self, level: float | None, theta: Vector | None) -> None:
        """Begin the next search for ρ and θ where another ended (both in the matrix's own units)."""
        self._level = None if level is None else level / self.scale
        if theta is not None:
            self._theta = self.xp.asarray(theta / self.scale, dtype=self.xp.float64, device=self.device)

    def state(self) -> dict[str, Any]:
        """Return what changes while optimising: where the next search for ρ and θ begins."""
        return {"level": self._level, "theta": to_vector(self._theta)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self._level, self._theta = state["level"], self.adopt(state["theta"])

    def adopt(self, array: Vector) -> Array:
        """Place host numbers where the rows are."""
        return self.xp.asarray(array, dtype=self.xp.float64, device=self.device)

    def point(self, state: dict[str, Any]) -> DualPoint:
        """Return the dual point of a state."""
        return DualPoint(**{**state, "basis": self.adopt(state["basis"]), "weights": self.adopt(state["weights"])})

    def keep(self, features: Indices) -> None:
        """Go on with fewer features."""
        chosen = self.xp.asarray(np.asarray(features), device=self.device)
        self.rows = self.rows.take(np.asarray(features))
        self.lengths = self.xp.take(self.lengths, chosen, axis=0)
        self._theta = self.xp.take(self._theta, chosen, axis=0)

    def directions(self, support: Any, loadings: Vector) -> Vector:
        """Return the direction of sample space that sparse loadings point to."""
        return self.rows.combination(np.asarray(support), loadings)

    def image(self, directions: Vector) -> Vector:
        """Return what the features have along directions of sample space, shape (features, directions)."""
        return to_vector(self.rows.times(directions))

    def evaluate(self, basis: Array, weights: Array, tolerance: float) -> "_Evaluation":
        """Compute ψ, its level, its gradient in the basis, and the diagonal of its Hessian."""
        xp, k, rows = self.xp, self.sparsity, self.rows
        place = rows.place
        panels = rows.map("panel", panel_of, basis=place.share(xp.astype(basis, rows.dtype)))
        high, low = float(xp.max(self.lengths)), 0.0
        passes = 6
        if self._level is None:
            values = to_vector(rows.joined(place.map("level", held_by, panels, weights=weights)))
            level = 0.7 * float(np.partition(values, values.size - k)[values.size - k])
            passes = 25
        else:
            level = self._level
        level = min(max(level, 0.0), 0.999 * high)
        floor = 1e-12 * high
        earlier: tuple[float, float] | None = None
        found: list[Any] = rows.split(self._theta)
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
        self._level = level
        self._theta = theta = xp.concat([part[0] for part in parts])
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
        return _Evaluation(value if trusted else -math.inf, level, finished_gram(gram, xp), curvature, theta)

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
class _Evaluation:
    value: float
    level: float
    gradient: Array
    curvature: Array
    theta: Array


def improve(
    problem: DualProblem, density: Array, pairs: Sequence[Pair] = (), region_weights: Vector | None = None
) -> "CentralPath":
    """Yield one dual point after each step along the central path, for as long as the caller wants.

    The bounds need not fall at every step: keep the best.
    """
    return CentralPath(problem, density, pairs, region_weights)


class CentralPath:
    """The steps of `improve`; where they stand can be stored, and gone on from by another process."""

    def __init__(
        self, problem: DualProblem, density: Array, pairs: Sequence[Pair] = (), region_weights: Vector | None = None
    ) -> None:
        xp = problem.xp
        self._problem, self._pairs = problem, pairs
        weights, basis = xp.linalg.eigh((density + xp.matrix_transpose(density)) / 2)
        self._basis, self._weights = _normalised(xp, basis, weights)
        self._sigma = (
            np.full(len(pairs), 0.02) if region_weights is None else np.array(region_weights, dtype=np.float64)
        )
        self._barrier: float | None = None
        self._caution, self._rejected, self._steps, self._tolerance = 1.0, 0, 0, 3e-3
        self._previous: _Move | None = None
        self._finest = 1e-10 if problem.rows.dtype == xp.float64 else 2e-5
        self._here: _Here | None = None

    def __iter__(self) -> "CentralPath":
        return self

    def __next__(self) -> DualPoint:
        if self._here is not None:
            self._move(self._here)
        self._here = here = self._evaluated()
        unit, found = self._problem.scale, here.found
        return DualPoint(
            self._basis,
            self._weights,
            found.level * unit,
            self._sigma.copy() * unit,
            here.bound * unit,
            here.value * unit,
            to_vector(found.theta) * unit,
        )

    def state(self) -> dict[str, Any]:
        """Return where the path stands, so that `restore` goes on with the step that would come next."""
        assert self._here is not None
        previous = self._previous
        return {
            "basis": to_vector(self._basis),
            "weights": to_vector(self._weights),
            "sigma": self._sigma,
            "barrier": self._barrier,
            "caution": self._caution,
            "rejected": self._rejected,
            "steps": self._steps,
            "tolerance": self._tolerance,
            "previous": None
            if previous is None
            else [previous.value, previous.volume, *map(to_vector, (previous.step, previous.root, previous.basis))],
            "problem": self._here.before,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state; the evaluation there is made again."""
        there = self._problem.adopt
        self._basis, self._weights = there(state["basis"]), there(state["weights"])
        self._sigma, self._barrier = state["sigma"], state["barrier"]
        self._caution, self._rejected = state["caution"], state["rejected"]
        self._steps, self._tolerance = state["steps"], state["tolerance"]
        if state["previous"] is not None:
            value, volume, *arrays = state["previous"]
            self._previous = _Move(value, volume, *map(there, arrays))
        self._problem.restore(state["problem"])
        self._here = self._evaluated()

    def _evaluated(self) -> "_Here":
        problem, xp = self._problem, self._problem.xp
        before = problem.state()
        found = problem.evaluate(self._basis, self._weights, self._tolerance)
        total, slack, rays = _with_regions(
            problem, found.gradient, self._basis, self._weights, self._pairs, self._sigma
        )
        held = float(xp.sum(self._weights * xp.linalg.diagonal(total)))
        top = _largest_eigenvalue(xp, total)
        bound, value = problem.sparsity * found.level + top, found.value + float(self._sigma @ slack)
        return _Here(before, found, total, slack, rays, held, top, bound, value)

    def _move(self, here: "_Here") -> None:
        """Choose the next density."""
        xp, depth, pairs = self._problem.xp, self._problem.depth, self._pairs
        weights, value, barrier = self._weights, here.value, self._barrier
        volume = float(xp.sum(xp.log(weights)))
        root = xp.sqrt(weights)
        self._steps += 1
        if self._previous is not None and barrier is not None and not pairs:
            last = self._previous
            worse = -value / barrier - volume > -last.value / barrier - last.volume + 3e-6 * abs(value) / barrier
            if worse and self._rejected < 3:
                # The barrier function fell: take a shorter step from the same place.
                self._rejected, self._caution = self._rejected + 1, max(0.15, 0.6 * self._caution)
                self._previous = replace(last, step=last.step * 0.3)
                self._basis, self._weights = _moved(xp, last.basis, last.root, self._previous.step)
                return
        self._caution = min(1.0, 1.15 * self._caution) if self._rejected == 0 else self._caution
        self._rejected = 0
        open_gap = max(here.top - here.held, 0.0)
        self._tolerance = min(3e-3, max(self._finest, 0.1 * open_gap / max(here.bound, 1e-300)))
        current = max(open_gap / (depth + len(pairs)), 1e-14)
        off_centre = current / barrier if barrier is not None else 1.0
        barrier = CENTRING * current if barrier is None else max(min(barrier, CENTRING * current), 0.1 * barrier)
        slope = here.total * root[:, None] * root[None, :]
        slope = slope + _diagonal_matrix(xp, barrier - (here.held + barrier * depth) * weights)
        curvature = here.found.curvature
        hessian = curvature + xp.matrix_transpose(curvature) + barrier
        step = slope / hessian
        change = np.empty(0)
        if pairs:
            step, change = _region_step(xp, step, hessian, root, weights, here.rays, here.slack, self._sigma, barrier)
        length = 1.0
        if self._steps > 3 and off_centre > 2.5:
            length = max(0.35, math.sqrt(2.5 / off_centre))
        length = min(length, self._caution)
        length *= min(1.0, LARGEST_STEP / (length * max(_spectral_norm(xp, step), 1e-300)))
        step = step * length
        if pairs:
            self._sigma = np.maximum(self._sigma + length * change, 1e-12)
        self._barrier, self._previous = barrier, _Move(value, volume, step, root, self._basis)
        self._basis, self._weights = _moved(xp, self._basis, root, step)


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """The step that led here: from which value, log det P and frame."""

    value: float
    volume: float
    step: Array
    root: Array
    basis: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Here:
    """What was found at a density, and the state of the problem before."""

    before: dict[str, Any]
    found: _Evaluation
    total: Array
    slack: Vector
    rays: Any
    held: float
    top: float
    bound: float
    value: float


def _next_level(level: float, total: float, k: int, earlier: tuple[float, float] | None) -> float:
    """Take a secant step for log(total) against log(level), or a guess where there is no secant."""
    if earlier is not None and min(total, earlier[1], level, earlier[0]) > 0 and level != earlier[0]:
        slope = math.log(total / earlier[1]) / math.log(level / earlier[0])
        if slope < -1e-3:
            return level * math.exp(max(-4.0, min(4.0, math.log(k / total) / slope)))
        return -1.0
    return level * math.sqrt(total / k) if total > 0 and level > 0 else -1.0


def dual_depth(operator: Operator) -> int:
    """Return the order of the density matrices: samples, or features where these are fewer or there are no samples."""
    source = operator.source()
    return int(operator.size if source.kind == "matrix" else min(source.values.shape))


def _feature_rows(operator: Operator) -> RowBlocks:
    """Return features as rows, in the sample space that the checker will use for the same matrix.

    That is the space of samples, or, where samples outnumber features or there are none, that of the matrix's
    symmetric square root.
    """
    xp, size = operator.xp, operator.size
    source = operator.source()
    depth = dual_depth(operator)
    if depth > LARGEST_FORMED_SIZE:
        msg = (
            f"the dual bound works with matrices of order min(samples, features) = {depth}, "
            f"allowed up to {LARGEST_FORMED_SIZE}"
        )
        raise InvalidProblemError(msg)
    dtype = _precision(operator, size * depth)
    if source.kind == "matrix" or source.values.shape[0] > size:
        matrix = xp.asarray(operator.submatrix(np.arange(size)), dtype=xp.float64, device=operator.device)
        values, vectors = xp.linalg.eigh(matrix)
        roots = xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values)))
        return rows_in_memory(xp.astype((vectors * roots[None, :]) @ xp.matrix_transpose(vectors), dtype), operator)
    return feature_rows(operator, dtype)


def _rows_along(operator: Operator, directions: Vector) -> RowBlocks:
    """Return features as rows in coordinates of a few directions, reading the factor once."""
    dtype = _precision(operator, operator.size * directions.shape[1])
    return feature_rows(operator, dtype, operator.xp.asarray(directions, dtype=dtype, device=operator.device))


def _precision(operator: Operator, entries: int) -> Any:
    ordinary = 1e-12 < operator.trace() / operator.size < 1e12
    return operator.xp.float32 if entries > SINGLE_FROM and ordinary else operator.xp.float64


def _diagonal_matrix(xp: Any, entries: Array) -> Array:
    return xp.eye(entries.shape[0], dtype=entries.dtype, device=device_of(entries)) * entries[None, :]


def _normalised(xp: Any, basis: Array, weights: Array) -> tuple[Array, Array]:
    floor = WEIGHT_FLOOR * float(weights[-1])
    weights = xp.where(weights > floor, weights, xp.full_like(weights, floor))
    return basis, weights / xp.sum(weights)


def _moved(xp: Any, basis: Array, root: Array, step: Array) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of L(I + E/2)²Lᵀ, scaled to trace one."""
    factor = root[:, None] * step / 2 + _diagonal_matrix(xp, root)
    square = factor @ xp.matrix_transpose(factor)
    if isinstance(square, np.ndarray):
        from scipy.linalg import eigh

        weights, turn = eigh(square, driver="evd", overwrite_a=True, check_finite=False)
    else:
        weights, turn = xp.linalg.eigh(square)
    return _normalised(xp, basis @ turn, weights)


def _spectral_norm(xp: Any, matrix: Array, steps: int = 15) -> float:
    """Estimate the norm of a symmetric matrix by Lanczos' method."""
    low, high = _lanczos_ends(xp, matrix, steps)
    return max(-low, high)


def _lanczos_ends(xp: Any, matrix: Array, steps: int) -> tuple[float, float]:
    from scipy.linalg import eigvalsh_tridiagonal

    depth = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(depth)
    vector = xp.asarray(start / np.linalg.norm(start), dtype=matrix.dtype, device=device_of(matrix))
    kept = vector[:, None]
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(steps, depth)):
        image = matrix @ vector
        diagonal.append(float(xp.sum(image * vector)))
        for _ in range(2):
            image = image - kept @ (xp.matrix_transpose(kept) @ image)
        length = float(xp.linalg.vector_norm(image))
        if length <= 1e-12 * max(abs(entry) for entry in diagonal) + 1e-300:
            break
        beside.append(length)
        vector = image / length
        kept = xp.concat([kept, vector[:, None]], axis=1)
    ends = eigvalsh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return float(ends[0]), float(ends[-1])


def _largest_eigenvalue(xp: Any, matrix: Array, relative: float = 1e-6) -> float:
    """Return λ_max, or slightly more: a Lanczos value raised until a Cholesky factorisation succeeds."""
    depth = matrix.shape[0]
    if depth <= SMALL_DEPTH:
        return float(xp.linalg.eigvalsh(matrix)[-1])
    top = _lanczos_ends(xp, matrix, 25)[1]
    size = abs(top) + 1e-300
    one = xp.eye(depth, dtype=matrix.dtype, device=device_of(matrix))
    while not _is_positive_definite(xp, (top + relative * size) * one - matrix):
        relative *= 3
    return top + relative * size


def _is_positive_definite(xp: Any, matrix: Array) -> bool:
    if isinstance(matrix, np.ndarray):
        from scipy.linalg.lapack import dpotrf

        return bool(dpotrf(matrix, lower=1, overwrite_a=1, clean=0)[1] == 0)
    try:
        factor = xp.linalg.cholesky(matrix)
    except (RuntimeError, ValueError, np.linalg.LinAlgError):  # libraries differ in what they raise
        return False
    return bool(xp.all(xp.isfinite(xp.linalg.diagonal(factor))))


def _with_regions(
    problem: DualProblem, gradient: Array, basis: Array, weights: Array, pairs: Sequence[Pair], sigma: Vector
) -> tuple[Array, Vector, list[tuple[Array, Array]]]:
    """Add Σ σM to the gradient; also ⟨P, M⟩ of every region and its rays in the basis."""
    xp = problem.xp
    rays = []
    slack = np.empty(len(pairs))
    total = gradient
    for index, (first, second) in enumerate(pairs):
        r, s = (
            xp.matrix_transpose(basis) @ xp.asarray(ray, dtype=xp.float64, device=problem.device)
            for ray in (first, second)
        )
        rays.append((r, s))
        slack[index] = -float(xp.sum(r * weights * s))
        outer = r[:, None] * s[None, :]
        total = total - (float(sigma[index]) / 2) * (outer + xp.matrix_transpose(outer))
    return total, slack, rays


def _region_step(
    xp: Any,
    step: Array,
    hessian: Array,
    root: Array,
    weights: Array,
    rays: list[tuple[Array, Array]],
    slack: Vector,
    sigma: Vector,
    barrier: float,
) -> tuple[Array, Vector]:
    """Couple the step in P with one in σ by a small Schur complement, aiming at σ⟨P, M⟩ = μ."""
    slopes = []
    for (r, s), here in zip(rays, slack, strict=True):
        outer = (root * r)[:, None] * (root * s)[None, :]
        slopes.append(-(outer + xp.matrix_transpose(outer)) / 2 - _diagonal_matrix(xp, float(here) * weights))
    scaled = [slope / hessian for slope in slopes]
    coupling = np.array([[float(xp.sum(left * right)) for right in scaled] for left in slopes])
    wanted = barrier / sigma - slack - np.array([float(xp.sum(step * slope)) for slope in slopes])
    change = np.linalg.solve(coupling + np.diag(barrier / sigma**2), wanted)
    change = np.clip(change, -0.8 * sigma, 4 * sigma + 0.05)
    for amount, direction in zip(change, scaled, strict=True):
        step = step + float(amount) * direction
    return step, change
