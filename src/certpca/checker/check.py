"""The independent checker: it tells what a certificate proves about given data.

Nothing here is shared with the code that makes certificates: this folder imports the standard library, NumPy and
`results`, which says what a certificate is. It prepares the data itself and recomputes every number. Optimisation makes
a bound tight; only the inequalities in `rules` make it valid, and they hold for every choice of the stored numbers.

To read it in one sitting: this file, `constraints` (which components a claim is about), `data` and `columns` (from
numbers to a matrix), `numbers` (roundings, and
eigenvalues that are proved), `dual_points` and `screening` (what several rules share), and `rules`, a file a kind. For
several components together: `feasible_sets` (what they capture) and `set_rules`.

Notation. The matrix is A = FᵀF, F of shape (depth, size) with columns a_i; k is the sparsity and
Z* = max xᵀAx over unit x with at most k nonzeros. In floating point, u = 2⁻⁵³ and γ_m = m u / (1 − m u)
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1): a computed inner product of
length m differs from the exact one by at most γ_m |x|ᵀ|y|, in whatever order it is summed.
Every γ below uses an index a few units larger than the operation needs, which covers the roundings of the
allowances themselves.

Underflow. Besides that, a product or quotient below the normal range is off by up to 2⁻¹⁰²² (2⁻¹⁰⁷⁵ where numbers fade
gradually, which a library may have switched off). All data are multiplied by powers of two first, so that the largest
entry of a matrix or of unscaled data lies between one half and one, and scaled columns have length one; values that
weigh nothing are zeros by then, and other weights are at least 1e-30 of the largest. A check does
fewer than 2⁸⁰ operations, and nothing whose error counts is divided by less than 2⁻⁴⁰⁰, so all of this together moves
no bound by more than 2⁻⁵⁰⁰ in those units: `UNDERFLOW` is added to every bound and to the distance of every matrix
from the exact one, and taken off every objective, unless all data are zero. Where evidence squares numbers below 2⁻⁵¹¹,
as the pairs of a search tree do, the bound is the one for zeros in their place, which differs by less than that too.

Before anything else the arithmetic itself is tried with products that are known exactly (`arithmetic`).
"""

import contextlib
import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from certpca.checker.arithmetic import names, require_trusted
from certpca.checker.captured import captured
from certpca.checker.columns import fingerprint
from certpca.checker.constraints import narrowed, require_allowed, require_constraints, source_of
from certpca.checker.data import Prepared, prepare
from certpca.checker.feasible_sets import captured_together
from certpca.checker.limits import Limits, Work
from certpca.checker.matrix import in_words, require_expected, require_ordinary
from certpca.checker.normalisation import require_normalisation
from certpca.checker.numbers import Indices, require
from certpca.checker.rules import rules
from certpca.checker.set_rules import rules as set_rules
from certpca.checker.whole_numbers import ColumnSums, in_bytes
from certpca.results.certificate import Certificate, Source
from certpca.results.constraints import FREE, Constraints
from certpca.results.errors import CertificateError
from certpca.results.proof import Proof, SetProof
from certpca.results.set_certificate import PROBLEMS, SetCertificate

ANOTHER_MACHINE = 1e-8  # relative; what the roundings of the machine that made a certificate may add to its objective


@overload
def check(certificate: Certificate, source: Source, expected: Mapping[str, Any] | None = None) -> Proof: ...
@overload
def check(certificate: SetCertificate, source: Source, expected: Mapping[str, Any] | None = None) -> SetProof: ...
def check(
    certificate: Certificate | SetCertificate, source: Source, expected: Mapping[str, Any] | None = None
) -> Proof | SetProof:
    """Recompute what a certificate proves about the data, and refuse it if it claims more, or not what is expected.

    Raises
    ------
    CertificateError
        Where the certificate is malformed, belongs to other data, or its claim does not hold.
    """
    return Examiner(source).check(certificate, expected)


@overload
def examine(certificate: Certificate, source: Source) -> Proof: ...
@overload
def examine(certificate: SetCertificate, source: Source) -> SetProof: ...
def examine(certificate: Certificate | SetCertificate, source: Source) -> Proof | SetProof:
    """Recompute what the evidence of a certificate proves, whatever it claims."""
    return Examiner(source).examine(certificate)


