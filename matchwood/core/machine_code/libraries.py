"""What Numba puts the code of kernels into: its own libraries, without the work that nobody needs.

Numba optimises every function and makes machine code of it before it links it into those that call it, where both are
done again: the innermost loop of a search went through LLVM six times. Here what only other kernels call is linked
as it was translated, and becomes machine code as a part of the kernels that Python calls. That is half of LLVM's work,
and the same code in the end: since arguments are no longer taken apart (`calling.py`), loops are vectorised all the
same. And what prunes the counting of references has only those modules to look at that count them.

All this is Numba's inside. Where a version of it lacks something of that (`FITS`), kernels are compiled as Numba does.
"""

from __future__ import annotations

import contextlib
from typing import Any

import llvmlite.binding as llvm
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.typing.context import BaseContext

from matchwood.core.machine_code.collecting import fewer_collections
from matchwood.core.machine_code.lowering import KernelContext
from matchwood.core.machine_code.pipeline import ARE_TAKEN, steps_for
from matchwood.core.machine_code.remembering import TypingContext

_OF_LIBRARIES = (
    "_ensure_finalized",
    "_finalize_dynamic_globals",
    "_get_module_for_linking",
    "_optimize_final_module",
    "_raise_if_finalized",
    "add_llvm_module",
)
_OF_FUNCTIONS = ("get_impl_key",)

FITS = (
    all(hasattr(JITCodeLibrary, name) for name in _OF_LIBRARIES)
    and all(hasattr(types.Function, name) for name in _OF_FUNCTIONS)
    and hasattr(BaseContext, "_lookup_global")
)
"""Whether this Numba has all that is used here."""

KINDS = {True: "calm part", False: "part"}
"""How a saved library says that it is a `PartLibrary`, and whether its kernel is calm."""


_WRAPPER = "wrapper"
"""What Numba names the module that unpacks Python's objects: it counts their references, with nothing to prune."""


_RUNTIME = "nrt"
"""The name of Numba's own library that counts references, which it links into everything."""


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A kernel with all that it calls, optimised once.

    `is_calm`  whether it raises no error, so that its callers need not look
    """

    is_calm = False
    _is_counted = False

    def add_llvm_module(self, ll_module: Any) -> None:
        if ll_module.name != _WRAPPER and _counts_references(ll_module):
            self._is_counted = True
            super().add_llvm_module(ll_module)
        else:
            ll_module.data_layout = self._codegen._data_layout
            self._final_module.link_in(ll_module)

    def add_linking_library(self, library: Any) -> None:
        super().add_linking_library(library)
        self._is_counted |= library.name != _RUNTIME and getattr(library, "_is_counted", True)

    def _optimize_final_module(self) -> None:
        if self._is_counted:
            super()._optimize_final_module()
        else:
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)


def _counts_references(module: Any) -> bool:
    return any(each.name in ("NRT_incref", "NRT_decref") for each in module.functions)


class PartLibrary(KernelLibrary):
    """A kernel that only other kernels call: linked, and no machine code."""

    _shared_module: Any

    def add_linking_library(self, library: Any) -> None:
        if library.name != _RUNTIME:
            super().add_linking_library(library)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if not ARE_TAKEN:
            # What Numba takes apart at each call is no longer vectorised where it is inlined.
            self._optimize_final_module()
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        if self._shared_module is None:
            self._shared_module = self._final_module
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"
        return self._shared_module

    @property
    def codegen(self) -> _Nowhere:
        return _Nowhere()

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        return self.name, KINDS[self.is_calm], self._get_module_for_linking().as_bitcode()


class _Nowhere:
    """Where a part has its global variables: it is not loaded, and has none."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class PartContext:
    """A context of Numba that reads parts."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def codegen(self) -> PartContext:
        return self

    def unserialize_library(self, saved: tuple[str, str, bytes]) -> PartLibrary:
        name, kind, code = saved
        if kind not in KINDS.values():
            raise ValueError(f"a library of kind {kind!r}")
        library = PartLibrary(self._context.codegen(), name)
        library._final_module = library._shared_module = llvm.parse_bitcode(code)
        library.is_calm = kind == KINDS[True]
        library._is_counted = _counts_references(library._final_module)
        library._finalize_dynamic_globals()
        library._finalized = True
        return library


_depth = 0
"""How many kernels are being compiled, each for the one before it: Numba compiles one function at a time."""


def compiles_kernel() -> bool:
    """Whether what is compiled just now is a kernel; where Numba compiles those in its own way, all call alike."""
    return _depth > 0 or not FITS


class WholeCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, for a kernel that Python calls: it remembers, and takes fewer steps (`pipeline.py`)."""

    def __init__(self, typing: Any, target: Any, *rest: Any) -> None:
        super().__init__(typing, target, *rest)
        self.state.typingctx = TypingContext(typing)
        if ARE_TAKEN:
            # Numba has made this context for the one kernel.
            self.state.targetctx.__class__ = KernelContext
            self.state.targetctx.typing_context = self.state.typingctx

    def compile_extra(self, function: Any) -> Any:
        global _depth
        if ARE_TAKEN and self.state.library is None:
            self.state.library = KernelLibrary(self.state.targetctx.codegen(), function.__qualname__)
            self.state.library.enable_object_caching()
        _depth += 1
        try:
            with contextlib.nullcontext() if _depth > 1 else fewer_collections():
                return super().compile_extra(function)
        finally:
            _depth -= 1

    def define_pipelines(self) -> list[Any]:
        steps = steps_for(self.state.func_id.func)
        self.state.typingctx.takes_steps = bool(steps)
        return steps or super().define_pipelines()


class PartCompiler(WholeCompiler):
    """The same for what only other kernels call."""

    def compile_extra(self, function: Any) -> Any:
        self.state.library = PartLibrary(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


WHOLE, PART = (WholeCompiler, PartCompiler) if FITS else (Compiler, Compiler)
"""The compilers of kernels that Python calls, and of those that only other kernels do."""
