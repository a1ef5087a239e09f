"""Arrays that a kernel finds by where they lie: a call that is made again and again hands over one array, not forty.

Numba takes every array of a call apart, with all that keeps it alive: some 0.3 µs each, which for the forty arrays of
one event is more than matching it. So whoever matches one event after the other pins the arrays once, and a
kernel puts them together from their addresses, with the types that it is compiled for anyway.

Nobody checks an address: a `Pinned` keeps its arrays alive, and is made anew when their owner has changed them.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from matchwood.core.intrinsics import instruction
from matchwood.core.machine_code.calling import row


class Pinned:
    """Arrays of one dimension that stay where they are.

    `table`  address and length of each, for `readable` and `writable`
    """

    __slots__ = ("_arrays", "table")

    def __init__(self, arrays: tuple[NDArray[Any], ...]) -> None:
        self._arrays = arrays
        places = [(each.__array_interface__["data"][0], len(each)) for each in arrays]
        self.table: NDArray[np.int64] = np.array(places, np.int64).reshape(-1)


def _array_at(writes: bool) -> Any:
    """The function from a table, a place in it and a type to the array that stands there."""

    def plain(table: Any, place: Any, kind: Any) -> NDArray[Any]:
        return _plain_array(int(table[2 * place]), int(table[2 * place + 1]), kind, writes)

    @instruction(plain)
    def array_at(_typing: Any, table: Any, _place: Any, kind: Any) -> Any:
        found = types.Array(kind.dtype, 1, "C", readonly=not writes)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            fields = context.data_model_manager[found]
            data = builder.extract_value(arguments[0], fields.get_field_position("data"))
            first = builder.shl(arguments[1], arguments[1].type(1))
            address = builder.load(builder.gep(data, [first]))
            count = builder.load(builder.gep(data, [builder.add(first, first.type(1))]))
            kinds = fields.get_value_type().elements
            pointer = builder.inttoptr(address, kinds[fields.get_field_position("data")])
            return row(builder, fields, {"data": pointer, "nitems": count})

        return found(table, types.intp, kind), generate

    return array_at


def _plain_array(address: int, count: int, kind: Any, writes: bool) -> NDArray[Any]:
    found = np.empty(0, kind)
    if count:
        bytes_there: Any = (ctypes.c_char * (count * found.itemsize)).from_address(address)
        found = np.frombuffer(bytes_there, kind)
    found.flags.writeable = writes
    return found


readable: Any = _array_at(writes=False)
"""readable(table, place, np.int32): the array at a place of a `Pinned`'s table, to be read."""

writable: Any = _array_at(writes=True)
"""The same, to be written to."""