class Examiner:
    """Examines any number of certificates of the same data, which are prepared once, each with limited work."""

    def __init__(self, source: Source, limits: Limits | None = None) -> None:
        self._source, self._limits = source, limits or Limits()
        self._sums: ColumnSums | None = None  # known once the data are hashed
        self._parts: dict[bytes, Prepared] = {}  # data without some features, by those that are kept

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the data."""
        values = self._source.values
        if in_bytes(values):
            rows, size = (int(side) for side in values.shape)
            self._sums = ColumnSums(rows, size, self._source.missing)
        return fingerprint(self._source, sums=self._sums)

    @cached_property
    def _first_fingerprint(self) -> str:
        return fingerprint(self._source, thin_apart=False)

    def prepare(self, constraints: Constraints = FREE) -> None:
        """Hash and measure the data now, not with the first certificate; of allowed features alone."""
        self._look_at(constraints)
        _ = self.fingerprint, self._prepared_on(constraints.kept(int(self._source.values.shape[1])))

    def _look_at(self, constraints: Constraints) -> None:
        """Hash all data and measure them at the same time, where that can be done and hashing does not measure.

        What measuring has to complain about is said when it is asked for: that data are others comes first.
        """
        looked_at, values = "fingerprint" in self.__dict__ or "_prepared" in self.__dict__, self._source.values
        if looked_at or constraints != FREE or not isinstance(values, np.ndarray) or in_bytes(values):
            return
        with ThreadPoolExecutor(1, thread_name_prefix="certpca-checker") as pool:
            pool.submit(copy_context().run, getattr, self, "_prepared")
            _ = self.fingerprint

    @cached_property
    def _prepared(self) -> Prepared:
        return prepare(self._source, self._limits, self._sums)

    def _prepared_on(self, kept: Indices) -> Prepared:
        """Return the data of some features alone, measured once."""
        if kept.size == self._source.values.shape[1]:
            return self._prepared
        key = kept.tobytes()
        if key not in self._parts:
            self._parts = {key: prepare(source_of(self._source, kept), self._limits)}
        return self._parts[key]

    @overload
    def check(self, certificate: Certificate, expected: Mapping[str, Any] | None = None) -> Proof: ...
    @overload
    def check(self, certificate: SetCertificate, expected: Mapping[str, Any] | None = None) -> SetProof: ...
    def check(
        self, certificate: Certificate | SetCertificate, expected: Mapping[str, Any] | None = None
    ) -> Proof | SetProof:
        """Recompute what a certificate proves, and refuse it if it claims more, or not what is expected."""
        with _refusals():
            return self._checked(certificate, expected or {})

    @overload
    def examine(self, certificate: Certificate) -> Proof: ...
    @overload
    def examine(self, certificate: SetCertificate) -> SetProof: ...
    def examine(self, certificate: Certificate | SetCertificate) -> Proof | SetProof:
        """Recompute what the evidence of a certificate proves, whatever it claims."""
        with _refusals(), np.errstate(all="ignore"):  # what is not finite is refused
            require_trusted()
            require_ordinary(self._source)
            self._look_at(certificate.constraints if isinstance(certificate, Certificate) else FREE)
            require(
                self._knows(certificate.fingerprint), "it was made for other data, or for another normalisation of them"
            )
            work = Work(self._limits.most_work)
            if isinstance(certificate, SetCertificate):
                return _examined_set(certificate, replace(self._prepared, work=work), self._source)
            size = int(self._source.values.shape[1])
            require(size == certificate.size, f"it is for {certificate.size} features, the data have {size}")
            meant = require_constraints(certificate.constraints, size, _sparsity_of(certificate, size))
            kept = meant.kept(size)
            here = narrowed(certificate, meant, kept)
            require_allowed(here, self._source)
            proof = _examined(here, replace(self._prepared_on(kept), work=work), self._source)
            return replace(
                proof,
                size=size,
                outside=kept[proof.outside],
                inside=kept[proof.inside],
                constraints=certificate.constraints,
            )

    def _knows(self, hashed: str) -> bool:
        """Say whether that is the hash of the data, as it is made now or as the first version made it."""
        return hashed == self.fingerprint or hashed == self._first_fingerprint  # noqa: PLR1714, the second only if needed

    def _checked(self, certificate: Certificate | SetCertificate, expected: Mapping[str, Any]) -> Proof | SetProof:
        require_normalisation(certificate.normalisation)
        require_ordinary(self._source)
        require_expected(self._source, certificate, expected)  # before the work
        proof = self.examine(certificate)
        most = expected.get("max_gap")
        require(most is None or proof.gap <= most, f"it proves a gap of {proof.gap}, more than the {most} expected")
        claim = certificate.upper_bound
        require(_is_number(claim), "the claimed bound is not a number")
        require(claim >= proof.upper_bound, f"it claims {claim!r} but its evidence proves only {proof.upper_bound!r}")
        # What else it says is a claim as well: readers take the gap from it.
        captured = certificate.objective
        require(
            _is_number(captured) and captured <= proof.objective + ANOTHER_MACHINE * abs(proof.objective),
            f"it claims that its loadings capture {captured!r}, but they capture {proof.objective!r}",
        )
        if isinstance(certificate, Certificate) and isinstance(proof, Proof):
            for claimed, proved in ((certificate.outside, proof.outside), (certificate.inside, proof.inside)):
                require(
                    type(claimed) is int and claimed <= proved.size,
                    f"it claims to decide {claimed!r} features, but its evidence decides {proved.size}",
                )
        require(
            dict(certificate.normalisation) == self._source.normalisation(),
            "it describes another normalisation of the data",
        )
        return proof


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turn whatever nonsense leads to into a refusal."""
    try:
        yield
    except CertificateError:
        raise
    except MemoryError as error:
        msg = "the certificate is refused: checking it needs more memory than there is"
        raise CertificateError(msg) from error
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        msg = f"the certificate is refused: it is malformed, or the data are ({error!r})"
        raise CertificateError(msg) from error


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and type(value) is not bool and not math.isnan(value)


