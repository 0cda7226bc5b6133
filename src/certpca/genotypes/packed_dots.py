"""Dot products of packed genotypes with digits, 64 of them in one instruction: LLVM instructions, inlined by numba.

A genotype fits a byte, and so does a digit to the base 256: four products of such bytes and their sum are one step of
AVX-512's VNNI. Numbers of three digits are, relative to the largest of those that share a scale, as precise as single
precision; the three dot products are put together for some thousand samples at a time. Four vectors of three digits
are worked on together, `DOTS` of them.

The two bits of every fourth sample are the lowest ones of a byte once all are shifted, so a register of 64 packed bytes
becomes four registers of counts with one shift and one permutation each.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from certpca.genotypes.packed_registers import can, everywhere, first_byte

HAS_DOTS = can("avx512f", "avx512bw", "avx512vnni", "avx512vbmi", "avx512vbmi2")

VECTORS, DIGITS = 4, 3
DOTS = VECTORS * DIGITS
CHUNK = 64  # bytes of a register, or samples in it four times
LANES = 16
MOST_SAMPLES = 1 << 24  # whose bytes can be listed in 24 bits, and whose sums do not overflow

_BYTE, _SHORT, _INT, _LONG, _FLOAT = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
_BYTES, _SHORTS, _INTS = (ir.VectorType(kind, size) for kind, size in ((_BYTE, 64), (_SHORT, 32), (_INT, 16)))
_FLOATS = ir.VectorType(_FLOAT, LANES)
_cgutils: Any = cgutils


def _two_rows(
    _typing: Any, packed: Any, at: Any, other: Any, chunks: Any, digits: Any, begin: Any, sums: Any, to: Any, past: Any
) -> Any:
    """Add `DOTS` dot products of two rows to registers of sums: every digit loaded is used twice.

    All places are counted in bytes: `at` and `other` are where the rows begin, `begin` is where the digits do, in the
    order of `digits_in_order`, and `to` and `past` are where the sums of each row lie.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes, numbers, room = (first_byte(context, builder, signature, arguments, place) for place in (0, 4, 6))
        _, at, other, chunks, _, begin, _, to, past = arguments
        held = [[_cgutils.alloca_once(builder, _INTS) for _ in range(DOTS)] for _ in range(2)]
        for registers, place in zip(held, (to, past), strict=True):
            for index, register in enumerate(registers):
                builder.store(_load(builder, room, place, CHUNK * index, _INTS), register)
        with _cgutils.for_range(builder, chunks) as loop:
            step = builder.mul(loop.index, _LONG(CHUNK))
            rows = [_load(builder, codes, builder.add(place, step)) for place in (at, other)]
            first = builder.add(begin, builder.mul(loop.index, _LONG(4 * DOTS * CHUNK)))
            for shift in range(4):
                counts = [_counts(builder, row, shift) for row in rows]
                for index in range(DOTS):
                    digit = _load(builder, numbers, first, CHUNK * (shift * DOTS + index))
                    for count, registers in zip(counts, held, strict=True):
                        _add_dots(builder, registers[index], count, digit)
        for registers, place in zip(held, (to, past), strict=True):
            for index, register in enumerate(registers):
                _store(builder, builder.load(register), room, place, CHUNK * index)
        return context.get_dummy_value()

    return types.void(packed, at, other, chunks, digits, begin, sums, to, past), generate


def _interleave(_typing: Any, packed: Any, at0: Any, at1: Any, at2: Any, at3: Any, mixed: Any, to: Any) -> Any:
    """Write 64 bytes of four rows to four registers in which the bytes of the rows take turns; see `MIXED`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes, room = (first_byte(context, builder, signature, arguments, place) for place in (0, 5))
        rows = [_load(builder, codes, place) for place in arguments[1:5]]
        for index, register in enumerate(_mix(rows, lambda *given: _merged(builder, *given))):
            _store(builder, register, room, arguments[6], CHUNK * index)
        return context.get_dummy_value()

    return types.void(packed, at0, at1, at2, at3, mixed, to), generate


def _weigh(_typing: Any, mixed: Any, at: Any, quads: Any, digits: Any, scales: Any, sums: Any, to: Any) -> Any:
    """Add to the sums of 64 samples what a block of variants gives, mixed four by four by `interleave`.

    Places are counted in bytes. Digits lie as (quad, dot, variant), scales as (dot,) and sums as (shift, vector, lane).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes, numbers, factors, room = (
            first_byte(context, builder, signature, arguments, place) for place in (0, 3, 4, 5)
        )
        _, at, quads, _, _, _, to = arguments
        held = [[_cgutils.alloca_once(builder, _INTS) for _ in range(DOTS)] for _ in range(2)]
        for pair in ((0, 1), (2, 3)):  # as many sums as there are registers
            for register in held[0] + held[1]:
                builder.store(ir.Constant(_INTS, [0] * LANES), register)
            with _cgutils.for_range(builder, quads) as loop:
                row = _load(builder, codes, builder.add(at, builder.mul(loop.index, _LONG(4 * CHUNK))))
                counts = [_counts(builder, row, shift) for shift in pair]
                first = builder.mul(loop.index, _LONG(4 * DOTS))
                for index in range(DOTS):
                    digit = everywhere(builder, _load(builder, numbers, first, 4 * index, _INT), LANES)
                    for count, registers in zip(counts, held, strict=True):
                        _add_dots(builder, registers[index], count, digit)
            for shift, registers in zip(pair, held, strict=True):
                for vector in range(VECTORS):
                    place = CHUNK * (shift * VECTORS + vector)
                    total = _load(builder, room, to, place, _FLOATS)
                    for index in range(DIGITS * vector, DIGITS * (vector + 1)):
                        factor = everywhere(builder, _load(builder, factors, _LONG(4 * index), 0, _FLOAT), LANES)
                        part = builder.sitofp(builder.load(registers[index]), _FLOATS)
                        product = builder.fmul(part, factor, flags=("contract",))
                        total = builder.fadd(total, product, flags=("contract",))
                    _store(builder, total, room, to, place)
        return context.get_dummy_value()

    return types.void(mixed, at, quads, digits, scales, sums, to), generate


