"""How kernels become LLVM's instructions: Numba's own way, without what it writes for code of other kinds.

Kernels work on numbers and on arrays of one dimension. For those Numba takes long detours: it copies the description of
an array to the stack to read one element of it, keeps every variable there that more than one block uses, clears each
one when it is no longer needed, and asks for the implementation of `+` anew each time. LLVM removes most of that, but
it has to be written, read and removed. Here an element is an address and a load, and a variable that gets its value
once is that value. What is left of LLVM's work is the same, and so is the code in the end.

Whatever is not so simple takes Numba's way.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import analysis, ir, types
from numba.core.compiler_machinery import register_pass
from numba.core.cpu import CPUContext
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

_POWERS = (operator.pow, operator.ipow)
"""Operators that Numba has other implementations of for constants."""

_implementations: dict[Any, Any] = {}
"""By function and types of arguments: what Numba implements it with."""
_missing: set[Any] = set()
"""What Numba has no implementation of: it registers all its modules once more before it says so."""
_sizes: dict[Any, int] = {}


class Implementation:
    """An implementation with the context and the signature that it is called for."""

    __slots__ = ("_context", "_found", "_signature")

    def __init__(self, found: Any, context: Any, signature: Any) -> None:
        self._found, self._context, self._signature = found, context, signature

    def __call__(self, builder: Any, arguments: Any, loc: Any = None) -> Any:
        made = self._found(self._context, builder, self._signature, arguments, loc=loc)
        self._context.add_linking_libs(getattr(self._found, "libs", ()))
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)


class KernelContext(CPUContext):  # type: ignore[misc]
    """Numba's context of a processor, which remembers what implements a function and how large types are."""

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if not isinstance(fn, (str, types.Function)):
            return super().get_function(fn, sig, _firstcall)
        sig = sig.as_function()
        key = fn if isinstance(fn, str) else fn.get_impl_key(sig), sig.args
        found = _implementations.get(key)
        if found is None:
            if key in _missing:
                raise NotImplementedError(f"{fn} of {sig.args}")
            try:
                found = super().get_function(fn, sig, _firstcall)
            except NotImplementedError:
                _missing.update([key] if isinstance(fn, str) else [])
                raise
            # Numba may have asked this one again.
            found = found._found if isinstance(found, Implementation) else found._imp
            _implementations[key] = found
        return Implementation(found, self, sig)

    def get_abi_sizeof(self, ty: Any) -> int:
        if ty not in _sizes:
            _sizes[ty] = super().get_abi_sizeof(ty)
        return _sizes[ty]


class KernelLower(Lower):  # type: ignore[misc]
    """What writes LLVM's instructions for one kernel."""

    def lower_inst(self, inst: Any) -> None:
        if not isinstance(inst, ir.Del):
            super().lower_inst(inst)
        elif self._counts(self.typeof(inst.value)):
            self.delvar(inst.value)

    def _counts(self, kind: Any) -> bool:
        """Whether references to values of a type are counted here."""
        return bool(self.context.enable_nrt and self.context.data_model_manager[kind].contains_nrt_meminfo())

    # ---------------------------------------------------------------------------- variables

    def _find_singly_assigned_variable(self) -> None:
        """All variables that get their value in one place, which every path to a use of them has passed."""
        super()._find_singly_assigned_variable()
        used = analysis.compute_use_defs(self.blocks)
        paths = analysis.compute_cfg_from_blocks(self.blocks).dominators()
        uses: dict[str, list[int]] = {}
        for place, names in used.usemap.items():
            for name in names:
                uses.setdefault(name, []).append(place)
        counts: dict[str, int] = {}
        defined: dict[str, int] = {}
        for place, block in self.blocks.items():
            for assigned in block.find_insts(ir.Assign):
                name = assigned.target.name
                counts[name] = counts.get(name, 0) + 1
                defined[name] = place
        for name, place in defined.items():
            is_reached = all(place < use and place in paths[use] for use in uses.get(name, ()))
            if counts[name] == 1 and is_reached and not self._counts(self.typeof(name)):
                self._singly_assigned_vars.add(name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if name in self._singly_assigned_vars or self._counts(self.typeof(name)):
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    # ---------------------------------------------------------------------------- operators

    def _implementation(self, function: Any, arguments: Any) -> Any:
        typing = self.context.typing_context
        asked = typing.resolve_value_type(function)
        return self.context.get_function(asked, typing.resolve_function_type(asked, arguments, {}))

    def _value(self, variable: Any, wanted: Any) -> Any:
        return self.context.cast(self.builder, self.loadvar(variable.name), self.typeof(variable.name), wanted)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        if op in _POWERS:
            return super().lower_binop(resty, expr, op)
        signature = self.fndesc.calltypes[expr]
        values = [self._value(side, kind) for side, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)]
        made = self._implementation(op, signature.args)(self.builder, values)
        return self.context.cast(self.builder, made, signature.return_type, resty)

    # ----------------------------------------------------------------------------- elements

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op == "static_getitem" and self._is_simple(self.typeof(expr.value.name)) and expr.index_var is not None:
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, self.fndesc.calltypes[expr])
        return super().lower_expr(resty, expr)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        kind, asked = signature.args
        if not self._is_simple(kind) or not isinstance(asked, types.Integer):
            return super().lower_getitem(resty, expr, value, index, signature)
        element = self._element(kind, self._value(value, kind), asked, self._value(index, asked))
        align = None if kind.aligned else 1
        made = self.context.unpack_value(self.builder, kind.dtype, element, align=align)
        return self.context.cast(self.builder, made, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        kind, asked, given = signature.args
        if not self._is_simple(self.typeof(target_var.name)) or not isinstance(asked, types.Integer):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        array = self.loadvar(target_var.name)
        element = self._element(kind, array, asked, self._value(index_var, asked))
        value = self.context.cast(self.builder, self._value(value_var, given), given, kind.dtype)
        align = None if kind.aligned else 1
        return self.context.pack_value(self.builder, kind.dtype, value, element, align=align)

    def _is_simple(self, kind: Any) -> bool:
        is_row = type(kind) is types.Array and kind.ndim == 1 and kind.layout == "C"
        return is_row and isinstance(kind.dtype, (types.Number, types.Boolean)) and not self.context.enable_boundscheck

    def _element(self, kind: Any, array: Any, asked: Any, index: Any) -> Any:
        """The address of an element; a negative place counts from the end."""
        builder, fields = self.builder, self.context.data_model_manager[kind]
        if asked.signed:
            index = self.context.cast(builder, index, asked, types.intp)
            if not (isinstance(index, llvm_ir.Constant) and index.constant >= 0):
                length = builder.extract_value(array, [fields.get_field_position("shape"), 0])
                is_negative = builder.icmp_signed("<", index, index.type(0))
                index = builder.select(is_negative, builder.add(index, length), index)
        else:
            index = self.context.cast(builder, index, asked, types.uintp)
        return builder.gep(builder.extract_value(array, fields.get_field_position("data")), [index])


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):  # type: ignore[misc]
    """The pass of Numba's compiler that does so."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return KernelLower
