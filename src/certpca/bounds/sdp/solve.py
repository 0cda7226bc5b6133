"""Solve the semidefinite relaxation to a duality gap: a rank-one attempt, then alternating directions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.sdp.clipped import ClippedDual, clipped_duals
from certpca.bounds.sdp.rank_one import Direction, sparse_direction
from certpca.bounds.sdp.splitting import DOUBLE, Iterate, Splitting
from certpca.operators.base import Operator
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.runtime.budget import Progress
from certpca.search.krylov import leading_eigenpairs

STARTS = 4  # leading eigenvectors from which the rank-one attempt begins
LOOK_EVERY = 10  # steps between estimates of the dual value
STEPS = 4000
UNDER_LEVEL = 0.5  # share of the rank-one level below which a feature is left out at first

Judge = Callable[[Vector, Vector, float], bool]


@dataclass(frozen=True, slots=True, eq=False)
class DenseDual:
    """U by its lower triangle on some features, in the matrix's own units; elsewhere U is the matrix itself."""

    packed: Vector
    features: Indices
    level: float
    top: float
    bound: float

    def evidence(self) -> dict[str, Any]:
        """Return what the checker needs."""
        return {"matrix": self.packed, "features": self.features, "top": np.float64(self.top)}

    def times_two_to(self, power: int) -> "DenseDual":
        """Return the dual for the matrix times 2 to the power."""
        level, top, bound = (math.ldexp(value, power) for value in (self.level, self.top, self.bound))
        # In double precision: single precision may have no room for it.
        return DenseDual(np.ldexp(self.packed.astype(np.float64), power), self.features, level, top, bound)

    def dense(self, operator: Operator) -> Vector:
        """Return U in full, for problems small enough."""
        whole = operator.submatrix(np.arange(operator.size))
        whole[np.ix_(self.features, self.features)] = self.part()
        return whole

    def part(self) -> Vector:
        """Return U on its features, in the precision it is stored in."""
        part = np.zeros((self.features.size, self.features.size), dtype=self.packed.dtype)
        part[np.tril_indices(self.features.size)] = self.packed
        return part + np.tril(part, -1).T


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """A primal and a dual solution of the relaxation.

    Parameters
    ----------
    sparsity : int
        Largest number of nonzero loadings, which the relaxation is about.
    vectors : ndarray
        V of Z = V diag(z) Vᵀ, which is feasible up to `shrink`: shrink · Z is.
    weights : ndarray
        The diagonal z.
    shrink : float
        What makes Z feasible.
    dual : ClippedDual or DenseDual
        U, as a clipped low-rank matrix or as a dense one on some features; `dual.evidence()` feeds a certificate.
    lower : float
        The value of the primal: the relaxation's own value lies between it and `upper`.
    method : str
        How it was solved.
    iterations : int
        Steps of the alternating directions; zero after a rank-one solution.
    primal_residual : float
        Of the alternating directions, relative to the largest eigenvalue; zero after a rank-one solution.
    dual_residual : float
        Likewise.
    needed_memory : int
        Bytes the dense steps take, or would have taken.
    status : Status
        How the run ended.
    largest_eigenvalue : float
        Of the matrix, as estimated on the way.

    See Also
    --------
    solve_sdp : What returns it.

    Examples
    --------
    >>> import certpca
    >>> certpca.solve_sdp(certpca.pitprops(), 5).gap <= 1e-4
    True
    """

    sparsity: int
    vectors: Vector
    weights: Vector
    shrink: float
    dual: ClippedDual | DenseDual
    lower: float
    method: str
    iterations: int
    primal_residual: float
    dual_residual: float
    needed_memory: int
    status: Status
    largest_eigenvalue: float = 0.0

    @property
    def upper(self) -> float:
        """Value of the dual, as estimated; the checker proves it."""
        return self.dual.bound

    @property
    def gap(self) -> float:
        """Relative duality gap, as estimated."""
        return max(0.0, 1.0 - self.lower / self.upper) if self.upper > 0 else 0.0

    def times_two_to(self, power: int) -> "Relaxation":
        """Return the solution for the matrix times 2 to the power, an even one.

        Parameters
        ----------
        power : int
            Even, of either sign.

        Returns
        -------
        Relaxation
            The same solution in other units.
        """
        if power == 0:
            return self
        lower, largest = (math.ldexp(value, power) for value in (self.lower, self.largest_eigenvalue))
        return replace(self, dual=self.dual.times_two_to(power), lower=lower, largest_eigenvalue=largest)


