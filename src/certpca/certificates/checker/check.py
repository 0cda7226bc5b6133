"""The independent checker: it tells what a certificate proves about given data.

Nothing here is shared with the code that makes certificates: this folder imports NumPy, the dataclasses
and the exceptions, prepares the data itself, and recomputes every number. Optimisation makes a bound tight;
only the inequalities below make it valid, and they hold for every choice of the stored numbers.

Notation. The matrix is A = FᵀF, F of shape (depth, size) with columns a_i; k is the sparsity and
Z* = max xᵀAx over unit x with at most k nonzeros. In floating point, u = 2⁻⁵³ and γ_m = m u / (1 − m u)
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1): a computed inner product of
length m differs from the exact one by at most γ_m |x|ᵀ|y|, in whatever order it is summed.
Every γ below uses an index a few units larger than the operation needs, which covers the roundings of the
allowances themselves.

The dual bound. Z* = max over unit ξ of the k largest (a_iᵀξ)². For ρ ≥ 0 and B_i = a_ia_iᵀ − ρI,

    Z* ≤ kρ + λ_max(Σ Y_i)   for any Y_i ⪰ 0 with Y_i ⪰ B_i.

B_i has at most one positive eigenvalue. Where |a_i|² ≤ ρ it has none and Y_i = 0 will do. For any c with
q = cᵀB_ic > 0, Y_i = (B_ic)(B_ic)ᵀ/q' will do for every 0 < q' ≤ q; and Y_i = a_ia_iᵀ always will.

Regions. On the ξ with (r·ξ)(s·ξ) ≤ 0, adding σM with M = −(rsᵀ + srᵀ)/2 and σ ≥ 0 keeps the bound, since
ξᵀMξ ≥ 0 there. Vectors r_0, …, r_m with r_m = −r_0 give pairs (r_j, r_j+1) whose regions cover every ξ: the
sign of r_j·ξ changes somewhere between its first value and its opposite. For the same reason the pairs
(r, t_1), (t_1, t_2), …, (t_m, s) cover the region of (r, s), whatever the t_j are. So covering is a matter of
indices, and the vectors need not be trusted.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from certpca.arrays import Indices
from certpca.certificates.checker.columns import fingerprint
from certpca.certificates.checker.data import Prepared, prepare
from certpca.certificates.checker.numbers import gamma, require
from certpca.certificates.checker.rules import RULES
from certpca.errors import CertificateError
from certpca.result import Certificate, Source

ANOTHER_MACHINE = 1e-8  # relative; what the roundings of the machine that made a certificate may add to its objective


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """What the checker established about one matrix.

    `upper_bound` is proved; `objective` is the variance the stored loadings capture, rounded down, so the
    optimum lies between the two. `outside` and `inside` list the features proved to be in no, and
    in every, optimal support.
    """

    kind: str
    sparsity: int
    upper_bound: float
    objective: float
    outside: Indices
    inside: Indices

    @property
    def gap(self) -> float:
        """Largest possible loss of the stored loadings: 1 - objective / upper_bound."""
        return 0.0 if self.upper_bound == 0 else max(0.0, 1.0 - self.objective / self.upper_bound)


def check(certificate: Certificate, source: Source) -> Proof:
    """Recompute what a certificate proves about the data, and refuse it if it claims more.

    Raises
    ------
    CertificateError
        Where the certificate is malformed, belongs to other data, or its claim does not hold.
    """
    return Examiner(source).check(certificate)


def examine(certificate: Certificate, source: Source) -> Proof:
    """Recompute what the evidence of a certificate proves, whatever it claims."""
    return Examiner(source).examine(certificate)


class Examiner:
    """Examines any number of certificates of the same data, which are prepared once."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the data."""
        return fingerprint(self._source)

    @cached_property
    def _prepared(self) -> Prepared:
        return prepare(self._source)

    def check(self, certificate: Certificate) -> Proof:
        """Recompute what a certificate proves, and refuse it if it claims more."""
        proof = self.examine(certificate)
        claim = certificate.upper_bound
        require(isinstance(claim, float) and not math.isnan(claim), "the claimed bound is not a number")
        require(claim >= proof.upper_bound, f"it claims {claim!r} but its evidence proves only {proof.upper_bound!r}")
        # What else it says is a claim as well: readers take the gap from it.
        captured, normalisation = certificate.objective, certificate.normalisation
        require(
            isinstance(captured, (int, float)) and captured <= proof.objective * (1 + ANOTHER_MACHINE),
            f"it claims that its loadings capture {captured!r}, but they capture {proof.objective!r}",
        )
        for claimed, proved in ((certificate.outside, proof.outside), (certificate.inside, proof.inside)):
            require(
                isinstance(claimed, int) and claimed <= proved.size,
                f"it claims to decide {claimed!r} features, but its evidence decides {proved.size}",
            )
        require(
            isinstance(normalisation, Mapping) and dict(normalisation) == self._source.normalisation(),
            "it describes another normalisation of the data",
        )
        return proof

    def examine(self, certificate: Certificate) -> Proof:
        """Recompute what the evidence of a certificate proves, whatever it claims."""
        try:
            with np.errstate(all="ignore"):  # what is not finite is refused
                return _examined(certificate, self._prepared, self.fingerprint)
        except CertificateError:
            raise
        except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
            msg = f"the certificate is refused: it is malformed, or the data are ({error!r})"
            raise CertificateError(msg) from error


