"""The independent checker: it tells what a certificate proves about given data.

Nothing here is shared with the code that makes certificates: this folder imports the standard library, NumPy and
`results`, which says what a certificate is. It prepares the data itself and recomputes every number. Optimisation makes
a bound tight; only the inequalities in `rules` make it valid, and they hold for every choice of the stored numbers.

To read it in one sitting: this file, `data` and `columns` (from numbers to a matrix), `numbers` (roundings, and
eigenvalues that are proved), `dual_points` and `screening` (what several rules share), and `rules`, a file a kind.

Notation. The matrix is A = FᵀF, F of shape (depth, size) with columns a_i; k is the sparsity and
Z* = max xᵀAx over unit x with at most k nonzeros. In floating point, u = 2⁻⁵³ and γ_m = m u / (1 − m u)
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1): a computed inner product of
length m differs from the exact one by at most γ_m |x|ᵀ|y|, in whatever order it is summed.
Every γ below uses an index a few units larger than the operation needs, which covers the roundings of the
allowances themselves.

Underflow. Besides that, a product or quotient below the normal range is off by up to 2⁻¹⁰²² (2⁻¹⁰⁷⁵ where numbers fade
gradually, which a library may have switched off). All data are multiplied by powers of two first, so that the largest
entry of a matrix or of unscaled data lies between one half and one, and scaled columns have length one. A check does
fewer than 2⁸⁰ operations, and nothing whose error counts is divided by less than 2⁻⁴⁰⁰, so all of this together moves
no bound by more than 2⁻⁵⁰⁰ in those units: `UNDERFLOW` is added to every bound and to the distance of every matrix
from the exact one, and taken off every objective, unless all data are zero. Where evidence squares numbers below 2⁻⁵¹¹,
as the pairs of a search tree do, the bound is the one for zeros in their place, which differs by less than that too.

Before anything else the arithmetic itself is tried with products that are known exactly (`arithmetic`).
"""

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from certpca.checker.arithmetic import names, require_trusted
from certpca.checker.columns import fingerprint
from certpca.checker.data import Prepared, prepare
from certpca.checker.limits import Limits, Work
from certpca.checker.matrix import in_words, require_expected, require_ordinary
from certpca.checker.normalisation import require_normalisation
from certpca.checker.numbers import gamma, require
from certpca.checker.rules import rules
from certpca.results.certificate import Certificate, Source
from certpca.results.errors import CertificateError
from certpca.results.proof import Proof

ANOTHER_MACHINE = 1e-8  # relative; what the roundings of the machine that made a certificate may add to its objective


def check(certificate: Certificate, source: Source, expected: Mapping[str, Any] | None = None) -> Proof:
    """Recompute what a certificate proves about the data, and refuse it if it claims more, or not what is expected.

    Raises
    ------
    CertificateError
        Where the certificate is malformed, belongs to other data, or its claim does not hold.
    """
    return Examiner(source).check(certificate, expected)


def examine(certificate: Certificate, source: Source) -> Proof:
    """Recompute what the evidence of a certificate proves, whatever it claims."""
    return Examiner(source).examine(certificate)


class Examiner:
    """Examines any number of certificates of the same data, which are prepared once, each with limited work."""

    def __init__(self, source: Source, limits: Limits | None = None) -> None:
        self._source, self._limits = source, limits or Limits()

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the data."""
        return fingerprint(self._source)

    @cached_property
    def _first_fingerprint(self) -> str:
        return fingerprint(self._source, thin_apart=False)

    def prepare(self) -> None:
        """Hash and measure the data now, not with the first certificate."""
        _ = self.fingerprint, self._prepared

    @cached_property
    def _prepared(self) -> Prepared:
        return prepare(self._source, self._limits)

    def check(self, certificate: Certificate, expected: Mapping[str, Any] | None = None) -> Proof:
        """Recompute what a certificate proves, and refuse it if it claims more, or not what is expected."""
        with _refusals():
            return self._checked(certificate, expected or {})

    def examine(self, certificate: Certificate) -> Proof:
        """Recompute what the evidence of a certificate proves, whatever it claims."""
        with _refusals(), np.errstate(all="ignore"):  # what is not finite is refused
            require_trusted()
            require_ordinary(self._source)
            require(
                self._knows(certificate.fingerprint), "it was made for other data, or for another normalisation of them"
            )
            return _examined(certificate, replace(self._prepared, work=Work(self._limits.most_work)), self._source)

    def _knows(self, hashed: str) -> bool:
        """Say whether that is the hash of the data, as it is made now or as the first version made it."""
        return hashed == self.fingerprint or hashed == self._first_fingerprint  # noqa: PLR1714, the second only if needed

    def _checked(self, certificate: Certificate, expected: Mapping[str, Any]) -> Proof:
        require_normalisation(certificate.normalisation)
        require_ordinary(self._source)
        require_expected(self._source, certificate.sparsity, expected)  # before the work
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


def _examined(certificate: Certificate, prepared: Prepared, source: Source) -> Proof:
    kind, k = certificate.kind, certificate.sparsity
    known = rules()
    require(isinstance(kind, str) and kind in known, f"unknown kind {kind!r}")
    require(prepared.size == certificate.size, f"it is for {certificate.size} features, the data have {prepared.size}")
    require(
        isinstance(k, int) and not isinstance(k, bool) and 1 <= k <= prepared.size, f"sparsity {k!r} is out of range"
    )
    objective = _objective(prepared, certificate)
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


def _in_units(value: float, unit: float, away: float) -> float:
    """Multiply by a power of two, which rounds only below the normal range; there one step on is safe."""
    product = value * unit
    return math.nextafter(product, away) if value != 0 and abs(product) < 2.0**-1021 else product


def _objective(prepared: Prepared, certificate: Certificate) -> float:
    """Variance captured by the stored loadings after dividing by their length, rounded down."""
    support = np.asarray(certificate.support)
    loadings = np.asarray(certificate.loadings, dtype=np.float64)
    require(support.ndim == 1 and support.shape == loadings.shape, "its loadings do not match its support")
    if support.size == 0:
        # Nothing captures nothing; where that exceeds every single feature, it is no component.
        single = (prepared.form(np.array([feature]), np.ones(1))[0] for feature in range(prepared.size))
        require(prepared.never_negative or any(value >= 0 for value in single), "it has no loadings")
        return 0.0
    require(support.dtype.kind in "iu", "its support is not a list of indices")
    require(support.size <= certificate.sparsity, "its support is wider than its sparsity")
    require(bool((support[1:] > support[:-1]).all()), "its support is not sorted")  # differences of uint wrap around
    require(bool(support[0] >= 0 and support[-1] < prepared.size), "its support is out of range")
    support = support.astype(np.intp)
    require(bool(np.isfinite(loadings).all()) and bool(loadings.any()), "its loadings are not numbers")
    loadings = loadings / np.abs(loadings).max()
    value, doubt = prepared.form(support, loadings)
    captured = (value - doubt) / float(loadings @ loadings)
    captured -= gamma(support.size + 16) * abs(captured)
    # What data capture is never negative. A matrix that is given need not be semidefinite: there it is what it is.
    return max(0.0, captured) if prepared.never_negative else captured
