"""What to write where a value does not fit: told by the attribute's type and by what came instead."""

from __future__ import annotations

import re

from matchwood.encoding.events.coercion import UNITS

_GOT = re.compile(r"(?s)(.*), an? (\w+)(.*)")
_NUMERIC = re.compile(r"'\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*'")
_WHOLE = re.compile(r"'\s*[+-]?[0-9]+\s*'")
_TRUTH = re.compile(r"'\s*(true|false|0|1)\s*'", re.IGNORECASE)
_MOMENTS = ("date", "datetime", "Timestamp")
_NUMBERS = ("number", "int", "double")


def hint_for(name: str, kind: str, got: str) -> str | None:
    """The advice for a value that error messages describe as `got`.

    >>> hint_for("age", "int", "'18', a str")
    "convert it, or read such text with coerce={'age': 'int'} on the index"
    >>> hint_for("age", "int", "'x', a str")
    """
    found = _GOT.fullmatch(got)
    if found is None:
        return None
    shown, given = found[1], found[2]
    if given == "str":
        return _for_text(name, kind, shown)
    if kind == "string":
        return _for_strings(name, given)
    if kind == "timestamp" and given in ("int", "float") and not found[3]:
        counts = " or ".join(repr(f"timestamp[{unit}]") for unit in list(UNITS)[:2])
        return f"convert it; if it counts from 1970, read it with coerce={{{name!r}: {counts}}} on the index"
    return _for_others(name, kind, shown, given)


def _for_text(name: str, kind: str, shown: str) -> str | None:
    wanted = "double" if kind == "number" else kind
    looks_so = {"bool": _TRUTH, "int": _WHOLE}.get(kind, _NUMERIC)
    if kind in ("bool", *_NUMBERS) and looks_so.fullmatch(shown):
        return f"convert it, or read such text with coerce={{{name!r}: {wanted!r}}} on the index"
    if kind == "timestamp" and _NUMERIC.fullmatch(shown):
        return f"if it counts from 1970, read it with coerce={{{name!r}: 'timestamp[s]'}} on the index"
    return None


def _for_strings(name: str, given: str) -> str | None:
    if given in _MOMENTS:
        return "rules compare it with text: write date '2026-01-31' or timestamp '2026-01-31 12:00:00' in them"
    if given in ("int", "bool"):
        return f"write rules without quotes around the constant, or read it as text with coerce={{{name!r}: 'string'}}"
    return None


def _for_others(name: str, kind: str, shown: str, given: str) -> str | None:
    if kind in _NUMBERS and given in _MOMENTS:
        return "rules compare it with a number: write date '2026-01-31' or timestamp '2026-01-31 12:00:00' in them"
    if kind == "int" and given == "float" and shown.endswith(".0"):
        return f"convert it, or read whole doubles with coerce={{{name!r}: 'int'}} on the index"
    if kind == "bool" and given == "int" and shown in ("0", "1"):
        return f"convert it, or read it with coerce={{{name!r}: 'bool'}} on the index"
    if kind == "date" and given == "datetime":
        return f"give its date(), or read it with coerce={{{name!r}: 'date'}} on the index"
    return None