def _sparsity_of(certificate: Certificate, size: int) -> int:
    k = certificate.sparsity
    require(type(k) is int and 1 <= k <= size, f"sparsity {k!r} is out of range")
    return k


def _examined(certificate: Certificate, prepared: Prepared, source: Source) -> Proof:
    kind, k = certificate.kind, certificate.sparsity
    known = rules()
    require(isinstance(kind, str) and kind in known, f"unknown kind {kind!r}")
    objective = captured(prepared, certificate.support, certificate.loadings, k)
    proved = known[kind].prove(prepared, certificate, objective)
    again = proved.bound if proved.again is None else proved.again
    bound, again = (_in_units(value, prepared.unit, math.inf) for value in (proved.bound, again))
    objective = _in_units(objective, prepared.unit, -math.inf)
    require(math.isfinite(bound) and math.isfinite(again), "its evidence proves nothing")
    return Proof(
        kind=kind,
        size=prepared.size,
        sparsity=k,
        # Neither can be wrong, so a bound below the objective can only be rounding: the optimum is then known.
        upper_bound=max(bound, objective),
        objective=objective,
        outside=np.flatnonzero(proved.outside),
        inside=np.flatnonzero(proved.inside),
        matrix=in_words(source),
        normalisation=source.normalisation(),
        claimable=max(again, bound, objective),
        arithmetic=names(),
    )


def _examined_set(certificate: SetCertificate, prepared: Prepared, source: Source) -> SetProof:
    kind, sparsities, problem = certificate.kind, certificate.sparsities, certificate.problem
    known = set_rules()
    require(isinstance(kind, str) and kind in known, f"unknown kind {kind!r}")
    require(isinstance(problem, str) and problem in PROBLEMS, f"unknown problem {problem!r}")
    require(problem in known[kind].PROBLEMS, f"evidence of kind {kind!r} says nothing about {problem} components")
    require(prepared.size == certificate.size, f"it is for {certificate.size} features, the data have {prepared.size}")
    require(
        isinstance(sparsities, tuple)
        and 0 < len(sparsities) <= prepared.size
        and all(type(k) is int and 1 <= k <= prepared.size for k in sparsities),
        f"sparsities {sparsities!r} are out of range",
    )
    objective = captured_together(prepared, certificate)
    proved = known[kind].prove(prepared, certificate, objective)
    again = proved.bound if proved.again is None else proved.again
    bound, again = (_in_units(value, prepared.unit, math.inf) for value in (proved.bound, again))
    objective = _in_units(objective, prepared.unit, -math.inf)
    require(math.isfinite(bound) and math.isfinite(again), "its evidence proves nothing")
    return SetProof(
        kind=kind,
        problem=problem,
        size=prepared.size,
        sparsities=sparsities,
        upper_bound=max(bound, objective),  # as for one component
        objective=objective,
        matrix=in_words(source),
        normalisation=source.normalisation(),
        claimable=max(again, bound, objective),
        arithmetic=names(),
    )


def _in_units(value: float, unit: float, away: float) -> float:
    """Multiply by a power of two, which rounds only below the normal range; there one step on is safe."""
    product = value * unit
    return math.nextafter(product, away) if value != 0 and abs(product) < 2.0**-1021 else product
