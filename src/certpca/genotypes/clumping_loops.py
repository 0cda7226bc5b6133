"""The compiled loop behind `clumping.py`: which pairs of variants are correlated. Importing it loads numba."""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_cgutils: Any = cgutils


def _ones(_typing: Any, word: Any) -> Any:
    """Count the bits that are set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        long = ir.IntType(64)
        function = _cgutils.get_or_insert_function(builder.module, ir.FunctionType(long, [long]), "llvm.ctpop.i64")
        return builder.call(function, [arguments[0]])

    return types.int64(word), generate


ones: Any = intrinsic(_ones)


@numba.njit(nogil=True, cache=True)
def linked(first, last, one, other, samples, ahead, limit, within, found):  # type: ignore[no-untyped-def]
    """Mark pairs of rows first..last of one block, and later rows of another, whose r² exceeds a limit.

    Parameters
    ----------
    first, last
        Rows of the first block to look at.
    one, other
        Each block: planes of what is known, double and absent, counts of these, and where rows lie, which increases.
    samples
        How many there are: rows with as many known genotypes need fewer counts.
    ahead
        By how many rows the second block begins after the first.
    limit
        Of r².
    within
        Rows that lie farther apart are not looked at.
    found
        Gets marks, rows x rows.
    """
    known, double, absent, counts, place = one
    known_too, double_too, absent_too, counts_too, place_too = other
    width = known.shape[1]
    for i in range(first, last):
        for j in range(max(0, i + 1 - ahead), known_too.shape[0]):
            if place_too[j] - place[i] > within:
                break
            products = np.int64(0)
            for w in range(width):
                products += ones(double[i, w] & double_too[j, w]) + ones(absent[i, w] & absent_too[j, w])
                products -= ones(double[i, w] & absent_too[j, w]) + ones(absent[i, w] & double_too[j, w])
            both, x_double, x_absent = samples, counts[i, 1], counts[i, 2]
            y_double, y_absent = counts_too[j, 1], counts_too[j, 2]
            if counts[i, 0] < samples or counts_too[j, 0] < samples:
                both, x_double, x_absent, y_double, y_absent = 0, 0, 0, 0, 0
                for w in range(width):
                    both += ones(known[i, w] & known_too[j, w])
                    x_double += ones(double[i, w] & known_too[j, w])
                    x_absent += ones(absent[i, w] & known_too[j, w])
                    y_double += ones(double_too[j, w] & known[i, w])
                    y_absent += ones(absent_too[j, w] & known[i, w])
            x, xx, y, yy = x_double - x_absent, x_double + x_absent, y_double - y_absent, y_double + y_absent
            # Whole numbers until here, so that no order of summation matters.
            joint = float(both * products - x * y)
            found[i, j] = joint * joint > limit * float(both * xx - x * x) * float(both * yy - y * y)
