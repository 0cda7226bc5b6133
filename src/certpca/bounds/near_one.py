"""Between the units of data and those in which algorithms work, whose numbers are near one; see `Operator.near_one`.

The two differ by an even power of two, so nothing is rounded but numbers below the normal range, and these towards the
safe side. The checker knows nothing of this: it sees data and certificates in the units of the data.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from certpca.checker import Examiner
from certpca.operators.base import Operator
from certpca.results.certificate import Certificate
from certpca.results.proof import Proof
from certpca.results.solution import Solution
from certpca.runtime.rounded import times_two_to

# What grows with the matrix, by the last word of its name in the evidence; W of a clipped dual grows with the root.
AS_THE_MATRIX = ("level", "theta", "weights", "scale", "matrix", "top", "repair")
AS_ITS_ROOT = ("factor",)
DETAILS = ("low_rank_objective",)


class NearExaminer:
    """The checker, for certificates in the units of an operator that is divided by 2 to its `power`."""

    def __init__(self, examiner: Examiner, power: int) -> None:
        self._examiner, self._power = examiner, power

    @property
    def fingerprint(self) -> str:
        """The hash of the data."""
        return self._examiner.fingerprint

    def prepare(self) -> None:
        """Hash and measure the data now, not with the first certificate."""
        self._examiner.prepare()

    def check(self, certificate: Certificate) -> Proof:
        """Recompute what a certificate proves, and refuse it if it claims more."""
        return self._near(self._examiner.check(in_data_units(certificate, self._power)))

    def examine(self, certificate: Certificate) -> Proof:
        """Recompute what the evidence of a certificate proves, whatever it claims."""
        return self._near(self._examiner.examine(in_data_units(certificate, self._power)))

    def _near(self, proof: Proof) -> Proof:
        bound, objective, claimable = (
            math.ldexp(value, -self._power) for value in (proof.upper_bound, proof.objective, proof.claimable)
        )
        return replace(proof, upper_bound=bound, objective=objective, claimable=claimable)


def examiner_of(operator: Operator) -> Examiner | NearExaminer:
    """Return the checker for certificates in the units of an operator."""
    examiner = Examiner(operator.source())
    return examiner if operator.power == 0 else NearExaminer(examiner, operator.power)


def in_data_units(certificate: Certificate, power: int) -> Certificate:
    """Return a certificate for the matrix times 2 to the power."""
    if power == 0:
        return certificate
    return replace(
        certificate,
        upper_bound=times_two_to(certificate.upper_bound, power, math.inf),
        objective=times_two_to(certificate.objective, power, 0.0),
        evidence=_evidence_in(certificate.evidence, power),
    )


def solution_in_data_units(solution: Solution, power: int) -> Solution:
    """Return a solution for the matrix times 2 to the power."""
    if power == 0:
        return solution
    certificate = solution.certificate
    return replace(
        solution,
        objective=times_two_to(solution.objective, power, 0.0),
        details={
            name: times_two_to(value, power, 0.0) if name in DETAILS else value
            for name, value in solution.details.items()
        },
        certificate=None if certificate is None else in_data_units(certificate, power),
    )


def _evidence_in(evidence: Mapping[str, Any], power: int) -> dict[str, Any]:
    turned = dict(evidence)
    for name, value in evidence.items():
        last = name.rsplit("_", 1)[-1]
        if last in AS_THE_MATRIX or last in AS_ITS_ROOT:
            # In double precision: single precision may have no room for them.
            shift = power if last in AS_THE_MATRIX else power // 2
            turned[name] = np.ldexp(np.asarray(value, dtype=np.float64), shift)
    return turned
