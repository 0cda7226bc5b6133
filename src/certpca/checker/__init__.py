"""The independent checker. It shares no code with what makes certificates."""

from certpca.checker.check import Examiner, check, examine
from certpca.checker.columns import fingerprint
from certpca.checker.matrix import Expected
from certpca.results.proof import Proof, SetProof

__all__ = ["Examiner", "Expected", "Proof", "SetProof", "check", "examine", "fingerprint"]
