"""Check a certificate against data with the independent checker."""

from typing import Any, Unpack

from certpca.checker import Expected, check
from certpca.intake.inputs import values_and_names
from certpca.operators import Operator
from certpca.results.certificate import Certificate, Source
from certpca.results.errors import CertificateError
from certpca.results.proof import Proof
from certpca.runtime.errors import InvalidProblemError


def verify(certificate: Certificate, data: Any, **expected: Unpack[Expected]) -> Proof:
    """Check a certificate against data with the independent checker.

    Parameters
    ----------
    certificate
        From `certify` or `load_certificate`.
    data
        The data or the matrix it was made for, or the operator. How data become a matrix, the certificate says, and
        the proof repeats in words of its own (`Proof.matrix`).
    **expected
        What you expect the certificate to be about, each refused where it is about something else: ``covariance``,
        ``center``, ``scale``, ``ddof``, ``missing="error"`` (no values filled in) as in `solve`; ``sparsity``; and
        ``max_gap``, the largest gap you accept.

    Returns
    -------
    Proof
        What was recomputed from the data; nothing in it is repeated from the certificate.

    Raises
    ------
    CertificateError
        Where the claim does not hold for these data, or is not the one expected.

    Examples
    --------
    >>> import certpca
    >>> certificate = certpca.certify(certpca.pitprops(), 7)
    >>> certpca.verify(certificate, certpca.pitprops()).upper_bound <= certificate.upper_bound
    True
    """
    unknown = sorted(set(expected) - set(Expected.__annotations__))
    if unknown:
        msg = f"verify can be told to expect {', '.join(Expected.__annotations__)}; got {', '.join(unknown)}"
        raise InvalidProblemError(msg)
    if isinstance(data, Operator):
        return check(certificate, data.source(), expected)
    values, _ = values_and_names(data)
    try:
        source = Source(values=values, **certificate.normalisation)
    except TypeError as error:
        msg = f"the certificate is refused: its normalisation is malformed ({error})"
        raise CertificateError(msg) from error
    return check(certificate, source, expected)
