"""The independent checker. It shares no code with what makes certificates."""

from certpca.certificates.checker.check import Examiner, Proof, check, examine
from certpca.certificates.checker.columns import fingerprint
from certpca.certificates.checker.matrix import Expected

__all__ = ["Examiner", "Expected", "Proof", "check", "examine", "fingerprint"]
