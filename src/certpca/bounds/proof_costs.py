"""How long the checker will take: from the work that its rules do, and from how fast this machine does such work now.

Work is counted in multiplications with additions of a matrix product in double precision. Other steps were measured
once against those; what that misses shows at the first proofs of a run, and later predictions are corrected by it.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from certpca.operators.base import Operator
from certpca.operators.views import is_numpy
from certpca.runtime import budget

EIGENVECTORS, EIGENVALUES, CHOLESKY = 9.5, 3.5, 1.5  # of order n: times n³ multiplications
PER_ENTRY = 2.2e-8  # seconds for each number of a table that is hashed and measured,
PER_BYTE = 5e-9  # where it is a byte,
PER_SPARSE_ENTRY = 1e-7  # or one of few that are not zero
PER_VALUE = 2e-8  # seconds for each number of a factor that a dual point is evaluated on,
PER_ROOT = 2.8e-7  # and where it has to find the roots itself
PER_LANCZOS = 2e-7  # seconds for each entry of a matrix whose largest eigenvalue is sought twice
PER_PAIR = 1e-8  # seconds for each pair of features that is sorted out
PER_SHARE = 2.6e-8  # seconds for each entry of a row of pairs that is sorted out
STEP_PER_VALUE = 2e-8  # seconds for each number in a step of the search for a dual point
SUGGESTIONS = 6  # values tried until the largest eigenvalue of a clipped dual matrix is bounded
RANDOM_WALKS, RANDOM_VECTORS = 4, 32  # of a proof by random vectors, as far as that can be told beforehand,
RANDOM_BESIDE = 48  # and directions of the level, which are multiplied there and back, and there once more
SAMPLE = 640  # order of the product that is timed
MARGIN = 1.25  # what a prediction may be off
ON_A_DEVICE = 0.1  # time of a step there, relative to the host


class ProofCosts:
    """Predicts seconds for one operator; `depth` is the order of its density matrices."""

    def __init__(self, operator: Operator) -> None:
        given = operator.undeflated
        self._values = given.source().values
        shape, self.size = tuple(int(side) for side in self._values.shape), operator.size
        self._in_file = given.cost.given_in_file
        self._of_data = given.source().kind == "data"
        self.depth = min(shape[0], self.size) if self._of_data else self.size
        self._rows = shape[0] if self._of_data else self.size
        self._deflated = given is not operator  # which makes whatever it was dense
        self._sparse = hasattr(self._values, "nnz") and not self._deflated
        self._step_factor = 1.0 if is_numpy(operator) else ON_A_DEVICE
        self._correction = 1.0
        self.known: set[str] = set()  # bounds that the checker remembers, whatever the sparsity

    @cached_property
    def _rate(self) -> float:
        """Multiplications a second."""
        sample = np.ones((SAMPLE, SAMPLE))
        times = []
        for _ in range(3):
            begin = budget.clock()
            np.matmul(sample, sample)
            times.append(budget.clock() - begin)
        return float(2 * SAMPLE**3 / max(min(times), 1e-9))

    def learn(self, predicted: float, took: float) -> None:
        """Correct later predictions by one that could be compared."""
        if predicted > 0.05 and took > 0.3 * predicted:  # else the checker remembered something
            self._correction = min(max(self._correction * MARGIN * took / predicted, 0.5), 10.0)

    def _seconds(self, multiplications: float, more: float = 0.0) -> float:
        return MARGIN * self._correction * (multiplications / self._rate + more)

    def preparing(self) -> float:
        """Return the seconds until the checker has hashed and measured the data, and formed a matrix if it will."""
        if self._sparse and self._rows <= self.size:
            return self._seconds(0, PER_SPARSE_ENTRY * self._values.nnz)
        walks = self._reading if self._in_file else 0.0
        work = 0.0
        if self.depth == self.size:  # a square root of the matrix, and what it misses
            work = (EIGENVECTORS + EIGENVALUES + CHOLESKY + 4) * self.size**3 + 2.0 * self._rows * self.size**2
        each = PER_BYTE if getattr(self._values.dtype, "itemsize", 8) == 1 and not self._deflated else PER_ENTRY
        return self._seconds(work, each * self._rows * self.size + walks)

    @cached_property
    def _reading(self) -> float:
        """Time four walks over a file by reading a little of it."""
        width = max(1, min(self.size, (4 << 20) // max(self._rows, 1)))
        begin = budget.clock()
        np.asarray(self._values[:, slice(0, width)])
        return 4 * (budget.clock() - begin) * self.size / width

    def closed_form(self, kind: str) -> float:
        """Return the seconds for a bound that needs no evidence."""
        if kind in self.known:
            return 0.0
        if kind == "largest-eigenvalue":
            work = 2.0 * self.depth**2 * self.size + (EIGENVALUES + CHOLESKY) * self.depth**3
            return self._seconds(work, PER_ENTRY / 4 * self.depth * self.size)
        if kind == "row-sums":
            return self.pairs()
        return self._seconds(0, 1e-8 * self.size)

    def dual(self, features: int | None = None, *, roots: bool = True, screened: bool = False) -> float:
        """Return the seconds for one dual point on so many features."""
        count = self.size if features is None else features
        work = 4.0 * self.depth**2 * count + (EIGENVECTORS + EIGENVALUES + CHOLESKY) * self.depth**3
        if screened:
            work += 6.0 * self.depth**2 * count + EIGENVECTORS * self.depth**3
        return self._seconds(work, (PER_VALUE + (0.0 if roots else PER_ROOT)) * self.depth * count)

    def level(self, width: int, walks: int = 0) -> float:
        """Return the seconds for a level on so many directions, and for walks in the search for one."""
        work = self.depth * self.size * (self.depth + 8.0 * width) + 6.0 * self.depth**3
        more = PER_VALUE * self.depth * self.size + PER_LANCZOS * self.depth**2
        return self._seconds(work + 2.0 * walks * self.depth * self.size * width, more)

    def split(self, steps: int = 0) -> float:
        """Return the seconds for prices of features in a frame of all directions, and for steps on the way to them."""
        work = 3.0 * self.depth**2 * self.size + 8.0 * self.depth**3
        step = self._step_factor * self._seconds(
            steps * (1.5 * self.depth**2 * self.size + EIGENVECTORS * self.depth**3)
        )
        return step + self._seconds(work, PER_VALUE * self.depth * self.size)

    def cell(self, width: int, groups: int) -> float:
        """Return the seconds for a cell of counts whose supports are told apart by so many groups."""
        vertices = 2.0**groups
        return self.level(width) + self._seconds((vertices - 1) * (CHOLESKY + 1) * self.depth**3)

    def evaluations(self, count: int, known: int) -> float:
        """Return the seconds for so many evaluations of a bound on known directions, in single precision."""
        work = 1.0 * self.size * known * (known + 40.0) + EIGENVECTORS * known**3
        return self._step_factor * self._seconds(count * work)

    def level_again(self) -> float:
        """Return the seconds for a level that the checker remembers, and another sparsity."""
        return self._seconds(2 * (EIGENVALUES + CHOLESKY) * self.depth**3)

    def level_random(self, width: int, walks: int = 0) -> float:
        """Return the seconds for a level on so many directions that is proved by random vectors, and for walks."""
        entries = 1.0 * self.depth * self.size
        work = 4.0 * (RANDOM_WALKS * RANDOM_VECTORS + width + RANDOM_BESIDE) * entries
        return self._seconds(work, (RANDOM_WALKS * PER_VALUE / 8 + walks * PER_VALUE / 16) * entries)

    def pairs(self) -> float:
        """Return the seconds for a look at all pairs of features, each of them once."""
        return self._seconds(1.0 * self.size**2 * self.depth, PER_PAIR * self.size**2)

    def pair_stage(self, rows: int, entries: int, steps: int) -> float:
        """Return the seconds for steps on rows of pairs that matter, with so many entries beside these."""
        each = (EIGENVECTORS + 2) * float(rows) ** 3 + 4.0 * rows * entries
        return self._seconds(steps * each, steps * PER_SHARE * (rows**2 + entries))

    def clipped(self, width: int) -> float:
        """Return the seconds for a clipped dual matrix of the semidefinite relaxation with so many columns."""
        work = 2.0 * self.depth**2 * self.size + 2.0 * self.depth * self.size * width
        work += SUGGESTIONS * (EIGENVALUES + CHOLESKY) * self.depth**3
        return self._seconds(work, 2e-9 * self.size**2)

    def dense(self, features: int) -> float:
        """Return the seconds for a dense dual matrix of the semidefinite relaxation on so many features."""
        work = 2.0 * features**2 * self.depth + 2 * CHOLESKY * features**3
        return self._seconds(work, 3e-8 * features**2)

    def parted(self, features: int) -> float:
        """Return the seconds for a dual matrix on so many features that is completed on the others."""
        others = self.size - features
        return self.dense(features) + self._seconds(
            2.0 * others * (features + others / 2) * self.depth + 2.0 * others * features**2,
            1.5e-8 * others * (features + others / 2),
        )

    def reduced(self, depth: int) -> float:
        """Return the seconds for a dual point in so many directions, and the bound for all others."""
        work = (2.0 * self.depth**2 + 8.0 * self.depth * depth) * self.size + (EIGENVALUES + CHOLESKY) * self.depth**3
        return self._seconds(work, PER_VALUE * depth * self.size)

    def of(self, kind: str, evidence: Mapping[str, Any]) -> float:
        """Return the seconds for a certificate whose evidence is there; unknown ones count as nothing."""
        match kind:
            case "trace" | "row-sums" | "largest-eigenvalue":
                seconds = self.closed_form(kind)
            case "sdp-dual" if "shifts" in evidence:
                seconds = self.parted(np.asarray(evidence["features"]).size)
            case "sdp-dual" if "matrix" in evidence:
                seconds = self.dense(np.asarray(evidence["features"]).size if "features" in evidence else self.size)
            case "sdp-dual":
                seconds = self.clipped(int(np.asarray(evidence["factor"]).shape[1]))
            case "l0-dual":
                seconds = self.dual(roots="theta" in evidence)
            case "l0-level":
                seconds = self.level(np.asarray(evidence["weights"]).size)
            case "l0-level-random":
                seconds = self.level_random(np.asarray(evidence["leading"]).shape[1])
            case "count-tree":
                width = np.asarray(evidence["directions"]).shape[1]
                named = [values for name, values in evidence.items() if name.endswith("_groups")]
                seconds = sum(self.cell(width, np.asarray(groups).size) for groups in named)
            case "pair-rows":
                seconds = self.pairs()
            case _:
                seconds = 0.0
        return seconds

    def posing(self) -> float:
        """Return the seconds until the dual problem is there."""
        work = 1.0 * self.depth**2 * self.size + EIGENVECTORS * self.depth**3
        if self.depth == self.size:
            work += EIGENVECTORS * self.depth**3 + 2.0 * self._rows * self.size**2
        return self._step_factor * self._seconds(work, PER_ENTRY / 2 * self.depth * self.size)

    def step(self) -> float:
        """Return the seconds for a step towards a better dual point, in single precision."""
        work = 1.5 * self.depth**2 * self.size + (EIGENVECTORS + 2 * CHOLESKY) * self.depth**3
        return self._step_factor * self._seconds(work, STEP_PER_VALUE * self.depth * self.size)
