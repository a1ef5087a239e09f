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

from matchwood.core.machine_code.calling import is_row

Key = tuple[Any, ...]

_found: dict[Key, tuple[Any, Any]] = {}
"""By options, function and types: the signature, and what implements it."""

_options: tuple[Any, str] = (None, "")
"""The options that were last asked for, and their name: making it takes as long as an answer."""


_functions: dict[Any, Any] = {}
"""By operator and function of Python: its type. Numba finds it after it has asked whether it is a value, in vain."""

_attributes: dict[Any, Any] = {}
"""By module and name: the type of a function or of a kind of numbers."""

LEAST = (min, max)
"""Functions that Numba compiles a function for, for each two types: of numbers they are two instructions."""


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


def _index(kind: Any) -> Any:
    return types.intp if kind.signed else types.uintp


def _of_element(asked: Any, arguments: Any) -> Any:
    """The signature for reading or writing one number of an array; None for all else.

    Numba asks ten others first, such as texts and dictionaries, for each mix of widths.
    """
    is_plain = len(arguments) > 1 and is_row(arguments[0]) and isinstance(arguments[1], types.Integer)
    if not is_plain:
        return None
    kind, index = arguments[0], _index(arguments[1])
    if asked.typing_key is operator.getitem:
        return signature_of(kind.dtype, kind, index)
    given = types.unliteral(arguments[-1])
    fits = given == kind.dtype or (isinstance(given, types.Integer) and isinstance(kind.dtype, types.Integer))
    if asked.typing_key is operator.setitem and kind.mutable and fits:
        return signature_of(types.none, kind, index, given)
    return None


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
            if isinstance(kind, (types.Integer, types.Float)):
                return signature_of(kind, *[kind] * len(arguments))
        found = _of_element(asked, arguments) if self.takes_steps else None
        if found is not None:
            return found
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

    def resolve_getattr(self, typ: Any, attr: str) -> Any:
        if isinstance(typ, types.BaseNamedTuple) and attr in typ.fields:
            return typ[typ.fields.index(attr)]
        if not isinstance(typ, types.Module):
            return self.known.resolve_getattr(typ, attr)
        if (typ, attr) not in _attributes:
            found = self.known.resolve_getattr(typ, attr)
            if not (_is_numbas(found) or isinstance(found, types.NumberClass)):
                return found
            _attributes[typ, attr] = found
        return _attributes[typ, attr]

    def resolve_static_getitem(self, value: Any, index: Any) -> Any:
        return None if is_row(value) else self.known.resolve_static_getitem(value, index)

    def resolve_static_setitem(self, target: Any, index: Any, value: Any) -> Any:
        return None if is_row(target) else self.known.resolve_static_setitem(target, index, value)
