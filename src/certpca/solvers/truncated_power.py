"""The truncated power method.

Yuan & Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), Algorithm 1,
with the gradual decrease of the sparsity that its section on initialisation recommends.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from certpca.arrays import Indices, Vector, to_vector, top_k
from certpca.budget import Progress
from certpca.errors import InvalidProblemError
from certpca.operators.base import Operator
from certpca.result import Candidate, Status
from certpca.solvers.base import register


@register
@dataclass(frozen=True, slots=True)
class TruncatedPower:
    """Multiply, keep the largest entries, repeat.

    Parameters
    ----------
    schedule
        Multiples of the sparsity to run through, each started from the last answer.
    tolerance
        Relative rise of the objective below which a phase ends.
    """

    schedule: tuple[int, ...] = (8, 4, 2, 1)
    tolerance: float = 1e-8
    name: ClassVar[str] = "truncated-power"
    paper_name: ClassVar[str] = "tpower"
    runs_on_device: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.schedule or self.schedule[-1] != 1 or min(self.schedule) < 1:
            msg = f"schedule must be positive multiples that end with 1, got {self.schedule}"
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Run every phase of the schedule from the feature of largest variance."""
        del rng
        support: Indices = top_k(to_vector(operator.diagonal()), 1)
        loadings: Vector = np.ones(1)
        for multiple in self.schedule:
            width = min(multiple * sparsity, operator.size)
            before = -np.inf
            while True:
                image = self._image(operator, support, loadings)
                objective = float(loadings @ image[support])
                if objective - before <= self.tolerance * objective and support.size <= width:
                    break
                before = objective
                comparable = width == sparsity and support.size <= sparsity  # not what a wider support captures
                support = top_k(np.abs(image), width)
                length = float(np.linalg.norm(image[support]))
                if length == 0.0:
                    loadings = np.full(support.size, support.size**-0.5)
                    break
                loadings = image[support] / length
                if not progress.tick(objective if comparable else 0.0):
                    final = support[top_k(np.abs(loadings), sparsity)]
                    return Candidate(final, Status.OUT_OF_BUDGET)
        return Candidate(support, Status.CONVERGED, loadings)

    @staticmethod
    def _image(operator: Operator, support: Indices, loadings: Vector) -> Vector:
        panel = np.zeros((operator.size, 1))
        panel[support, 0] = loadings
        return to_vector(operator.matmat(operator.adopt(panel)))[:, 0]
