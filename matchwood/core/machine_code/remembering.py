"""What Numba has found out about operators and functions of its own, remembered while kernels are compiled.

For each `+` and each `[…]` of a kernel, Numba asks all that it has registered for that operator, one after the other,
and puts a message together for each that declines. The answer depends on the operator, the types of its operands and
the options of the compiler alone. So it is asked once a process. Only kernels see this: for all else in the process
Numba works as ever.
"""

from __future__ import annotations

import operator
import types as python_types
from typing import Any

from numba import types
from numba.core.targetconfig import ConfigStack
from numba.core.typing import signature as signature_of

Key = tuple[Any, ...]

_found: dict[Key, tuple[Any, Any]] = {}
"""By options, function and types: the signature, and what implements it."""

_options: tuple[Any, str] = (None, "")
"""The options that were last asked for, and their name: making it takes as long as an answer."""


_functions: dict[Any, Any] = {}
"""By operator and function of Python: its type. Numba finds it after it has asked whether it is a value, in vain."""

LEAST = (min, max)
"""Functions that Numba compiles a function for, for each two types: of whole numbers they are two instructions."""


def _key(function: Any, arguments: Any, named: Any) -> Key:
    global _options
    options, name = _options
    now = ConfigStack.top_or_none()
    if now is not options:
        name = repr(now)
        _options = now, name
    return (name, function, tuple(arguments), *sorted(named.items()))


def _is_numbas(function: Any) -> bool:
    return type(function) is types.Function


class TypingContext:
    """What a kernel's types are found by: Numba's own, which remembers."""

    def __init__(self, known: Any) -> None:
        self.known = known
        self.takes_steps = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.known, name)

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        asked = self.known._lookup_global(function) or function
        if not _is_numbas(asked) or not all(each.is_precise() for each in arguments):
            return self.known.resolve_function_type(function, arguments, named)
        if self.takes_steps and asked.typing_key in LEAST and len(arguments) > 1 and not named:
            kind = self.known.unify_types(*map(types.unliteral, arguments))
            if isinstance(kind, types.Integer):
                return signature_of(kind, *[kind] * len(arguments))
        key = _key(asked, arguments, named)
        if key not in _found:
            signature = self.known.resolve_function_type(function, arguments, named)
            if signature is None or signature.args not in asked._impl_keys:
                return signature
            _found[key] = signature, asked.get_impl_key(signature)
        signature, asked._impl_keys[signature.args] = _found[key]
        return signature

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        return self.resolve_function_type(self.resolve_value_type(operator.setitem), (target, index, value), {})

    def resolve_value_type(self, val: Any) -> Any:
        if not isinstance(val, (python_types.BuiltinFunctionType, python_types.FunctionType, type)):
            return self.known.resolve_value_type(val)
        if val not in _functions:
            found = self.known.resolve_value_type(val)
            if not _is_numbas(found):
                return found
            _functions[val] = found
        return _functions[val]
