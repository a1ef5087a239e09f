"""Keys of a PS-Tree: what each kind of value is cut into elements from.

A key is a row of bytes that compare like the values: eight for an integer (all of its bits, the sign turned round so
that negative ones come first); for a number the eight of its double (`spaces/keys.py`), and two more for an integer
that no double holds; for a string its UTF-8 bytes. The first eight bytes are one number, the *head*, the rest is in
`data`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.key_columns import frozen
from matchwood.encoding.spaces.keys import RESIDUAL_BITS, double_keys, integer_keys
from matchwood.encoding.spaces.number_keys import IntegerKeys, NumberKeys
from matchwood.encoding.spaces.string_keys import StringKeys

_SIGN = np.uint64(2**63)
_NO_BYTES = frozen(np.empty(0, np.uint8))


class Key(NamedTuple):
    """One key; its bytes from the ninth on are data[start + 8 : start + length]."""

    head: int
    data: NDArray[np.uint8]
    start: int
    length: int


class ElementKeys(NamedTuple):
    """A column of them, one start and one length each."""

    heads: NDArray[np.uint64]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


def key_of(kind: str, key: Any) -> Key:
    """A key from its Python form (`spaces/key_columns.py`)."""
    if kind == "string":
        return Key(int.from_bytes(key[:8].ljust(8, b"\0"), "big"), np.frombuffer(key, np.uint8), 0, len(key))
    if kind not in ("number", "double"):
        return Key(key + 2**63, _NO_BYTES, 0, 8)
    primary, residual = key >> RESIDUAL_BITS, key & 0xFFFF
    if not residual:
        return Key(primary + 2**63, _NO_BYTES, 0, 8)
    return Key(primary + 2**63, frozen(np.frombuffer(residual.to_bytes(2, "big"), np.uint8)), -8, 10)


def python_key(kind: str, head: int, rest: bytes, length: int) -> Any:
    """The Python form of a key."""
    if kind == "string":
        return (head.to_bytes(8, "big") + rest)[:length]
    if kind not in ("number", "double"):
        return head - 2**63
    return ((head - 2**63) << RESIDUAL_BITS) + int.from_bytes(rest, "big")


def heads_of(primary: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Heads of integers, or of doubles by their primaries."""
    return frozen(primary.view(np.uint64) ^ _SIGN)


def keys_of_column(column: Any) -> ElementKeys:
    """The keys of a column of boundaries (`spaces/number_keys.py`, `spaces/string_keys.py`)."""
    if isinstance(column, StringKeys):
        return keys_of_strings(column.first, Strings(column.offsets, column.data))
    residual = column.residual if isinstance(column, NumberKeys) else None
    return keys_of_numbers(column.primary, residual)


def keys_of_strings(heads: NDArray[np.uint64], strings: Strings) -> ElementKeys:
    """The keys of strings whose first eight bytes are known."""
    offsets = frozen(strings.offsets)
    return ElementKeys(heads, frozen(strings.data), offsets[:-1], frozen(np.diff(offsets)))


def keys_of_numbers(primary: NDArray[np.int64], residual: NDArray[np.int16] | None) -> ElementKeys:
    """The keys of integers, or of numbers by their primaries and residuals."""
    count = len(primary)
    if residual is None or not residual.any():
        return ElementKeys(heads_of(primary), _NO_BYTES, frozen(np.zeros(count, np.int64)), frozen(np.full(count, 8)))
    rests = residual.astype(">u2").view(np.uint8)
    lengths = np.where(residual != 0, 10, 8)
    return ElementKeys(heads_of(primary), frozen(rests), frozen(2 * np.arange(count) - 8), frozen(lengths))


def number_parts(elements: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int16] | None]:
    """Primaries and residuals of a column of numbers; no residuals where doubles hold all of them."""
    if elements.dtype == np.float64:
        return double_keys(elements), None
    primary, residual = integer_keys(elements)
    return primary, residual if residual.any() else None


def column_of(kind: str, heads: NDArray[np.uint64], rests: NDArray[np.int16], strings: Strings | None) -> Any:
    """A column of boundaries from keys in order: of strings if given, else of heads and residuals."""
    if strings is not None:
        return StringKeys(*strings)
    primary = (heads ^ _SIGN).view(np.int64)
    return NumberKeys(primary, rests) if kind in ("number", "double") else IntegerKeys(primary)
