"""What solvers propose and what callers receive. Frozen: a result never changes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from certpca.results.certificate import Certificate, share_lost
from certpca.results.constraints import FREE, Constraints
from certpca.results.html_summary import of_solution
from certpca.results.status import Status
from certpca.results.tidy import loadings_frame, summary_frame, summary_row
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.budget import Progress, Step
from certpca.runtime.rounded import down, percent_down

if TYPE_CHECKING:
    import pandas


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
    support : ndarray of int
        Sorted indices.
    status : Status
        How the solver ended.
    loadings : ndarray, optional
        The algorithm's own vector on the support, where it differs from the best one.
    largest_eigenvalue : float, optional
        Of the whole operator, where the solver had to compute it; NaN where there was no time for that.
    details : mapping of str to float
        Numbers particular to the algorithm, by name.
    certificate : Certificate, optional
        A proved bound, where the algorithm comes with one.
    constrained : bool
        The loadings obey a rule that the best ones on the support might break, so they are kept.
    fitted : bool
        The loadings are the best ones on the support already.

    See Also
    --------
    Solver : What proposes it.
    Solution : What becomes of it once it is judged.

    Examples
    --------
    >>> import certpca, numpy as np
    >>> certpca.Candidate(np.array([0, 3]), certpca.Status.CONVERGED).fitted
    False
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
class Solution:
    """A sparse component and what is known of its quality.

    Parameters
    ----------
    support : ndarray of int
        Sorted indices of the features with nonzero loadings.
    names : tuple of str or None
        Their names, where the data have names.
    loadings : ndarray
        Unit vector on the support, in its order. The largest in magnitude is positive.
    objective : float
        Variance captured: the quadratic form of the loadings, in float64.
    explained_variance_ratio : float
        Objective divided by the trace, the total variance.
    relative_objective : float
        Objective divided by the largest eigenvalue (the paper's f): 1 is what a dense
        component captures. NaN where a limit left no time to compute that.
    size : int
        Number of features.
    sparsity : int
        Largest number of nonzero loadings asked for.
    matrix : str
        In words, the matrix whose variance is captured.
    solver : str
        Name of what proposed the support.
    status : Status
        How the run ended.
    seconds : float
        Time that it took.
    refitted : bool
        Whether the loadings are the best ones on the support, not the algorithm's own.
    history : tuple of Step
        Every step at which something became better.
    details : mapping of str to float
        Numbers particular to the algorithm, by name.
    certificate : Certificate, optional
        The upper bound with its evidence, where one was asked for.
    reading : mapping
        How the file behind the data was read, as in `Certificate`.
    constraints : Constraints
        What else was asked of the component.
    mean, scale : ndarray, optional
        What is subtracted from the columns of the support, and what they are then divided by, before scores are
        products with the loadings: `transform` needs no more. None where the matrix was not made of data.

    See Also
    --------
    solve : What returns it.
    save_solution : Write it to a file.
    write_report : Tell it to readers.

    Examples
    --------
    >>> import certpca
    >>> print(certpca.solve(certpca.pitprops(), 3))  # doctest: +ELLIPSIS
    auto: 3 of 13 features capture 2.475... (19.04% of the variance), finished: ...
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
    constraints: Constraints = FREE
    mean: Vector | None = None
    scale: Vector | None = None

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

    def to_frame(self) -> "pandas.DataFrame":
        """Return the loadings as a table with a row for each that is not zero.

        Returns
        -------
        pandas.DataFrame
            Columns component, feature (its name), position (from 1), loading and sign, the largest loadings first.
        """
        return loadings_frame([(1, self)], "component")

    def summary_frame(self) -> "pandas.DataFrame":
        """Return what is captured and proved as a table with a row for each component (here one).

        Returns
        -------
        pandas.DataFrame
            Among others objective, variance_ratio, upper_bound and gap; empty where nothing is proved.
        """
        return summary_frame([{"component": 1, **summary_row(self)}])

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return of_solution(self)

    def __str__(self) -> str:
        """Say in one line what was found."""
        asked = f" ({self.constraints})" if self.constraints else ""
        return (
            f"{self.solver}: {self.support.size} of {self.size} features{asked} capture "
            f"{down(self.objective)} ({percent_down(self.explained_variance_ratio)} of the variance), "
            f"{self.status.value}{', under these constraints' if self.constraints else ''}"
        )
