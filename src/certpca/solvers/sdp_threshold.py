"""Solve the semidefinite relaxation and threshold its leading eigenvector: the paper's `spca-sdp`.

Chowdhury, Drineas, Woodruff & Zhou, "Approximation Algorithms for Sparse Principal Component Analysis", Algorithm 2.
Z* solves max ⟨A, Z⟩ over Z ⪰ 0, tr Z ≤ 1, Σ|Z_ij| ≤ k; Z₁ = uuᵀ is its best rank-one approximation, and the
largest entries of u are kept: k of them as in the paper's experiments, or s = ⌈9k²β²/ε²⌉ as in its theorem, which says

    zᵀAz ≥ (optimum)/α − ε · (longest row of A),   α ≥ ⟨A, Z*⟩/⟨A, Z₁⟩,   β ≥ ‖Z₁‖₁/‖Z*‖₁

(the paper takes rows of unit length). α is computed from the proved dual value, so that it is at least one and the
theorem holds although Z* is known only to a duality gap.

Its proof uses nothing of Z₁ but that it has rank one, and these two inequalities: any other matrix vvᵀ will do with its
own α and β. One is at hand, the best direction with ‖v‖₁² ≤ k, |v| = 1, which has β = 1. Whichever has the smaller α is
rounded; `alpha` and `beta` are its constants, `alpha_z1` and `beta_z1` those of Z₁ where the relaxation was solved.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from certpca.bounds.guarantees import longest_row
from certpca.bounds.proof_costs import ProofCosts
from certpca.bounds.proving import Prover
from certpca.bounds.sdp import Relaxation, solve_relaxation
from certpca.bounds.sdp.clipped import DIRECTIONS
from certpca.operators import Operator
from certpca.results.certificate import Certificate
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.search.krylov import leading_on_support
from certpca.solvers.base import register

ROWS_MEASURED = 128  # before the length of the others is bounded


@register
@dataclass(frozen=True, slots=True)
class SdpThreshold:
    """Solve the semidefinite relaxation, with a proof, and keep the largest entries (accurate).

    Parameters
    ----------
    target_gap
        Relative duality gap to which the relaxation is solved.
    accuracy
        Stop earlier, as soon as the rounded vector is within this share of the optimum.
    epsilon
        Accuracy ε of the theorem: keep ⌈9k²β²/ε²⌉ entries instead of k.
    draws
        Also round this many random vectors with covariance Z* and keep the best after refitting.
    memory
        GiB that the dense steps may take, where a rank-one solution does not exist.
    """

    target_gap: float = 1e-4
    accuracy: float | None = None
    epsilon: float | None = None
    draws: int = 0
    memory: float = 16.0
    name: ClassVar[str] = "sdp-threshold"
    paper_name: ClassVar[str] = "spca-sdp"
    runs_on_device: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 < self.target_gap < 1:
            msg = f"target_gap must lie in (0, 1), got {self.target_gap}"
            raise InvalidProblemError(msg)
        for name, value in (("accuracy", self.accuracy), ("epsilon", self.epsilon)):
            if value is not None and not 0 < value <= 1:
                msg = f"{name} must lie in (0, 1], got {value}"
                raise InvalidProblemError(msg)
        if self.draws < 0 or not self.memory > 0:
            msg = f"draws must not be negative and memory must be positive, got {self.draws} and {self.memory}"
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Solve, round, prove."""

        def near_enough(vectors: Vector, weights: Vector, upper: float) -> bool:
            assert self.accuracy is not None
            support, _ = _largest(_leader(vectors, weights), sparsity)
            value = leading_on_support(operator, support)[0]
            progress.tick(value, upper)
            return value >= (1 - self.accuracy) * upper

        prover = Prover(operator, sparsity)
        proof = prover.costs.preparing() + prover.costs.clipped(DIRECTIONS) if progress.timed else 0.0
        with progress.setting_aside(min(proof, progress.remaining / 2) if progress.timed else 0.0):
            relaxation = solve_relaxation(
                operator,
                sparsity,
                progress,
                gap=self.target_gap,
                memory=self.memory * 2**30,
                judge=None if self.accuracy is None else near_enough,
            )
        rounded = _rounded(operator, relaxation)
        width = sparsity
        if self.epsilon is not None:
            width = min(operator.size, math.ceil(9 * (sparsity * rounded.beta / self.epsilon) ** 2))
        support, raw = _largest(rounded.vector, width)
        narrow = support if width == sparsity else _largest(rounded.vector, sparsity)[0]
        value, loadings = leading_on_support(operator, narrow, late=progress.late)
        for drawn in _drawn(relaxation, self.draws, sparsity, rng):
            if progress.late():
                break
            other, fresh = leading_on_support(operator, drawn)
            if other > value * (1 + 1e-12):
                value, narrow, loadings = other, drawn, fresh
        if width == sparsity and not np.array_equal(narrow, support):
            support, raw = narrow, loadings
        kind, evidence = _affordable(operator, sparsity, relaxation, prover.costs, progress)
        certificate = prover.prove(kind, evidence, narrow, loadings, seconds=progress.seconds)
        progress.tick(value, certificate.upper_bound)
        proved = certificate.upper_bound
        if kind == "trace":  # which bounds the optimum but not the relaxation
            proved = max(proved, sparsity * float(to_vector(operator.diagonal()).max()))
        details = _constants(operator, relaxation, proved, rounded, width, progress)
        wider = support.size > sparsity
        if wider:
            certificate = _for_width(operator, support, raw, relaxation.largest_eigenvalue, prover, progress)
        return Candidate(
            support,
            Status.WIDER_SUPPORT if wider and relaxation.status is Status.CONVERGED else relaxation.status,
            raw,
            largest_eigenvalue=relaxation.largest_eigenvalue,
            details=details,
            certificate=certificate,
        )