def _bytes_with_missing(_typing: Any, packed: Any, at: Any, byte: Any, listed: Any, count: Any) -> Any:
    """List which of 64 bytes have missing samples, without a branch for each; return how many are listed then.

    What is listed is 256 times the number of the byte, `byte` being that of the first, plus a bit for each sample that
    is missing: the lowest of its two. The list needs room for 64 more than are in it.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes, room = (first_byte(context, builder, signature, arguments, place) for place in (0, 3))
        _, at, byte, _, count = arguments
        row = _load(builder, codes, at)
        high = builder.and_(_shifted_bits(builder, row, 1), ir.Constant(_BYTES, [0x55] * 64))
        bits = builder.and_(builder.and_(row, ir.Constant(_BYTES, [0x55] * 64)), builder.not_(high))
        some = builder.icmp_unsigned("!=", bits, ir.Constant(_BYTES, [0] * 64))
        more = builder.ctpop(builder.bitcast(some, _LONG))
        places = ir.Constant(_BYTES, list(range(64)))
        squeeze = _function(builder, _BYTES, [_BYTES, _BYTES, some.type], "avx512.mask.compress.v64i8")
        where, which = (builder.call(squeeze, [found, places, some]) for found in (places, bits))
        first = everywhere(builder, builder.trunc(byte, _INT), LANES)

        def write(part: int) -> None:
            lanes = ir.Constant(_INTS, list(range(LANES * part, LANES * (part + 1))))
            number, mark = (
                builder.zext(builder.shuffle_vector(found, found, lanes), _INTS) for found in (where, which)
            )
            number = builder.shl(builder.add(number, first), ir.Constant(_INTS, [8] * LANES))
            _store(builder, builder.or_(number, mark), room, builder.mul(count, _LONG(4)), CHUNK * part)

        write(0)
        with builder.if_then(builder.icmp_unsigned(">", more, _LONG(LANES)), likely=False):
            for part in range(1, 4):
                write(part)
        return builder.add(count, more)

    return types.int64(packed, at, byte, listed, count), generate


def _mix(rows: Any, merge: Any) -> list[Any]:
    """Merge bytes of the first two and the last two rows, then pairs of these; `merge` takes (a, b, length, half)."""
    left, right = ([merge(*pair, 1, half) for half in (0, 1)] for pair in (rows[:2], rows[2:]))
    return [merge(one, two, 2, half) for one, two in zip(left, right, strict=True) for half in (0, 1)]


def _merging(length: int, half: int) -> list[int]:
    """Return which bytes of two registers take turns, `length` at a time, in half of each 16: one instruction."""
    return [
        register + 16 * part + 8 * half + length * turn + byte
        for part in range(4)
        for turn in range(8 // length)
        for register in (0, 64)
        for byte in range(length)
    ]


def _merged(builder: Any, one: Any, two: Any, length: int, half: int) -> Any:
    return builder.shuffle_vector(one, two, ir.Constant(ir.VectorType(_INT, 64), _merging(length, half)))


def _mixed_order() -> Any:
    rows = [64 * row + np.arange(64) for row in range(4)]
    registers = _mix(rows, lambda one, two, length, half: np.concatenate([one, two])[_merging(length, half)])
    return np.array([register[::4] for register in registers])


MIXED = _mixed_order()  # which byte of each row a lane of four mixed registers holds


def _counts(builder: Any, row: Any, shift: int) -> Any:
    """Return the counts that codes mean, zero where missing; a permutation looks at six bits, the lowest two matter."""
    table = ir.Constant(_BYTES, [2, 0, 1, 0] * 16)
    permute = _function(builder, _BYTES, [_BYTES, _BYTES], "avx512.permvar.qi.512")
    return builder.call(permute, [table, _shifted_bits(builder, row, 2 * shift) if shift else row])


def _shifted_bits(builder: Any, row: Any, bits: int) -> Any:
    """Shift pairs of bytes; only bits that stay within a byte are looked at."""
    return builder.bitcast(builder.lshr(builder.bitcast(row, _SHORTS), ir.Constant(_SHORTS, [bits] * 32)), _BYTES)


def _add_dots(builder: Any, register: Any, counts: Any, digits: Any) -> None:
    multiply = _function(builder, _INTS, [_INTS] * 3, "avx512.vpdpbusd.512")
    operands = [builder.bitcast(operand, _INTS) for operand in (counts, digits)]
    builder.store(builder.call(multiply, [builder.load(register), *operands]), register)


def _function(builder: Any, result: Any, operands: list[Any], name: str) -> Any:
    return _cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, operands), f"llvm.x86.{name}")


def _address(builder: Any, base: Any, place: Any, further: int, kind: Any) -> Any:
    return builder.bitcast(builder.gep(base, [builder.add(place, _LONG(further))]), kind.as_pointer())


def _load(builder: Any, base: Any, place: Any, further: int = 0, kind: Any = _BYTES) -> Any:
    return builder.load(_address(builder, base, place, further, kind), align=1)


def _store(builder: Any, value: Any, base: Any, place: Any, further: int) -> None:
    builder.store(value, _address(builder, base, place, further, value.type), align=1)


two_rows: Any = intrinsic(_two_rows)
interleave: Any = intrinsic(_interleave)
weigh: Any = intrinsic(_weigh)
bytes_with_missing: Any = intrinsic(_bytes_with_missing)
