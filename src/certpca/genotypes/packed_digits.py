"""Products with packed genotypes in whole numbers, for processors that `packed_dots.py` is written for."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.packed import Packed, read_only
from certpca.genotypes.packed_digit_loops import (
    CHUNKS_IN_STRETCH,
    LARGEST,
    LISTED,
    VARIANTS_IN_BLOCK,
    around,
    back,
    forth,
    list_missing,
)
from certpca.genotypes.packed_dots import CHUNK, DIGITS, DOTS, LANES, MIXED, VECTORS
from certpca.genotypes.packed_products import PackedRows, Products
from certpca.runtime.arrays import Array, Indices, Vector


@dataclass(frozen=True, slots=True, eq=False)
class RoundedScores:
    """Four vectors of scores as digits in the order of the loops, their scales, and what they were rounded to."""

    digits: NDArray[np.int8]
    scale: Vector  # (stretch of samples, vector)
    rounded: NDArray[np.float32]  # (sample, vector)
    total: Vector


class _Sums:
    """What is added up for four vectors."""

    def __init__(self, samples: int) -> None:
        self.sums = _aligned((samples // (4 * CHUNK), 4, 4, VECTORS, LANES), np.float32)
        self.gaps = np.zeros((samples, VECTORS), dtype=np.float32)
        self.level = np.zeros(VECTORS)

    def by_samples(self) -> NDArray[np.float32]:
        """Return (samples x vectors) in the order of the samples."""
        ordered = np.empty((self.sums.shape[0], 64, 4, 4), dtype=np.float32)  # chunk, byte, shift, vector
        for register in range(4):
            ordered[:, MIXED[register]] = self.sums[:, register].transpose(0, 3, 1, 2)
        return ordered.reshape(self.gaps.shape) + self.gaps - self.level.astype(np.float32)


def _scratch(samples: int) -> tuple[Any, ...]:
    """Return what a thread of `DigitProducts` works with."""
    even, quads = VARIANTS_IN_BLOCK + 1, -(-VARIANTS_IN_BLOCK // 4)
    return (
        _aligned((even + 3, CHUNK), np.uint8),
        _aligned((even, DOTS, LANES), np.int32),
        np.zeros(DOTS, dtype=np.float32),
        np.zeros((quads, DOTS, 4), dtype=np.int8),
        _aligned((quads, 4, CHUNK), np.uint8),
        np.zeros(CHUNK, dtype=np.uint8),
        np.zeros(samples // 4 + CHUNK, dtype=np.int32),
        np.zeros(LISTED + samples, dtype=np.int32),
    )


@final
class DigitProducts(Products[list[RoundedScores]]):
    """Products in whole numbers; see `packed_digit_loops.py`.

    Scores are rounded to 2⁻²⁴ of the largest of a stretch of samples, weights to that of the largest of a block of
    variants (where that is above 10⁻³¹: scales are in single precision). Sums of products are then exact but for the
    conversion to single precision after each block. Four vectors are multiplied at a time: their sums stay in the
    second-level cache, and variants that were just read are in the third.
    """

    def __init__(self, samples: int, vectors: int, threads: int) -> None:
        super().__init__(samples, vectors, np.float32)
        self._all = -(-samples // 256) * 256
        self._fours = [slice(first, first + 4) for first in range(0, vectors, 4)]
        self._scratch = [_scratch(self._all) for _ in range(threads)]
        self._sums = [[_Sums(self._all) for _ in self._fours] for _ in range(threads)]

    def turned(self, scores: Array) -> list[RoundedScores]:
        """Round scores to digits."""
        return [self._rounded(scores[:, four].astype(np.float64)) for four in self._fours]

    def _rounded(self, scores: Vector) -> RoundedScores:
        stretch = 4 * CHUNK * CHUNKS_IN_STRETCH  # samples
        padded = np.zeros((-(-self._all // stretch) * stretch, VECTORS))
        padded[: self._samples, : scores.shape[1]] = scores
        numbers = padded.reshape(-1, stretch, VECTORS)
        scale = np.abs(numbers).max(axis=1) / LARGEST
        usable = (scale > 0) & np.isfinite(scale)  # zeros have no digits, and what is not finite spoils every sum
        divisor = np.where(usable, scale, 1.0)[:, None]
        whole = np.rint(np.where(usable[:, None], numbers, 0.0) / divisor)
        rounded = (whole * divisor).reshape(-1, VECTORS)[: self._all]
        total = rounded.sum(axis=0) + np.where(usable, 0.0, scale).sum(axis=0)
        rest = whole.reshape(-1, VECTORS)[: self._all].astype(np.int64)
        digits = _aligned((self._all // (4 * CHUNK), 4, DOTS, CHUNK), np.int8)
        for index in range(DIGITS):
            digit = (rest + 128) % 256 - 128
            digits[:, :, index::DIGITS] = digit.reshape(-1, CHUNK, 4, VECTORS).transpose(0, 2, 3, 1)
            rest = (rest - digit) // 256
        return RoundedScores(digits, scale, rounded.astype(np.float32), total)

    def forth(self, thread: int, here: PackedRows, panel: Array) -> None:
        """Add X·panel."""
        variants = self._variants(thread, here)
        for four, to in zip(self._fours, self._sums[thread], strict=True):
            weights = np.zeros((here.rows.size, 4))
            weights[:, : panel[:, four].shape[1]] = panel[:, four]
            forth(*variants, weights, self._scratch[thread], to.sums, to.gaps)

    def back(self, thread: int, here: PackedRows, turned: list[RoundedScores]) -> Array:
        """Return Xᵀ·scores."""
        product, room = np.empty((here.rows.size, self._padded), dtype=np.float32), np.empty((here.rows.size, 4))
        variants = self._variants(thread, here)
        for four, given in zip(self._fours, turned, strict=True):
            back(*variants, given.digits, given.scale, given.rounded, self._scratch[thread], room)
            product[:, four] = room
        return product[:, : self._vectors]

    def around(self, thread: int, here: PackedRows, mean: Vector, square: Vector, turned: list[RoundedScores]) -> None:
        """Add the product there and back."""
        variants = self._variants(thread, here)
        for given, to in zip(turned, self._sums[thread], strict=True):
            scores = given.digits, given.scale, given.rounded, given.total
            around(*variants, mean, square, *scores, self._scratch[thread], to.sums, to.gaps, to.level)

    def total(self) -> Array:
        """Add up what threads have."""
        whole = np.empty((self._samples, self._padded), dtype=np.float32)
        for index, four in enumerate(self._fours):
            found = np.sum([sums[index].by_samples() for sums in self._sums], axis=0)
            whole[:, four] = found[: self._samples]
        return np.ascontiguousarray(whole[:, : self._vectors])

    def _variants(self, thread: int, here: PackedRows) -> tuple[Packed, Indices, Vector, Indices]:
        """Return variants with what missing genotypes count, and where these are listed."""
        table, holes = read_only(here.table), here.holes(np.float64)
        begins = np.zeros(here.rows.size + 1, dtype=np.int64)
        list_missing(table, here.rows, holes, self._scratch[thread], begins)
        return table, here.rows, holes, begins


def _aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros that begin where a line of the cache does: registers are as long as one."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(dtype).reshape(shape)
