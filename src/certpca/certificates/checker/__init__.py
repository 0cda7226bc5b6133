"""The independent checker. It shares no code with what makes certificates."""

from certpca.certificates.checker.check import Examiner, Proof, check, examine
from certpca.certificates.checker.columns import fingerprint

__all__ = ["Examiner", "Proof", "check", "examine", "fingerprint"]
