"""The best sparse vector of a low-rank approximation: the paper's rival `spca-lowrank`.

Papailiopoulos, Dimakis & Korokythakis, "Sparse PCA through Low-rank Approximations", ICML 2013.
With A_d = VVᵀ of rank d, the best k-sparse vector of A_d has as support the k largest
|v_i·c| for some unit vector c in R^d. The publication enumerates the supports that arise; here
the sphere of directions c is subdivided instead. In a small cell most features are certainly
among the k largest or certainly not (the safe elimination), so cells are bounded and
discarded, or split, until the best support is proved. Every cell also tries the support at its
centre: when the limit on cells is reached, the answer is that of a sample of directions and the
status says so. Exact for d up to 3; above, directions are sampled.
"""

import heapq
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from certpca.operators.base import Operator
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.search.krylov import leading_eigenpairs
from certpca.solvers.base import register

EXACT_RANKS = 3
RELATIVE_TOLERANCE = 1e-9  # "exact" means: proved within this of the low-rank optimum


@register
@dataclass(frozen=True, slots=True)
class Spannogram:
    """Solve a rank-d approximation exactly by searching directions.

    Parameters
    ----------
    rank
        Rank d of the approximation.
    max_cells
        Cells of directions to examine before the search stops being exact.
    samples
        Directions to try above rank 3. One step is one cell or one batch of samples.
    """

    rank: int = 3
    max_cells: int = 20_000
    samples: int = 4096
    name: ClassVar[str] = "spannogram"
    paper_name: ClassVar[str] = "spca-lowrank"
    runs_on_device: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.rank < 1 or self.max_cells < 1 or self.samples < 1:
            msg = f"rank, max_cells and samples must be positive, got {self.rank}, {self.max_cells}, {self.samples}"
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Approximate, search, and report how good the approximation is."""
        pairs = leading_eigenpairs(operator, self.rank + 1, rng=rng, late=progress.late)
        values = np.maximum(pairs.values, 0.0)
        rank = min(self.rank, int(np.count_nonzero(values > values[0] * 1e-12))) or 1
        rows = pairs.vectors[:, :rank] * np.sqrt(values[:rank])
        search = _Directions(rows, sparsity)
        search.descend_from(np.eye(rank))
        if rank == 1:
            status = Status.CONVERGED
        elif rank <= EXACT_RANKS:
            status = self._subdivide(search, rank, progress)
        else:
            status = self._sample(search, rank, progress, rng)
        left = np.linalg.svd(rows[search.support], full_matrices=False)[0]
        next_value = float(values[rank]) if values.size > rank else 0.0
        details = {"rank": rank, "low_rank_objective": search.best}
        if values[0] > 0:
            largest = float(to_vector(operator.diagonal()).max())
            details["epsilon_d"] = min(operator.size / sparsity * next_value / values[0], next_value / largest)
        return Candidate(search.support, status, left[:, 0], float(values[0]), details)

    def _subdivide(self, search: "_Directions", rank: int, progress: Progress) -> Status:
        """Split cells, best bound first, until none can hold anything better."""
        heap: list[tuple[float, int, _Cell]] = []
        serial = 0
        for corners in _cover(rank):
            cell = search.examine(corners, search.everything())
            heapq.heappush(heap, (-cell.bound, serial, cell))
            serial += 1
        while heap and -heap[0][0] > search.best * (1 + RELATIVE_TOLERANCE):
            if serial >= self.max_cells:
                return Status.SAMPLED
            if not progress.tick(search.best):
                return Status.OUT_OF_BUDGET
            cell = heapq.heappop(heap)[2]
            for corners in _halves(cell.corners):
                child = search.examine(corners, cell.undecided)
                serial += 1
                if child.bound > search.best * (1 + RELATIVE_TOLERANCE):
                    heapq.heappush(heap, (-child.bound, serial, child))
        return Status.CONVERGED

    def _sample(self, search: "_Directions", rank: int, progress: Progress, rng: np.random.Generator) -> Status:
        batch = 64
        for _ in range(0, self.samples, batch):
            if not progress.tick(search.best):
                return Status.OUT_OF_BUDGET
            search.descend_from(rng.standard_normal((batch, rank)))
        return Status.SAMPLED


@dataclass(frozen=True, slots=True, eq=False)
class _Undecided:
    """Features still in question in a cell, and what those certainly chosen add up to."""

    indices: Indices
    chosen: Indices
    form: Vector  # sum of v vᵀ over the chosen


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """A simplex of directions: unit vectors as corners, a bound on what it can hold."""

    corners: Vector
    bound: float
    undecided: _Undecided


class _Directions:
    """The best support met so far among those that directions of R^d select."""

    def __init__(self, rows: Vector, sparsity: int) -> None:
        self._rows = rows
        self._lengths = np.linalg.norm(rows, axis=1)
        self._sparsity = sparsity
        self.best = -math.inf
        self.support: Indices = np.arange(0)

    def everything(self) -> _Undecided:
        """Nothing is decided yet."""
        rank = self._rows.shape[1]
        return _Undecided(np.arange(self._rows.shape[0]), np.arange(0), np.zeros((rank, rank)))

    def descend_from(self, directions: Vector) -> None:
        """Alternate between the support of a direction and the direction of a support."""
        for start in directions:
            direction, before = start, -math.inf
            while True:
                support = top_k(np.abs(self._rows @ direction), self._sparsity)
                values, vectors = np.linalg.eigh(self._rows[support].T @ self._rows[support])
                direction = vectors[:, -1]
                if values[-1] <= before * (1 + 1e-12):
                    break
                before = float(values[-1])
                if before > self.best * (1 + 1e-12):
                    self.best, self.support = before, support

    def examine(self, corners: Vector, parent: _Undecided) -> _Cell:
        """Decide features on a cell, bound it, and try the support at its centre."""
        centre = corners.mean(axis=0)
        centre /= np.linalg.norm(centre)
        radius = float(np.arccos(np.clip(corners @ centre, -1.0, 1.0)).max())
        rows, lengths = self._rows[parent.indices], self._lengths[parent.indices]
        reach = np.minimum(np.abs(rows @ centre), lengths)
        angle = np.arccos(np.divide(reach, lengths, out=np.zeros_like(reach), where=lengths > 0))
        least = lengths * np.cos(np.minimum(angle + radius, np.pi / 2))
        most = lengths * np.cos(np.maximum(angle - radius, 0.0))
        free = self._sparsity - parent.chosen.size
        if free < parent.indices.size:
            certain = least > np.partition(most, -free - 1)[-free - 1]
            possible = most >= np.partition(least, -free)[-free]
        else:
            certain, possible = np.ones(rows.shape[0], dtype=bool), np.ones(rows.shape[0], dtype=bool)
        undecided = possible & ~certain
        form = parent.form + rows[certain].T @ rows[certain]
        state = _Undecided(parent.indices[undecided], np.concatenate([parent.chosen, parent.indices[certain]]), form)
        rows, reach, most = rows[undecided], reach[undecided], most[undecided]
        left = free - int(np.count_nonzero(certain))
        taken = top_k(reach, left)
        support = np.concatenate([state.chosen, state.indices[taken]])
        whole = form + rows[taken].T @ rows[taken]
        values, vectors = np.linalg.eigh(whole)
        if values[-1] > self.best * (1 + 1e-12):
            self.best, self.support = float(values[-1]), np.sort(support)
            self.descend_from(vectors[:, -1][None, :])
        bound = _largest_on_cap(form, centre, radius) + float((most[top_k(most, left)] ** 2).sum())
        if 0 < left < rows.shape[0]:
            exchange = _exchange_on_cap(rows, taken, centre, radius)
            bound = min(bound, _largest_on_cap(whole, centre, radius) + exchange)
        return _Cell(corners, bound, state)


def _exchange_on_cap(rows: Vector, taken: Indices, centre: Vector, radius: float) -> float:
    """Bound how much the largest (v·c)² on a cap can exceed those taken at its centre.

    With t the weakest row taken, Σ_top (v_i·c)² − Σ_taken (v_i·c)² is at most the sum of
    ((v_i·c)² − (v_t·c)²)₊ over rows not taken and ((v_t·c)² − (v_i·c)²)₊ over rows taken. Unlike a
    bound of each row by itself this vanishes for equal rows.
    """
    inner = rows @ centre
    weakest = taken[int(np.abs(inner[taken]).argmin())]
    outside = np.ones(rows.shape[0], dtype=bool)
    outside[taken] = False
    sign = np.where(outside, 1.0, -1.0)
    here = sign * (inner**2 - inner[weakest] ** 2)
    image = inner[:, None] * rows - inner[weakest] * rows[weakest]
    across = image - (image @ centre)[:, None] * centre
    top = np.where(outside, (rows**2).sum(axis=1), float(rows[weakest] @ rows[weakest]))
    turn, swing = _turns(radius)
    ceiling = here + turn * np.linalg.norm(across, axis=1) + swing * np.maximum(top - here, 0.0)
    equal = (np.abs(rows - rows[weakest]).max(axis=1) == 0) | (np.abs(rows + rows[weakest]).max(axis=1) == 0)
    return float(np.maximum(ceiling, 0.0)[~equal].sum())


def _turns(radius: float) -> tuple[float, float]:
    turn = math.sin(2 * radius) if radius < math.pi / 4 else 1.0
    return turn, math.sin(min(radius, math.pi / 2)) ** 2


def _largest_on_cap(form: Vector, centre: Vector, radius: float) -> float:
    """Bound cᵀMc over unit c within an angle of the centre.

    With c = c₀ cos φ + t sin φ: cᵀMc ≤ c₀ᵀMc₀ + sin 2φ ‖Mc₀ − (c₀ᵀMc₀)c₀‖ + sin²φ (λ_max − c₀ᵀMc₀).
    """
    top = float(np.linalg.eigvalsh(form)[-1])
    image = form @ centre
    here = float(centre @ image)
    slope = float(np.linalg.norm(image - here * centre))
    turn, swing = _turns(radius)
    return min(top, here + turn * slope + swing * max(top - here, 0.0))


def _cover(rank: int) -> list[Vector]:
    """Simplices whose cones, with their negatives, fill R^2 or R^3."""
    if rank == 2:
        return [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [-1.0, 0.0]])]
    return [np.array([[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, 1.0]]) for a in (1.0, -1.0) for b in (1.0, -1.0)]


def _halves(corners: Vector) -> tuple[Vector, Vector]:
    """Split a simplex in the middle of its longest edge."""
    cosines = corners @ corners.T
    first, second = np.unravel_index(int(cosines.argmin()), cosines.shape)
    middle = corners[first] + corners[second]
    middle /= np.linalg.norm(middle)
    left, right = corners.copy(), corners.copy()
    left[first], right[second] = middle, middle
    return left, right
