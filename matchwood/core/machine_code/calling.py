"""How kernels hand arguments to each other: tuples by their address, arrays by what is not known of them.

Numba takes every tuple apart at each call, and every array in it into seven numbers: a call with four tuples of arrays
had three hundred arguments, and matching one event was written as four thousand instructions that did nothing else. So
a tuple that holds arrays is one address here, from which a kernel reads the fields that it uses; nobody writes there
while it runs. Of an array of one dimension the size of an item is known, and so are the strides.

A kernel that is called in this way says so by the end of its name. All else is called in Numba's way.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba import types
from numba.core import cgutils
from numba.core.callconv import CPUCallConv
from numba.core.datamodel.packer import ArgPacker

COUNTED, BARE = ".counted", ".bare"
"""How the names of kernels end which count references to arrays, and of those that do not."""


class ByAddress:
    """A tuple that is still where its caller wrote it."""

    __slots__ = ("kind", "pointer")

    def __init__(self, pointer: Any, kind: Any) -> None:
        self.pointer, self.kind = pointer, kind

    @property
    def type(self) -> Any:
        return self.pointer.type.pointee

    def whole(self, builder: Any) -> Any:
        """All of it, for what takes no address."""
        return builder.load(self.pointer)


def whole(builder: Any, value: Any) -> Any:
    """A value that Numba understands."""
    return value.whole(builder) if isinstance(value, ByAddress) else value


def is_by_address(kind: Any) -> bool:
    """Whether a type is handed over by its address: a tuple with an array somewhere in it."""
    return isinstance(kind, types.BaseTuple) and any(
        isinstance(each, types.Array) or is_by_address(each) for each in kind
    )


def is_row(kind: Any) -> bool:
    """Whether a type is an array of numbers one after the other."""
    is_plain = type(kind) is types.Array and kind.ndim == 1 and kind.layout == "C"
    return is_plain and isinstance(kind.dtype, (types.Number, types.Boolean))


def ending_for(flags: Any, returned: Any, models: Any) -> str:
    """The end of the name of a kernel that is compiled with such options; what returns an array has to count it."""
    return COUNTED if flags.nrt or models[returned].contains_nrt_meminfo() else BARE


def row(builder: Any, model: Any, fields: dict[str, Any]) -> Any:
    """An array of one dimension: its data and its length are among the fields, the rest is known or nothing."""
    kind = model.get_value_type()
    size = llvm_ir.Constant(llvm_ir.IntType(64), _size(model))
    known = [llvm_ir.Constant(each, None) for each in kind.elements]
    known[model.get_field_position("itemsize")] = size
    known[model.get_field_position("strides")] = llvm_ir.Constant(llvm_ir.ArrayType(size.type, 1), [size])
    made = llvm_ir.Constant(kind, known)
    for name, value in fields.items():
        made = builder.insert_value(made, value, model.get_field_position(name))
    return builder.insert_value(made, fields["nitems"], [model.get_field_position("shape"), 0])


def _size(model: Any) -> int:
    kind = model.fe_type.dtype
    return 1 if isinstance(kind, types.Boolean) else int(kind.bitwidth) // 8


def row_fields(is_bare: bool) -> tuple[str, ...]:
    """What kernels hand over of an array."""
    return ("data", "nitems") if is_bare else ("meminfo", "parent", "data", "nitems")


class KernelCalls(CPUCallConv):  # type: ignore[misc]
    """Numba's way to call, but for kernels."""

    _ending = ""

    def _get_arg_packer(self, argtypes: Any) -> Any:
        models = self.context.data_model_manager
        return ArgPacker(_Models(models, self._ending == BARE) if self._ending else models, argtypes)

    def of(self, name: str) -> KernelCalls:
        """The way to call the function of this name."""
        made = type(self)(self.context)
        made._ending = next((each for each in (COUNTED, BARE) if name.endswith(each)), "")
        return made

    def get_function_type_of(self, described: Any) -> Any:
        return self.of(described.mangled_name).get_function_type(described.restype, described.argtypes)

    def decode_arguments(self, builder: Any, argtypes: Any, func: Any) -> Any:
        return CPUCallConv.decode_arguments(self.of(func.name), builder, argtypes, func)

    def decorate_function(self, fn: Any, args: Any, fe_argtypes: Any, noalias: bool = False) -> None:
        calls = self.of(fn.name)
        CPUCallConv.decorate_function(calls, fn, args, fe_argtypes, noalias)
        if calls._ending:
            for value, kind in zip(calls._decoded(fn, fe_argtypes), fe_argtypes, strict=True):
                if is_by_address(kind):
                    for attribute in ("noalias", "captures(none)", "nonnull"):
                        value.add_attribute(attribute)

    def _decoded(self, function: Any, argtypes: Any) -> Any:
        return self._get_arg_packer(argtypes)._unflattener.unflatten(self.get_arguments(function))

    def call_function(
        self, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None
    ) -> tuple[Any, Any]:
        calls = self.of(getattr(callee, "name", ""))
        given = args if calls._ending else [whole(builder, each) for each in args]
        made: tuple[Any, Any] = CPUCallConv.call_function(calls, builder, callee, resty, argtys, given, attrs)
        return made

    def call_calmly(self, builder: Any, callee: Any, described: Any, args: Any) -> Any:
        """The value of a kernel that raises no error."""
        calls = self.of(callee.name)
        values = calls._get_arg_packer(described.argtypes).as_arguments(builder, args)
        place = cgutils.alloca_once(builder, self.get_return_type(described.restype).pointee)
        no_error = llvm_ir.Constant(callee.args[1].type, None)
        builder.call(callee, [place, no_error, *values])
        return self.context.get_returned_value(builder, described.restype, builder.load(place))


class _Models:
    """Numba's models of types, as far as arguments of kernels are what they say."""

    def __init__(self, models: Any, is_bare: bool) -> None:
        self._models, self._is_bare = models, is_bare

    def lookup(self, kind: Any) -> Any:
        model = self._models[kind]
        if is_by_address(kind):
            return _AddressModel(model)
        return _RowModel(model, row_fields(self._is_bare)) if is_row(kind) else model


class _AddressModel:
    """How a tuple is handed over."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def get_argument_type(self) -> Any:
        return self._model.get_value_type().as_pointer()

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value.pointer if isinstance(value, ByAddress) else cgutils.alloca_once_value(builder, value)

    def from_argument(self, builder: Any, value: Any) -> ByAddress:
        return ByAddress(value, self._model.fe_type)


class _RowModel:
    """How an array of one dimension is handed over."""

    def __init__(self, model: Any, fields: tuple[str, ...]) -> None:
        self._model, self._fields = model, fields

    def get_argument_type(self) -> tuple[Any, ...]:
        kinds = self._model.get_value_type().elements
        return tuple(kinds[self._model.get_field_position(name)] for name in self._fields)

    def as_argument(self, builder: Any, value: Any) -> tuple[Any, ...]:
        return tuple(builder.extract_value(value, self._model.get_field_position(name)) for name in self._fields)

    def from_argument(self, builder: Any, value: Any) -> Any:
        return row(builder, self._model, dict(zip(self._fields, value, strict=True)))
