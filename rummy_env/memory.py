"""Memory for kernels where Numba's arrays cost more than the work: room on the stack, and eight bytes moved at once.

Making an array takes about as long as laying off a card, and copying a row of counts byte by byte longer. In Python mode the
same functions make and copy ordinary arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

from rummy_env.kernel import PYTHON_MODE

WORD = 8
"""Bytes in a word."""
LOW_BITS = 0x0101010101010101
"""The lowest bit of every byte of a word."""
HIGH_LESS_ONE = 0x7F7F7F7F7F7F7F7F


def _room(context: Any, builder: Any, array_type: Any, count: int) -> Any:
    """The code that makes an array of `count` numbers on the stack of the function it stands in."""
    item = context.get_data_type(array_type.dtype)
    size = context.get_abi_sizeof(item)
    # in the entry block, so that a loop does not take more and more
    room = cgutils.alloca_once(builder, ir.ArrayType(item, count))
    made = make_array(array_type)(context, builder)
    number = context.get_constant(types.intp, count)
    step = context.get_constant(types.intp, size)
    data = builder.bitcast(room, item.as_pointer())
    populate_array(made, data=data, shape=[number], strides=[step], itemsize=step, meminfo=None)
    return made._getvalue()


def _stack(dtype: Any) -> Any:
    array_type = types.Array(dtype, 1, "C")

    @intrinsic(prefer_literal=True)
    def stack_array(typing_context: Any, count: Any) -> Any:
        if not isinstance(count, types.IntegerLiteral):
            raise TypingError("how many numbers an array on the stack holds must be a constant")
        number = count.literal_value

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _room(context, builder, array_type, number)

        return array_type(count), generate

    return stack_array


def _byte_pointer(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    data = make_array(array_type)(context, builder, array).data
    return builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [at])


def _check_contiguous(array: Any) -> None:
    of_bytes = isinstance(array, types.Array) and array.dtype in (types.int8, types.uint8)
    if not of_bytes or array.ndim != 1 or array.layout != "C":
        raise TypingError(f"words are read from contiguous arrays of bytes of one dimension, not from {array}")


@intrinsic
def _load_word(typing_context: Any, array: Any, at: Any) -> Any:
    _check_contiguous(array)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _byte_pointer(context, builder, signature.args[0], *arguments)
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.int64(array, types.int64), generate


@intrinsic
def _store_word(typing_context: Any, array: Any, at: Any, word: Any) -> Any:
    _check_contiguous(array)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _byte_pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


def _bytes_of(array: np.ndarray, at: int) -> np.ndarray:
    assert array.itemsize == 1
    found: np.ndarray = array.view(np.uint8)[int(at) : int(at) + WORD]
    assert len(found) == WORD
    return found


def _load_slowly(array: np.ndarray, at: int) -> int:
    return int.from_bytes(_bytes_of(array, at).tobytes(), "little")


def _store_slowly(array: np.ndarray, at: int, word: int) -> None:
    _bytes_of(array, at)[:] = np.frombuffer((int(word) & (2**64 - 1)).to_bytes(WORD, "little"), np.uint8)


def _bytes_slowly(count: int) -> np.ndarray:
    return np.empty(count, np.uint8)


def _numbers_slowly(count: int) -> np.ndarray:
    return np.empty(count, np.int64)


def own_or(out: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """`out` where it holds bytes, else `spare`: decided while compiling."""
    return out if out.dtype == np.uint8 else spare


@overload(own_or)
def _own_or(out, spare):  # type: ignore[no-untyped-def]
    if out.dtype == types.uint8:
        return lambda out, spare: out
    return lambda out, spare: spare


# an array of that many uint8 or int64, with anything in it, that lives until the kernel that makes it returns
stack_bytes = _bytes_slowly if PYTHON_MODE else _stack(types.uint8)
stack_numbers = _numbers_slowly if PYTHON_MODE else _stack(types.int64)
# eight bytes of a contiguous array from the byte `at` on, lowest first, as an int64 (in Python mode without a sign); nothing
# checks that they lie in the array
load_word = _load_slowly if PYTHON_MODE else _load_word
store_word = _store_slowly if PYTHON_MODE else _store_word
