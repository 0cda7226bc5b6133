"""An upper bound with its evidence, and the numbers it is about."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector

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
