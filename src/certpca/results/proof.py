"""What the checker established about one matrix: for one component, or for several together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from certpca.results.certificate import FAILURE, RANDOM, share_lost
from certpca.results.constraints import FREE, Constraints
from certpca.runtime.arrays import Indices


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """What the checker established about one matrix; nothing here is repeated from the certificate.

    Parameters
    ----------
    kind : str
        Which inequality proved it.
    size : int
        Number of features of the matrix.
    sparsity : int
        Largest number of nonzero loadings that the bound is about.
    upper_bound : float
        Proved: no such loadings capture more.
    objective : float
        The variance that the stored loadings capture, rounded down, so that the optimum lies between the two.
    outside : ndarray of int
        Features proved to be in no optimal support.
    inside : ndarray of int
        Features proved to be in every optimal support.
    matrix : str
        In words, which matrix that is.
    normalisation : mapping
        How the data became it.
    claimable : float
        A bound that every later check confirms, although some draw random numbers anew.
    arithmetic : str
        What computed all this.
    constraints : Constraints
        What else the loadings must satisfy that the bound is about; it says nothing about others.
    details : mapping of str to float
        How often a file was read for the check: `walks`.

    See Also
    --------
    verify : What returns it.
    Certificate : What it is about.

    Examples
    --------
    >>> import certpca
    >>> data = certpca.pitprops()
    >>> proof = certpca.verify(certpca.certify(data, 7), data)
    >>> proof.objective <= proof.upper_bound
    True
    """

    kind: str
    size: int
    sparsity: int
    upper_bound: float
    objective: float
    outside: Indices
    inside: Indices
    matrix: str
    normalisation: Mapping[str, Any]
    claimable: float
    arithmetic: str
    constraints: Constraints = FREE
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Largest possible loss of the stored loadings: 1 - objective / upper_bound."""
        return share_lost(self.objective, self.upper_bound)

    @property
    def failure_probability(self) -> float:
        """Zero, but for kinds whose check draws random numbers: the probability that those mislead."""
        return FAILURE if self.kind.endswith(RANDOM) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class SetProof:
    """What the checker established about components chosen together; nothing here is repeated from the certificate.

    Parameters
    ----------
    kind : str
        Which inequality proved it.
    problem : str
        What the components must satisfy together.
    size : int
        Number of features of the matrix.
    sparsities : tuple of int
        Largest number of nonzero loadings of each.
    upper_bound : float
        Proved: no such components capture more, summed over all of them.
    objective : float
        What exactly feasible components next to the stored loadings capture, rounded down, so that the optimum lies
        between the two.
    matrix : str
        In words, which matrix that is.
    normalisation : mapping
        How the data became it.
    claimable : float
        A bound that every later check confirms, although some draw random numbers anew.
    arithmetic : str
        What computed all this.

    See Also
    --------
    verify : What returns it.
    SetCertificate : What it is about.

    Examples
    --------
    >>> import certpca
    >>> certpca.SetProof.__name__
    'SetProof'
    """

    kind: str
    problem: str
    size: int
    sparsities: tuple[int, ...]
    upper_bound: float
    objective: float
    matrix: str
    normalisation: Mapping[str, Any]
    claimable: float
    arithmetic: str

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
