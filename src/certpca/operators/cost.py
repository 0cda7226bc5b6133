"""What asking an operator costs."""

import sys
from dataclasses import dataclass

from certpca.runtime.limits import limits


@dataclass(frozen=True, slots=True)
class Cost:
    """What asking an operator costs and where its numbers lie: what algorithms ask instead of its class.

    Parameters
    ----------
    walk : int
        Numbers that come from a file, or from workers, in a walk over the data; 0 where they are in memory.
    less_in_samples : bool
        Whether FFᵀ is no larger than FᵀF, and products with it take fewer walks.
    given_in_file : bool
        Whether the numbers that the matrix is made of stay in a file, so that only columns of them can be taken.
    held : int
        How many columns of data fit into memory at a time.

    See Also
    --------
    Operator : Its `cost` is one.

    Examples
    --------
    >>> import certpca
    >>> certpca.pitprops().cost.reads
    False
    """

    walk: int = 0
    less_in_samples: bool = False
    given_in_file: bool = False
    held: int = sys.maxsize

    @property
    def reads(self) -> bool:
        """Whether every question is a walk over the data, so that a few large ones are better than many small ones."""
        return self.walk > 0

    @property
    def dear(self) -> bool:
        """Whether every product takes a while, so that a search should make do with few."""
        return self.walk >= limits().dear_walk


IN_MEMORY = Cost()
