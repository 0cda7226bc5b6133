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
_FIELD = 21  # bits of a counter; three fit an int64
_BYTES_COUNTED = 1 << (_FIELD - 3)  # so many bytes cannot fill one

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


@cache
def _fields() -> NDArray[np.int64]:
    """Return how many missing, single and absent alleles a byte has, in three counters of one integer."""
    codes = _codes()
    return sum(
        ((codes == code).sum(axis=1).astype(np.int64) << (_FIELD * place) for place, code in enumerate((1, 2, 3))),
        start=np.zeros(256, dtype=np.int64),
    )


def decode(packed: Packed) -> NDArray[np.int8]:
    """Return allele counts, -9 where missing, four for each byte."""
    # One gather of four bytes for each packed one.
    return np.take(_decoded().view(np.int32)[:, 0], packed).view(np.int8)


def count_codes(packed: Packed, mask: Packed) -> NDArray[np.int64]:
    """Count the codes 1, 2 and 3 of every variant among the samples whose bits are set in the mask."""
    counts = np.zeros((packed.shape[0], 3), dtype=np.int64)
    for start in range(0, packed.shape[1], _BYTES_COUNTED):
        part = slice(start, start + _BYTES_COUNTED)
        sums = np.take(_fields(), packed[:, part] & mask[part]).sum(axis=1)
        for place in range(3):
            counts[:, place] += sums >> (_FIELD * place) & ((1 << _FIELD) - 1)
    return counts


def times(packed: Packed, chosen: Indices, fill: Vector | None, panel: Array) -> Array:
    """Return X·panel for variants `chosen` of a packed table, a row for every two bits of a variant."""
    from certpca.operators.packed_loops import forth

    codes, weights = _read_only(packed), np.ascontiguousarray(panel)
    table, holes = _table(panel.dtype), _holes(fill, chosen.size, panel.dtype)
    spans = _spans(chosen.size)
    sums = np.zeros((len(spans), panel.shape[1], 4 * packed.shape[1]), dtype=panel.dtype)

    def work(number: int) -> None:
        span = spans[number]
        forth(codes, chosen[span], holes[span], table, weights[span], sums[number])

    _together(work, len(spans))
    return np.ascontiguousarray(sums.sum(axis=0).T) if len(spans) > 1 else sums[0].T


def transposed_times(packed: Packed, chosen: Indices, fill: Vector | None, scores: Array) -> Array:
    """Return Xᵀ·scores for variants `chosen`; scores have a row for every two bits of a variant."""
    from certpca.operators.packed_loops import back

    width = -(-scores.shape[1] // 4) * 4  # the loop takes four vectors at a time
    turned = np.zeros((width, scores.shape[0]), dtype=scores.dtype)
    turned[: scores.shape[1]] = scores.T
    codes = _read_only(packed)
    table, holes = _table(scores.dtype), _holes(fill, chosen.size, scores.dtype)
    spans = _spans(chosen.size)
    product = np.zeros((chosen.size, width), dtype=scores.dtype)

    def work(number: int) -> None:
        span = spans[number]
        back(codes, chosen[span], holes[span], table, turned, product[span])

    _together(work, len(spans))
    return product[:, : scores.shape[1]]


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


def _holes(fill: Vector | None, size: int, dtype: Any) -> Array:
    """Return what stands for missing values of each variant; zero costs nothing."""
    return np.zeros(size, dtype=dtype) if fill is None else fill.astype(dtype)


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
