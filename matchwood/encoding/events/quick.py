"""Keys whose values only have to be located: a pair is then one look-up by key, by type, and by value.

Values of the commonest types are remembered with their pairs, apart by type: to Python's dicts True and 1.0 are 1. What
the boundaries mean by a value may change, so the spaces know all that is remembered of them, and empty it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matchwood.encoding.attribute import Source
from matchwood.encoding.events.paths import Node
from matchwood.encoding.events.unwrapping import MisfitValue, ValueReading
from matchwood.encoding.events.values import MAX_INT, MIN_INT, read_element
from matchwood.encoding.spaces.base import MEMO_LENGTH, MEMO_SIZE, Spaces
from matchwood.language import has_surrogate

LABEL_BITS = 32
"""A pair as one integer: the attribute above that many bits of label."""

_QUICK_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "number": (int, float),
    "double": (int, float),
    "string": (str,),
}


class NullValue(Exception):
    """A value that is neither None nor anything else."""


class PairMemo(dict[Any, int]):
    """The pairs of values of one type that were located lately; all others are located when they are asked for."""

    __slots__ = ("_base", "_find", "_fits")

    def __init__(self, kind: type, base: int, spaces: Spaces) -> None:
        self._base, self._find, self._fits = base, spaces.find, _FITS[kind]

    def __missing__(self, value: Any) -> int:
        if not self._fits(value):
            raise MisfitValue("")
        pair = self._base + self._find(value)
        if type(value) is not str or len(value) <= MEMO_LENGTH:
            if len(self) >= MEMO_SIZE:
                self.clear()
            self[value] = pair
        return pair


class TypedReaders(dict[type, Any]):
    """What finds the pair of a value of one key, by the value's type.

    `base`   the attribute, where a pair has it
    `types`  those of which values are remembered
    """

    __slots__ = ("_unusual", "base", "spaces", "types")

    def __init__(self, source: Source, reading: ValueReading, types: tuple[type, ...]) -> None:
        number, spaces = source.direct[0]
        assert spaces is not None
        self.base, self.spaces, self.types = number << LABEL_BITS, spaces, types
        self._unusual = _UnusualValues(source.kind, reading, self.base, spaces)

    def __missing__(self, kind: type) -> Any:
        if kind not in self.types:
            return self._unusual
        memo = PairMemo(kind, self.base, self.spaces)
        # Of several threads that make one, all take the same: the one that the spaces empty.
        found = self[kind] = self.spaces.memos.setdefault((kind, self.base), memo)
        return found


class _UnusualValues:
    """Values of all other types: read as in columns, and never remembered."""

    __slots__ = ("_base", "_kind", "_reading", "_spaces")

    def __init__(self, kind: str, reading: ValueReading, base: int, spaces: Spaces) -> None:
        self._kind, self._reading, self._base, self._spaces = kind, reading, base, spaces

    def __getitem__(self, value: Any) -> int:
        element = read_element(self._kind, value, self._reading)
        if element is None:
            raise NullValue
        return self._base + self._spaces.locate(element)


def quick_keys(
    trie: Node, sources: list[Source], readings: list[ValueReading], nan_is_null: bool
) -> dict[str, TypedReaders]:
    """The keys with one attribute whose values only have to be located."""
    quick = {}
    for key, edge in trie.items():
        source = sources[edge.here[0]] if edge.sole else None
        if source is None or source.kind not in _QUICK_TYPES or source.derived is not None or len(source.direct) != 1:
            continue
        if source.direct[0].spaces is not None:
            types = _QUICK_TYPES[source.kind]
            # Doubles that may be NULL are looked at more closely.
            types = types[:1] if nan_is_null and float in types else types
            quick[key] = TypedReaders(source, readings[edge.here[0]], types)
    return quick


def _is_text(value: str) -> bool:
    return value.isascii() or not has_surrogate(value)


_FITS: dict[type, Callable[[Any], bool]] = {
    int: lambda value: MIN_INT <= value <= MAX_INT,
    float: lambda value: True,
    str: _is_text,
}
