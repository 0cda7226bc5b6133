"""Products with packed genotypes in floating point, on any processor."""

from typing import Any, final

import numpy as np

from certpca.genotypes.packed import MISSING, Packed, decoded, read_only
from certpca.genotypes.packed_loops import around, back, forth
from certpca.genotypes.packed_products import PackedRows, Products
from certpca.runtime.arrays import Array, Indices, Vector


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

    def forth(self, thread: int, here: PackedRows, panel: Array) -> None:
        """Add X·panel."""
        weights = np.zeros((here.rows.size, self._padded), dtype=self._dtype)
        weights[:, : self._vectors] = panel
        forth(*self._variants(here), weights, self._sums[thread])

    def back(self, thread: int, here: PackedRows, turned: tuple[Array, Array]) -> Array:
        """Return Xᵀ·scores."""
        del thread
        product = np.zeros((here.rows.size, self._padded), dtype=self._dtype)
        back(*self._variants(here), turned[0], product)
        return product[:, : self._vectors]

    def around(self, thread: int, here: PackedRows, mean: Vector, square: Vector, turned: tuple[Array, Array]) -> None:
        """Add the product there and back."""
        scaling = mean.astype(self._dtype), square.astype(self._dtype)
        to = self._sums[thread], self._levels[thread]
        around(*self._variants(here), *scaling, *turned, *to)

    def total(self) -> Array:
        """Add up what threads have."""
        whole = self._sums.sum(axis=0) - self._levels.sum(axis=0)[:, None]
        return np.ascontiguousarray(whole[: self._vectors].T)

    def _variants(self, here: PackedRows) -> tuple[Packed, Indices, Array, Array]:
        return read_only(here.table), here.rows, here.holes(self._dtype), self._table


def unpacking_table(dtype: Any) -> Array:
    """Return for each byte the four counts it decodes to, zero where missing, and four marks of missing ones."""
    counts = decoded()
    return np.concatenate([np.where(counts == MISSING, 0, counts), counts == MISSING], axis=1).astype(dtype)
