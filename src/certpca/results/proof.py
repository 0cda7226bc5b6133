"""What the checker established about one matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certpca.results.certificate import FAILURE, RANDOM, share_lost
from certpca.runtime.arrays import Indices


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """What the checker established about one matrix.

    `upper_bound` is proved; `objective` is the variance the stored loadings capture, rounded down, so the
    optimum lies between the two. `outside` and `inside` list the features proved to be in no, and
    in every, optimal support. `matrix` says in words which matrix of `size` features that is, made from the
    `normalisation` that was applied to the data. `claimable` is a bound that every later check confirms, although some
    draw random numbers anew; `arithmetic` names what computed all this. Nothing here is repeated from the certificate.
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

    @property
    def gap(self) -> float:
        """Largest possible loss of the stored loadings: 1 - objective / upper_bound."""
        return share_lost(self.objective, self.upper_bound)

    @property
    def failure_probability(self) -> float:
        """Zero, but for kinds whose check draws random numbers: the probability that those mislead."""
        return FAILURE if self.kind.endswith(RANDOM) else 0.0
