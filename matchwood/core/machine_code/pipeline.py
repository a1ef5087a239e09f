"""The steps from a kernel's bytecode to LLVM's instructions: those of Numba's that kernels need.

Numba also looks for closures, `with` blocks, functions to inline and expressions over whole arrays, and finds out after
most steps how long each variable lives. Kernels have none of the former, and need the latter once.

All this is Numba's inside. It is used with the versions that it was tested with; with any other, kernels are compiled
by Numba's own steps.
"""

from __future__ import annotations

import types as python_types
from typing import Any

import numba
from numba.core import ir, postproc, types
from numba.core.analysis import dead_branch_prune, rewrite_semantic_constants
from numba.core.compiler_machinery import AnalysisPass, FunctionPass, PassManager, register_pass
from numba.core.errors import ConstantInferenceError
from numba.core.interpreter import Interpreter, peep_hole_delete_with_exit
from numba.core.ir_utils import build_definitions
from numba.core.rewrites.static_binop import DetectStaticBinops
from numba.core.rewrites.static_getitem import RewriteConstGetitems, RewriteConstSetitems
from numba.core.rewrites.static_raise import RewriteConstRaises
from numba.core.ssa import reconstruct_ssa
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NoPythonBackend, NopythonRewrites, NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import FixupArgs, RewriteDynamicRaises

from matchwood.core.machine_code.lowering import POWERS, KernelLowering

TESTED = ("0.68",)
"""The versions of Numba that kernels were compiled and tested with by these steps."""

ARE_TAKEN = numba.__version__.rpartition(".")[0] in TESTED
"""Whether this Numba is one of them."""


def steps_for(function: Any) -> list[PassManager]:
    """The steps for a kernel; none if only Numba's own will do, as for a function that defines others."""
    has_closures = any(isinstance(each, python_types.CodeType) for each in function.__code__.co_consts)
    return [_steps()] if ARE_TAKEN and not has_closures else []


def _steps() -> PassManager:
    steps = PassManager("kernel")
    for step in (ReadKernel, NopythonTypeInference, PrepareKernel, EndLives, KernelLowering, NoPythonBackend):
        steps.add_pass(step, step._name)
    steps.finalize()
    return steps


class KernelInterpreter(Interpreter):  # type: ignore[misc]
    """Numba's reader of bytecode, which does not look for the ends of `with` blocks."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        return super().post_process([each for each in peepholes if each is not peep_hole_delete_with_exit], func_ir)


@register_pass(mutates_CFG=True, analysis_only=False)
class ReadKernel(FunctionPass):  # type: ignore[misc]
    """Bytecode as blocks of assignments, with a variable of its own for each of them."""

    _name = "read_kernel"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.func_ir = KernelInterpreter(state.func_id).interpret(state.bc)
        FixupArgs().run_pass(state)
        rewrite_semantic_constants(state.func_ir, state.args)
        dead_branch_prune(state.func_ir, state.args)
        _rewrite_constants(state)
        RewriteDynamicRaises().run_pass(state)
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


def _rewrite_constants(state: Any) -> None:
    """Have constants as indexes of tuples, as exponents and as arguments of errors."""
    blocks = state.func_ir.blocks
    has_powers = any(each.fn in POWERS for block in blocks.values() for each in block.find_exprs(op="binop"))
    for kind in (ConstantGetitems, ConstantSetitems, RewriteConstRaises, *([DetectStaticBinops] if has_powers else [])):
        rewrite = kind(state)
        for place in list(blocks):
            while rewrite.match(state.func_ir, blocks[place], state.typemap, state.calltypes):
                blocks[place] = rewrite.apply()


class ConstantGetitems(RewriteConstGetitems):  # type: ignore[misc]
    """Numba's own, which asks only where there may be a constant: each answer that there is none is an error's text."""

    def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
        asked = ((each, _constants(func_ir, each.index)) for each in block.find_exprs(op="getitem"))
        self.block, self.getitems = block, {each: found[0] for each, found in asked if found}
        return len(self.getitems) > 0


class ConstantSetitems(RewriteConstSetitems):  # type: ignore[misc]
    """The same for elements that are set."""

    def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
        asked = ((each, _constants(func_ir, each.index)) for each in block.find_insts(ir.SetItem))
        self.block, self.setitems = block, {each: found[0] for each, found in asked if found}
        return len(self.setitems) > 0


def _constants(func_ir: Any, variable: Any) -> tuple[Any, ...]:
    """The constant that a variable is; none if it is not one."""
    known = func_ir._definitions.get(variable.name, [])
    if len(known) != 1:
        return ()
    if isinstance(known[0], (ir.Const, ir.Global, ir.FreeVar)):
        return (known[0].value,)
    if not isinstance(known[0], ir.Expr) or known[0].op not in ("getattr", "build_tuple"):
        return ()
    try:
        return (func_ir.infer_constant(variable),)
    except ConstantInferenceError:
        return ()


@register_pass(mutates_CFG=True, analysis_only=False)
class PrepareKernel(PreLowerStripPhis):  # type: ignore[misc]
    """Assignments again where paths meet; loops for expressions over whole arrays, where there are any."""

    _name = "prepare_kernel"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        found = (each.return_type for each in state.calltypes.values() if each is not None)
        if any(isinstance(each, types.Array) for each in found):
            NopythonRewrites().run_pass(state)
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class EndLives(AnalysisPass):  # type: ignore[misc]
    """Where each variable ends, if references are counted."""

    _name = "end_lives"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if state.flags.nrt or state.func_ir.is_generator:
            postproc.PostProcessor(state.func_ir).run(emit_dels=bool(state.flags.nrt))
        else:
            state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)
        return True
