"""Which matrix a certificate is about: what may be asked of data, said in words, and what a reader expects of it.

A certificate names the way from data to matrix itself, so nothing unusual may hide in it: ways that no covariance goes
are refused, and the words about the others are made here, from what was checked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from certpca.checker.normalisation import ALLELES, require_source
from certpca.checker.numbers import require
from certpca.results.certificate import Certificate, Source
from certpca.results.constraints import FREE, Constraints
from certpca.results.set_certificate import SetCertificate

MISSING_GENOTYPE = -9


class Expected(TypedDict, total=False):
    """What a reader expects a certificate to be about; what is left out is not compared.

    Attributes
    ----------
    covariance : bool
        Whether the data are the matrix itself.
    center : bool
        As in `from_data`.
    scale : bool or {"2pq"}
        As in `from_data`.
    ddof : int
        As in `from_data`.
    missing : str
        Where it is ``"error"``, no missing values may have been filled.
    sparsity : int
        That of the claim; of every component where it is about several.
    sparsities : sequence of int
        Those of the claim about several components.
    together : str
        What the components must satisfy together.
    sample_weight : sequence of float or False
        The weights of samples, as in `from_data`; False: there must be none.
    constraints : Constraints
        What the components of the claim must satisfy; ``Constraints()``: nothing besides their sparsity.
    max_gap : float
        The largest proved gap.

    See Also
    --------
    verify : Takes them by name.

    Examples
    --------
    >>> import certpca
    >>> expected: certpca.Expected = {"sparsity": 3, "max_gap": 0.01}
    >>> certpca.verify(certpca.certify(certpca.pitprops(), 3), certpca.pitprops(), **expected).sparsity
    3
    """

    covariance: bool
    center: bool
    scale: bool | str
    ddof: int
    missing: str
    sparsity: int
    sparsities: Sequence[int]
    together: str
    constraints: Constraints
    sample_weight: Any
    max_gap: float


def require_ordinary(source: Source) -> None:
    """Refuse ways from data to matrix that are malformed, or that no covariance or correlation matrix goes."""
    require_source(source)
    if source.kind == "matrix":
        return
    rows, missing = int(source.values.shape[0]), source.missing
    require(source.weights is None or len(source.weights) == rows, "it does not have one weight for each sample")
    require(
        1 <= source.divisor <= rows and source.divisor.is_integer(),
        f"it divides by {source.divisor:g}, which no covariance of {rows} rows is divided by",
    )
    require(missing in (None, MISSING_GENOTYPE), f"{missing} is no code of missing values that data are read with")
    require(missing is None or source.fill_missing, "the data have missing values and no rule for them")
    require(source.center or not source.fill_missing, "missing values can be filled only where columns are centred")


def require_codes(missing: int | None, stored: Any) -> None:
    """Refuse to take a value for missing where it may be a number like others: among negative ones, or not whole."""
    if missing is not None:
        require(stored.dtype.kind in "iu", f"{missing} codes missing values in whole numbers only")
        # The same rule by which data are read: else values that are there could be declared missing.
        require(not bool(np.any((stored < 0) & (stored != missing))), f"{missing} is not the only negative value")


def in_words(source: Source) -> str:
    """Describe the matrix."""
    rows, size = (int(side) for side in source.values.shape)
    if source.kind == "matrix":
        return f"{rows} x {size} matrix as it was given"
    divisor = int(source.divisor)
    unusual = "" if divisor in (rows, rows - 1) else ", which is neither the number of rows nor one less"
    alleles = "scaled by √(2p(1 − p)), " if source.scale == ALLELES else ""
    weighted = "" if source.weights is None else "weighted "
    holes = "NaN" if source.missing is None else f"coded {source.missing}"
    return (
        f"{weighted}{'correlation' if source.scale is True else 'covariance'} matrix "
        f"({'centred' if source.center else 'uncentred'}, {alleles}divided by {divisor}{unusual}) of "
        f"{rows} x {size} data"
        + (f", missing values ({holes}) taken as column means" if source.fill_missing else "")
        + _weights_in_words(source.weights)
    )


def _weights_in_words(weights: Any) -> str:
    if weights is None:
        return ""
    mean = sum(weights) / len(weights)
    return f", samples weighted from {min(weights) / mean:.3g} to {max(weights) / mean:.3g} of the mean weight"


def require_expected(source: Source, certificate: Certificate | SetCertificate, expected: Mapping[str, Any]) -> None:
    """Refuse a certificate that is about another matrix than its reader has in mind."""
    about = in_words(source)

    def compare(name: str, actual: Any, what: str) -> None:
        wanted = expected.get(name)
        require(wanted is None or wanted == actual, f"expected {what}, but it is about the {about}")

    as_given = source.kind == "matrix"
    compare("covariance", as_given, "another kind of data (a matrix as it is, or samples x features)")
    if as_given:
        asked = sorted(name for name in ("center", "scale", "ddof") if expected.get(name))
        require(not asked, f"expected data that are centred, scaled or divided, but it is about the {about}")
    else:
        compare("center", source.center, "centred columns" if expected.get("center") else "columns as they are")
        compare("scale", source.scale, _SCALES.get(expected.get("scale", False), "another scaling"))
        rows = int(source.values.shape[0])
        if source.scale is not True:  # correlations do not depend on it
            compare("ddof", rows - int(source.divisor), f"a divisor of {rows} less {expected.get('ddof')}")
    _require_weights(source, expected.get("sample_weight"), about)
    if expected.get("missing") == "error":
        require(not source.fill_missing, f"expected no missing values, but it is about the {about}")
    if isinstance(certificate, SetCertificate):
        sparsities, problem = certificate.sparsities, certificate.problem
    else:
        sparsities, problem = (certificate.sparsity,), "one component"
    counts = " and ".join(map(str, sparsities))
    wanted = expected.get("sparsity")
    require(
        wanted is None or all(wanted == sparsity for sparsity in sparsities),
        f"expected sparsity {wanted}, but it is about {counts} loadings",
    )
    wanted = expected.get("sparsities")
    require(
        wanted is None or tuple(wanted) == sparsities,
        f"expected components of {wanted} loadings, but it is about {counts}",
    )
    wanted = expected.get("together")
    require(wanted is None or wanted == problem, f"expected {wanted} components, but it is about {problem}")
    wanted = expected.get("constraints")
    stated = FREE if isinstance(certificate, SetCertificate) else certificate.constraints
    require(
        wanted is None or wanted.completed == stated.completed,
        f"expected {_asked(wanted)}, but it is about {_asked(stated)}",
    )


def _require_weights(source: Source, wanted: Any, about: str) -> None:
    if wanted is None:
        return
    stated = None if source.weights is None else [float(weight) for weight in source.weights]
    expects = None if wanted is False else [float(weight) for weight in wanted]
    what = ("other" if expects else "no") if stated else "some"
    require(stated == expects, f"expected {what} weights of samples, but it is about the {about}")


def _asked(constraints: Constraints | None) -> str:
    return f"components with {constraints}" if constraints else "components without constraints"


_SCALES: dict[Any, str] = {
    True: "columns scaled to unit variance",
    False: "columns that are not scaled",
    ALLELES: "columns scaled by √(2p(1 − p))",
}
