"""An upper bound with its evidence, and the numbers it is about."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certpca.results.constraints import FREE, Constraints
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector

RANDOM = "-random"  # how kinds of certificates end that hold with a probability


FAILURE = 1e-12  # the probability with which one of these may be wrong


SMALLEST_WEIGHT = 1e-30  # of a sample, relative to the largest; zeros are smaller


PROVED_OPTIMAL = 1e-6  # the gap up to which a component is called optimal, which is then said


def share_lost(objective: float, upper_bound: float) -> float:
    """Return 1 - objective / upper_bound: the largest possible loss. NaN where nothing is proved."""
    if not math.isfinite(upper_bound):
        return math.nan
    if upper_bound <= 0.0:  # of a matrix of zeros, where nothing can be lost
        return 0.0 if objective >= upper_bound else math.nan
    return max(0.0, 1.0 - objective / upper_bound)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The numbers a matrix comes from and how, in words a checker can follow by itself.

    Parameters
    ----------
    kind : {"matrix", "data"}
        ``"matrix"``: the values are the matrix. ``"data"``: they are samples x features.
    values : array_like
        NumPy array, an array of another library, or scipy.sparse.
    center : bool
        Whether column means are subtracted.
    scale : bool or {"2pq"}
        Whether columns are then scaled to unit variance; ``"2pq"`` divides them by √(2p(1 − p)) instead, where 2p is
        the mean.
    divisor : float
        What products of columns are divided by.
    missing : int, optional
        The integer that codes missing values; None: NaN.
    fill_missing : bool
        Whether they take the column mean.
    weights : sequence of float, optional
        One for each sample, not negative; only their ratios matter. None: all samples count the same.

    See Also
    --------
    Operator.source : What returns it.

    Examples
    --------
    >>> import certpca
    >>> certpca.pitprops().source().kind
    'matrix'
    """

    kind: str
    values: Any
    center: bool = False
    scale: bool | str = False
    divisor: float = 1.0
    missing: int | None = None
    fill_missing: bool = False
    weights: Any = None

    def normalisation(self) -> dict[str, Any]:
        """Return everything but the values.

        Returns
        -------
        dict
            The other fields, by name.
        """
        return {
            "kind": self.kind,
            "center": bool(self.center),
            "scale": self.scale if isinstance(self.scale, str) else bool(self.scale),
            "divisor": float(self.divisor),
            "missing": self.missing,
            "fill_missing": bool(self.fill_missing),
            **({} if self.weights is None else {"weights": [float(weight) for weight in self.weights]}),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """An upper bound with the evidence that proves it, for one matrix and one sparsity.

    Parameters
    ----------
    kind : str
        Which inequality the evidence feeds; the checker has one rule for each.
    size : int
        Number of features.
    sparsity : int
        Largest number of nonzero loadings that the bound is about.
    upper_bound : float
        No unit vector with at most `sparsity` nonzero loadings captures more.
    matrix : str
        In words, the matrix the bound is for.
    normalisation : mapping
        The fields of the `Source` but its values: how the data became that matrix.
    fingerprint : str
        Hash of the data and their normalisation.
    support : ndarray of int
        Features of the best loadings known.
    loadings : ndarray
        These loadings: they bound the optimum from below.
    evidence : mapping of str to ndarray
        What proves the bound, by name.
    tree : Any
        For trees of regions, how these are split.
    objective : float
        What the checker made of the loadings when the certificate was made: the variance they capture.
    outside : int
        How many features it proved to be in no optimal support.
    inside : int
        How many it proved to be in every optimal support.
    seconds : float
        How long the search for the certificate took; no part of what is proved.
    reading : mapping
        How the file was read that the data came from (filters, array, columns), as options of `load_table`; empty where
        it is read as it is. Not part of the proof: `fingerprint` is of the numbers that were read.
    constraints : Constraints
        What else the components must satisfy that the bound is about.
    status : Status, optional
        How the search ended; neither part of what is proved nor written to files.
    details : mapping of str to float
        How often a file was read while it was made: `walks`, and `walks_search`, `walks_judge` and `walks_proof` apart;
        no part of what is proved.

    See Also
    --------
    certify : Make one.
    verify : Check one against data.
    save_certificate : Write it to files that anyone can check.

    Examples
    --------
    >>> import certpca
    >>> certificate = certpca.certify(certpca.pitprops(), 7)
    >>> certificate.objective <= certificate.upper_bound
    True
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
    constraints: Constraints = FREE
    status: Status | None = None
    details: Mapping[str, float] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        from certpca.results.html_summary import of_certificate

        return of_certificate(self)

    @property
    def gap(self) -> float:
        """Largest possible loss of the stored loadings: 1 - objective / upper_bound."""
        return share_lost(self.objective, self.upper_bound)

    @property
    def failure_probability(self) -> float:
        """Zero, but for kinds whose check draws random numbers: the probability that those mislead."""
        return FAILURE if self.kind.endswith(RANDOM) else 0.0
