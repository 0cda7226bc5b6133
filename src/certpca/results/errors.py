"""What a certificate that does not hold raises."""

from certpca.runtime.errors import CertpcaError


class CertificateError(CertpcaError, ValueError):
    """A certificate does not prove what it claims about these data."""
