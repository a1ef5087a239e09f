"""How kernels become LLVM's instructions: Numba's own way, without what it writes for code of other kinds.

Kernels work on numbers and on arrays of one dimension. For those Numba takes long detours: it copies the description of
an array to the stack to read one element of it, keeps every variable there that more than one block uses, clears each
one when it is no longer needed, and asks for the implementation of `+` anew each time. LLVM removes most of that, but
it has to be written, read and removed. Here an element is an address and a load, and a variable that gets its value
once is that value. What is left of LLVM's work is the same, and so is the code in the end.

Whatever is not so simple takes Numba's way.
"""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any

from llvmlite import ir as llvm_ir
from numba import types
from numba.core import analysis, cgutils, ir
from numba.core.callwrapper import PyCallWrapper
from numba.core.compiler_machinery import register_pass
from numba.core.cpu import CPUContext
from numba.core.errors import LoweringError, new_error_context  # type: ignore[attr-defined]
from numba.core.funcdesc import default_mangler
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from matchwood.core.machine_code.calling import (
    ByAddress,
    KernelCalls,
    ending_for,
    is_by_address,
    is_row,
    row,
    row_fields,
    whole,
)
from matchwood.core.machine_code.remembering import LEAST

POWERS = (operator.pow, operator.ipow)
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


class CalmCall:
    """A call of a kernel that raises no error: nobody asks how it went."""

    def __init__(self, context: Any, known: Any) -> None:
        self._context, self._libraries = context, known.libs
        self._described = inspect.getclosurevars(known).nonlocals["fndesc"]

    def __call__(self, builder: Any, arguments: Any, loc: Any = None) -> Any:
        context, described = self._context, self._described
        function = context.declare_function(builder.module, described)
        made = context.call_conv.call_calmly(builder, function, described, arguments)
        context.add_linking_libs(self._libraries)
        return made


class KernelContext(CPUContext):  # type: ignore[misc]
    """Numba's context of a processor, which remembers what implements a function and how large types are."""

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if isinstance(fn, types.Dispatcher):
            made = super().get_function(fn, sig, _firstcall)
            known = self._defns[fn.get_impl_key(sig.as_function())].find(sig.args)
            return CalmCall(self, known) if getattr(known.libs[0], "is_calm", False) else made
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

    # -------------------------------------------------------------------------------- calls

    @property
    def call_conv(self) -> KernelCalls:
        return KernelCalls(self)

    def declare_function(self, module: Any, fndesc: Any) -> Any:
        made = cgutils.get_or_insert_function(module, self.call_conv.get_function_type_of(fndesc), fndesc.mangled_name)
        self.apply_target_attributes(made, fndesc.argtypes, fndesc.restype)
        self.call_conv.decorate_function(made, fndesc.args, fndesc.argtypes, noalias=fndesc.noalias)
        if fndesc.inline:
            made.attributes.add("alwaysinline")
        return made

    def create_cpython_wrapper(
        self, library: Any, fndesc: Any, env: Any, call_helper: Any, release_gil: bool = False
    ) -> None:
        module = self.create_module("wrapper")
        wrapped = llvm_ir.Function(module, self.call_conv.get_function_type_of(fndesc), fndesc.llvm_func_name)
        PyCallWrapper(self, module, wrapped, fndesc, env, call_helper=call_helper, release_gil=release_gil).build()
        library.add_ir_module(module)


