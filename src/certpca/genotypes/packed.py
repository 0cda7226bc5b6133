"""Genotypes as PLINK packs them, four to a byte: packing, decoding and counting; products are in `packed_products.py`.

Each row of a packed table is a variant; the two lowest bits of a byte are its first sample. The codes are
0: two of the counted allele, 1: missing, 2: one, 3: none.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.arrays import Indices

MISSING = -9
COUNTED = (2, MISSING, 1, 0)  # of each code

Packed = NDArray[np.uint8]


def bytes_of(samples: int) -> int:
    """Return the length of a packed variant."""
    return (samples + 3) // 4


def packed_codes(counts: NDArray[Any]) -> Packed:
    """Pack genotypes 0, 1, 2 and -9, shape (variants, samples)."""
    code = np.full(12, 1, dtype=np.uint8)
    code[[2, 1, 0]] = 0, 2, 3  # -9 stays 1
    codes = np.full((counts.shape[0], 4 * bytes_of(counts.shape[1])), 0, dtype=np.uint8)
    codes[:, : counts.shape[1]] = code[counts]  # -9 counts from the end: the fourth entry
    quarters = codes.reshape(counts.shape[0], -1, 4)
    return np.asarray(
        quarters[:, :, 0] | quarters[:, :, 1] << 2 | quarters[:, :, 2] << 4 | quarters[:, :, 3] << 6, dtype=np.uint8
    )


@cache
def _codes() -> NDArray[np.uint8]:
    """Return the four codes of every byte."""
    codes: NDArray[np.uint8] = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3).astype(np.uint8)
    return codes


@cache
def decoded() -> NDArray[np.int8]:
    """Return the four counts of every byte, -9 where missing."""
    return np.ascontiguousarray(np.array(COUNTED, dtype=np.int8)[_codes()])


def decode(packed: Packed) -> NDArray[np.int8]:
    """Return allele counts, -9 where missing, four for each byte."""
    # One gather of four bytes for each packed one.
    return np.take(decoded().view(np.int32)[:, 0], packed).view(np.int8)


def count_codes(packed: Packed, chosen: Indices, mask: Packed) -> NDArray[np.int64]:
    """Count the codes 1, 2 and 3 of variants `chosen` among the samples whose bits are set in the mask."""
    from certpca.genotypes.packed_loops import count

    counts = np.zeros((chosen.size, 3), dtype=np.int64)
    count(read_only(packed), chosen, read_only(mask), counts)
    return counts


def read_only(packed: Packed) -> Packed:
    """Return a view that is contiguous and read-only whatever the array is: the loops count on one and compile one."""
    view = np.ascontiguousarray(packed).view()
    view.flags.writeable = False
    return view
