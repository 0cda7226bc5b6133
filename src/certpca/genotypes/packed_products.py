"""Products with packed genotypes that never decode a whole file: one interface, two ways.

In whole numbers (`packed_digits.py`: single precision, many samples, AVX-512 with VNNI) genotypes stay bytes
and vectors become three digits to the base 256. In floating point (`packed_floats.py`) a few variants and some hundred
samples at a time are unpacked into a tile that stays in the first-level cache and multiplied there.
`benchmarks/speed/packed_walk.py` measures what the first is worth, `benchmarks/speed/packed_genotypes.py` both against
blocks that NumPy decodes and BLAS multiplies, and against tables of partial sums for every value of a byte.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from certpca.genotypes.packed import Packed
from certpca.runtime.arrays import Array, Indices, Vector

Scores = TypeVar("Scores")

FEWEST_SAMPLES = 4096  # from which whole numbers are faster: each variant takes some steps of its own


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Variants to be multiplied.

    Parameters
    ----------
    table
        Packed variants.
    rows
        Those of the table that count.
    fill
        What a missing genotype of each counts, or None where none are missing. Rows for which it is zero are not
        searched for these.
    """

    table: Packed
    rows: Indices
    fill: Vector | None = None

    def holes(self, dtype: Any) -> Array:
        """Return what missing genotypes count, in a type."""
        return np.zeros(self.rows.size, dtype=dtype) if self.fill is None else self.fill.astype(dtype, copy=False)


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
            from certpca.genotypes.packed_digits import DigitProducts

            return DigitProducts(samples, vectors, threads)
    from certpca.genotypes.packed_floats import FloatProducts

    return FloatProducts(samples, vectors, dtype, threads)


class Products(ABC, Generic[Scores]):
    """Products with packed variants that come part by part, in one walk.

    `forth`, `back` and `around` may be called by several threads at once, each with its number: each has sums over
    variants of its own.
    """

    def __init__(self, samples: int, vectors: int, dtype: Any) -> None:
        self._samples, self._vectors, self._dtype = samples, vectors, np.dtype(dtype)
        self._padded = -(-vectors // 4) * 4  # the loops take four vectors at a time

    @abstractmethod
    def turned(self, scores: Array) -> Scores:
        """Return scores (samples x vectors) in the form the loops want."""

    @abstractmethod
    def forth(self, thread: int, here: PackedRows, panel: Array) -> None:
        """Add X·panel."""

    @abstractmethod
    def back(self, thread: int, here: PackedRows, turned: Scores) -> Array:
        """Return Xᵀ·scores."""

    @abstractmethod
    def around(self, thread: int, here: PackedRows, mean: Vector, square: Vector, turned: Scores) -> None:
        """Add (X − 1μᵀ)·diag(square)·(X − 1μᵀ)ᵀ·scores, but for what `total` takes off."""

    @abstractmethod
    def total(self) -> Array:
        """Return what was added up, a row for every two bits of a variant."""
