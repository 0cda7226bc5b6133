"""The rules for components chosen together, a file for each kind, as `checker/rules` has them for one component.

Each begins with the inequality it rests on and with what it allows for roundings, and declares

    SENTENCE    what the evidence is, for people who read a report;
    PROBLEMS    the problems it bounds;
    EVIDENCE    the forms of its arrays, by which a file is bounded before it is unpacked;
    prove       from prepared data, a certificate and what its loadings capture to what is proved.

The bound is for the sum of what the components capture. It must hold for every choice of the stored numbers, and what
it costs is told to `prepared.work.spend`, as for one component.
"""

from typing import NamedTuple, Protocol, cast

from certpca.checker.data import Prepared
from certpca.checker.rules import found_in
from certpca.results.evidence_forms import Forms
from certpca.results.set_certificate import SetCertificate


class SetProved(NamedTuple):
    """A bound, and what a check with other random numbers confirms as well, where a rule draws some."""

    bound: float
    again: float | None = None


class SetRule(Protocol):
    """What a file here declares."""

    SENTENCE: str
    PROBLEMS: tuple[str, ...]
    EVIDENCE: Forms

    def prove(self, prepared: Prepared, certificate: SetCertificate, objective: float) -> SetProved:
        """Return what the evidence proves, or raise CertificateError."""


def rules() -> dict[str, SetRule]:
    """Return the rules of all kinds by name."""
    return cast(dict[str, SetRule], found_in(__name__, __path__))