def solve_relaxation(
    operator: Operator,
    sparsity: int,
    progress: Progress,
    *,
    gap: float = 1e-4,
    memory: float = 16 * 2**30,
    warm: Relaxation | None = None,
    judge: Judge | None = None,
) -> Relaxation:
    """Solve until the duality gap is small, or until the judge is content with (V, z, upper)."""
    needed = Splitting.memory(operator.size)
    pairs = leading_eigenpairs(operator, min(STARTS, operator.size), late=progress.late)
    scale = float(pairs.values[0])
    if not scale > 0:
        return _of_zero(operator.size, sparsity, needed)
    start = None if warm is None or warm.vectors.shape[0] != operator.size else warm.vectors[:, 0]
    direction = sparse_direction(operator, sparsity, pairs, progress, start)
    best: ClippedDual | None = None
    for dual in clipped_duals(operator, direction, sparsity, progress.late):
        best = dual if best is None or dual.bound < best.bound else best
        found = _rank_one(direction, best, sparsity, needed, Status.CONVERGED)
        going = progress.tick(0.0, best.bound)
        if found.gap <= gap or (judge is not None and judge(found.vectors, found.weights, best.bound)):
            return found
        if not going:
            return replace(found, status=Status.OUT_OF_BUDGET)
    assert best is not None
    if needed > memory:
        return _rank_one(direction, best, sparsity, needed, Status.TOO_LARGE)
    return _split(operator, direction, best, sparsity, progress, gap, judge, needed, warm)


def _rank_one(direction: Direction, dual: ClippedDual, sparsity: int, needed: int, status: Status) -> Relaxation:
    return Relaxation(
        sparsity=sparsity,
        vectors=direction.vector[:, None],
        weights=np.ones(1),
        shrink=min(1.0, sparsity / float(np.abs(direction.vector).sum()) ** 2),
        dual=dual,
        lower=direction.value * direction.scale,
        method="rank-one",
        iterations=0,
        primal_residual=0.0,
        dual_residual=0.0,
        needed_memory=needed,
        status=status,
        largest_eigenvalue=direction.scale,
    )


def _of_zero(size: int, sparsity: int, needed: int) -> Relaxation:
    nothing = np.zeros((size, 1))
    first = np.eye(size, 1)
    dual = ClippedDual(nothing, np.zeros(1, dtype=np.intp), np.ones(1), nothing[:, 0], 0.0, 0.0, 0.0)
    return Relaxation(sparsity, first, np.ones(1), 1.0, dual, 0.0, "rank-one", 0, 0.0, 0.0, needed, Status.CONVERGED)


def _split(
    operator: Operator,
    direction: Direction,
    clipped: ClippedDual,
    sparsity: int,
    progress: Progress,
    gap: float,
    judge: Judge | None,
    needed: int,
    warm: Relaxation | None,
) -> Relaxation:
    """Run alternating directions on the features that the level does not exclude, then look at the others."""
    diagonal = to_vector(operator.diagonal())
    reach = np.sqrt(np.maximum(diagonal, 0.0) * diagonal.max())  # bounds the entries of each row
    level = UNDER_LEVEL * clipped.level
    while not progress.exhausted:
        chosen = (reach > level) | (direction.vector != 0)
        features = np.flatnonzero(chosen)
        run = _Run(operator, features, direction, clipped, sparsity, warm)
        status = run.until(progress, gap, judge, clipped.bound)
        found = run.result(status, needed)
        if not (reach[~chosen] > found.dual.level).any():
            break
        level = 0.0  # the level ended below features that were left out: take all of them
    else:
        return _rank_one(direction, clipped, sparsity, needed, Status.OUT_OF_BUDGET)
    if clipped.bound < found.upper:
        found = replace(found, dual=clipped)
    lone = _rank_one(direction, clipped, sparsity, needed, status)
    if lone.lower > found.lower or 1 - lone.lower / found.upper <= gap:  # perhaps it was a solution all along
        found = replace(found, vectors=lone.vectors, weights=lone.weights, shrink=lone.shrink, lower=lone.lower)
    return found


