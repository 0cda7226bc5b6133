"""What solving the relaxation gives: a primal and a dual solution."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.sdp.clipped import ClippedDual
from certpca.bounds.sdp.parted import PartedDual, unpacked
from certpca.bounds.sdp.rank_one import Direction
from certpca.operators.base import Operator
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector


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
        return unpacked(self.packed, self.features.size)


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
    dual : ClippedDual, DenseDual or PartedDual
        U, as a clipped low-rank matrix, as a dense one on some features, or as one that is completed on the others;
        `dual.evidence()` feeds a certificate.
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
    lone : ndarray, optional
        The best unit vector u that was found with ‖u‖₁² ≤ k.
    lone_value : float
        What it captures, uᵀAu.

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
    dual: ClippedDual | DenseDual | PartedDual
    lower: float
    method: str
    iterations: int
    primal_residual: float
    dual_residual: float
    needed_memory: int
    status: Status
    largest_eigenvalue: float = 0.0
    lone: Vector | None = None
    lone_value: float = 0.0

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
        values = (self.lower, self.largest_eigenvalue, self.lone_value)
        lower, largest, lone = (math.ldexp(value, power) for value in values)
        dual = self.dual.times_two_to(power)
        return replace(self, dual=dual, lower=lower, largest_eigenvalue=largest, lone_value=lone)


def of_direction(direction: Direction, dual: ClippedDual, sparsity: int, needed: int, status: Status) -> Relaxation:
    """Return uuᵀ with a dual matrix."""
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
        lone=direction.vector,
        lone_value=direction.value * direction.scale,
    )


def of_zero(size: int, sparsity: int) -> Relaxation:
    """Return the solution for a matrix of zeros."""
    nothing = np.zeros((size, 1))
    first = np.eye(size, 1)
    dual = ClippedDual(nothing, np.zeros(1, dtype=np.intp), np.ones(1), nothing[:, 0], 0.0, 0.0, 0.0)
    return Relaxation(sparsity, first, np.ones(1), 1.0, dual, 0.0, "rank-one", 0, 0.0, 0.0, 0, Status.CONVERGED)
