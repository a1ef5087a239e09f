"""Kernels that are interpreted until they are compiled, so that small indexes answer at once.

A kernel is a Python function, and Numba compiles it when it is first called with arguments of some types. For little
work that takes far longer than the call: half a minute for the kernels of an engine, where Python itself takes
milliseconds. So whoever has little to do says so (`little_work`); a kernel that neither is loaded nor was kept is then
run by Python, and compiled in a thread beside. Numba calls machine code as soon as it is there. Both are the same
function over the same arrays: there is nothing to hand over, and nothing else to be right.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sized
from typing import Any

# Numba loads this with the first kernel that it compiles, and it makes types known; another thread that asks for the
# type of an argument at that moment would meet a table which changes under it.
import numba.experimental.function_type  # noqa: F401
from numba import config
from numba.core.typing.typeof import Purpose, typeof

from matchwood.core.compiling import BESIDE
from matchwood.core.machine_code.kept import Loaded, tell
from matchwood.core.turns import HERE, made_outside
from matchwood.core.twins import interpreted

INTERPRET = "MATCHWOOD_INTERPRET"
"""Environment variable: 0 has every kernel compiled before it is called; ALWAYS none, whatever there is to do."""

ALWAYS = "always"
"""For tests: every call is interpreted, as the first ones of a small index are."""

MOST_RULES, MOST_EVENTS = 1_000, 100
"""Little work: Python takes up to 1.3 ms to insert a rule, and 5 ms to match an event with so many rules."""


_waiting_for_code = 0
"""How many have asked for compiled code alone (`always_compiled`)."""


@functools.cache
def _is_wanted() -> bool:
    return os.environ.get(INTERPRET) != "0" and not config.DISABLE_JIT


@functools.cache
def _is_always() -> bool:
    return os.environ.get(INTERPRET) == ALWAYS


def may_interpret() -> bool:
    """Whether kernels are interpreted in this process at all."""
    return _is_wanted() and not _waiting_for_code


def count_of(things: Any) -> float:
    """How many they are; of a stream nobody knows."""
    return len(things) if isinstance(things, Sized) else float("inf")


@contextlib.contextmanager
def always_compiled() -> Iterator[None]:
    """Have every kernel compiled before it is called, by all threads: to warm up, and to measure."""
    global _waiting_for_code
    _waiting_for_code += 1
    try:
        yield
    finally:
        _waiting_for_code -= 1


def first_call(kernel: Any) -> Callable[..., Any]:
    """What Numba asks for what to call, when a kernel is called with arguments of types that it is not loaded for."""
    load_or_compile = kernel._compile_for_args

    def found(*arguments: Any) -> Callable[..., Any]:
        python = _python_for(kernel, arguments)
        if python is not None:
            return python
        return made_outside(functools.partial(_made, load_or_compile, arguments))

    return found


def _made(load_or_compile: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    if HERE.before_kernel is not None:
        HERE.before_kernel()
    with BESIDE.compiling():
        return load_or_compile(*arguments)  # type: ignore[no-any-return]


def _python_for(kernel: Any, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The function that runs a kernel in Python; None if it is to be loaded or compiled first."""
    if _is_always():
        return functools.partial(interpreted, kernel)
    if not HERE.little or not may_interpret():
        return None
    signature = tuple(typeof(each, Purpose.argument) for each in arguments)
    # To load takes milliseconds, unless the thread beside compiles something: whoever loads waits for it.
    if not BESIDE.is_busy and kernel._cache.is_kept(signature, kernel.targetctx):
        return None
    if not BESIDE.ask((kernel, signature), functools.partial(_compile, kernel, signature)):
        return None
    tell(Loaded(kernel._cache.name, None, interpreted=True))
    return functools.partial(interpreted, kernel)


def _compile(kernel: Any, signature: tuple[Any, ...]) -> None:
    with BESIDE.compiling():
        kernel.compile(signature)
