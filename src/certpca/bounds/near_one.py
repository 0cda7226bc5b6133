"""Between the units of data and those in which algorithms work, whose numbers are near one; see `Operator.near_one`.

Also between the features that constraints allow, among which algorithms work, and all features.

The two differ by an even power of two, so nothing is rounded but numbers below the normal range, and these towards the
safe side. The checker knows nothing of this: it sees data and certificates in the units of the data.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar, overload

import numpy as np

from certpca.checker import Examiner
from certpca.checker.rules import rules
from certpca.checker.set_rules import rules as set_rules
from certpca.operators.base import Operator
from certpca.operators.within import Within
from certpca.results.certificate import Certificate
from certpca.results.constraints import FREE, Constraints
from certpca.results.evidence_forms import Forms, form_of
from certpca.results.proof import Proof, SetProof
from certpca.results.set_certificate import SetCertificate
from certpca.results.solution import Solution
from certpca.runtime.rounded import times_two_to

DETAILS = ("low_rank_objective",)
Claim = TypeVar("Claim", bound=Certificate | SetCertificate)


class NearExaminer:
    """The checker, for certificates in the units of an operator that is divided by 2 to its `power`."""

    def __init__(self, examiner: Examiner, power: int) -> None:
        self._examiner, self._power = examiner, power

    @property
    def fingerprint(self) -> str:
        """The hash of the data."""
        return self._examiner.fingerprint

    def prepare(self, constraints: Constraints = FREE) -> None:
        """Hash and measure the data now, not with the first certificate."""
        self._examiner.prepare(constraints)

    @overload
    def check(self, certificate: Certificate) -> Proof: ...
    @overload
    def check(self, certificate: SetCertificate) -> SetProof: ...
    def check(self, certificate: Certificate | SetCertificate) -> Proof | SetProof:
        """Recompute what a certificate proves, and refuse it if it claims more."""
        return self._near(self._examiner.check(in_data_units(certificate, self._power)))

    @overload
    def examine(self, certificate: Certificate) -> Proof: ...
    @overload
    def examine(self, certificate: SetCertificate) -> SetProof: ...
    def examine(self, certificate: Certificate | SetCertificate) -> Proof | SetProof:
        """Recompute what the evidence of a certificate proves, whatever it claims."""
        return self._near(self._examiner.examine(in_data_units(certificate, self._power)))

    @overload
    def _near(self, proof: Proof) -> Proof: ...
    @overload
    def _near(self, proof: SetProof) -> SetProof: ...
    def _near(self, proof: Proof | SetProof) -> Proof | SetProof:
        bound, objective, claimable = (
            math.ldexp(value, -self._power) for value in (proof.upper_bound, proof.objective, proof.claimable)
        )
        return replace(proof, upper_bound=bound, objective=objective, claimable=claimable)


class PartExaminer:
    """The checker, for certificates about an operator that is the allowed part of a whole."""

    def __init__(self, examiner: Examiner | NearExaminer, within: Within) -> None:
        self._examiner, self._within = examiner, within

    @property
    def fingerprint(self) -> str:
        """The hash of the data."""
        return self._examiner.fingerprint

    def prepare(self) -> None:
        """Hash and measure the data now, not with the first certificate."""
        self._examiner.prepare(self._within.constraints)

    def check(self, certificate: Certificate) -> Proof:
        """Recompute what a certificate proves, and refuse it if it claims more."""
        return self._part(self._examiner.check(of_whole(certificate, self._within)))

    def examine(self, certificate: Certificate) -> Proof:
        """Recompute what the evidence of a certificate proves, whatever it claims."""
        return self._part(self._examiner.examine(of_whole(certificate, self._within)))

    def _part(self, proof: Proof) -> Proof:
        kept = self._within.kept
        outside, inside = (np.searchsorted(kept, features) for features in (proof.outside, proof.inside))
        return replace(proof, size=kept.size, outside=outside, inside=inside)


AnyExaminer = Examiner | NearExaminer | PartExaminer


def examiner_of(operator: Operator) -> AnyExaminer:
    """Return the checker for certificates in the units, and by the indices, of an operator."""
    within = operator.within
    examiner = Examiner((operator if within is None else within.whole).source())
    near = examiner if operator.power == 0 else NearExaminer(examiner, operator.power)
    return near if within is None else PartExaminer(near, within)


def of_whole(certificate: Certificate, within: Within | None) -> Certificate:
    """Return a certificate about the allowed part of a matrix as one about the whole, which states what is asked."""
    if within is None:
        return certificate
    return replace(
        certificate,
        size=within.whole.size,
        support=within.kept[certificate.support],
        matrix=within.whole.description,
        normalisation=within.whole.source().normalisation(),
        reading=dict(within.whole.reading),
        constraints=within.constraints,
    )


def of_part(certificate: Certificate, within: Within) -> Certificate:
    """Return a certificate under the same constraints as one about the allowed part."""
    part = np.searchsorted(within.kept, certificate.support)
    return replace(certificate, size=within.kept.size, support=part, constraints=FREE)


def solution_of_whole(solution: Solution, within: Within | None) -> Solution:
    """Return a solution for the allowed part of a matrix as one for the whole, in the units of the data."""
    if within is None:
        return solution
    trace, certificate = within.whole.trace(), solution.certificate
    return replace(
        solution,
        support=within.kept[solution.support],
        size=within.whole.size,
        matrix=within.whole.description,
        explained_variance_ratio=solution.objective / trace if trace > 0 else 0.0,
        reading=dict(within.whole.reading),
        constraints=within.constraints,
        certificate=None if certificate is None else of_whole(certificate, within),
    )


def in_data_units(certificate: Claim, power: int) -> Claim:
    """Return a certificate, of one component or several, for the matrix times 2 to the power."""
    if power == 0:
        return certificate
    return replace(
        certificate,
        upper_bound=times_two_to(certificate.upper_bound, power, math.inf),
        objective=times_two_to(certificate.objective, power, 0.0),
        evidence=_evidence_in(certificate.evidence, _forms(certificate.kind), power),
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


def _forms(kind: str) -> Forms:
    known: dict[str, Any] = {**rules(), **set_rules()}  # no kind is in both
    return known[kind].EVIDENCE if kind in known else {}


def _evidence_in(evidence: Mapping[str, Any], forms: Forms, power: int) -> dict[str, Any]:
    turned = dict(evidence)
    for name, value in evidence.items():
        form = form_of(forms, name)
        if form is not None and form.degree:
            # In double precision: single precision may have no room for them. The power is even, as degrees are halves.
            turned[name] = np.ldexp(np.asarray(value, dtype=np.float64), int(form.degree * power))
    return turned
