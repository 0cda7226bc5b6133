"""Products of packed genotypes with numbers of three digits, for processors that `packed_dots.py` is written for.

Four vectors are worked on together; samples are padded to a multiple of 256. Scores, (samples x vectors), are (chunk,
shift, dot, byte) in digits, those of a stretch of chunks in a scale of their own for each vector; sums are (chunk,
register, shift, vector, lane), the registers being mixed ones; what missing genotypes add is (sample, vector).
"""

import numba
import numpy as np

from certpca.genotypes.packed_dots import (
    CHUNK,
    DIGITS,
    DOTS,
    LANES,
    VECTORS,
    bytes_with_missing,
    interleave,
    two_rows,
    weigh,
)

VARIANTS_IN_BLOCK = 128  # fit the second-level cache there and back
CHUNKS_IN_TILE = 8  # of digits that stay in the first-level cache
CHUNKS_IN_STRETCH = 4 * CHUNKS_IN_TILE  # a large score spoils the last digits of this many others and no more
LARGEST = (127 << 16) + (127 << 8)  # whole number whose digits are between -128 and 127
LISTED = 1 << 18  # missing samples that are listed once for all vectors
PLACE_OF_BIT = np.array(
    [0 if not bits else ((bits & -bits).bit_length() - 1) // 2 for bits in range(256)], dtype=np.int32
)
SUMS_OF_REGISTER = 4 * VECTORS * CHUNK  # bytes


@numba.njit(nogil=True, cache=True)
def list_missing(packed, chosen, holes, room, begins):  # type: ignore[no-untyped-def]
    """List the missing samples of variants one after the other, as far as there is room; `begins` says from where on.

    Behind the lists there is room for one variant more: those that are not listed are when they are needed.
    """
    begins[:] = -1
    begins[0] = 0
    for j in range(chosen.size):
        count = _missing_of(packed, chosen[j], room, begins[j]) if holes[j] != 0 else 0
        if begins[j] + count > LISTED:
            return
        begins[j + 1] = begins[j] + count


@numba.njit(nogil=True, cache=True)
def _missing_of(packed, row, room, first):  # type: ignore[no-untyped-def]
    """List the missing samples of a variant from a place on, and return how many there are."""
    _, _, _, _, _, end, bytes_listed, places = room
    length, listed = packed.shape[1], 0
    whole = length // CHUNK * CHUNK
    for b in range(0, whole, CHUNK):
        listed = bytes_with_missing(packed, row * length + b, b, bytes_listed, listed)
    if whole < length:
        for b in range(whole, length):
            end[b - whole] = packed[row, b]
        listed = bytes_with_missing(end, 0, whole, bytes_listed, listed)
    last = first
    for index in range(listed):
        sample, bits = bytes_listed[index] >> 8 << 2, bytes_listed[index] & 255
        places[last] = sample + PLACE_OF_BIT[bits]
        last += 1
        bits &= bits - 1
        while bits:
            places[last] = sample + PLACE_OF_BIT[bits]
            last += 1
            bits &= bits - 1
    return last - first


@numba.njit(nogil=True, cache=True)
def _listed(packed, chosen, j, begins, room):  # type: ignore[no-untyped-def]
    """Return where the missing samples of a variant are listed, from place to place."""
    if begins[j + 1] >= 0:
        return begins[j], begins[j + 1]
    return LISTED, LISTED + _missing_of(packed, chosen[j], room, LISTED)


@numba.njit(nogil=True, cache=True)
def _begin(packed, chosen, room):  # type: ignore[no-untyped-def]
    """Copy what is left of rows past their last whole chunk to chunks of their own."""
    ends = room[0]
    begin = packed.shape[1] // CHUNK * CHUNK
    for j in range(chosen.size):
        for b in range(begin, packed.shape[1]):
            ends[j, b - begin] = packed[chosen[j], b]


@numba.njit(nogil=True, cache=True)
def _dots(packed, chosen, digits, begin, room):  # type: ignore[no-untyped-def]
    """Fill registers of sums, each of which adds up to a dot product of a row with the digits of a stretch."""
    ends, sums = room[0], room[1]
    size, length = chosen.size, packed.shape[1]
    chunks, end = length // CHUNK, begin + CHUNKS_IN_STRETCH
    row, chunk = DOTS * CHUNK, 4 * DOTS * CHUNK  # bytes of sums and of digits
    sums[:size] = 0
    for first in range(begin, min(end, chunks), CHUNKS_IN_TILE):
        many = min(CHUNKS_IN_TILE, chunks - first)
        for j in range(0, size, 2):
            k = min(j + 1, size - 1)  # an odd last row is paired with itself
            at, other = chosen[j] * length + first * CHUNK, chosen[k] * length + first * CHUNK
            two_rows(packed, at, other, many, digits, first * chunk, sums, j * row, (j + 1) * row)
    if chunks < end and chunks * CHUNK < length:
        for j in range(0, size, 2):
            two_rows(ends, j * CHUNK, (j + 1) * CHUNK, 1, digits, chunks * chunk, sums, j * row, (j + 1) * row)


@numba.njit(nogil=True, cache=True)
def _back(packed, chosen, holes, begins, digits, scale, scores, room, product):  # type: ignore[no-untyped-def]
    """Write Xᵀ·scores of one block of variants."""
    sums, places = room[1], room[7]
    product[:] = 0
    for stretch in range(scale.shape[0]):
        _dots(packed, chosen, digits, stretch * CHUNKS_IN_STRETCH, room)
        for j in range(chosen.size):
            for vector in range(VECTORS):
                whole = np.int64(0)
                for p in range(DIGITS - 1, -1, -1):
                    part = np.int32(0)
                    for lane in range(LANES):
                        part += sums[j, vector * DIGITS + p, lane]
                    whole = 256 * whole + part
                product[j, vector] += scale[stretch, vector] * whole
    for j in range(chosen.size):
        if holes[j] == 0:
            continue
        first, last = _listed(packed, chosen, j, begins, room)
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for index in range(first, last):
            one = scores[places[index]]
            a, b, c, d = a + one[0], b + one[1], c + one[2], d + one[3]
        product[j, 0] += holes[j] * a
        product[j, 1] += holes[j] * b
        product[j, 2] += holes[j] * c
        product[j, 3] += holes[j] * d


@numba.njit(nogil=True, cache=True)
def _digits_of(weights, scales, digits):  # type: ignore[no-untyped-def]
    """Round the weights of a block to digits of a common scale for each vector; they are replaced by what is left."""
    size = weights.shape[0]
    digits[:] = 0
    for vector in range(VECTORS):
        largest, spoiled = 0.0, 0.0
        for j in range(size):
            largest = max(largest, abs(weights[j, vector]))
            spoiled += 0 * weights[j, vector]  # not a number if one weight is not finite
        scale = largest / LARGEST + spoiled
        for p in range(DIGITS):
            scales[vector * DIGITS + p] = scale * 256.0**p
        if not (scale > 0 and np.isfinite(scale)):  # zeros, or numbers that spoil every sum
            weights[:, vector] = scale
            continue
        for j in range(size):
            whole = np.int64(np.rint(weights[j, vector] / scale))
            weights[j, vector] = whole * scale
            for p in range(DIGITS):
                digit = (whole + 128) % 256 - 128
                digits[j // 4, vector * DIGITS + p, j % 4] = digit
                whole = (whole - digit) // 256


@numba.njit(nogil=True, cache=True)
def _forth(packed, chosen, holes, begins, weights, room, sums, gaps):  # type: ignore[no-untyped-def]
    """Add X·weights of one block of variants to the sums; the weights are rounded."""
    ends, _, scales, digits, mixed, _, _, places = room
    size, length = chosen.size, packed.shape[1]
    end, quads = size - 1, (size + 3) // 4
    _digits_of(weights, scales, digits)
    for chunk in range(sums.shape[0]):
        begin = chunk * CHUNK
        for quad in range(quads):
            j = 4 * quad
            if begin + CHUNK <= length:  # past the last variant digits are zero
                at0, at1 = chosen[j] * length + begin, chosen[min(j + 1, end)] * length + begin
                at2, at3 = chosen[min(j + 2, end)] * length + begin, chosen[min(j + 3, end)] * length + begin
                interleave(packed, at0, at1, at2, at3, mixed, quad * 4 * CHUNK)
            else:
                at = j * CHUNK
                interleave(ends, at, at + CHUNK, at + 2 * CHUNK, at + 3 * CHUNK, mixed, quad * 4 * CHUNK)
        for register in range(4):
            weigh(mixed, register * CHUNK, quads, digits, scales, sums, (4 * chunk + register) * SUMS_OF_REGISTER)
    for j in range(size):
        if holes[j] == 0:
            continue
        first, last = _listed(packed, chosen, j, begins, room)
        a, b = holes[j] * weights[j, 0], holes[j] * weights[j, 1]
        c, d = holes[j] * weights[j, 2], holes[j] * weights[j, 3]
        for index in range(first, last):
            one = gaps[places[index]]
            one[0] += a
            one[1] += b
            one[2] += c
            one[3] += d


@numba.njit(nogil=True, cache=True)
def forth(packed, chosen, holes, begins, weights, room, sums, gaps):  # type: ignore[no-untyped-def]
    """Add X·weights to the sums and gaps; the weights are rounded."""
    for start in range(0, chosen.size, VARIANTS_IN_BLOCK):
        part = slice(start, min(start + VARIANTS_IN_BLOCK, chosen.size))
        _begin(packed, chosen[part], room)
        _forth(packed, chosen[part], holes[part], begins[start:], weights[part], room, sums, gaps)


@numba.njit(nogil=True, cache=True)
def back(packed, chosen, holes, begins, digits, scale, scores, room, product):  # type: ignore[no-untyped-def]
    """Write Xᵀ·scores."""
    for start in range(0, chosen.size, VARIANTS_IN_BLOCK):
        part = slice(start, min(start + VARIANTS_IN_BLOCK, chosen.size))
        _begin(packed, chosen[part], room)
        _back(packed, chosen[part], holes[part], begins[start:], digits, scale, scores, room, product[part])


@numba.njit(nogil=True, cache=True)
def around(packed, chosen, holes, begins, mean, square, digits, scale, scores, total, room, sums, gaps, level):  # type: ignore[no-untyped-def]
    """Add X·z to the sums and gaps and means times z to the level, z = square·(Xᵀ·scores − mean·total)."""
    product = np.zeros((VARIANTS_IN_BLOCK, VECTORS))
    for start in range(0, chosen.size, VARIANTS_IN_BLOCK):
        part = slice(start, min(start + VARIANTS_IN_BLOCK, chosen.size))
        here, z = chosen[part], product[: min(VARIANTS_IN_BLOCK, chosen.size - start)]
        _begin(packed, here, room)
        _back(packed, here, holes[part], begins[start:], digits, scale, scores, room, z)
        for q in range(here.size):
            for c in range(VECTORS):
                z[q, c] = square[start + q] * (z[q, c] - mean[start + q] * total[c])
        _forth(packed, here, holes[part], begins[start:], z, room, sums, gaps)  # rounds z
        for q in range(here.size):
            for c in range(VECTORS):
                level[c] += mean[start + q] * z[q, c]
