"""The rules, a file for each kind of certificate, found by themselves: a file `row_sums.py` is the rule of `row-sums`.

Each begins with the inequality it rests on and with what it allows for roundings, and declares

    SENTENCE    what the evidence is, for people who read a report;
    EVIDENCE    the forms of its arrays, by which a file is bounded before it is unpacked;
    prove       from prepared data, a certificate and what its loadings capture to what is proved.

A rule must hold for every choice of the stored numbers: these make a bound tight, only the inequality makes it valid.
What it may cost it says with `prepared.work.spend` before the work is done, and what is beyond `prepared.limits` or its
own it refuses with `require`.
"""

import pkgutil
from importlib import import_module
from typing import Protocol, cast

from certpca.checker.data import Prepared
from certpca.checker.proved import Proved
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import Forms


class Rule(Protocol):
    """What a file here declares."""

    SENTENCE: str
    EVIDENCE: Forms

    def prove(self, prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
        """Return what the evidence proves, or raise CertificateError."""


def rules() -> dict[str, Rule]:
    """Return the rules of all kinds by name."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return {name.replace("_", "-"): cast(Rule, import_module(f"{__name__}.{name}")) for name in names}
