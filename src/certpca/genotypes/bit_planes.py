"""Packed genotypes as three bits of each sample, 64 samples to a word: what pairs of variants are counted on.

Two copies of the counted allele are +1, one is 0 and none is −1; correlations do not know the difference.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.packed import Packed
from certpca.runtime.arrays import Indices

Words = NDArray[np.uint64]
BYTES_OF_WORD = 16  # packed bytes that hold 64 samples
PLANES = 3
# How to gather every second bit of a word: shifts, and what is kept after each.
GATHER = ((1, 0x3333333333333333), (2, 0x0F0F0F0F0F0F0F0F), (4, 0x00FF00FF00FF00FF), (8, 0x0000FFFF0000FFFF))
LOW, HALF = 0x5555555555555555, 0x00000000FFFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class Planes:
    """Bits of variants x samples: which genotypes are known, which are two copies, and which are none."""

    known: Words
    double: Words
    absent: Words


def words_of(samples: int) -> int:
    """Return the number of words of a plane."""
    return -(-samples // 64)


def planes_of(packed: Packed, mask: Words) -> Planes:
    """Take packed variants apart; samples whose bits are not set in the mask count as unknown."""
    rows, length = packed.shape
    padded = np.zeros((rows, BYTES_OF_WORD * mask.size), dtype=np.uint8)
    padded[:, :length] = packed
    codes = padded.view("<u8")
    low, high = _every_second(codes), _every_second(codes >> np.uint64(1))
    return Planes(mask & (high | ~low), mask & ~high & ~low, mask & high & low)


def mask_of(kept: Indices, samples: int) -> Words:
    """Return a plane with the bits of some samples set."""
    bits = np.zeros(64 * words_of(samples), dtype=np.uint8)
    bits[kept] = 1
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def _every_second(codes: Words) -> Words:
    """Gather the even bits of pairs of words into one."""
    bits = codes & np.uint64(LOW)
    for shift, keep in GATHER:
        bits = (bits | bits >> np.uint64(shift)) & np.uint64(keep)
    bits = (bits | bits >> np.uint64(16)) & np.uint64(HALF)
    return np.asarray(bits[:, 0::2] | bits[:, 1::2] << np.uint64(32))
