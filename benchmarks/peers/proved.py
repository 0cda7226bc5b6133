"""certpca's solvers that come with a certificate."""

from dataclasses import replace
from time import perf_counter
from typing import Any

from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import Answer, Effort, timed

import certpca


def solve_with_proof(problem: Problem, sparsity: int, solver: str, effort: Effort, *, certify: bool = False) -> Answer:
    """Solve within the patience; have the certificate verified, apart from the time that counts."""
    budget = certpca.Budget(seconds=effort.patience)
    last: list[certpca.Solution] = []

    def call() -> Matrix:
        solution = certpca.solve(problem.values, sparsity, solver, budget=budget, certify=certify)
        last[:] = [solution]
        return solution.component

    answer = timed(call, effort)
    certificate = last[0].certificate
    facts: dict[str, Any] = {"status": last[0].status.name}
    if certificate is not None:
        begin = perf_counter()
        proof = certpca.verify(certificate, certpca.from_data(problem.values))
        facts["verify_seconds"] = perf_counter() - begin
        # certpca divides by the rows less one where it centres; XᵀX here is not divided.
        facts["bound"] = proof.upper_bound * (problem.rows - 1)
        facts["proved"] = True
    return replace(answer, facts=facts)
