"""The sum of single bounds, some of whose checks draw random numbers: see `sum_of_singles`.

Each component's bound fails with the probability of its own kind, so the sum with at most that of all of them together.

Proof: docs/mathematics.md, 11.1.
"""

from certpca.checker.data import Prepared
from certpca.checker.set_rules import SetProved
from certpca.checker.set_rules import sum_of_singles as exact
from certpca.results.set_certificate import SetCertificate

SENTENCE = exact.SENTENCE
PROBLEMS = exact.PROBLEMS
EVIDENCE = exact.EVIDENCE


def prove(prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
    """Add up what single certificates prove."""
    del objective
    return exact.added(prepared, certificate, random=True)
