"""Products with packed genotypes that never decode a whole file.

In whole numbers (`DigitProducts`, single precision, many samples, processors with AVX-512's VNNI) genotypes stay bytes
and vectors become three digits to the base 256. In floating point (`FloatProducts`) a few variants and some hundred
samples at a time are unpacked into a tile that stays in the first-level cache and multiplied there.
`benchmarks/speed/packed_genotypes.py` measures both against each other, against blocks that NumPy decodes and BLAS
multiplies, and against tables of partial sums for every value of a byte.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.packed import MISSING, Packed, decoded, read_only
from certpca.runtime.arrays import Array, Indices, Vector

Scores = TypeVar("Scores")

FEWEST_SAMPLES = 4096  # from which whole numbers are faster: each variant takes some steps of its own


def products(samples: int, vectors: int, dtype: Any, threads: int) -> "Products[Any]":
    """Return the faster products of what this processor can do.

    Parameters
    ----------
    samples
        Four for each byte of a variant.
    vectors
        Columns of the panel or of the scores.
    dtype
        Of all products.
    threads
        That work at once.
    """
    if np.dtype(dtype) == np.float32:
        from certpca.genotypes.packed_dots import HAS_DOTS, MOST_SAMPLES

        if HAS_DOTS and FEWEST_SAMPLES <= samples <= MOST_SAMPLES:
            return DigitProducts(samples, vectors, threads)
    return FloatProducts(samples, vectors, dtype, threads)


class Products(ABC, Generic[Scores]):
    """Products with packed variants that come part by part, in one walk.

    `forth`, `back` and `around` may be called by several threads at once, each with its number: each has sums over
    variants of its own. `chosen` are rows of a packed table, and `fill` are their values where genotypes are missing;
    rows for which it is zero are not searched for these.
    """

    def __init__(self, samples: int, vectors: int, dtype: Any) -> None:
        self._samples, self._vectors, self._dtype = samples, vectors, np.dtype(dtype)
        self._padded = -(-vectors // 4) * 4  # the loops take four vectors at a time

    @abstractmethod
    def turned(self, scores: Array) -> Scores:
        """Return scores (samples x vectors) in the form the loops want."""

    @abstractmethod
    def forth(self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, panel: Array) -> None:
        """Add X·panel."""

    @abstractmethod
    def back(self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, turned: Scores) -> Array:
        """Return Xᵀ·scores."""

    @abstractmethod
    def around(
        self,
        thread: int,
        packed: Packed,
        chosen: Indices,
        fill: Vector | None,
        mean: Vector,
        square: Vector,
        turned: Scores,
    ) -> None:
        """Add (X − 1μᵀ)·diag(square)·(X − 1μᵀ)ᵀ·scores, but for what `total` takes off."""

    @abstractmethod
    def total(self) -> Array:
        """Return what was added up, a row for every two bits of a variant."""


@final
class FloatProducts(Products[tuple[Array, Array]]):
    """Products of unpacked tiles; see `packed_loops.py`."""

    def __init__(self, samples: int, vectors: int, dtype: Any, threads: int) -> None:
        super().__init__(samples, vectors, dtype)
        self._table = unpacking_table(dtype)
        self._sums = np.zeros((threads, self._padded, samples), dtype=dtype)
        self._levels = np.zeros((threads, self._padded), dtype=dtype)

    def turned(self, scores: Array) -> tuple[Array, Array]:
        """Return one row for each vector, and their sums."""
        turned = np.zeros((self._padded, self._samples), dtype=self._dtype)
        turned[: self._vectors] = scores.T
        return turned, turned.sum(axis=1)

    def forth(self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, panel: Array) -> None:
        """Add X·panel."""
        from certpca.genotypes.packed_loops import forth

        weights = np.zeros((chosen.size, self._padded), dtype=self._dtype)
        weights[:, : self._vectors] = panel
        forth(*self._variants(packed, chosen, fill), weights, self._sums[thread])

    def back(
        self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, turned: tuple[Array, Array]
    ) -> Array:
        """Return Xᵀ·scores."""
        from certpca.genotypes.packed_loops import back

        del thread
        product = np.zeros((chosen.size, self._padded), dtype=self._dtype)
        back(*self._variants(packed, chosen, fill), turned[0], product)
        return product[:, : self._vectors]

    def around(
        self,
        thread: int,
        packed: Packed,
        chosen: Indices,
        fill: Vector | None,
        mean: Vector,
        square: Vector,
        turned: tuple[Array, Array],
    ) -> None:
        """Add the product there and back."""
        from certpca.genotypes.packed_loops import around

        scaling = mean.astype(self._dtype), square.astype(self._dtype)
        to = self._sums[thread], self._levels[thread]
        around(*self._variants(packed, chosen, fill), *scaling, *turned, *to)

    def total(self) -> Array:
        """Add up what threads have."""
        whole = self._sums.sum(axis=0) - self._levels.sum(axis=0)[:, None]
        return np.ascontiguousarray(whole[: self._vectors].T)

    def _variants(self, packed: Packed, chosen: Indices, fill: Vector | None) -> tuple[Any, Any, Any, Any]:
        holes = np.zeros(chosen.size, dtype=self._dtype) if fill is None else fill.astype(self._dtype)
        return read_only(packed), chosen, holes, self._table


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
        from certpca.genotypes.packed_dots import CHUNK, LANES, VECTORS

        self.sums = _aligned((samples // (4 * CHUNK), 4, 4, VECTORS, LANES), np.float32)
        self.gaps = np.zeros((samples, VECTORS), dtype=np.float32)
        self.level = np.zeros(VECTORS)

    def by_samples(self) -> NDArray[np.float32]:
        """Return (samples x vectors) in the order of the samples."""
        from certpca.genotypes.packed_dots import MIXED

        ordered = np.empty((self.sums.shape[0], 64, 4, 4), dtype=np.float32)  # chunk, byte, shift, vector
        for register in range(4):
            ordered[:, MIXED[register]] = self.sums[:, register].transpose(0, 3, 1, 2)
        return ordered.reshape(self.gaps.shape) + self.gaps - self.level.astype(np.float32)


def _scratch(samples: int) -> tuple[Any, ...]:
    """Return what a thread of `DigitProducts` works with."""
    from certpca.genotypes.packed_digit_loops import LISTED, VARIANTS_IN_BLOCK
    from certpca.genotypes.packed_dots import CHUNK, DOTS, LANES

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
        from certpca.genotypes.packed_digit_loops import CHUNKS_IN_STRETCH, LARGEST
        from certpca.genotypes.packed_dots import CHUNK, DIGITS, DOTS, VECTORS

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

    def forth(self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, panel: Array) -> None:
        """Add X·panel."""
        from certpca.genotypes.packed_digit_loops import forth

        variants = self._variants(thread, packed, chosen, fill)
        for four, to in zip(self._fours, self._sums[thread], strict=True):
            weights = np.zeros((chosen.size, 4))
            weights[:, : panel[:, four].shape[1]] = panel[:, four]
            forth(*variants, weights, self._scratch[thread], to.sums, to.gaps)

    def back(
        self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, turned: list[RoundedScores]
    ) -> Array:
        """Return Xᵀ·scores."""
        from certpca.genotypes.packed_digit_loops import back

        product, room = np.empty((chosen.size, self._padded), dtype=np.float32), np.empty((chosen.size, 4))
        variants = self._variants(thread, packed, chosen, fill)
        for four, given in zip(self._fours, turned, strict=True):
            back(*variants, given.digits, given.scale, given.rounded, self._scratch[thread], room)
            product[:, four] = room
        return product[:, : self._vectors]

    def around(
        self,
        thread: int,
        packed: Packed,
        chosen: Indices,
        fill: Vector | None,
        mean: Vector,
        square: Vector,
        turned: list[RoundedScores],
    ) -> None:
        """Add the product there and back."""
        from certpca.genotypes.packed_digit_loops import around

        variants = self._variants(thread, packed, chosen, fill)
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

    def _variants(
        self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None
    ) -> tuple[Packed, Indices, Vector, Indices]:
        """Return variants with what missing genotypes count, and where these are listed."""
        from certpca.genotypes.packed_digit_loops import list_missing

        holes, begins = np.zeros(chosen.size) if fill is None else fill, np.zeros(chosen.size + 1, dtype=np.int64)
        list_missing(read_only(packed), chosen, holes, self._scratch[thread], begins)
        return read_only(packed), chosen, holes, begins


def unpacking_table(dtype: Any) -> Array:
    """Return for each byte the four counts it decodes to, zero where missing, and four marks of missing ones."""
    counts = decoded()
    return np.concatenate([np.where(counts == MISSING, 0, counts), counts == MISSING], axis=1).astype(dtype)


def _aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros that begin where a line of the cache does: registers are as long as one."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(dtype).reshape(shape)
