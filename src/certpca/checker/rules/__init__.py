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
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Protocol, cast

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


def found_in(package: str, path: Iterable[str]) -> dict[str, Any]:
    """Return the files of a folder by the names of their kinds."""
    names = [module.name for module in pkgutil.iter_modules(path)]
    return {name.replace("_", "-"): import_module(f"{package}.{name}") for name in names}


def rules() -> dict[str, Rule]:
    """Return the rules of all kinds by name."""
    return cast(dict[str, Rule], found_in(__name__, __path__))
