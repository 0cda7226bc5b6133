"""The semidefinite relaxation through cvxpy: max ⟨A, Z⟩ over Z ⪰ 0, tr Z ≤ 1, Σ|Z_ij| ≤ k, and what is wrong with Z."""

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import Answer, Effort, timed


def solve_relaxation(problem: Problem, sparsity: int, solver: str, effort: Effort) -> Answer:
    """Solve, keep the largest entries of Z's leading eigenvector, and judge the claimed bound."""
    cvxpy: Any = import_module("cvxpy")

    matrix = problem.matrix()
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    scaled = matrix / largest  # so that tolerances mean the same everywhere
    last: list[Any] = []

    def call() -> Matrix:
        # Made anew for each solve: cvxpy would start the second at the solution of the first.
        z = cvxpy.Variable(matrix.shape, symmetric=True)
        within = [z >> 0, cvxpy.trace(z) <= 1, cvxpy.sum(cvxpy.abs(z)) <= sparsity]
        task = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace(scaled @ z)), within)
        task.solve(solver=solver)
        last[:] = [z, within, task]
        vector = np.linalg.eigh(z.value)[1][:, -1]
        vector[np.argsort(-np.abs(vector), kind="stable")[sparsity:]] = 0.0
        return np.asarray(vector)

    answer = timed(call, effort)
    z, within, task = last
    facts: dict[str, Any] = {"status": task.status, "bound": float(task.value) * largest, "proved": False}
    facts["violation"] = violation(np.asarray(z.value), sparsity)
    if within[0].dual_value is not None:
        facts["dual_bound"] = dual_bound(scaled, within[0].dual_value, within[1].dual_value, sparsity) * largest
    return replace(answer, facts=facts)


def violation(z: Matrix, sparsity: int) -> float:
    """Return by how much Z breaks its constraints: the worst of eigenvalue, trace and relative sum."""
    lowest = float(np.linalg.eigvalsh((z + z.T) / 2)[0])
    return max(0.0, -lowest, float(np.trace(z)) - 1, float(np.abs(z).sum()) / sparsity - 1)


def dual_bound(matrix: Matrix, slack: Any, trace_price: Any, sparsity: int) -> float:
    """Return the bound λ₁(A - U) + k max|U_ij|, which holds for any U, at the solver's: U = A + S - tI.

    It is computed in floating point without a proof of its rounding.
    """
    shift = float(np.asarray(trace_price)) * np.eye(len(matrix))
    u = matrix + (np.asarray(slack) + np.asarray(slack).T) / 2 - shift
    return float(np.linalg.eigvalsh(matrix - u)[-1]) + sparsity * float(np.abs(u).max())
