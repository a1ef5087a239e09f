"""Ids as bytes: int64 or string, checked and brought into the one shape that the hash table of ids compares."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument, kind_in_words
from matchwood.rules.strings import encode_many, encode_one

Id: TypeAlias = int | str
Ids: TypeAlias = "Sequence[Id] | NDArray[Any] | pa.Array | pa.ChunkedArray | IdKeys"

INT, STR = "int", "str"
_NAMES = {INT: "integers", STR: "strings"}
_ONE_START, _NO_STARTS, _NO_LENGTHS = np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)
for _shared in (_ONE_START, _NO_STARTS, _NO_LENGTHS):
    _shared.flags.writeable = False


class IdKeys(NamedTuple):
    """Ids of one kind. All arrays are read-only.

    The i-th id is data[i * width : (i + 1) * width] when `width` is set (integers, eight bytes each),
    else data[starts[i] : starts[i] + lengths[i]].
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    width: int

    @property
    def size(self) -> int:
        return len(self.data) // self.width if self.width else len(self.starts)

    @property
    def kind(self) -> str:
        return INT if self.width else STR

    def integers(self) -> NDArray[np.int64]:
        return self.data.view(np.int64)


def integer_keys(values: NDArray[np.int64]) -> IdKeys:
    values.flags.writeable = False
    return IdKeys(values.view(np.uint8), _NO_STARTS, _NO_LENGTHS, 8)


def key_of(rule_id: object) -> IdKeys:
    """One id; raises InvalidArgument for what cannot be one."""
    if type(rule_id) is str:
        encoded = encode_one(rule_id, "id")
        lengths = np.array((len(encoded),), np.int32)
        lengths.flags.writeable = False
        return IdKeys(np.frombuffer(encoded, np.uint8), _ONE_START, lengths, 0)
    if type(rule_id) is int and -(2**63) <= rule_id < 2**63:
        return integer_keys(np.array((rule_id,), np.int64))
    return keys_of([rule_id])


def keys_of(ids: Ids | Iterable[object]) -> IdKeys:
    """Many ids, all of one kind; raises InvalidArgument that names the first which does not fit.

    >>> keys_of([3, 4]).kind, keys_of(["a", "b"]).kind
    ('int', 'str')
    >>> keys_of([3, 2.5])
    Traceback (most recent call last):
    matchwood.errors.InvalidArgument: an id must be an int or a string (got 2.5, a float)
    """
    if isinstance(ids, IdKeys):
        return ids
    if isinstance(ids, pa.Array | pa.ChunkedArray):
        return _from_arrow(ids)
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        return _from_arrow(pa.array(ids))
    return _from_python(ids.tolist() if isinstance(ids, np.ndarray) else list(ids))


def _from_arrow(column: pa.Array | pa.ChunkedArray) -> IdKeys:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if column.null_count:
        raise InvalidArgument(f"an id must be an int or a string (got NULL at position {_first_null(column)})")
    if pa.types.is_integer(kind):
        return integer_keys(_int64(column.cast(kind)))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return IdKeys(*encode_many(column, "id"), 0)
    raise InvalidArgument(f"ids must be a column of integers or strings (got {column.type})")


def _first_null(column: pa.Array | pa.ChunkedArray) -> int:
    return int(pc.index(column.is_null(), True).as_py())


def _int64(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    if pa.types.is_uint64(column.type):
        largest = pc.max(column).as_py()
        if largest is not None and largest > 2**63 - 1:
            raise _too_large(largest)
    return np.array(column.cast(pa.int64()).to_numpy(), np.int64)


def _from_python(ids: list[Any]) -> IdKeys:
    kinds = set(map(type, ids))
    if not kinds <= {int} and not kinds <= {str}:
        ids = [_unwrapped(rule_id) for rule_id in ids]
        _refuse_mixture(ids)
    if not ids or type(ids[0]) is str:
        return IdKeys(*encode_many(ids, "id"), 0)
    try:
        return integer_keys(np.array(ids, np.int64))
    except OverflowError:
        raise _too_large(next(rule_id for rule_id in ids if not -(2**63) <= rule_id < 2**63)) from None


def unwrapped_id(rule_id: object) -> Id:
    """An id as the table keeps it, a plain int or str; raises InvalidArgument for what cannot be one.

    >>> unwrapped_id("r1"), unwrapped_id(np.int32(7))
    ('r1', 7)
    """
    if type(rule_id) is not str and type(rule_id) is not int:
        rule_id = _unwrapped(rule_id)
    if isinstance(rule_id, str):
        if not rule_id.isascii():
            encode_one(rule_id, "id")
    elif not -(2**63) <= rule_id < 2**63:
        raise _too_large(rule_id)
    return rule_id


def _too_large(rule_id: int) -> InvalidArgument:
    return InvalidArgument(f"the id {rule_id} does not fit into 64 bits: use a string id")


def _unwrapped(rule_id: object) -> Id:
    """A plain int or str; NumPy's and subclasses' unwrap."""
    if isinstance(rule_id, str):
        return str(rule_id)
    if isinstance(rule_id, int | np.integer) and not isinstance(rule_id, bool):
        return operator.index(rule_id)
    raise InvalidArgument(f"an id must be an int or a string (got {rule_id!r}, {kind_in_words(rule_id)})")


def kind_of(rule_id: Id) -> str:
    return STR if isinstance(rule_id, str) else INT


def _refuse_mixture(ids: list[Id]) -> None:
    for rule_id in ids:
        if type(rule_id) is not type(ids[0]):
            raise mixture(rule_id, kind_of(ids[0]))


def mixture(rule_id: object, kind: str) -> InvalidArgument:
    """The error for an id of the other kind than the table's."""
    return InvalidArgument(
        f"the id {rule_id!r} is {'a str' if kind == INT else 'an int'}, but the ids of this index are {_NAMES[kind]}: "
        "an index has one kind of id"
    )
