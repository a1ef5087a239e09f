"""Numbers that are written past the caches: for large results, which nobody reads before they are out of these again.

A processor reads each line of memory before it writes to it, unless the line is written as a whole and told to go to
memory at once. Filling 64 MiB takes a third of the time, and filling and then reading it two thirds; below a MiB, which
would stay in the caches, reading it takes longer.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from matchwood.core.intrinsics import instruction

RUN = 8
"""Numbers that are written together: a line of memory, if they have 64 bits."""

_PLACE = ir.IntType(32)


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _store(context: Any, builder: Any, signature: Any, arguments: Any, run: Any) -> Any:
    """Write a vector to the array of the first argument, at the place of the second, which must begin a run."""
    place = _address(context, builder, signature.args[0], arguments[0], arguments[1])
    stored = builder.store(run, builder.bitcast(place, run.type.as_pointer()), align=run.type.element.width)
    stored.set_metadata("nontemporal", builder.module.add_metadata([_PLACE(1)]))
    return context.get_dummy_value()


def _everywhere(builder: Any, value: Any) -> Any:
    run = ir.VectorType(value.type, RUN)
    first = builder.insert_element(ir.Constant(run, ir.Undefined), value, _PLACE(0))
    return builder.shuffle_vector(
        first, ir.Constant(run, ir.Undefined), ir.Constant(ir.VectorType(_PLACE, RUN), [0] * RUN)
    )


def _repeated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _store(context, builder, signature, arguments, _everywhere(builder, arguments[2]))


def _added(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[2]
    source = _address(context, builder, kind, arguments[2], arguments[3])
    narrow = ir.VectorType(source.type.pointee, RUN)
    found = builder.load(builder.bitcast(source, narrow.as_pointer()), align=kind.dtype.bitwidth // 8)
    every = _everywhere(builder, arguments[4])
    wide = found if narrow == every.type else builder.sext(found, every.type)
    return _store(context, builder, signature, arguments, builder.add(wide, every))


def _before(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The address in runs, with what is left over: none of an array that is not aligned as its numbers are."""
    address = builder.ptrtoint(
        _address(context, builder, signature.args[0], arguments[0], ir.IntType(64)(0)), ir.IntType(64)
    )
    width = signature.args[0].dtype.bitwidth // 8
    missing = builder.and_(builder.neg(address), ir.IntType(64)(RUN * width - 1))
    whole = builder.icmp_unsigned("==", builder.and_(missing, ir.IntType(64)(width - 1)), ir.IntType(64)(0))
    return builder.select(whole, builder.udiv(missing, ir.IntType(64)(width)), ir.IntType(64)(-1))


def _ended(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.fence("seq_cst")
    return context.get_dummy_value()


def _plain_repeat(out: Any, at: Any, value: Any) -> None:
    out[int(at) : int(at) + RUN] = value


def _plain_add(out: Any, at: Any, source: Any, first: Any, added: Any) -> None:
    out[int(at) : int(at) + RUN] = source[int(first) : int(first) + RUN].astype(out.dtype) + added


def _plain_begin(out: Any) -> Any:
    missing = -int(out.ctypes.data) % (RUN * out.itemsize)
    return missing // out.itemsize if missing % out.itemsize == 0 else -1


def _plain_end() -> None:
    """What Python writes, all see."""


def _stream_repeated(_typing: Any, out: Any, _at: Any, _value: Any) -> Any:
    return types.void(out, types.intp, out.dtype), _repeated


def _stream_added(_typing: Any, out: Any, _at: Any, source: Any, _first: Any, _value: Any) -> Any:
    return types.void(out, types.intp, source, types.intp, out.dtype), _added


def _first_run(_typing: Any, out: Any) -> Any:
    return types.int64(out), _before


def _end_streams(_typing: Any) -> Any:
    return types.void(), _ended


stream_repeated: Any = instruction(_plain_repeat)(_stream_repeated)
"""stream_repeated(out, at, value): the RUN numbers from `at` on become `value`. A run must begin there, and the array
must have it: nobody checks."""

stream_added: Any = instruction(_plain_add)(_stream_added)
"""stream_added(out, at, source, first, added): the same with those of another array from `first` on, and `added`."""

first_run: Any = instruction(_plain_begin)(_first_run)
"""first_run(out): the place at which the first run of an array begins, and others each RUN further on; -1 if none."""

end_streams: Any = instruction(_plain_end)(_end_streams)
"""end_streams(): what was written is seen by all threads from now on."""
