"""What Numba puts the code of kernels into: its own libraries, without the work that nobody needs.

Numba makes machine code of every function by itself before it links it into those that call it, where that is done
again. So what only other kernels call becomes machine code as a part of the kernels that Python calls, and not before.
It is optimised by itself all the same: what is inlined as it was translated is no longer vectorised, and `scan` took a
quarter longer to match.

All this is Numba's inside. Where a version of it lacks something of that (`FITS`), kernels are compiled as Numba does.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.typing.context import BaseContext

from matchwood.core.machine_code.lowering import KernelContext
from matchwood.core.machine_code.pipeline import ARE_TAKEN, steps_for
from matchwood.core.machine_code.remembering import TypingContext

_OF_LIBRARIES = (
    "_ensure_finalized",
    "_finalize_dynamic_globals",
    "_get_module_for_linking",
    "_optimize_final_module",
    "_raise_if_finalized",
)
_OF_FUNCTIONS = ("get_impl_key",)

FITS = (
    all(hasattr(JITCodeLibrary, name) for name in _OF_LIBRARIES)
    and all(hasattr(types.Function, name) for name in _OF_FUNCTIONS)
    and hasattr(BaseContext, "_lookup_global")
)
"""Whether this Numba has all that is used here."""

KIND = "part"
"""How a saved library says that it is a `PartLibrary`."""


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A kernel that only other kernels call: linked and optimised, and no machine code."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._optimize_final_module()
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> _Nowhere:
        return _Nowhere()

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        return self.name, KIND, self._get_module_for_linking().as_bitcode()


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
        if kind != KIND:
            raise ValueError(f"a library of kind {kind!r}")
        library = PartLibrary(self._context.codegen(), name)
        library._final_module = library._shared_module = llvm.parse_bitcode(code)
        library._finalize_dynamic_globals()
        library._finalized = True
        return library


class WholeCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, for a kernel that Python calls: it remembers, and takes fewer steps (`pipeline.py`)."""

    def __init__(self, typing: Any, target: Any, *rest: Any) -> None:
        super().__init__(typing, target, *rest)
        self.state.typingctx = TypingContext(typing)
        if ARE_TAKEN:
            # Numba has made this context for the one kernel.
            self.state.targetctx.__class__ = KernelContext
            self.state.targetctx.typing_context = self.state.typingctx

    def define_pipelines(self) -> list[Any]:
        return steps_for(self.state.func_id.func) or super().define_pipelines()


class PartCompiler(WholeCompiler):
    """The same for what only other kernels call."""

    def compile_extra(self, function: Any) -> Any:
        self.state.library = PartLibrary(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


WHOLE, PART = (WholeCompiler, PartCompiler) if FITS else (Compiler, Compiler)
"""The compilers of kernels that Python calls, and of those that only other kernels do."""