class KernelLower(Lower):  # type: ignore[misc]
    """What writes LLVM's instructions for one kernel."""

    def __init__(self, context: Any, *rest: Any, **named: Any) -> None:
        super().__init__(context, *rest, **named)
        # What Numba compiles for this kernel is called in Numba's way.
        self.context.__dict__.pop("mangler", None)

    def lower(self) -> None:
        super().lower()
        self.library.is_calm = self._is_calm()

    def _is_calm(self) -> bool:
        """Whether the kernel returns nothing but its value: no error of its own, and none of what it calls."""
        ends = [block.terminator for block in self.function.blocks]
        codes = [end.operands[0] for end in ends if isinstance(end, llvm_ir.instructions.Ret)]
        is_plain = not isinstance(self.fndesc.restype, types.Optional)
        return is_plain and all(isinstance(code, llvm_ir.Constant) and code.constant == 0 for code in codes)

    def lower_block(self, block: Any) -> None:
        self.pre_block(block)
        with new_error_context(
            'lowering "{block}"', block=block, errcls_=functools.partial(LoweringError, loc=block.loc)
        ):
            for inst in block.body:
                self.loc = inst.loc
                self.lower_inst(inst)
        self.post_block(block)

    def lower_inst(self, inst: Any) -> None:
        if isinstance(inst, ir.Assign) and not self.context.enable_debuginfo:
            self.storevar(self.lower_assign(self.typeof(inst.target.name), inst), inst.target.name)
        elif not isinstance(inst, ir.Del):
            super().lower_inst(inst)
        elif inst.value not in self._borrowed and self._counts(self.typeof(inst.value)):
            self.delvar(inst.value)

    def _counts(self, kind: Any) -> bool:
        """Whether references to values of a type are counted here."""
        return bool(self.context.enable_nrt and self.context.data_model_manager[kind].contains_nrt_meminfo())

    # ---------------------------------------------------------------------------- variables

    def _find_singly_assigned_variable(self) -> None:
        """All variables that get their value in one place, which every path to a use of them has passed.

        Those whose references are counted only if all uses are in the same block.
        """
        self._singly_assigned_vars: set[str] = set()
        self._blk_local_varmap: dict[str, Any] = {}
        self._borrowed: set[str] = set()
        if self.func_ir.func_id.is_generator:
            return
        used = analysis.compute_use_defs(self.blocks)
        paths = analysis.compute_cfg_from_blocks(self.blocks).dominators()
        uses: dict[str, list[int]] = {}
        for place, names in used.usemap.items():
            for name in names:
                uses.setdefault(name, []).append(place)
        counts: dict[str, int] = {}
        defined: dict[str, tuple[int, Any]] = {}
        for place, block in sorted(self.blocks.items()):
            for assigned in block.find_insts(ir.Assign):
                name = assigned.target.name
                counts[name] = counts.get(name, 0) + 1
                defined[name] = place, assigned.value
        raising = analysis.must_use_alloca(self.blocks)
        for name, (place, value) in defined.items():
            is_reached = all(place < use and place in paths[use] for use in uses.get(name, ()))
            if counts[name] > 1 or not is_reached:
                continue
            if self._is_lent(self.typeof(name), value):
                self._borrowed.add(name)
            elif self._counts(self.typeof(name)) and (name in uses or name in raising):
                continue
            self._singly_assigned_vars.add(name)

    def _is_lent(self, kind: Any, value: Any) -> bool:
        """Whether a value is the caller's, who keeps it for as long as the kernel runs: an argument, or a field."""
        if isinstance(value, ir.Arg):
            return bool(self.typeof(f"arg.{value.name}") == kind)
        place = self._place_of_field(value)
        return place is not None and value.value.name in self._borrowed and self.typeof(value.value.name)[place] == kind

    def _place_of_field(self, value: Any) -> int | None:
        """The place of the field that an expression reads from a tuple that is handed over by its address."""
        if not isinstance(value, ir.Expr) or value.op not in ("getattr", "static_getitem"):
            return None
        kind = self.typeof(value.value.name)
        if not is_by_address(kind):
            return None
        if value.op == "static_getitem":
            return value.index if isinstance(value.index, int) and 0 <= value.index < len(kind) else None
        fields = getattr(kind, "fields", ())
        return fields.index(value.attr) if value.attr in fields else None

    def _held(self, name: str) -> Any:
        return self._blk_local_varmap.get(name)

    def loadvar(self, name: str) -> Any:
        return whole(self.builder, super().loadvar(name))

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        value, is_lent = inst.value, inst.target.name in self._borrowed
        if isinstance(ty, types.Dispatcher):
            # Numba writes where the kernel lies in this process: nobody reads it, but other processes cannot use that.
            return llvm_ir.Constant(self.context.get_value_type(ty), None)
        if isinstance(value, ir.Arg):
            given = self.fnargs[value.index]
            if is_lent:
                return given
            self.fnargs[value.index] = whole(self.builder, given)
        place = self._place_of_field(value)
        if place is not None and isinstance(self._held(value.value.name), ByAddress):
            held = self._held(value.value.name)
            made = self._field(held, place)
            if is_lent:
                return made
            made = self.context.cast(self.builder, whole(self.builder, made), held.kind[place], ty)
            self.incref(ty, made)
            return made
        return super().lower_assign(ty, inst)

    def _field(self, held: ByAddress, place: int) -> Any:
        kind, builder = held.kind[place], self.builder
        pointer = cgutils.gep_inbounds(builder, held.pointer, 0, place)
        if is_by_address(kind):
            return ByAddress(pointer, kind)
        if not is_row(kind):
            return builder.load(pointer)
        model = self.context.data_model_manager[kind]
        places = {name: model.get_field_position(name) for name in row_fields(not self.context.enable_nrt)}
        fields = {name: builder.load(cgutils.gep_inbounds(builder, pointer, 0, at)) for name, at in places.items()}
        return row(builder, model, fields)

    # -------------------------------------------------------------------------------- calls

    _calls_kernel = False

    def _lower_call_normal(self, fnty: Any, expr: Any, signature: Any) -> Any:
        is_number = isinstance(signature.return_type, (types.Integer, types.Float)) and len(expr.args) > 1
        if getattr(fnty, "typing_key", None) in LEAST and is_number:
            return self._least(fnty.typing_key, signature.return_type, expr.args)
        self._calls_kernel = isinstance(fnty, types.Dispatcher)
        try:
            return super()._lower_call_normal(fnty, expr, signature)
        finally:
            self._calls_kernel = False

    def _least(self, function: Any, kind: Any, variables: Any) -> Any:
        """The least or the greatest of several numbers as Python has it: the first of them unless another beats it."""
        best, *others = (self._value(each, kind) for each in variables)
        for other in others:
            is_other = self._implementation(operator.lt if function is min else operator.gt, (kind, kind))
            best = self.builder.select(is_other(self.builder, (other, best)), other, best)
        return best

    def _cast_var(self, var: Any, ty: Any) -> Any:
        if self._calls_kernel and isinstance(var, ir.Var) and self.typeof(var.name) == ty:
            held = self._held(var.name)
            if isinstance(held, ByAddress):
                return held
        return super()._cast_var(var, ty)

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
        if op in POWERS:
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

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        ending = ending_for(state.flags, state.return_type, context.data_model_manager)
        context.mangler = lambda *asked, **named: default_mangler(*asked, **named) + ending
        made: bool = super().run_pass(state)
        return made
