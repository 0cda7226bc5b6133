"""Genotypes as PLINK packs them, four to a byte: decoding, counting, and products that never decode a whole file.

Each row of a packed table is a variant; the two lowest bits of a byte are its first sample. The codes are
0: two of the counted allele, 1: missing, 2: one, 3: none.

Products unpack a few variants and some hundred samples at a time into a tile that stays in the first-level cache and
multiply it there. `benchmarks/speed/packed_genotypes.py` measures this against blocks that NumPy decodes and BLAS
multiplies, and against tables of partial sums for every value of a byte; both were slower at the widths measured.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.arrays import Array, Indices, Vector

MISSING = -9
COUNTED = (2, MISSING, 1, 0)  # of each code
VARIANTS_PER_THREAD = 64  # at least

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
def _decoded() -> NDArray[np.int8]:
    return np.ascontiguousarray(np.array(COUNTED, dtype=np.int8)[_codes()])


def decode(packed: Packed) -> NDArray[np.int8]:
    """Return allele counts, -9 where missing, four for each byte."""
    # One gather of four bytes for each packed one.
    return np.take(_decoded().view(np.int32)[:, 0], packed).view(np.int8)


def count_codes(packed: Packed, chosen: Indices, mask: Packed) -> NDArray[np.int64]:
    """Count the codes 1, 2 and 3 of variants `chosen` among the samples whose bits are set in the mask."""
    counts = np.zeros((chosen.size, 3), dtype=np.int64)
    if not compiled():
        for place, row in enumerate(chosen):
            codes = _codes()[packed[row] & mask]
            counts[place] = [np.count_nonzero(codes == code) for code in (1, 2, 3)]
        return counts
    from certpca.operators.packed_loops import count

    spans, here, kept = _spans(chosen.size), _read_only(packed), _read_only(mask[None, :])
    _together(lambda number: count(here, chosen[spans[number]], kept, counts[spans[number]]), len(spans))
    return counts


class Products:
    """Products with packed variants that come part by part, in one walk; sums over variants stay in place.

    Parameters
    ----------
    samples
        Four for each byte of a variant.
    vectors
        Columns of the panel or of the scores; padded to a multiple of four, as the loops take them.
    dtype
        Of all products.
    """

    def __init__(self, samples: int, vectors: int, dtype: Any) -> None:
        self._samples, self._vectors, self._dtype = samples, vectors, np.dtype(dtype)
        self._padded = -(-vectors // 4) * 4
        self._table = _table(dtype)
        self._sums: list[Array] = []
        self._levels: list[Array] = []

    def turned(self, scores: Array) -> Array:
        """Return scores (samples x vectors) in the order the loops want."""
        turned = np.zeros((self._padded, self._samples), dtype=self._dtype)
        turned[: self._vectors] = scores.T
        return turned

    def forth(self, packed: Packed, chosen: Indices, fill: Vector | None, panel: Array) -> None:
        """Add X·panel for variants `chosen` of a packed table."""
        from certpca.operators.packed_loops import forth

        weights = np.zeros((chosen.size, self._padded), dtype=self._dtype)
        weights[:, : self._vectors] = panel

        def work(number: int, span: slice, holes: Array) -> None:
            forth(_read_only(packed), chosen[span], holes, self._table, weights[span], self._sums[number])

        self._share(work, chosen.size, fill)

    def back(self, packed: Packed, chosen: Indices, fill: Vector | None, turned: Array) -> Array:
        """Return Xᵀ·scores for variants `chosen`."""
        from certpca.operators.packed_loops import back

        product = np.zeros((chosen.size, self._padded), dtype=self._dtype)

        def work(number: int, span: slice, holes: Array) -> None:
            del number
            back(_read_only(packed), chosen[span], holes, self._table, turned, product[span])

        self._share(work, chosen.size, fill)
        return product[:, : self._vectors]

    def around(
        self, packed: Packed, chosen: Indices, fill: Vector | None, mean: Vector, square: Vector, turned: Array
    ) -> None:
        """Add (X − 1μᵀ)·diag(square)·(X − 1μᵀ)ᵀ·scores for variants `chosen`, but for what `total` takes off."""
        from certpca.operators.packed_loops import around

        centre, squares = mean.astype(self._dtype), square.astype(self._dtype)
        all_scores = turned.sum(axis=1)

        def work(number: int, span: slice, holes: Array) -> None:
            to = self._sums[number], self._levels[number]
            part = centre[span], squares[span]
            around(_read_only(packed), chosen[span], holes, self._table, *part, turned, all_scores, *to)

        self._share(work, chosen.size, fill)

    def total(self) -> Array:
        """Return what was added up, a row for every two bits of a variant."""
        if not self._sums:
            return np.zeros((self._samples, self._vectors), dtype=self._dtype)
        whole = np.sum(self._sums, axis=0) - np.sum(self._levels, axis=0)[:, None]
        return np.ascontiguousarray(whole[: self._vectors].T)

    def _share(self, work: Callable[[int, slice, Array], None], size: int, fill: Vector | None) -> None:
        """Let every thread work on a run of the variants, with sums of its own."""
        holes = np.zeros(size, dtype=self._dtype) if fill is None else fill.astype(self._dtype)
        spans = _spans(size)
        while len(self._sums) < len(spans):
            self._sums.append(np.zeros((self._padded, self._samples), dtype=self._dtype))
            self._levels.append(np.zeros(self._padded, dtype=self._dtype))
        _together(lambda number: work(number, spans[number], holes[spans[number]]), len(spans))


def compiled() -> bool:
    """Say whether the loops can be compiled here."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def _read_only(packed: Packed) -> Packed:
    """Return a view that is read-only whatever the array is: each kind would be compiled by itself."""
    view = packed.view()
    view.flags.writeable = False
    return view


def _table(dtype: Any) -> Array:
    """Return for each byte the four counts it decodes to, zero where missing, and four marks of missing ones."""
    counts = _decoded()
    return np.concatenate([np.where(counts == MISSING, 0, counts), counts == MISSING], axis=1).astype(dtype)


def _spans(size: int) -> list[slice]:
    """Cut the variants into one run for each thread."""
    import numba

    threads = max(1, min(int(numba.get_num_threads()), size // VARIANTS_PER_THREAD))
    edges = [size * number // threads for number in range(threads + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


def _together(work: Callable[[int], None], count: int) -> None:
    if count == 1:
        work(0)
        return
    with ThreadPoolExecutor(count) as pool:  # the loops release the interpreter
        list(pool.map(work, range(count)))
