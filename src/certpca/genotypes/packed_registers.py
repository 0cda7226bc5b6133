"""What the packed loops ask of the processor that Python cannot say: written as LLVM instructions, inlined by numba."""

from functools import reduce
from typing import Any

from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

_settings: Any = config


def _can(feature: str) -> bool:
    """Say whether the processor that numba compiles for has a feature; a portable loop serves where it has not."""
    if _settings.CPU_NAME is not None or _settings.CPU_FEATURES is not None or not _settings.ENABLE_AVX:
        return False  # the user asked for code for another processor, or an older one
    return bool(binding.get_host_cpu_features().get(feature, False))


HAS_AVX2, HAS_AVX512 = _can("avx2"), _can("avx512f")
BYTES_AT_ONCE = 4 if HAS_AVX512 else 2  # unpacked to single precision; half as many to double
_cgutils: Any = cgutils


def _spread(_typing: Any, packed: Any, row: Any, begin: Any, value: Any, tile: Any, at: Any) -> Any:
    """Write the genotypes of a few bytes to a tile by one permutation of registers; `BYTES_AT_ONCE` says of how many.

    The four values a code can mean fill a register; the codes, shifted into place, choose among them. Only their lowest
    bits count, so neighbours need not be masked off.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = signature.args[4].dtype == types.float64
        real = ir.DoubleType() if double else ir.FloatType()
        count = 4 * BYTES_AT_ONCE // (2 if double else 1)
        codes = _array(context, builder, signature, arguments, 0)
        source = _address(builder, codes, arguments[1], arguments[2])
        loaded = builder.load(builder.bitcast(source, ir.IntType(2 * count).as_pointer()), align=1)
        known = ir.Constant(ir.VectorType(real, count), [2.0, 0.0, 1.0, 0.0] * (count // 4))
        chosen = ir.Constant(
            ir.VectorType(ir.IntType(32), count), [count + i if i % 4 == 1 else i for i in range(count)]
        )
        table = builder.shuffle_vector(known, _everywhere(builder, arguments[3], count), chosen)
        if double and not HAS_AVX512:  # AVX2 permutes single numbers only: a double is two of them
            kind = ir.VectorType(ir.FloatType(), 8)
            integer, table = ir.IntType(32), builder.bitcast(table, kind)
            doubled = builder.shl(_everywhere(builder, builder.zext(loaded, integer), 8), _constant(integer, [1] * 8))
            index = builder.lshr(doubled, _constant(integer, [2 * (i // 2) for i in range(8)]))
            index = builder.or_(builder.and_(index, _constant(integer, [6] * 8)), _constant(integer, [0, 1] * 4))
        else:
            kind, integer = ir.VectorType(real, count), ir.IntType(64 if double else 32)
            word = loaded if 2 * count == integer.width else builder.zext(loaded, integer)
            index = builder.lshr(_everywhere(builder, word, count), _constant(integer, [2 * i for i in range(count)]))
        name = "avx2.permps" if not HAS_AVX512 else f"avx512.permvar.{'df' if double else 'sf'}.512"
        form = ir.FunctionType(kind, [kind, index.type])
        permute = _cgutils.get_or_insert_function(builder.module, form, f"llvm.x86.{name}")
        target = builder.gep(_array(context, builder, signature, arguments, 4).data, [arguments[5]])
        builder.store(builder.call(permute, [table, index]), builder.bitcast(target, kind.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(packed, row, begin, value, tile, at), generate


def _counts(_typing: Any, packed: Any, at: Any, mask: Any, begin: Any, words: Any) -> Any:
    """Count the codes 1, 2 and 3 in some times 64 bytes, of samples whose bits are set in the mask.

    `at` and `begin` are where in the packed table and in the mask these bytes begin.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, _, begin, words = arguments
        long = ir.IntType(64)
        kind = ir.VectorType(long, 8)
        low, one = (ir.Constant(kind, [entry] * 8) for entry in (0x5555555555555555, 1))
        bases = [_first_byte(context, builder, signature, arguments, place) for place in (0, 2)]
        ones = _cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), "llvm.ctpop.v8i64")
        sums = [_cgutils.alloca_once_value(builder, ir.Constant(kind, [0] * 8)) for _ in range(3)]
        for register in sums:
            builder.store(ir.Constant(kind, [0] * 8), register)
        with _cgutils.for_range(builder, words) as loop:
            step = builder.mul(loop.index, long(64))
            codes, kept = (
                builder.load(builder.bitcast(builder.gep(base, [builder.add(place, step)]), kind.as_pointer()), align=1)
                for base, place in zip(bases, (at, begin), strict=True)
            )
            word = builder.and_(codes, kept)
            first, second = builder.and_(word, low), builder.and_(builder.lshr(word, one), low)
            both = builder.and_(first, second)
            for register, bits in zip(sums, (builder.xor(first, both), builder.xor(second, both), both), strict=True):
                builder.store(builder.add(builder.load(register), builder.call(ones, [bits])), register)
        totals = []
        for register in sums:
            lanes = [builder.extract_element(builder.load(register), ir.IntType(32)(lane)) for lane in range(8)]
            totals.append(reduce(builder.add, lanes))
        return context.make_tuple(builder, signature.return_type, totals)

    three: Any = types.UniTuple
    return three(types.int64, 3)(packed, at, mask, begin, words), generate


def _fetch(_typing: Any, packed: Any, row: Any, begin: Any) -> Any:
    """Ask for a byte of a row and its neighbours to be brought to the cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer])
        function = _cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        source = _address(builder, _array(context, builder, signature, arguments, 0), arguments[1], arguments[2])
        builder.call(function, [source, integer(0), integer(3), integer(1)])  # to read, keep, data
        return context.get_dummy_value()

    return types.void(packed, row, begin), generate


def _array(context: Any, builder: Any, signature: Any, arguments: Any, place: int) -> Any:
    return context.make_array(signature.args[place])(context, builder, arguments[place])


def _address(builder: Any, array: Any, row: Any, begin: Any) -> Any:
    length = _cgutils.unpack_tuple(builder, array.strides)[0]
    base = builder.bitcast(array.data, ir.IntType(8).as_pointer())
    return builder.gep(base, [builder.add(builder.mul(row, length), begin)])


def _constant(integer: Any, entries: list[int]) -> Any:
    return ir.Constant(ir.VectorType(integer, len(entries)), entries)


def _first_byte(context: Any, builder: Any, signature: Any, arguments: Any, place: int) -> Any:
    """Return a pointer to where the numbers of an array that is an argument begin."""
    return builder.bitcast(_array(context, builder, signature, arguments, place).data, ir.IntType(8).as_pointer())


def _everywhere(builder: Any, value: Any, lanes: int) -> Any:
    """Return a register that holds a value in all lanes."""
    nothing = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))


spread: Any = intrinsic(_spread)
counts: Any = intrinsic(_counts)
fetch: Any = intrinsic(_fetch)
