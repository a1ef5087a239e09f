"""One event, in some ten microseconds: the keys it has are looked up, their values located, the pairs sorted.

The rules are those for columns, written out for Python values. Where a value does not fit, or an attribute stands
in two places, the event is handed to the encoding of chunks, which says what is wrong. A pair is held as
one integer, the attribute above the label: they sort and convert in a fraction of the time of tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.attribute import Source
from matchwood.encoding.codes import BOTTOM_LABEL, EncodedEvents
from matchwood.encoding.events.containers import holds_struct
from matchwood.encoding.events.plan import LABEL_BITS, EventPlan
from matchwood.encoding.events.unwrapping import MisfitValue, ValueReading
from matchwood.encoding.events.values import MAX_INT, MIN_INT, read_element
from matchwood.language import has_surrogate

_ABSENT = object()


def encode_flat(plan: EventPlan, event: Mapping[Any, Any]) -> EncodedEvents | None:
    """The event's codes; None if it needs a closer look."""
    pairs = sorted_pairs(plan, event)
    return None if pairs is None else events_of_pairs(np.array((0, len(pairs)), np.int64), pairs)


def events_of_pairs(offsets: NDArray[np.int64], pairs: list[int]) -> EncodedEvents:
    """Events whose pairs are packed."""
    packed = np.array(pairs, np.int64)
    return EncodedEvents(offsets, (packed >> LABEL_BITS).astype(np.int32), packed.astype(np.int32))


def packed_pairs(events: EncodedEvents) -> list[int]:
    """All pairs of some events, packed."""
    pairs: list[int] = ((events.attributes.astype(np.int64) << LABEL_BITS) + events.labels).tolist()
    return pairs


def sorted_pairs(plan: EventPlan, event: Mapping[Any, Any]) -> list[int] | None:
    """The event's pairs, packed, ordered by attribute; None if it needs a closer look."""
    try:
        pairs = _pairs(plan, event)
    except MisfitValue:
        return None
    if pairs is not None:
        pairs.sort()
    return pairs


def _pairs(plan: EventPlan, event: Mapping[Any, Any]) -> list[int] | None:
    """All pairs, in no order; None if an attribute stands in two places.

    Keys with one attribute of a common type are dealt with here, all others by `_further`.
    """
    quick = plan.quick
    pairs: list[int] = []
    others: list[Any] = []
    for key in event if len(event) < 2 * len(plan.trie) else plan.trie:
        target = quick.get(key)
        if target is None:
            others.append(key)
            continue
        value: Any = event.get(key)
        given, (takes_int, other, base, known, locate) = type(value), target
        if (
            takes_int and MIN_INT <= value <= MAX_INT
            if given is int
            else given is other and (given is float or value.isascii() or not has_surrogate(value))
        ):
            label = known.get(value)
            pairs.append(base + (locate(value) if label is None else label))
        elif value is not None:
            others.append(key)
    return pairs if not others or _further(plan, event, others, pairs) else None


def _further(plan: EventPlan, event: Mapping[Any, Any], keys: list[Any], pairs: list[int]) -> bool:
    """Add the pairs of these keys of the event, and of what is nested in it; False if an attribute comes twice,
    or may stand within a list."""
    seen: set[int] = set()
    stack: list[tuple[Mapping[Any, Any], Any, Any]] = [(event, keys, plan.trie)]
    while stack:
        mapping, chosen, node = stack.pop()
        for key in chosen:
            edge = node.get(key)
            value = _ABSENT if edge is None else mapping.get(key, _ABSENT)
            if edge is None or value is _ABSENT:
                continue
            if not edge.sole:
                if not seen.isdisjoint(edge.here):
                    return False
                seen.update(edge.here)
                if edge.below and holds_struct(value):
                    return False
                if edge.below and isinstance(value, Mapping):
                    smaller = [value if len(value) < len(below) else below for below in edge.below]
                    stack.extend((value, keys, below) for keys, below in zip(smaller, edge.below, strict=True))
            for position in edge.here:
                _emit(pairs, plan.sources[position], plan.readings[position], value)
    return True


def _emit(pairs: list[int], source: Source, reading: ValueReading, value: Any) -> None:
    """The pairs of one value."""
    element = read_element(source.kind, value, reading)
    if element is None:
        return
    for number, spaces in source.direct:
        label = BOTTOM_LABEL if spaces is None else spaces.locate(element)
        pairs.append((number << LABEL_BITS) + label)
    if source.derived is not None:
        attributes, labels = source.derived.evaluate_one(element)
        pairs.extend(((attributes.astype(np.int64) << LABEL_BITS) + labels).tolist())
