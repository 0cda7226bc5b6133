"""The one judge: every answer is evaluated again in float64, on its support, from the data alone."""

from dataclasses import dataclass

import numpy as np
from benchmarks.peers.problem import Matrix, Problem


@dataclass(frozen=True)
class Verdict:
    """Nonzero loadings and f, the captured share of λ₁: as returned, and with the best loadings on the support."""

    nonzeros: int
    raw: float
    refitted: float


class Judge:
    """Knows the data, centred already, and their largest eigenvalue."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.largest, _ = problem.leading(1e-10)

    def verdict(self, vector: Matrix, sparsity: int) -> Verdict | str:
        """Judge an answer, or say why it is none."""
        loadings = np.asarray(vector, dtype=np.float64).ravel()
        support = np.flatnonzero(loadings)
        if loadings.size != self.problem.size or not np.isfinite(loadings).all() or support.size == 0:
            return "no answer: loadings empty, not finite or of the wrong length"
        if support.size > sparsity:
            return f"no answer: {support.size} nonzeros where {sparsity} are allowed"
        chosen = self.problem.columns(support)
        unit = loadings[support] / np.linalg.norm(loadings[support])
        raw = float(np.sum((chosen @ unit) ** 2))
        best = float(np.linalg.eigvalsh(chosen.T @ chosen)[-1])
        return Verdict(support.size, raw / self.largest, best / self.largest)
