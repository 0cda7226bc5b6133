"""Products with packed genotypes that never decode a whole file.

A few variants and some hundred samples at a time are unpacked into a tile that stays in the first-level cache and
multiplied there; see `packed_loops.py`. `benchmarks/speed/packed_genotypes.py` measures this against blocks that NumPy
decodes and BLAS multiplies, and against tables of partial sums for every value of a byte.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from certpca.genotypes.packed import MISSING, Packed, decoded, read_only
from certpca.runtime.arrays import Array, Indices, Vector


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
        What a missing genotype of each counts, or None where none are missing.
    """

    table: Packed
    rows: Indices
    fill: Vector | None = None


@final
class Products:
    """Products with packed variants that come part by part, in one walk.

    `forth`, `back` and `around` may be called by several threads at once, each with its number: each has sums over
    variants of its own.

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

    def __init__(self, samples: int, vectors: int, dtype: Any, threads: int) -> None:
        from certpca.genotypes import packed_loops  # loads numba

        self._loops: Any = packed_loops
        self._samples, self._vectors, self._dtype = samples, vectors, np.dtype(dtype)
        self._padded = -(-vectors // 4) * 4  # the loops take four vectors at a time
        self._table = unpacking_table(dtype)
        self._sums = np.zeros((threads, self._padded, samples), dtype=dtype)
        self._levels = np.zeros((threads, self._padded), dtype=dtype)

    def turned(self, scores: Array) -> tuple[Array, Array]:
        """Return scores (samples x vectors) as the loops want them: one row for each vector, and their sums."""
        turned = np.zeros((self._padded, self._samples), dtype=self._dtype)
        turned[: self._vectors] = scores.T
        return turned, turned.sum(axis=1)

    def forth(self, thread: int, here: PackedRows, panel: Array) -> None:
        """Add X·panel."""
        weights = np.zeros((here.rows.size, self._padded), dtype=self._dtype)
        weights[:, : self._vectors] = panel
        self._loops.forth(*self._variants(here), weights, self._sums[thread])

    def back(self, here: PackedRows, turned: tuple[Array, Array]) -> Array:
        """Return Xᵀ·scores."""
        product = np.zeros((here.rows.size, self._padded), dtype=self._dtype)
        self._loops.back(*self._variants(here), turned[0], product)
        return product[:, : self._vectors]

    def around(self, thread: int, here: PackedRows, mean: Vector, square: Vector, turned: tuple[Array, Array]) -> None:
        """Add (X − 1μᵀ)·diag(square)·(X − 1μᵀ)ᵀ·scores, but for what `total` takes off."""
        scaling = mean.astype(self._dtype), square.astype(self._dtype)
        to = self._sums[thread], self._levels[thread]
        self._loops.around(*self._variants(here), *scaling, *turned, *to)

    def total(self) -> Array:
        """Return what all threads added up, a row for every two bits of a variant."""
        whole = self._sums.sum(axis=0) - self._levels.sum(axis=0)[:, None]
        return np.ascontiguousarray(whole[: self._vectors].T)

    def _variants(self, here: PackedRows) -> tuple[Packed, Indices, Array, Array]:
        fill = np.zeros(here.rows.size) if here.fill is None else here.fill
        return read_only(here.table), here.rows, fill.astype(self._dtype, copy=False), self._table


def unpacking_table(dtype: Any) -> Array:
    """Return for each byte the four counts it decodes to, zero where missing, and four marks of missing ones."""
    counts = decoded()
    return np.concatenate([np.where(counts == MISSING, 0, counts), counts == MISSING], axis=1).astype(dtype)
