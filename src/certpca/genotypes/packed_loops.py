"""The compiled loops behind `packed.py`. Importing this module loads numba; what it compiles is kept on disk."""

import numba
import numpy as np

from certpca.genotypes.packed_registers import BYTES_AT_ONCE, HAS_AVX2, counts, fetch, spread

SAMPLES_IN_TILE = 512
VARIANTS_IN_BLOCK = 64  # share a stretch of the panel while it is in the second-level cache


@numba.njit(nogil=True, cache=True)
def count(packed, chosen, mask, found):  # type: ignore[no-untyped-def]
    """Count the codes 1, 2 and 3 of every variant among the samples whose bits are set in the mask."""
    length = packed.shape[1]
    whole = length // 64
    end, end_of_mask = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    end_of_mask[: length - 64 * whole] = mask[64 * whole :]
    for j in range(chosen.size):
        missing, single, absent = counts(packed, chosen[j] * length, mask, 0, whole)
        if 64 * whole < length:
            end[: length - 64 * whole] = packed[chosen[j], 64 * whole :]
            more = counts(end, 0, end_of_mask, 0, 1)
            missing, single, absent = missing + more[0], single + more[1], absent + more[2]
        found[j, 0], found[j, 1], found[j, 2] = missing, single, absent


@numba.njit(nogil=True, cache=True, fastmath=True)
def unpack_by_bytes(packed, chosen, holes, table, first, last, begin, width, tile):  # type: ignore[no-untyped-def]
    """Write `width` bytes of as many variants as the tile holds, from `first` on; zeros past the last."""
    for q in range(tile.size // SAMPLES_IN_TILE):
        if first + q >= last:
            for i in range(4 * width):
                tile[q * SAMPLES_IN_TILE + i] = 0
            continue
        row, value = packed[chosen[first + q]], holes[first + q]
        for b in range(width):
            byte = row[begin + b]
            for p in range(4):
                tile[q * SAMPLES_IN_TILE + 4 * b + p] = table[byte, p] + value * table[byte, 4 + p]


@numba.njit(nogil=True, cache=True, fastmath=True)
def unpack_by_registers(packed, chosen, holes, table, first, last, begin, width, tile):  # type: ignore[no-untyped-def]
    """Do the same eight times as fast, where the processor can permute registers."""
    several = 4 * BYTES_AT_ONCE // tile.itemsize
    whole = width // several * several
    for q in range(tile.size // SAMPLES_IN_TILE):
        if first + q >= last:
            for i in range(4 * width):
                tile[q * SAMPLES_IN_TILE + i] = 0
            continue
        row, value = chosen[first + q], holes[first + q]
        # Hops from row to row are too much for the processor's own guesses, so the bytes after the next are asked for.
        for b in range(2 * width, 3 * width, 64):
            fetch(packed, row, begin + b)
        for b in range(0, whole, several):
            spread(packed, row, begin + b, value, tile, q * SAMPLES_IN_TILE + 4 * b)
        for b in range(whole, width):
            byte = packed[row, begin + b]
            for p in range(4):
                tile[q * SAMPLES_IN_TILE + 4 * b + p] = table[byte, p] + value * table[byte, 4 + p]


unpack = unpack_by_registers if HAS_AVX2 else unpack_by_bytes


@numba.njit(nogil=True, cache=True, fastmath=True)
def forth(packed, chosen, holes, table, weights, sums):  # type: ignore[no-untyped-def]
    """Add X·weights to the sums, which are (vectors, samples)."""
    size, length, vectors = chosen.size, packed.shape[1], weights.shape[1]
    tile = np.zeros(8 * SAMPLES_IN_TILE, weights.dtype)
    for start in range(0, size, VARIANTS_IN_BLOCK):
        stop = min(start + VARIANTS_IN_BLOCK, size)
        for begin in range(0, length, SAMPLES_IN_TILE // 4):
            width = min(SAMPLES_IN_TILE // 4, length - begin)
            for first in range(start, stop, 8):
                unpack(packed, chosen, holes, table, first, stop, begin, width, tile)
                x0, x1 = tile[:SAMPLES_IN_TILE], tile[SAMPLES_IN_TILE : 2 * SAMPLES_IN_TILE]
                x2, x3 = (
                    tile[2 * SAMPLES_IN_TILE : 3 * SAMPLES_IN_TILE],
                    tile[3 * SAMPLES_IN_TILE : 4 * SAMPLES_IN_TILE],
                )
                x4, x5 = (
                    tile[4 * SAMPLES_IN_TILE : 5 * SAMPLES_IN_TILE],
                    tile[5 * SAMPLES_IN_TILE : 6 * SAMPLES_IN_TILE],
                )
                x6, x7 = tile[6 * SAMPLES_IN_TILE : 7 * SAMPLES_IN_TILE], tile[7 * SAMPLES_IN_TILE :]
                end = stop - 1  # past it the tile is zero, so any weight will do
                j1, j2, j3, j4 = min(first + 1, end), min(first + 2, end), min(first + 3, end), min(first + 4, end)
                j5, j6, j7 = min(first + 5, end), min(first + 6, end), min(first + 7, end)
                for c in range(vectors):
                    w0, w1, w2, w3 = weights[first, c], weights[j1, c], weights[j2, c], weights[j3, c]
                    w4, w5, w6, w7 = weights[j4, c], weights[j5, c], weights[j6, c], weights[j7, c]
                    out = sums[c, 4 * begin :]
                    for i in range(4 * width):
                        # Each sum loaded and stored takes eight products.
                        left = x0[i] * w0 + x1[i] * w1 + x2[i] * w2 + x3[i] * w3
                        out[i] += left + x4[i] * w4 + x5[i] * w5 + x6[i] * w6 + x7[i] * w7


@numba.njit(nogil=True, cache=True, fastmath=True)
def back(packed, chosen, holes, table, turned, product):  # type: ignore[no-untyped-def]
    """Add Xᵀ·scores to the product; `turned` are the scores, (vectors, samples), a multiple of four of them."""
    size, length, vectors = chosen.size, packed.shape[1], turned.shape[0]
    tile = np.zeros(4 * SAMPLES_IN_TILE, turned.dtype)
    zero = turned.dtype.type(0)
    for start in range(0, size, VARIANTS_IN_BLOCK):
        stop = min(start + VARIANTS_IN_BLOCK, size)
        for begin in range(0, length, SAMPLES_IN_TILE // 4):
            width = min(SAMPLES_IN_TILE // 4, length - begin)
            for first in range(start, stop, 4):
                unpack(packed, chosen, holes, table, first, stop, begin, width, tile)
                x0, x1, x2, x3 = (
                    tile[:SAMPLES_IN_TILE],
                    tile[SAMPLES_IN_TILE : 2 * SAMPLES_IN_TILE],
                    tile[2 * SAMPLES_IN_TILE : 3 * SAMPLES_IN_TILE],
                    tile[3 * SAMPLES_IN_TILE :],
                )
                for c in range(0, vectors, 4):
                    u0, u1 = turned[c, 4 * begin :], turned[c + 1, 4 * begin :]
                    u2, u3 = turned[c + 2, 4 * begin :], turned[c + 3, 4 * begin :]
                    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = zero
                    c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = zero
                    for i in range(4 * width):
                        # Sixteen sums in registers: every number loaded is used four times.
                        a0 += x0[i] * u0[i]
                        a1 += x0[i] * u1[i]
                        a2 += x0[i] * u2[i]
                        a3 += x0[i] * u3[i]
                        b0 += x1[i] * u0[i]
                        b1 += x1[i] * u1[i]
                        b2 += x1[i] * u2[i]
                        b3 += x1[i] * u3[i]
                        c0 += x2[i] * u0[i]
                        c1 += x2[i] * u1[i]
                        c2 += x2[i] * u2[i]
                        c3 += x2[i] * u3[i]
                        d0 += x3[i] * u0[i]
                        d1 += x3[i] * u1[i]
                        d2 += x3[i] * u2[i]
                        d3 += x3[i] * u3[i]
                    rows = ((a0, a1, a2, a3), (b0, b1, b2, b3), (c0, c1, c2, c3), (d0, d1, d2, d3))
                    for q in range(min(4, stop - first)):
                        for p in range(4):
                            product[first + q, c + p] += rows[q][p]


@numba.njit(nogil=True, cache=True, fastmath=True)
def around(packed, chosen, holes, table, mean, square, turned, total, sums, level):  # type: ignore[no-untyped-def]
    """Add X·z to the sums and the products of means and z to the level, z = square·(Xᵀ·scores − mean·total)."""
    vectors = turned.shape[0]
    room = np.zeros((VARIANTS_IN_BLOCK, vectors), turned.dtype)
    for start in range(0, chosen.size, VARIANTS_IN_BLOCK):
        stop = min(start + VARIANTS_IN_BLOCK, chosen.size)
        here, gaps = chosen[start:stop], holes[start:stop]
        product = room[: stop - start]
        product[:] = 0
        back(packed, here, gaps, table, turned, product)
        for q in range(stop - start):
            for c in range(vectors):
                product[q, c] = square[start + q] * (product[q, c] - mean[start + q] * total[c])
                level[c] += mean[start + q] * product[q, c]
        forth(packed, here, gaps, table, product, sums)
