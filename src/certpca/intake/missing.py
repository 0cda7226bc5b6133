"""Missing values: what marks them, decided once for all data, and when they are refused."""

from enum import Enum
from typing import Any, Literal

import numpy as np

from certpca.intake.inputs import label_of
from certpca.readers.missing import genotype_code
from certpca.readers.moments import Moments
from certpca.runtime.errors import InvalidDataError

Missing = Literal["error", "mean"]


class Undecided(Enum):
    """Says that what marks missing values is to be found out from the data."""

    UNDECIDED = "undecided"


def decided(values: Any, code: int | Undecided | None) -> int | None:
    """Return what marks missing values in an array: what is known, or else what the array shows."""
    return genotype_code(values) if isinstance(code, Undecided) else code


def refuse_bad_values(moments: Moments, names: tuple[str, ...] | None, missing: Missing, code: int | None) -> None:
    """Refuse columns that hold infinite values, none at all, or missing ones where these are not to be filled."""
    infinite = np.flatnonzero(moments.infinite)
    if infinite.size:
        msg = f"{label_of(int(infinite[0]), names)} holds infinite values; replace them or mark them missing (NaN)"
        raise InvalidDataError(msg)
    huge = np.flatnonzero(~np.isfinite(moments.squares) | ~np.isfinite(moments.mean))
    if huge.size:
        msg = f"{label_of(int(huge[0]), names)} holds values too large to add up; divide the data by a constant"
        raise InvalidDataError(msg)
    holes = np.flatnonzero(moments.count < moments.rows)
    if holes.size and missing == "error":
        absent = int(moments.rows - moments.count[holes[0]])
        coded = f" (coded {code})" if code is not None else ""
        msg = (
            f"{label_of(int(holes[0]), names)} has {absent} missing values{coded}, and {holes.size} of "
            f"{moments.count.size} columns have some; use missing='mean' (--missing mean) to put the column mean there"
        )
        raise InvalidDataError(msg)
    empty = np.flatnonzero(moments.count == 0)
    if empty.size:
        msg = f"{label_of(int(empty[0]), names)} has no values at all; drop it"
        raise InvalidDataError(msg)
