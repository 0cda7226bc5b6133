"""What solvers propose and what callers receive. Frozen: a result never changes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from certpca.arrays import Indices, Vector
from certpca.budget import Progress, Step
from certpca.rounded import down, percent_down

RANDOM = "-random"  # how kinds of certificates end that hold with a probability
FAILURE = 1e-12  # the probability with which one of these may be wrong
PROVED_OPTIMAL = 1e-6  # the gap up to which a component is called optimal, which is then said


def share_lost(objective: float, upper_bound: float) -> float:
    """Return 1 - objective / upper_bound: the largest possible loss. NaN where nothing is proved."""
    if not math.isfinite(upper_bound):
        return math.nan
    if upper_bound <= 0.0:  # of a matrix of zeros, where nothing can be lost
        return 0.0 if objective >= upper_bound else math.nan
    return max(0.0, 1.0 - objective / upper_bound)


class Status(Enum):
    """How a run ended. The values are the sentences users read."""

    CONVERGED = "finished: the method reached its own stopping rule"
    OPTIMAL = "proved optimal: no other choice of features captures more, to one part in a million"
    WITHIN_GAP = "finished: proved to be within the gap asked for, which is not a proof of optimality"
    OUT_OF_BUDGET = "stopped at the budget with the best answer so far; allow more time or steps to go on"
    INTERRUPTED = "stopped by the user with the best answer so far"
    SAMPLED = "finished on sampled directions, not on all of them; raise max_cells for the exact low-rank optimum"
    TOO_LARGE = (
        "stopped before the dense steps, which need more memory than allowed (see needed_memory); "
        "raise `memory`, or use `certify`, whose dual needs no matrix of that size"
    )
    STALLED = "stopped because further steps hardly helped; the bound is valid but the requested gap was not reached"
    WIDER_SUPPORT = (
        "finished: the support is wider than the sparsity, as the accuracy mode allows; "
        "leave epsilon unset for at most `sparsity` loadings"
    )


def ending(progress: Progress, otherwise: Status) -> Status:
    """Return how a run ended: by a signal or a listener, by a limit, or otherwise."""
    if not progress.cut_short:
        return otherwise
    return Status.INTERRUPTED if progress.interrupted else Status.OUT_OF_BUDGET


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """What a solver proposes.

    Parameters
    ----------
    support
        Sorted indices.
    status
        How the solver ended.
    loadings
        The algorithm's own vector on the support, where it differs from the best one.
    largest_eigenvalue
        Of the whole operator, where the solver had to compute it; NaN where there was no time for that.
    details
        Numbers particular to the algorithm, by name.
    certificate
        A proved bound, where the algorithm comes with one.
    constrained
        The loadings obey a rule that the best ones on the support might break, so they are kept.
    fitted
        The loadings are the best ones on the support already.
    """

    support: Indices
    status: Status
    loadings: Vector | None = None
    largest_eigenvalue: float | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    certificate: "Certificate | None" = None
    constrained: bool = False
    fitted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The numbers a matrix comes from and how, in words a checker can follow by itself.

    Parameters
    ----------
    kind
        ``"matrix"``: the values are the matrix. ``"data"``: they are samples x features.
    values
        NumPy array, an array of another library, or scipy.sparse.
    center, scale
        Whether column means are subtracted and columns then scaled to unit variance; ``"2pq"`` divides them by
        √(2p(1 − p)) instead, where 2p is the mean.
    divisor
        What products of columns are divided by.
    missing, fill_missing
        The integer that codes missing values (None: NaN), and whether they take the column mean.
    """

    kind: str
    values: Any
    center: bool = False
    scale: bool | str = False
    divisor: float = 1.0
    missing: int | None = None
    fill_missing: bool = False

    def normalisation(self) -> dict[str, Any]:
        """Return everything but the values."""
        return {
            "kind": self.kind,
            "center": bool(self.center),
            "scale": self.scale if isinstance(self.scale, str) else bool(self.scale),
            "divisor": float(self.divisor),
            "missing": self.missing,
            "fill_missing": bool(self.fill_missing),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """An upper bound with the evidence that proves it, for one matrix and one sparsity.

    Parameters
    ----------
    kind
        Which inequality the evidence feeds; the checker has one rule for each.
    upper_bound
        No unit vector with at most `sparsity` nonzero loadings captures more.
    matrix
        In words, the matrix the bound is for.
    normalisation
        The fields of the `Source` but its values: how the data became that matrix.
    fingerprint
        Hash of the data and their normalisation.
    support, loadings
        The best loadings known: they bound the optimum from below.
    evidence, tree
        Arrays by name, and for trees of regions how these are split.
    reading
        How the file was read that the data came from (filters, array, columns), as options of `load_table`; empty where
        it is read as it is. Not part of the proof: `fingerprint` is of the numbers that were read.
    objective, outside, inside
        What the checker made of the rest when the certificate was made.
    seconds, status
        How long the search for it took and how that ended. Neither is part of what is proved, nor is the status written
        to files.
    """

    kind: str
    size: int
    sparsity: int
    upper_bound: float
    matrix: str
    normalisation: Mapping[str, Any]
    fingerprint: str
    support: Indices
    loadings: Vector
    evidence: Mapping[str, Any] = field(default_factory=dict)
    tree: Any = None
    objective: float = 0.0
    outside: int = 0
    inside: int = 0
    seconds: float = 0.0
    reading: Mapping[str, Any] = field(default_factory=dict)
    status: Status | None = None

    @property
    def gap(self) -> float:
        """Largest possible loss of the stored loadings: 1 - objective / upper_bound."""
        return share_lost(self.objective, self.upper_bound)

    @property
    def failure_probability(self) -> float:
        """Zero, but for kinds whose check draws random numbers: the probability that those mislead."""
        return FAILURE if self.kind.endswith(RANDOM) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A sparse component and what is known of its quality.

    Parameters
    ----------
    support
        Sorted indices of the features with nonzero loadings.
    names
        Their names, where the data have names.
    loadings
        Unit vector on the support, in its order. The largest in magnitude is positive.
    objective
        Variance captured: the quadratic form of the loadings, in float64.
    explained_variance_ratio
        Objective divided by the trace, the total variance.
    relative_objective
        Objective divided by the largest eigenvalue (the paper's f): 1 is what a dense
        component captures. NaN where a limit left no time to compute that.
    size
        Number of features.
    sparsity
        Largest number of nonzero loadings asked for.
    matrix
        In words, the matrix whose variance is captured.
    certificate
        The upper bound with its evidence, where one was asked for.
    reading
        How the file behind the data was read, as in `Certificate`.
    """

    support: Indices
    names: tuple[str, ...] | None
    loadings: Vector
    objective: float
    explained_variance_ratio: float
    relative_objective: float
    size: int
    sparsity: int
    matrix: str
    solver: str
    status: Status
    seconds: float
    refitted: bool = True
    history: tuple[Step, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def upper_bound(self) -> float:
        """What no loadings of that sparsity exceed; infinite while nothing is proved."""
        return math.inf if self.certificate is None else self.certificate.upper_bound

    @property
    def gap(self) -> float:
        """Largest possible loss against the optimum, as a fraction; NaN while nothing is proved."""
        return share_lost(self.objective, self.upper_bound)

    @property
    def component(self) -> Vector:
        """The loadings as a dense vector over all features."""
        import numpy as np

        dense = np.zeros(self.size)
        dense[self.support] = self.loadings
        return dense

    def __str__(self) -> str:
        """Say in one line what was found."""
        return (
            f"{self.solver}: {self.support.size} of {self.size} features capture "
            f"{down(self.objective)} ({percent_down(self.explained_variance_ratio)} of the variance), "
            f"{self.status.value}"
        )