class _Run:
    """Alternating directions on some features."""

    def __init__(
        self,
        operator: Operator,
        features: Indices,
        direction: Direction,
        clipped: ClippedDual,
        sparsity: int,
        warm: Relaxation | None,
    ) -> None:
        self.whole, self.features = operator.size, features
        part = operator if features.size == operator.size else operator.restrict(features)
        self.sparsity = min(sparsity, features.size)
        self.splitting = Splitting(part, self.sparsity, direction.scale)
        xp, scale = operator.xp, direction.scale
        dtype, device = self.splitting.dtype, operator.device
        same = warm is not None and isinstance(warm.dual, DenseDual) and np.array_equal(warm.dual.features, features)
        # Around a rank-one solution the clipped dual is the better start.
        if warm is not None and same and warm.weights.size > 1:
            assert isinstance(warm.dual, DenseDual)
            dual = warm.dual.part()
            self.splitting.start(
                warm.vectors[features],
                warm.weights,
                lambda rows: xp.asarray(dual[rows] / scale, dtype=dtype, device=device),
                warm.dual.level / scale,
            )
        else:
            rows_of = clipped.restricted(features)
            self.splitting.start(
                direction.vector[features, None],
                np.ones(1),
                lambda rows: rows_of.block(xp, rows, dtype, device) / scale,
                clipped.level / scale,
            )
        self.count = 0
        self.last: Iterate | None = None
        self.best: Iterate | None = None
        self.best_value = -math.inf
        self.floor = direction.value  # what the rank-one candidate achieves
        self.top = math.inf

    def until(self, progress: Progress, gap: float, judge: Judge | None, known: float) -> Status:
        scale, splitting = self.splitting.scale, self.splitting
        stalled, lowest, looking = 0, math.inf, 0.0
        for iterate in splitting.steps():
            self.count += 1
            self.last = iterate
            if iterate.value > self.best_value:
                self.best_value, self.best = iterate.value, iterate
            with progress.setting_aside(looking):
                going = not progress.exhausted
            if self.count % LOOK_EVERY and going and self.count < STEPS:
                continue
            begin = progress.seconds
            self.top = splitting.dual_top(
                accuracy=max(min(1e-5, 0.01 * gap), 1e-9 if splitting.dtype == splitting.xp.float64 else 1e-6),
                late=progress.late,
            )
            looking = progress.seconds - begin
            upper = self.top + self.sparsity * splitting.dual_level()
            going = progress.tick(0.0, min(upper * scale, known), f"{self.count} steps") and going
            if 1 - max(self.best_value, self.floor) * scale / min(upper * scale, known) <= gap:
                return Status.CONVERGED
            assert self.best is not None
            if judge is not None and judge(self._spread(self.best.vectors), self.best.weights, upper * scale):
                return Status.CONVERGED
            stalled = 0 if upper - self.best_value < 0.97 * lowest else stalled + 1
            lowest = min(lowest, upper - self.best_value)
            if not going:
                return Status.OUT_OF_BUDGET
            if self.count >= STEPS or stalled >= 40:
                return Status.STALLED
        raise AssertionError

    def _spread(self, vectors: Vector) -> Vector:
        spread = np.zeros((self.whole, vectors.shape[1]))
        spread[self.features] = vectors
        return spread

    def result(self, status: Status, needed: int) -> Relaxation:
        best, last = self.best, self.last
        assert best is not None
        assert last is not None
        scale = self.splitting.scale
        level = self.splitting.dual_level() * scale
        packed = self.splitting.dual_packed() * scale
        packed = packed if self.features.size <= DOUBLE else packed.astype(np.float32)
        dual = DenseDual(packed, self.features, level, self.top * scale, self.top * scale + self.sparsity * level)
        return Relaxation(
            sparsity=self.sparsity,
            vectors=self._spread(best.vectors),
            weights=best.weights,
            shrink=min(1.0, self.sparsity / best.norm),
            dual=dual,
            lower=best.value * scale,
            method="alternating directions",
            iterations=self.count,
            primal_residual=last.primal_residual,
            dual_residual=last.dual_residual,
            needed_memory=needed,
            status=status,
            largest_eigenvalue=scale,
        )