def _examined(certificate: Certificate, prepared: Prepared, hashed: str) -> Proof:
    kind, k = certificate.kind, certificate.sparsity
    require(isinstance(kind, str) and kind in RULES, f"unknown kind {kind!r}")
    require(prepared.size == certificate.size, f"it is for {certificate.size} features, the data have {prepared.size}")
    require(
        isinstance(k, int) and not isinstance(k, bool) and 1 <= k <= prepared.size, f"sparsity {k!r} is out of range"
    )
    require(
        certificate.fingerprint == hashed,
        "it was made for other data, or for another normalisation of them",
    )
    objective = _objective(prepared, certificate)
    bound, outside, inside = RULES[kind](prepared, certificate, objective)
    bound, objective = _in_units(bound, prepared.unit, math.inf), _in_units(objective, prepared.unit, 0.0)
    require(math.isfinite(bound), "its evidence proves nothing")
    # Neither can be wrong, so a bound below the objective can only be rounding: the optimum is then known.
    return Proof(kind, k, max(bound, objective), objective, np.flatnonzero(outside), np.flatnonzero(inside))


def _in_units(value: float, unit: float, away: float) -> float:
    """Multiply by a power of two, which rounds only below the normal range; there one step on is safe."""
    product = value * unit
    return math.nextafter(product, away) if value > 0 and product < 2.0**-1021 else product


def _objective(prepared: Prepared, certificate: Certificate) -> float:
    """Variance captured by the stored loadings after dividing by their length, rounded down."""
    support = np.asarray(certificate.support)
    loadings = np.asarray(certificate.loadings, dtype=np.float64)
    require(support.ndim == 1 and support.shape == loadings.shape, "its loadings do not match its support")
    if support.size == 0:
        return 0.0
    require(support.dtype.kind in "iu", "its support is not a list of indices")
    require(support.size <= certificate.sparsity, "its support is wider than its sparsity")
    require(bool((support[1:] > support[:-1]).all()), "its support is not sorted")  # differences of uint wrap around
    require(bool(support[0] >= 0 and support[-1] < prepared.size), "its support is out of range")
    support = support.astype(np.intp)
    require(bool(np.isfinite(loadings).all()) and bool(loadings.any()), "its loadings are not numbers")
    loadings = loadings / np.abs(loadings).max()
    value, doubt = prepared.form(support, loadings)
    return max(0.0, (value - doubt) / float(loadings @ loadings) * (1 - gamma(support.size + 16)))
