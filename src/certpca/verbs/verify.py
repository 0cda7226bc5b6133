"""Check a certificate against data with the independent checker."""

import math
from dataclasses import replace
from typing import Any, Unpack, overload

from certpca.checker import Expected, check
from certpca.intake.inputs import values_and_names
from certpca.operators import Operator
from certpca.results.certificate import Certificate, Source
from certpca.results.errors import CertificateError
from certpca.results.proof import Proof, SetProof
from certpca.results.set_certificate import SetCertificate
from certpca.runtime.threads import threads_beside_readers
from certpca.verbs.exactly import ARITHMETIC, confirm_exactly
from certpca.verbs.validation import named_arguments


@overload
def verify(certificate: Certificate, data: Any, *, exact: bool = False, **expected: Unpack[Expected]) -> Proof: ...
@overload
def verify(
    certificate: SetCertificate, data: Any, *, exact: bool = False, **expected: Unpack[Expected]
) -> SetProof: ...
@named_arguments
def verify(
    certificate: Certificate | SetCertificate, data: Any, *, exact: bool = False, **expected: Unpack[Expected]
) -> Proof | SetProof:
    """Check a certificate against data with the independent checker.

    Parameters
    ----------
    certificate : Certificate or SetCertificate
        From `certify`, `decompose` or `load_certificate`.
    data : array_like, DataFrame, reader or Operator
        The data or the matrix it was made for, or the operator. How data become a matrix, the certificate says, and
        the proof repeats in words of its own (`Proof.matrix`).
    exact : bool
        Whether the second checker has to confirm it too: in whole numbers, without NumPy and without any code of the
        first (`certpca-exact`; up to 2,048 features, minutes for 200).
    **expected : Expected
        What you expect the certificate to be about, each refused where it is about something else: ``covariance``,
        ``center``, ``scale``, ``ddof``, ``missing="error"`` (no values filled in) as in `solve`; ``sparsity``; for
        several components ``sparsities`` and ``together``; ``constraints``, where ``Constraints()`` stands for none;
        and ``max_gap``, the largest gap you accept.

    Returns
    -------
    Proof or SetProof
        What was recomputed from the data; nothing in it is repeated from the certificate.

    Raises
    ------
    CertificateError
        Where the claim does not hold for these data, or is not the one expected.
    UnknownArgumentError
        Where there is no such expectation.

    See Also
    --------
    certify : Make a certificate.
    load_certificate : Read one from its files.

    Examples
    --------
    >>> import certpca
    >>> certificate = certpca.certify(certpca.pitprops(), 7)
    >>> certpca.verify(certificate, certpca.pitprops()).upper_bound <= certificate.upper_bound
    True
    """
    source = data.source() if isinstance(data, Operator) else _source(certificate, data)
    before = getattr(source.values, "passes", 0.0)
    with threads_beside_readers(float(math.prod(source.values.shape))):
        proof = check(certificate, source, expected)
    if isinstance(proof, Proof) and (walks := getattr(source.values, "passes", 0.0) - before):
        proof = replace(proof, details={"walks": round(float(walks), 3)})
    if not exact:
        return proof
    confirm_exactly(certificate, source.values)
    return replace(proof, arithmetic=f"{proof.arithmetic}; {ARITHMETIC}")


def _source(certificate: Certificate | SetCertificate, data: Any) -> Source:
    values, _ = values_and_names(data)
    try:
        return Source(values=values, **certificate.normalisation)
    except TypeError as error:
        msg = f"the certificate is refused: its normalisation is malformed ({error})"
        raise CertificateError(msg) from error
