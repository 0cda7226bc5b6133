"""Block decomposition with a global search of each block: the paper's rival `dec`.

Yuan, Shen & Zheng, "A Decomposition Algorithm for the Sparse Generalized Eigenvalue Problem",
CVPR 2019. Each round picks a small working set B, partly at random and partly by the best
swaps, keeps the other loadings fixed up to their scale, and finds the best loadings on B over all
ways to spend the free part of the sparsity there. The small fractional problems of one
round are solved together: ``subproblem="eigen"`` by LAPACK, ``"coordinate-descent"`` by the
closed-form one-dimensional updates of the publication, the variant the paper compares with.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from certpca.operators.base import Operator
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.search.krylov import leading_eigenpairs, leading_on_support
from certpca.solvers.base import register

COORDINATE_SWEEPS = 30


@register
@dataclass(frozen=True, slots=True)
class Decomposition:
    """Search small random and swapped blocks of features globally.

    Parameters
    ----------
    random_part, swapped_part
        Numbers of working-set coordinates chosen at random and by swap scores. Their sum is
        at most 16: all ways to fill the block are tried.
    patience
        Rounds without improvement after which the search ends. One step is one round.
    subproblem
        How each small problem is solved.
    """

    random_part: int = 6
    swapped_part: int = 6
    patience: int = 20
    subproblem: Literal["eigen", "coordinate-descent"] = "coordinate-descent"
    name: ClassVar[str] = "decomposition"
    paper_name: ClassVar[str] = "dec"
    runs_on_device: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the settings."""
        if min(self.random_part, self.swapped_part) < 0 or not 2 <= self.random_part + self.swapped_part <= 16:
            msg = f"the working set must have 2 to 16 coordinates, got {self.random_part} + {self.swapped_part}"
            raise InvalidProblemError(msg)
        if self.subproblem not in ("eigen", "coordinate-descent"):
            msg = f'subproblem must be "eigen" or "coordinate-descent", got {self.subproblem!r}'
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Improve block by block until patience runs out."""
        diagonal = to_vector(operator.diagonal())
        if sparsity == 1:
            return Candidate(top_k(diagonal, 1), Status.CONVERGED)
        pairs = leading_eigenpairs(operator, 1, rng=rng, late=progress.late)
        value = float(pairs.values[0])
        support = top_k(np.abs(pairs.vectors[:, 0]), sparsity)
        objective, loadings = leading_on_support(operator, support, late=progress.late)
        dense = np.zeros(operator.size)
        dense[support] = loadings
        idle, status = 0, Status.CONVERGED
        while idle < self.patience and sparsity < operator.size and objective > 0:
            if not progress.tick(objective):
                status = Status.OUT_OF_BUDGET
                break
            image = to_vector(operator.matmat(operator.adopt(dense[:, None])))[:, 0]
            block = self._working_set(dense, image, diagonal, rng)
            proposal = self._search_block(operator, dense, image, block, sparsity)
            chosen = np.flatnonzero(proposal)
            reached, loadings = leading_on_support(operator, chosen, start=proposal[chosen], late=progress.late)
            if reached > objective * (1 + 1e-10):
                objective, idle = reached, 0
                dense = np.zeros(operator.size)
                dense[chosen] = loadings
            else:
                idle += 1
        support = np.flatnonzero(dense)
        return Candidate(support, status, dense[support], value, fitted=True)

    def _working_set(self, dense: Vector, image: Vector, diagonal: Vector, rng: np.random.Generator) -> Indices:
        """Mix entries that look ready to leave or enter with random ones, half inside, half outside."""
        inside, outside = np.flatnonzero(dense), np.flatnonzero(dense == 0)
        half = self.swapped_part // 2
        cost = 2 * dense[inside] * image[inside] - dense[inside] ** 2 * diagonal[inside]
        leaving = inside[top_k(-cost, min(half, inside.size))]
        entry = float(np.abs(dense[leaving]).mean()) if leaving.size else 0.0
        gain = 2 * entry * np.abs(image[outside]) + entry**2 * diagonal[outside]
        entering = outside[top_k(gain, min(self.swapped_part - half, outside.size))]
        chosen = np.concatenate([leaving, entering])
        rest_inside, rest_outside = np.setdiff1d(inside, chosen), np.setdiff1d(outside, chosen)
        draws = [
            rng.choice(pool, size=min(count, pool.size), replace=False)
            for pool, count in (
                (rest_inside, self.random_part // 2),
                (rest_outside, self.random_part - self.random_part // 2),
            )
        ]
        return np.sort(np.concatenate([chosen, *draws]))

    def _search_block(self, operator: Operator, dense: Vector, image: Vector, block: Indices, sparsity: int) -> Vector:
        """Solve the block for every way to spend the free sparsity and return the best vector."""
        rest = dense.copy()
        rest[block] = 0.0
        free = min(sparsity - int(np.count_nonzero(rest)), block.size)
        # In units of the objective, so that squares neither overflow nor vanish.
        unit = float(dense @ image)
        submatrix, image = operator.submatrix(block) / unit, image / unit
        length = float(np.linalg.norm(rest))
        ways = np.array(list(combinations(range(block.size), free)), dtype=np.intp)
        problems = submatrix[ways[:, :, None], ways[:, None, :]]
        if length > 0:
            # One more coordinate: the scale of everything outside the block.
            cross = (image[block] - submatrix @ dense[block]) / length
            inner = float(dense @ image - 2 * dense[block] @ image[block] + dense[block] @ submatrix @ dense[block])
            count = ways.shape[0]
            bordered = np.empty((count, free + 1, free + 1))
            bordered[:, 1:, 1:] = problems
            bordered[:, 0, 1:] = bordered[:, 1:, 0] = cross[ways]
            bordered[:, 0, 0] = inner / length**2
            problems = bordered
        if self.subproblem == "eigen":
            values, vectors = np.linalg.eigh(problems)
            best = int(values[:, -1].argmax())
            winner = vectors[best, :, -1]
        else:
            start = np.zeros(problems.shape[:2])
            start[:, 0] = 1.0
            values, points = _coordinate_ascent(problems, start)
            best = int(values.argmax())
            winner = points[best]
        proposal = np.zeros_like(dense)
        if length > 0:
            proposal += winner[0] / length * rest
            winner = winner[1:]
        proposal[block[ways[best]]] = winner
        # Entries that vanished still count towards the support the refit may use.
        lost = block[ways[best]][winner == 0.0]
        proposal[lost] = np.finfo(float).tiny
        return proposal


def _coordinate_ascent(problems: NDArray[np.float64], start: Vector) -> tuple[Vector, Vector]:
    """Maximise x'Bx / x'x for many small matrices at once, one coordinate after another.

    For coordinate t the quotient (b t² + 2 c t + r) / (t² + s) has its maximum at the larger
    root of c t² + (r − b s) t − c s = 0 in the direction of c.
    """
    points = start.copy()
    dimension = problems.shape[-1]
    rows = np.arange(problems.shape[0])
    images = np.einsum("aij,aj->ai", problems, points)
    for _ in range(COORDINATE_SWEEPS):
        before = np.einsum("ai,ai->a", points, images)
        for coordinate in range(dimension):
            diagonal = problems[:, coordinate, coordinate]
            old = points[:, coordinate].copy()
            rest = np.einsum("ai,ai->a", points, points) - old**2
            cross = images[:, coordinate] - diagonal * old
            form = np.einsum("ai,ai->a", points, images) - 2 * old * images[:, coordinate] + diagonal * old**2
            slope = form - diagonal * rest
            root = np.sqrt(slope**2 + 4 * cross**2 * rest)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = np.where(cross != 0.0, (-slope + root) / (2 * cross), np.where(slope > 0, 0.0, old))
                stable = np.where(slope > 0, 2 * cross * rest / (slope + root), new)
            new = np.where(np.isfinite(stable), stable, old)
            new = np.where((rest <= 0.0) & (new == 0.0), old, new)
            points[:, coordinate] = new
            images += (new - old)[:, None] * problems[rows, :, coordinate]
        for norm in (np.inf, 2):  # the largest entry first: squares of tiny ones vanish
            length = np.linalg.norm(points, norm, axis=1)[:, None]
            length[length == 0.0] = 1.0
            points /= length
            images /= length
        after = np.einsum("ai,ai->a", points, images)
        if (after - before <= 1e-12 * np.abs(after)).all():
            break
    return np.einsum("ai,ai->a", points, images), points
