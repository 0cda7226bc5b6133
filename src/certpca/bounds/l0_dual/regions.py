"""Regions of directions in a step of the dual: their terms, and how their weights move."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.bounds.l0_dual.problem import DualProblem, Pair
from certpca.bounds.l0_dual.spectra import diagonal_matrix
from certpca.runtime.arrays import Array, Vector


def with_regions(
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


def region_step(
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
        slopes.append(-(outer + xp.matrix_transpose(outer)) / 2 - diagonal_matrix(xp, float(here) * weights))
    scaled = [slope / hessian for slope in slopes]
    coupling = np.array([[float(xp.sum(left * right)) for right in scaled] for left in slopes])
    wanted = barrier / sigma - slack - np.array([float(xp.sum(step * slope)) for slope in slopes])
    change = np.linalg.solve(coupling + np.diag(barrier / sigma**2), wanted)
    change = np.clip(change, -0.8 * sigma, 4 * sigma + 0.05)
    for amount, direction in zip(change, scaled, strict=True):
        step = step + float(amount) * direction
    return step, change
