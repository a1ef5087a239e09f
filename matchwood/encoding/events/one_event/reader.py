"""Events that come one after the other: their numbers go to one kernel, and all else is read as in `events/single.py`.

A pair is eight bytes, as that packs it, and an event the bytes of its pairs in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import repeat
from struct import Struct, error
from typing import Any, TypeAlias

import numpy as np

from matchwood.core import Pinned
from matchwood.encoding.events.one_event._number_kernels import MISSING, UNKNOWN, write_pairs
from matchwood.encoding.events.one_event.numbers import NumberLines
from matchwood.encoding.events.plan import EventPlan
from matchwood.encoding.events.quick import NullValue
from matchwood.encoding.events.single import further_pairs, sorted_pairs
from matchwood.encoding.events.unwrapping import MisfitValue

PairBytes: TypeAlias = bytes | bytearray

MOST = 64
"""Keys of an event, and pairs, that are dealt with here: an event with more is read as those of a chunk are."""

_PACK = [Struct(f"{count}q").pack_into for count in range(2 * MOST + 1)]
_INTEGERS_ONLY, _UNKNOWN = {int}, repeat(UNKNOWN)


class EventReader:
    """Reads events in one thread."""

    __slots__ = ("_found", "_given", "_lines", "_pinned")

    def __init__(self) -> None:
        self._given, self._found = bytearray(16 * MOST), bytearray(8 * MOST)
        self._lines: NumberLines | None = None

    def read(self, plan: EventPlan, event: Mapping[Any, Any]) -> PairBytes | None:
        """The event's pairs; None if it needs a closer look: if a value does not fit, or an attribute stands in two
        places."""
        if not event:
            return b""
        count, numbers, values = len(event), plan.numbers, event.values()
        try:
            if count <= MOST and {*map(type, values)} == _INTEGERS_ONLY:
                _PACK[2 * count](self._given, 0, *map(numbers.integers.get, event, _UNKNOWN), *values)
                found = self._written(numbers, count, 0, 0)
                if found is not None:
                    return found
            return self._read_mixed(plan, event)
        except MisfitValue:
            return None
        except (NullValue, error):  # `struct` refuses integers beyond 64 bits
            return _read_many(plan, event)

    def _read_mixed(self, plan: EventPlan, event: Mapping[Any, Any]) -> PairBytes | None:
        """The same for values of any types."""
        quick, integers, doubles = plan.quick, plan.numbers.integers, plan.numbers.doubles
        wide = len(event) >= 2 * len(plan.trie)
        items: Any = [(key, event[key]) for key in quick if key in event] if wide else event.items()
        given: tuple[list[int], list[int]] = [], []
        given_doubles: tuple[list[int], list[float]] = [], []
        pairs: list[int] = []
        for key, value in items:
            kind = type(value)
            if kind is int and (number := integers.get(key, UNKNOWN)) >= 0:
                given[0].append(number)
                given[1].append(value)
            elif kind is float and (number := doubles.get(key, UNKNOWN)) >= 0:
                given_doubles[0].append(number)
                given_doubles[1].append(value)
            elif value is not None and key in quick:
                pairs.append(quick[key][kind][value])
        if plan.slow and not further_pairs(plan, event, plan.slow.intersection(event), pairs):
            return None
        whole, broken, others = len(given[0]), len(given_doubles[0]), len(pairs)
        if whole + broken + others > MOST:
            return _read_many(plan, event)
        attributes, values = given[0] + given_doubles[0], (*given[1], *given_doubles[1])
        _pack_mixed(whole, broken, others)(self._given, 0, *attributes, *values, *pairs)
        found = self._written(plan.numbers, whole, broken, others)
        return self._read_mixed(plan, event) if found is None else found

    def _written(self, numbers: NumberLines, integers: int, doubles: int, others: int) -> PairBytes | None:
        """The pairs of what is given; None if it is to be read again, by somebody who looks at types."""
        if self._lines is not numbers:
            self._lines, given = numbers, np.frombuffer(self._given, np.int64)
            self._pinned = Pinned((given, numbers.lines, np.frombuffer(self._found, np.int64)))
        count = write_pairs(self._pinned.table, integers, doubles, others)
        if count >= 0:
            return self._found[: 8 * count]
        if count == MISSING:
            numbers.make({*np.frombuffer(self._given, np.int64)[: integers + doubles].tolist()})
        return None


@cache
def _pack_mixed(integers: int, doubles: int, others: int) -> Callable[..., None]:
    return Struct(f"={2 * integers + doubles}q{doubles}d{others}q").pack_into


def _read_many(plan: EventPlan, event: Mapping[Any, Any]) -> PairBytes | None:
    pairs = sorted_pairs(plan, event)
    return None if pairs is None else np.array(pairs, np.int64).tobytes()
