"""The independent checker. It shares no code with what makes certificates."""

from certpca.certificates.checker.check import Proof, check, examine
from certpca.certificates.checker.data import fingerprint

__all__ = ["Proof", "check", "examine", "fingerprint"]
