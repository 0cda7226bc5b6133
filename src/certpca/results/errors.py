"""What a certificate that does not hold raises."""

from certpca.runtime.errors import CertpcaError


class CertificateError(CertpcaError, ValueError):
    """A certificate does not prove what it claims about these data.

    See Also
    --------
    verify : Raises it.

    Examples
    --------
    >>> import dataclasses, certpca
    >>> certificate = certpca.certify(certpca.pitprops(), 3)
    >>> too_much = dataclasses.replace(certificate, upper_bound=certificate.upper_bound / 2)
    >>> certpca.verify(too_much, certpca.pitprops())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    certpca.results.errors.CertificateError: ...
    """
