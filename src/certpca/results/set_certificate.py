"""An upper bound for several components together, with its evidence, and the numbers it is about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certpca.results.certificate import FAILURE, RANDOM, share_lost
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector

# What components that are chosen together must satisfy, beside their sparsities.
PROBLEMS = {
    "disjoint": "no feature in two of them",
    "orthogonal": "loadings orthogonal to each other",
    "uncorrelated": "scores uncorrelated with each other",
    "shared": "orthogonal loadings on one choice of features",
}


@dataclass(frozen=True, slots=True, eq=False)
class SetCertificate:
    """An upper bound for components chosen together, with the evidence that proves it.

    Parameters
    ----------
    kind : str
        Which inequality the evidence feeds; the checker has one rule for each.
    problem : {"disjoint", "orthogonal", "uncorrelated", "shared"}
        What the components must satisfy together.
    size : int
        Number of features.
    sparsities : tuple of int
        Largest number of nonzero loadings of each component; for ``"shared"``, where they have them on the same
        features, all are equal.
    upper_bound : float
        No such components capture more, summed over all of them.
    matrix : str
        In words, the matrix the bound is for.
    normalisation : mapping
        The fields of the `Source` but its values: how the data became that matrix.
    fingerprint : str
        Hash of the data and their normalisation.
    supports : tuple of ndarray of int
        Features of the best components known.
    loadings : tuple of ndarray
        Their loadings: they bound the optimum from below.
    evidence : mapping of str to ndarray
        What proves the bound, by name.
    tree : Any
        What of the evidence is no array.
    objective : float
        What the checker made of the loadings when the certificate was made: the sum of the variances that exactly
        feasible components next to them capture.
    seconds : float
        How long the search for the certificate took; no part of what is proved.
    reading : mapping
        How the file was read that the data came from, as options of `load_table`.
    status : Status, optional
        How the search ended; neither part of what is proved nor written to files.

    See Also
    --------
    Certificate : That of one component.
    verify : Check one against data.
    save_certificate : Write it to files that anyone can check.

    Examples
    --------
    >>> import certpca
    >>> certpca.SetCertificate.__name__
    'SetCertificate'
    """

    kind: str
    problem: str
    size: int
    sparsities: tuple[int, ...]
    upper_bound: float
    matrix: str
    normalisation: Mapping[str, Any]
    fingerprint: str
    supports: tuple[Indices, ...]
    loadings: tuple[Vector, ...]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    tree: Any = None
    objective: float = 0.0
    seconds: float = 0.0
    reading: Mapping[str, Any] = field(default_factory=dict)
    status: Status | None = None

    @property
    def n_components(self) -> int:
        """How many components it is about."""
        return len(self.sparsities)

    @property
    def gap(self) -> float:
        """Largest possible loss of the stored loadings: 1 - objective / upper_bound."""
        return share_lost(self.objective, self.upper_bound)

    @property
    def failure_probability(self) -> float:
        """Zero, but for kinds whose check draws random numbers: the probability that those mislead for a component."""
        return FAILURE * self.n_components if self.kind.endswith(RANDOM) else 0.0