def _for_width(
    operator: Operator, support: Indices, raw: Vector, largest: float, prover: Prover, progress: Progress
) -> Certificate:
    """Bound what as many loadings as were kept can capture: the relaxation is about fewer."""
    costs = prover.costs
    wide = Prover(operator, support.size, prover.examiner, costs)
    trace = float(np.sort(to_vector(operator.diagonal()))[-support.size :].sum())
    affordable = not progress.timed or progress.remaining > costs.closed_form("largest-eigenvalue")
    kind = "largest-eigenvalue" if largest < trace and affordable else "trace"
    return wide.prove(kind, {}, support, raw, seconds=progress.seconds)


def _affordable(
    operator: Operator, sparsity: int, relaxation: Relaxation, costs: ProofCosts, progress: Progress
) -> tuple[str, dict[str, Any]]:
    """Choose the smallest bound that there is time to prove; that of the trace is always proved."""
    trace = float(np.sort(to_vector(operator.diagonal()))[-sparsity:].sum())
    if not progress.timed and relaxation.upper > 0:
        return "sdp-dual", relaxation.dual.evidence()
    options: list[tuple[float, str, dict[str, Any]]] = [(trace, "trace", {})]
    if relaxation.upper > 0:
        options.append((relaxation.upper, "sdp-dual", relaxation.dual.evidence()))
        options.append((relaxation.largest_eigenvalue, "largest-eigenvalue", {}))
    for bound, kind, evidence in sorted(options, key=lambda option: option[0]):
        if bound >= trace or progress.remaining > costs.preparing() + costs.of(kind, evidence):
            return kind, evidence
        progress.run_out()
    return "trace", {}


@dataclass(frozen=True, slots=True)
class _RankOne:
    """A vector v with what vvᵀ captures and ‖v‖₁²/‖Z‖₁; and the same of Z₁ where the relaxation was solved."""

    vector: Vector
    captured: float
    beta: float
    captured_z1: float
    beta_z1: float


