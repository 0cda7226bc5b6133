"""What a rule returns."""

from typing import NamedTuple

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import Mask


class Proved(NamedTuple):
    """A bound, the features in no optimal support, and those in every one.

    `again` is what a check with other random numbers confirms as well, where a rule draws some.
    """

    bound: float
    outside: Mask
    inside: Mask
    again: float | None = None


def bound_alone(prepared: Prepared, bound: float, again: float | None = None) -> Proved:
    """Return a bound that decides no feature."""
    return Proved(bound, np.zeros(prepared.size, dtype=bool), np.zeros(prepared.size, dtype=bool), again)
