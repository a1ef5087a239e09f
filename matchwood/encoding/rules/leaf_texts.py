"""What a leaf says, in the language of rules: its set of values written as comparisons."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

from matchwood.encoding.derived.keys import TRUE, is_derived, read_key
from matchwood.logic import FULL, START, CutSet, Leaf, complement

_WHOLE = ("int", "date", "timestamp", "bool")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def leaf_name(leaf: Leaf) -> str:
    """The attribute that an event must have for a leaf."""
    return read_key(leaf.attribute).source if is_derived(leaf.attribute) else leaf.attribute


def leaf_text(leaf: Leaf, kind: str) -> str:
    """A leaf of an attribute whose values are of a kind.

    >>> leaf_text(Leaf("age", ((18, 0), (65, 0)), True), "int")
    '18 <= age < 65 or age is null'
    """
    name = leaf_name(leaf)
    parts = [f"{name} is null"] if leaf.null else []
    if is_derived(leaf.attribute):
        test = read_key(leaf.attribute)
        told = f"{name} {test.op} {test.operand if test.operand.startswith('[') else json.dumps(test.operand)}"
        parts[:0] = [told if leaf.cuts == TRUE else f"not {told}"] if leaf.cuts else []
    elif leaf.cuts == FULL:
        parts[:0] = [f"{name} is not null"]
    elif leaf.cuts:
        parts[:0] = _pieces(name, leaf, kind)
    return " or ".join(parts)


def _pieces(name: str, leaf: Leaf, kind: str) -> list[str]:
    """The intervals of a leaf; single values are listed together."""
    if leaf.cuts[0] == START and (without := _singles(complement(leaf.cuts), kind)):
        values = ", ".join(_value(value, kind) for value in without)
        return [f"{name} != {values}" if len(without) == 1 else f"{name} not in ({values})"]
    ends = [cut[0] if cut and not cut[1] else math.nan if cut else None for cut in leaf.cuts]
    pieces = [(ends[at], ends[at + 1] if at + 1 < len(ends) else None) for at in range(0, len(ends), 2)]
    single = [low for low, high in pieces if low is not None and high is not None and _after(low, kind) == high]
    told = []
    if len(single) > 1:
        told.append(f"{name} in ({', '.join(_value(value, kind) for value in single)})")
    elif single:
        told.append(f"{name} = {_value(single[0], kind)}")
    return told + [_range(name, low, high, kind) for low, high in pieces if low is None or _after(low, kind) != high]


def _singles(cuts: CutSet, kind: str) -> list[Any]:
    """The values of a set that consists of single ones; none for other sets."""
    values = [cut[0] for cut in cuts[::2] if cut]
    ends = [cut[0] for cut in cuts[1::2]]
    return values if len(cuts) == 2 * len(values) and ends == [_after(each, kind) for each in values] else []


def _range(name: str, low: Any, high: Any, kind: str) -> str:
    if kind == "bool":
        return f"{name} = {'true' if low is not None else 'false'}"
    if high is None:
        return f"{name} {_bound(low, '>=', '>', kind)}"
    below = _bound(high, "<", "<=", kind)
    if low is None:
        return f"{name} {below}"
    inclusive, value = _bound(low, "<=", "<", kind).split(" ", 1)
    return f"{value} {inclusive} {name} {below}"


def _bound(value: Any, plain: str, shifted: str, kind: str) -> str:
    """The end of a range: what stands just after a value is told by that value."""
    before = _before(value)
    return f"{plain} {_value(value, kind)}" if before is None else f"{shifted} {_value(before, kind)}"


def _after(value: Any, kind: str) -> Any:
    """The next value of the domain."""
    if isinstance(value, str):
        return value + "\0"
    return value + 1 if kind in _WHOLE else math.nextafter(value, math.inf)


def _before(value: Any) -> Any:
    """The value that this one follows at once, if it looks as if it had been made from it."""
    if isinstance(value, str):
        return value[:-1] if value.endswith("\0") else None
    if not isinstance(value, float) or not math.isfinite(value):
        return None
    before = math.nextafter(value, -math.inf)
    return before if len(repr(before)) < len(repr(value)) else None


def _value(value: Any, kind: str) -> str:
    if kind == "date":
        return f"date '{(_EPOCH + datetime.timedelta(days=int(value))).date()}'"
    if kind == "timestamp":
        return f"timestamp '{(_EPOCH + datetime.timedelta(microseconds=int(value))).isoformat(' ')}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
