"""What stands in memory at an address: how kernels read the buffers of many Arrow columns in one call.

Addresses need not be multiples of anything. Nobody checks them: whoever passes one has made sure that the memory is
there, and keeps it alive.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from matchwood.core.intrinsics import instruction


def _load(kind: Any, plain: Any, numpy_type: Any) -> Any:
    """The function from an address to the value of one type that stands there."""

    def plain_load(address: Any) -> Any:
        return numpy_type(plain.from_address(int(address)).value)

    @instruction(plain_load)
    def load(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())
            return builder.load(pointer, align=1)

        return kind(types.int64), generate

    return load


int8_at = _load(types.int8, ctypes.c_int8, np.int8)
int16_at = _load(types.int16, ctypes.c_int16, np.int16)
int32_at = _load(types.int32, ctypes.c_int32, np.int32)
int64_at = _load(types.int64, ctypes.c_int64, np.int64)
float32_at = _load(types.float32, ctypes.c_float, np.float32)
float64_at = _load(types.float64, ctypes.c_double, np.float64)


def _plain_fetch(address: Any) -> None:
    """Without compilation there is nothing to ask for."""


@instruction(_plain_fetch)
def fetch_at(typing: Any, address: Any) -> Any:
    """Ask for what stands at an address, which is going to be read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, number = ir.PointerType(ir.IntType(8)), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), kind)
        builder.call(function, [builder.inttoptr(arguments[0], pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _plain_bits_of(value: Any) -> Any:
    return np.int64(struct.unpack("<q", struct.pack("<d", value))[0])


@instruction(_plain_bits_of)
def bits_of(typing: Any, value: Any) -> Any:
    """The bits of a double."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


def _plain_double_of(bits: Any) -> Any:
    return np.float64(struct.unpack("<d", struct.pack("<q", int(bits)))[0])


@instruction(_plain_double_of)
def double_of(typing: Any, bits: Any) -> Any:
    """The double that has these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate
