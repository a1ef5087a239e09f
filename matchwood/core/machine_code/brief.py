"""The decorator for kernels that keep the interpreter lock."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import Function, bare_kernel


def brief_kernel(function: Function) -> Function:
    """A `bare_kernel` that keeps the interpreter lock: for a microsecond's work on what other threads, which write in
    Python, may change at any time; to give the lock back and take it again would cost a tenth of that."""
    made: Any = bare_kernel(function)
    if hasattr(made, "targetoptions"):
        made.targetoptions["nogil"] = False
    return made  # type: ignore[no-any-return]
