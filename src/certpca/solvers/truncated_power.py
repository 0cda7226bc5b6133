"""The truncated power method.

Yuan & Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), Algorithm 1,
with the gradual decrease of the sparsity that its section on initialisation recommends.

With non-negative loadings the largest positive entries are kept instead (as in Sigg & Buhmann,
"Expectation-Maximization for Sparse and Non-Negative PCA", ICML 2008): that maximises the linear function ⟨Ax, ·⟩ over
the allowed vectors, so the objective never falls. There are more local optima then, so it starts from both signs of
leading eigenvectors as well. With the setting of this solver alone a certificate is about loadings of any sign, which
covers these; `solve(…, nonnegative=True)` asks for one about non-negative loadings.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from certpca.operators.base import Operator
from certpca.operators.within import asked_of
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, fix_sign, to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.search.krylov import leading_eigenpairs, leading_on_support
from certpca.solvers.base import register

MORE_STARTS = 3  # eigenvectors, each with both signs


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
    nonnegative
        Allow no negative loadings.
    """

    schedule: tuple[int, ...] = (8, 4, 2, 1)
    tolerance: float = 1e-8
    nonnegative: bool = False
    name: ClassVar[str] = "truncated-power"
    paper_name: ClassVar[str] = "tpower"
    runs_on_device: ClassVar[bool] = True
    honours: ClassVar[tuple[str, ...]] = ("nonnegative",)

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.schedule or self.schedule[-1] != 1 or min(self.schedule) < 1:
            msg = f"schedule must be positive multiples that end with 1, got {self.schedule}"
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Run every phase of the schedule from the feature of largest variance."""
        if asked_of(operator).nonnegative and not self.nonnegative:
            return replace(self, nonnegative=True).propose(operator, sparsity, progress, rng)
        found = [self._run(operator, sparsity, progress, top_k(to_vector(operator.diagonal()), 1), np.ones(1))]
        if not self.nonnegative:
            return found[0]
        pairs = leading_eigenpairs(operator, MORE_STARTS, accuracy=1e-4, rng=rng, late=progress.late)
        axes = to_vector(pairs.vectors).T
        for image in np.concatenate([axes, -axes]):
            if progress.exhausted:
                break
            support, loadings = self._largest(image, min(self.schedule[0] * sparsity, operator.size))
            found.append(self._run(operator, sparsity, progress, support, loadings))
        best = max(found, key=lambda candidate: self._captured(operator, candidate))
        assert best.loadings is not None
        support = best.support[best.loadings > 0]
        fitted = fix_sign(leading_on_support(operator, support)[1])
        # Where the best loadings of any sign have one sign, iterations only come close to them.
        return replace(best, support=support, loadings=fitted) if (fitted > 0).all() else best

    def _run(
        self, operator: Operator, sparsity: int, progress: Progress, support: Indices, loadings: Vector
    ) -> Candidate:
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
                support, loadings = self._largest(image, width)
                if not image[support].any():
                    break
                if not progress.tick(objective if comparable else 0.0):
                    kept = top_k(np.abs(loadings), sparsity)
                    own = loadings[kept]
                    return Candidate(support[kept], Status.OUT_OF_BUDGET, own, constrained=self.nonnegative)
        return Candidate(support, Status.CONVERGED, loadings, constrained=self.nonnegative)

    def _largest(self, image: Vector, width: int) -> tuple[Indices, Vector]:
        """Return where the entries are that count most, and these as unit loadings."""
        size = np.maximum(image, 0.0) if self.nonnegative else np.abs(image)
        support = top_k(size, width)
        part = size[support] if self.nonnegative else image[support]
        length = float(np.linalg.norm(part))
        return support, part / length if length > 0 else np.full(width, width**-0.5)

    def _captured(self, operator: Operator, candidate: Candidate) -> float:
        assert candidate.loadings is not None
        return operator.quadratic_form(candidate.support, candidate.loadings / np.linalg.norm(candidate.loadings))

    @staticmethod
    def _image(operator: Operator, support: Indices, loadings: Vector) -> Vector:
        panel = np.zeros((operator.size, 1))
        panel[support, 0] = loadings
        return to_vector(operator.matmat(operator.adopt(panel)))[:, 0]
