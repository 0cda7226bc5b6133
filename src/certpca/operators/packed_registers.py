"""What the packed loops ask of the processor that Python cannot say: written as LLVM instructions, inlined by numba."""

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

HAS_AVX2 = bool(binding.get_host_cpu_features().get("avx2", False))
_cgutils: Any = cgutils


def _spread(_typing: Any, packed: Any, row: Any, begin: Any, value: Any, tile: Any, at: Any) -> Any:
    """Write the genotypes of as many bytes as fill a register to a tile by one permutation of registers (AVX2).

    The four values a code can mean fill a register; the codes, shifted into place, choose among them. Only their lowest
    bits count, so neighbours need not be masked off.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        single = signature.args[4].dtype == types.float32
        codes, lanes = _array(context, builder, signature, arguments, 0), 8
        integer, real = ir.IntType(32), ir.FloatType() if single else ir.DoubleType()
        words = ir.VectorType(integer, lanes)
        source = _address(builder, codes, arguments[1], arguments[2])
        length = ir.IntType(16 if single else 8)
        loaded = builder.zext(builder.load(builder.bitcast(source, length.as_pointer()), align=1), integer)
        if single:
            index = builder.lshr(_everywhere(builder, loaded, lanes), ir.Constant(words, [2 * i for i in range(lanes)]))
        else:  # a double is two lanes: twice the code, and one more
            doubled = builder.shl(_everywhere(builder, loaded, lanes), ir.Constant(words, [1] * lanes))
            index = builder.lshr(doubled, ir.Constant(words, [2 * (i // 2) for i in range(lanes)]))
            index = builder.and_(index, ir.Constant(words, [6] * lanes))
            index = builder.or_(index, ir.Constant(words, [i % 2 for i in range(lanes)]))
        count = 8 if single else 4
        kind = ir.VectorType(real, count)
        known = ir.Constant(kind, [2.0, 0.0, 1.0, 0.0] * (count // 4))
        chosen = ir.Constant(ir.VectorType(integer, count), [count + i if i % 4 == 1 else i for i in range(count)])
        table = builder.shuffle_vector(known, _everywhere(builder, arguments[3], count), chosen)
        floats = ir.VectorType(ir.FloatType(), lanes)
        permute = _cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(floats, [floats, words]), "llvm.x86.avx2.permps"
        )
        found = builder.call(permute, [builder.bitcast(table, floats), index])
        target = builder.gep(_array(context, builder, signature, arguments, 4).data, [arguments[5]])
        builder.store(found, builder.bitcast(target, floats.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(packed, row, begin, value, tile, at), generate


def _eight_bytes(_typing: Any, packed: Any, row: Any, begin: Any) -> Any:
    """Load eight bytes of a row as one integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes = _array(context, builder, signature, arguments, 0)
        source = _address(builder, codes, arguments[1], arguments[2])
        return builder.load(builder.bitcast(source, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(packed, row, begin), generate


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


def _ones(_typing: Any, word: Any) -> Any:
    """Count the bits that are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctpop(arguments[0])

    return types.uint64(word), generate


def _array(context: Any, builder: Any, signature: Any, arguments: Any, place: int) -> Any:
    return context.make_array(signature.args[place])(context, builder, arguments[place])


def _address(builder: Any, array: Any, row: Any, begin: Any) -> Any:
    length = _cgutils.unpack_tuple(builder, array.strides)[0]
    base = builder.bitcast(array.data, ir.IntType(8).as_pointer())
    return builder.gep(base, [builder.add(builder.mul(row, length), begin)])


def _everywhere(builder: Any, value: Any, lanes: int) -> Any:
    nothing = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))


spread: Any = intrinsic(_spread)
eight_bytes: Any = intrinsic(_eight_bytes)
fetch: Any = intrinsic(_fetch)
ones: Any = intrinsic(_ones)
