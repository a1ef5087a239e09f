"""Keys of a PS-Tree: what each kind of value is cut into elements from.

A key is a row of bytes that compare like the values: eight for an integer (all of its bits, the sign turned round so
that negative ones come first); for a number the eight of its primary (`spaces/keys.py`), two more if it has a rest, and
the further bytes of a fine one; for a string its UTF-8 bytes. The first eight bytes are one number, the *head*, the
rest is in `data`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.integer_keys import IntegerKeys
from matchwood.encoding.spaces.key_columns import frozen
from matchwood.encoding.spaces.keys import REST_BITS, REST_MASK, FineKey, fine_bytes
from matchwood.encoding.spaces.number_keys import NumberKeys
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
    primary, rest = int(key) >> REST_BITS, int(key) & REST_MASK
    if not rest:
        return Key(primary + 2**63, _NO_BYTES, 0, 8)
    data = rest.to_bytes(2, "big") + fine_bytes(key)
    return Key(primary + 2**63, frozen(np.frombuffer(data, np.uint8)), -8, 8 + len(data))


def python_key(kind: str, head: int, rest: bytes, length: int) -> Any:
    """The Python form of a key."""
    if kind == "string":
        return (head.to_bytes(8, "big") + rest)[:length]
    if kind not in ("number", "double"):
        return head - 2**63
    key = ((head - 2**63) << REST_BITS) + int.from_bytes(rest[:2], "big")
    return FineKey(key, rest[2:]) if len(rest) > 2 else key


def heads_of(primary: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Heads of integers, or of doubles by their primaries."""
    return frozen(primary.view(np.uint64) ^ _SIGN)


def keys_of_column(column: Any) -> ElementKeys:
    """The keys of a column of boundaries (`spaces/number_keys.py`, `spaces/string_keys.py`)."""
    if isinstance(column, StringKeys):
        return keys_of_strings(column.first, Strings(column.offsets, column.data))
    if not isinstance(column, NumberKeys):
        return keys_of_numbers(column.primary, None)
    return keys_of_numbers(column.primary, column.rest) if column.fine is None else _keys_with_fine(column)


def keys_of_strings(heads: NDArray[np.uint64], strings: Strings) -> ElementKeys:
    """The keys of strings whose first eight bytes are known."""
    offsets = frozen(strings.offsets)
    return ElementKeys(heads, frozen(strings.data), offsets[:-1], frozen(np.diff(offsets)))


def _keys_with_fine(column: NumberKeys) -> ElementKeys:
    """The keys of numbers of which some have further bytes."""
    assert column.fine is not None
    parts = [rest.to_bytes(2, "big") + fine for rest, fine in zip(column.rest.tolist(), column.fine, strict=True)]
    lengths = np.where(column.rest != 0, 8 + np.fromiter(map(len, parts), np.int64, len(parts)), 8)
    ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    starts = np.concatenate(([0], ends))[:-1] - 8
    data = frozen(np.frombuffer(b"".join(parts), np.uint8))
    return ElementKeys(heads_of(column.primary), data, frozen(starts), frozen(lengths))


def keys_of_numbers(primary: NDArray[np.int64], rest: NDArray[np.int16] | None) -> ElementKeys:
    """The keys of integers, or of numbers by their primaries and rests."""
    count = len(primary)
    if rest is None or not rest.any():
        return ElementKeys(heads_of(primary), _NO_BYTES, frozen(np.zeros(count, np.int64)), frozen(np.full(count, 8)))
    rests = rest.astype(">u2").view(np.uint8)
    lengths = np.where(rest != 0, 10, 8)
    return ElementKeys(heads_of(primary), frozen(rests), frozen(2 * np.arange(count) - 8), frozen(lengths))


def column_of(kind: str, heads: NDArray[np.uint64], rests: NDArray[np.int16], fine: Any) -> Any:
    """A column of boundaries from the heads, rests and further bytes of keys in order."""
    primary = (heads ^ _SIGN).view(np.int64)
    return NumberKeys(primary, rests, fine) if kind in ("number", "double") else IntegerKeys(primary)