def _rounded(operator: Operator, relaxation: Relaxation) -> _RankOne:
    """Choose between Z₁ and the best direction by what they capture."""
    vector = _leader(relaxation.vectors, relaxation.weights)
    if relaxation.weights.size == 1:
        captured = relaxation.lower
    else:
        image = to_vector(operator.matmat(operator.adopt(vector[:, None])))[:, 0]
        captured = float(relaxation.weights.max() * (vector @ image))
    beta = _beta(relaxation)
    if relaxation.lone is not None and relaxation.lone_value > captured:
        return _RankOne(relaxation.lone, relaxation.lone_value, 1.0, captured, beta)
    return _RankOne(vector, captured, beta, captured, beta)


def _leader(vectors: Vector, weights: Vector) -> Vector:
    """Return the leading eigenvector of Z."""
    return np.asarray(vectors[:, int(np.argmax(weights))])


def _largest(u: Vector, width: int) -> tuple[Indices, Vector]:
    """Return the support and entries of the largest part of a vector."""
    support = top_k(np.abs(u), width)
    kept = support[u[support] != 0]
    support = kept if kept.size else support[:1]
    entries = u[support] if kept.size else np.ones(1)
    return support, entries / np.linalg.norm(entries)


def _drawn(relaxation: Relaxation, draws: int, sparsity: int, rng: np.random.Generator) -> list[Indices]:
    """Round random mixtures of the columns of a square root of Z, a normal vector with covariance Z each."""
    root = relaxation.vectors * np.sqrt(relaxation.weights)
    mixed = root @ rng.standard_normal((root.shape[1], draws))
    return [top_k(np.abs(mixed[:, draw]), sparsity) for draw in range(draws)]


def _beta(relaxation: Relaxation) -> float:
    """Return ‖Z₁‖₁/‖Z‖₁."""
    leader = int(np.argmax(relaxation.weights))
    first = float(relaxation.weights[leader] * np.abs(relaxation.vectors[:, leader]).sum() ** 2)
    if relaxation.weights.size == 1:
        return 1.0
    live = np.flatnonzero((relaxation.vectors != 0).any(axis=1))
    vectors, whole = relaxation.vectors[live], 0.0
    for start in range(0, live.size, 1024):
        part = vectors[start : start + 1024] * relaxation.weights
        whole += float(np.abs(part @ vectors.T).sum())
    return first / whole


def _constants(
    operator: Operator, relaxation: Relaxation, proved: float, rounded: _RankOne, width: int, progress: Progress
) -> dict[str, float]:
    """Return what the paper's theorem speaks of, and how the relaxation was solved."""
    loss = 0.0
    if width < operator.size:  # else nothing is cut off
        rows = 0 if operator.cost.dear else ROWS_MEASURED
        longest = longest_row(operator, relaxation.largest_eigenvalue, examined=rows, late=progress.late)
        loss = 3 * relaxation.sparsity * rounded.beta / math.sqrt(width) * longest
    details = {
        "alpha": _ratio(proved, rounded.captured),
        "beta": rounded.beta,
        "theorem_loss": loss,
        "sdp_lower": relaxation.lower,
        "sdp_upper": proved,
        "duality_gap": max(0.0, 1 - relaxation.lower / proved) if relaxation.lower > 0 else 0.0,
        "rank": float(relaxation.weights.size),
        "iterations": float(relaxation.iterations),
        "primal_residual": relaxation.primal_residual,
        "dual_residual": relaxation.dual_residual,
        "needed_memory": float(relaxation.needed_memory),
    }
    if relaxation.status is Status.CONVERGED:  # else Z is no solution, and its leading part no Z₁
        details |= {"alpha_z1": _ratio(proved, rounded.captured_z1), "beta_z1": rounded.beta_z1}
    return details


def _ratio(proved: float, captured: float) -> float:
    return max(1.0, proved / captured) if captured > 0 else 1.0
