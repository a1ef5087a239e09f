"""The decorators for compiled kernels.

Numba compiles a kernel when it is first called with arguments of some types. What it makes is kept (`machine_code/`),
so that this happens once a machine; a wheel brings the machine code of most kernels along, so that it need not at all.
Whoever has little work need not wait for it (`interpreting.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import types

# Machine code does not depend on who waits for it: so this import is written in a way that `sources_of` passes over.
from matchwood.core import interpreting
from matchwood.core.machine_code.kept import KeptCode, KeptPart
from matchwood.core.machine_code.libraries import PART, WHOLE, compiles_kernel

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` on first use, without the interpreter lock, and keep the machine code."""
    return _compiled(function, {})


def bare_kernel(function: Function) -> Function:
    """The same for a function that makes no array: it does not count references to those that it is given.

    Counting one up and down is atomic, and happens wherever an array is taken out of a tuple: that took half of the
    time of building an A-Tree, whose small kernels take a tuple of eleven.
    """
    return _compiled(function, {"_nrt": False})


def wide_kernel(function: Function) -> Function:
    """The same, and other kernels pass it whole numbers of 64 bits, whatever they have.

    Else it is compiled once for each mix of widths: a third of the kernels that build an A-Tree were, and with each of
    them those that it calls. Not for loops over many numbers of 32 bits, of which a processor compares twice as many at
    a time.
    """
    return _compiled(function, {"_nrt": False}, _widened)


def _compiled(function: Function, options: dict[str, Any], passed: Callable[[Any], Any] = types.unliteral) -> Function:
    """A dispatcher for calls from Python, which other kernels find another one behind.

    What unpacks Python's objects for a kernel takes as long to compile as a small kernel itself, or longer where
    arguments are tuples of many arrays: 0.16 s become 0.08 s. So what only other kernels call has none of it; and
    nothing is made for callers in C, who are none.
    """
    made = _dispatcher(function, {"pipeline_class": WHOLE, **options})
    if not hasattr(made, "get_call_template"):
        return made  # type: ignore[no-any-return]
    made._cache = KeptCode(function)
    made._compile_for_args = interpreting.first_call(made)
    made.within = within = _Within(function, options)
    made.get_call_template = _for_types(lambda *asked: within.called.get_call_template(*asked), passed)
    made.get_overload = lambda signature: within.called.get_overload(signature)
    return made  # type: ignore[no-any-return]


class _Within:
    """The dispatcher that other kernels find: made when one of them is compiled, which most processes never do.

    Functions that are no kernels find one that Numba compiles in its own way, since they call in its way.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._function, self._options = function, options

    @functools.cached_property
    def _made(self) -> Any:
        made = _dispatcher(self._function, {"pipeline_class": PART, "no_cpython_wrapper": True, **self._options})
        made._cache = KeptPart(self._function)
        return made

    @functools.cached_property
    def _plain(self) -> Any:
        return _dispatcher(self._function, self._options)

    @property
    def called(self) -> Any:
        """What is called by what is compiled just now."""
        return self._made if compiles_kernel() else self._plain

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def _dispatcher(function: Function, options: dict[str, Any]) -> Any:
    return numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)


def _widened(kind: Any) -> Any:
    plain = types.unliteral(kind)
    return types.int64 if isinstance(plain, types.Integer) and plain.signed else plain


def _for_types(template: Callable[..., Any], passed: Callable[[Any], Any]) -> Callable[..., Any]:
    """Let other kernels call one by the types of what they pass, whatever the values.

    Else Numba compiles it once more for each literal that stands in a call. That includes the 0 that a variable begins
    with, for as long as the types of a loop are not settled: code that nothing calls (five large kernels: 66 to 44 s).
    """

    def of_types(arguments: Any, named: dict[str, Any]) -> Any:
        return template(tuple(map(passed, arguments)), {name: passed(each) for name, each in named.items()})

    return of_types
