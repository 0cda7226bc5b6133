"""What the checker is willing to spend on one certificate; beyond that it refuses, with a reason.

Files come from strangers: a few bytes must not cost all memory, or time without end. The limits are above what the
search makes; those of one kind are in its rule. What grows only with the data that the reader brings along is not
limited.
"""

from dataclasses import dataclass

from certpca.checker.numbers import require

LARGEST_FACTORED = 8192  # order of the matrices of dual points, and of what is left beside a few directions
LARGEST_LEVEL_ORDER = 16_384  # order of the matrix of a level, where that is asked for: four of this size take 8.6 GB
LARGEST_DENSE = 20_000  # order of any other matrix: two of this size take 6.4 GB
MOST_NODES = 10_000_000  # of a tree, whatever it splits
MOST_WORK = 1e15  # multiplications for one certificate: hours on a few cores


@dataclass(frozen=True, slots=True)
class Limits:
    """What one examination may spend; memory is that of what is multiplied at a time, and changes no bound."""

    largest_factored: int = LARGEST_FACTORED
    largest_dense: int = LARGEST_DENSE
    most_nodes: int = MOST_NODES
    most_work: float = MOST_WORK
    gathered_bytes: int = 512 << 20  # of columns that are multiplied with each other; twice that is in memory
    row_bytes: int = 32 << 20  # of rows of the matrix


class Work:
    """Counts multiplications, roughly, before they are done."""

    def __init__(self, most: float = MOST_WORK) -> None:
        self._most, self._spent = most, 0.0

    def spend(self, multiplications: float) -> None:
        """Refuse a certificate that would take too long."""
        self._spent += multiplications
        require(self._spent <= self._most, f"checking it takes more than {self._most:g} multiplications")
