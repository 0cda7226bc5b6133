"""Hand a certificate to the second checker, which reads files and knows nothing of certpca."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from certpca.exact.certpca_exact import LARGEST, Refused, check_file
from certpca.results.certificate import Certificate
from certpca.results.errors import CertificateError
from certpca.results.files import save_certificate
from certpca.results.set_certificate import SetCertificate
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import to_numpy

ARITHMETIC = "confirmed in whole numbers by certpca-exact"


def confirm_exactly(certificate: Certificate | SetCertificate, values: Any) -> None:
    """Refuse the certificate unless the second checker confirms it for these values."""
    rows, columns = values.shape
    if columns > LARGEST or rows * columns > LARGEST**2:
        msg = (
            f"the exact checker takes tables of at most {LARGEST:,} features and {LARGEST**2:,} values, here are "
            f"{rows:,} x {columns:,}; verify without exact"
        )
        raise CertificateError(msg)
    read = values if is_sparse(values) else values[:, :]
    table = read.toarray() if is_sparse(read) else to_numpy(read)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "certificate.json"
        save_certificate(certificate, file)
        try:
            check_file(file, np.asarray(table, dtype=np.float64).tolist())
        except Refused as refusal:
            msg = f"the certificate is not confirmed in exact arithmetic: {refusal}"
            raise CertificateError(msg) from refusal
