"""Products with packed genotypes that never decode a whole file.

In whole numbers (`DigitProducts`, single precision, processors with AVX-512's VNNI) genotypes stay bytes and vectors
become three digits to the base 256. In floating point (`FloatProducts`) a few variants and some hundred samples at a
time are unpacked into a tile that stays in the first-level cache and multiplied there.
`benchmarks/speed/packed_genotypes.py` measures both against each other, against blocks that NumPy decodes and BLAS
multiplies, and against tables of partial sums for every value of a byte.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from certpca.arrays import Array, Indices, Vector
from certpca.operators.packed import MISSING, Packed, decoded, read_only

Scores = TypeVar("Scores")


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
        from certpca.operators.packed_dots import HAS_DOTS

        if HAS_DOTS:
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
class FloatProducts(Products[Array]):
    """Products of unpacked tiles; see `packed_loops.py`."""

    def __init__(self, samples: int, vectors: int, dtype: Any, threads: int) -> None:
        super().__init__(samples, vectors, dtype)
        self._table = unpacking_table(dtype)
        self._sums = np.zeros((threads, self._padded, samples), dtype=dtype)
        self._levels = np.zeros((threads, self._padded), dtype=dtype)

    def turned(self, scores: Array) -> Array:
        """Return one row for each vector."""
        turned = np.zeros((self._padded, self._samples), dtype=self._dtype)
        turned[: self._vectors] = scores.T
        return turned

    def forth(self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, panel: Array) -> None:
        """Add X·panel."""
        from certpca.operators.packed_loops import forth

        weights = np.zeros((chosen.size, self._padded), dtype=self._dtype)
        weights[:, : self._vectors] = panel
        forth(*self._variants(packed, chosen, fill), weights, self._sums[thread])

    def back(self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, turned: Array) -> Array:
        """Return Xᵀ·scores."""
        from certpca.operators.packed_loops import back

        del thread
        product = np.zeros((chosen.size, self._padded), dtype=self._dtype)
        back(*self._variants(packed, chosen, fill), turned, product)
        return product[:, : self._vectors]

    def around(
        self,
        thread: int,
        packed: Packed,
        chosen: Indices,
        fill: Vector | None,
        mean: Vector,
        square: Vector,
        turned: Array,
    ) -> None:
        """Add the product there and back."""
        from certpca.operators.packed_loops import around

        scaling = mean.astype(self._dtype), square.astype(self._dtype)
        to = self._sums[thread], self._levels[thread]
        around(*self._variants(packed, chosen, fill), *scaling, turned, turned.sum(axis=1), *to)

    def total(self) -> Array:
        """Add up what threads have."""
        whole = self._sums.sum(axis=0) - self._levels.sum(axis=0)[:, None]
        return np.ascontiguousarray(whole[: self._vectors].T)

    def _variants(self, packed: Packed, chosen: Indices, fill: Vector | None) -> tuple[Any, Any, Any, Any]:
        holes = np.zeros(chosen.size, dtype=self._dtype) if fill is None else fill.astype(self._dtype)
        return read_only(packed), chosen, holes, self._table


@dataclass(frozen=True, slots=True, eq=False)
class RoundedScores:
    """Scores as digits in the order of the loops, their scales, and what they were rounded to."""

    digits: NDArray[np.int8]
    scale: Vector
    rounded: NDArray[np.float32]  # (group, sample, vector)
    total: Vector


class _Room:
    """What a thread of `DigitProducts` works with and adds to."""

    def __init__(self, groups: int, samples: int) -> None:
        from certpca.operators.packed_digit_loops import LISTED, VARIANTS_IN_BLOCK
        from certpca.operators.packed_dots import CHUNK, DOTS, LANES

        even, quads = VARIANTS_IN_BLOCK + 1, -(-VARIANTS_IN_BLOCK // 4)
        self.scratch = (
            _aligned((even + 3, CHUNK), np.uint8),
            _aligned((even, DOTS, LANES), np.int32),
            np.zeros((groups, DOTS), dtype=np.float32),
            np.zeros((groups, quads, DOTS, 4), dtype=np.int8),
            _aligned((quads, 4, CHUNK), np.uint8),
            (
                np.zeros(samples // 4 + CHUNK, dtype=np.int32),
                np.zeros(LISTED + samples, dtype=np.int32),
                np.zeros(even, dtype=np.int64),
                np.zeros(even, dtype=np.int64),
            ),
        )
        self.sums = _aligned((groups, samples // (4 * CHUNK), 4, 4, 4, LANES), np.float32)
        self.gaps = np.zeros((groups, samples, 4), dtype=np.float32)
        self.level = np.zeros(4 * groups)


@final
class DigitProducts(Products[RoundedScores]):
    """Products in whole numbers; see `packed_digit_loops.py`.

    Scores are rounded to 2⁻²⁴ of the largest of a vector, weights to that of the largest of a block of variants. Sums
    of products are then exact but for the conversion to single precision after each block.
    """

    def __init__(self, samples: int, vectors: int, threads: int) -> None:
        super().__init__(samples, vectors, np.float32)
        self._groups = self._padded // 4
        self._all = -(-samples // 256) * 256
        self._rooms = [_Room(self._groups, self._all) for _ in range(threads)]

    def turned(self, scores: Array) -> RoundedScores:
        """Round scores to digits."""
        from certpca.operators.packed_digit_loops import LARGEST
        from certpca.operators.packed_dots import CHUNK, DIGITS, DOTS

        digits = _aligned((self._groups, self._all // (4 * CHUNK), 4, DOTS, CHUNK), np.int8)
        rounded = np.zeros((self._groups, self._all, 4), dtype=np.float32)
        scale, total = np.zeros(self._padded), np.zeros(self._padded)
        for vector in range(self._vectors):
            group, place = divmod(vector, 4)
            numbers = scores[:, vector].astype(np.float64)
            scale[vector] = np.abs(numbers).max() / LARGEST
            if not (scale[vector] > 0 and np.isfinite(scale[vector])):  # zeros, or numbers that spoil every sum
                total[vector] = scale[vector]
                continue
            whole = np.zeros(self._all, dtype=np.int64)
            whole[: self._samples] = np.rint(numbers / scale[vector])
            rounded[group, :, place] = whole * scale[vector]
            total[vector] = whole.sum() * scale[vector]
            for index in range(DIGITS):
                digit = (whole + 128) % 256 - 128
                digits[group, :, :, DIGITS * place + index] = digit.reshape(-1, CHUNK, 4).transpose(0, 2, 1)
                whole = (whole - digit) // 256
        return RoundedScores(digits, scale, rounded, total)

    def forth(self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, panel: Array) -> None:
        """Add X·panel."""
        from certpca.operators.packed_digit_loops import forth

        weights, room = np.zeros((chosen.size, self._padded)), self._rooms[thread]
        weights[:, : self._vectors] = panel
        forth(read_only(packed), chosen, _holes(chosen, fill), weights, room.scratch, room.sums, room.gaps)

    def back(self, thread: int, packed: Packed, chosen: Indices, fill: Vector | None, turned: RoundedScores) -> Array:
        """Return Xᵀ·scores."""
        from certpca.operators.packed_digit_loops import back

        product = np.zeros((chosen.size, self._padded))
        scores, room = (turned.digits, turned.scale, turned.rounded), self._rooms[thread]
        back(read_only(packed), chosen, _holes(chosen, fill), *scores, room.scratch, product)
        return product[:, : self._vectors].astype(np.float32)

    def around(
        self,
        thread: int,
        packed: Packed,
        chosen: Indices,
        fill: Vector | None,
        mean: Vector,
        square: Vector,
        turned: RoundedScores,
    ) -> None:
        """Add the product there and back."""
        from certpca.operators.packed_digit_loops import around

        scores, room = (turned.digits, turned.scale, turned.rounded, turned.total), self._rooms[thread]
        to = room.scratch, room.sums, room.gaps, room.level
        around(read_only(packed), chosen, _holes(chosen, fill), mean, square, *scores, *to)

    def total(self) -> Array:
        """Put what threads have into the order of the samples, and add it up."""
        from certpca.operators.packed_dots import MIXED

        whole = np.zeros((self._all, self._padded), dtype=np.float32)
        for room in self._rooms:
            # (group, chunk, byte, shift, vector): a byte is four samples
            ordered = np.empty((self._groups, self._all // 256, 64, 4, 4), dtype=np.float32)
            for register in range(4):
                ordered[:, :, MIXED[register]] = room.sums[:, :, register].transpose(0, 1, 4, 2, 3)
            found = ordered.reshape(self._groups, self._all, 4) + room.gaps
            whole += found.transpose(1, 0, 2).reshape(self._all, self._padded) - room.level.astype(np.float32)
        return np.ascontiguousarray(whole[: self._samples, : self._vectors])


def unpacking_table(dtype: Any) -> Array:
    """Return for each byte the four counts it decodes to, zero where missing, and four marks of missing ones."""
    counts = decoded()
    return np.concatenate([np.where(counts == MISSING, 0, counts), counts == MISSING], axis=1).astype(dtype)


def _holes(chosen: Indices, fill: Vector | None) -> Vector:
    return np.zeros(chosen.size) if fill is None else fill


def _aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return zeros that begin where a line of the cache does: registers are as long as one."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(dtype).reshape(shape)
