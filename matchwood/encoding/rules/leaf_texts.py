"""What a leaf says, in the language of rules: its set of values written as comparisons."""

from __future__ import annotations

import datetime
import json
from typing import Any

from matchwood.encoding.derived.keys import TRUE, is_derived, read_key
from matchwood.logic import FULL, START, Cut, CutSet, Leaf, complement

_NUMBERS = ("number", "double")
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
    pieces = _intervals(leaf.cuts)
    single = [low[0] for low, high in pieces if low and _is_single(low, high, kind)]
    told = []
    if len(single) > 1:
        told.append(f"{name} in ({', '.join(_value(value, kind) for value in single)})")
    elif single:
        told.append(f"{name} = {_value(single[0], kind)}")
    return told + [_range(name, low, high, kind) for low, high in pieces if not _is_single(low, high, kind)]


def _intervals(cuts: CutSet) -> list[tuple[Cut, Cut | None]]:
    """The lower and upper cut of each interval, None for the end of the domain."""
    ends = [*cuts, None] if len(cuts) % 2 else [*cuts]
    return list(zip(ends[::2], ends[1::2], strict=True))  # type: ignore[arg-type]


def _singles(cuts: CutSet, kind: str) -> list[Any]:
    """The values of a set that consists of single ones; none for other sets."""
    pieces = _intervals(cuts)
    return [low[0] for low, _ in pieces] if all(_is_single(*piece, kind) for piece in pieces) else []


def _is_single(low: Cut, high: Cut | None, kind: str) -> bool:
    """Whether an interval is one value: on the line of numbers one place, else up to before the next value."""
    if not low or not high:
        return False
    if kind in _NUMBERS:
        return bool(low[0] == high[0])
    return bool(high[0] == (low[0] + "\0" if isinstance(low[0], str) else low[0] + 1))


def _range(name: str, low: Cut, high: Cut | None, kind: str) -> str:
    if kind == "bool":
        return f"{name} = {'true' if low else 'false'}"
    if high is None:
        return f"{name} {_bound(low, '>=', '>', kind)}"
    below = _bound(high, "<", "<=", kind)
    if not low:
        return f"{name} {below}"
    inclusive, value = _bound(low, "<=", "<", kind).split(" ", 1)
    return f"{value} {inclusive} {name} {below}"


def _bound(cut: Cut, plain: str, shifted: str, kind: str) -> str:
    """The end of a range: a cut behind a value, or before the one that follows it, is told by that value."""
    value, side = cut
    if side == 0 and isinstance(value, str) and value.endswith("\0"):
        value, side = value[:-1], 1
    return f"{shifted if side else plain} {_value(value, kind)}"


def _value(value: Any, kind: str) -> str:
    if kind == "date":
        return f"date '{(_EPOCH + datetime.timedelta(days=int(value))).date()}'"
    if kind == "timestamp":
        return f"timestamp '{(_EPOCH + datetime.timedelta(microseconds=int(value))).isoformat(' ')}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
