"""One event of several: the keys it has are looked up, their values located, the pairs sorted.

The rules are those for columns, written out for Python values. Where a value does not fit, or an attribute stands
in two places, the event is handed to the encoding of chunks, which says what is wrong. A pair is held as
one integer, the attribute above the label: they sort and convert in a fraction of the time of tuples.

Events of a chunk have the same values again and again, which are remembered (`quick.py`). Those that come by themselves
are read by `one_event/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.attribute import Source
from matchwood.encoding.codes import BOTTOM_LABEL, EncodedEvents
from matchwood.encoding.events.containers import holds_struct
from matchwood.encoding.events.plan import EventPlan
from matchwood.encoding.events.quick import LABEL_BITS, NullValue
from matchwood.encoding.events.unwrapping import MisfitValue, ValueReading
from matchwood.encoding.events.values import read_element

_ABSENT = object()


def encode_flat(plan: EventPlan, event: Mapping[Any, Any]) -> EncodedEvents | None:
    """The event's codes; None if it needs a closer look."""
    pairs = sorted_pairs(plan, event)
    return None if pairs is None else events_of_pairs(np.array((0, len(pairs)), np.int64), pairs)


def events_of_pairs(offsets: NDArray[np.int64], pairs: list[int] | bytes) -> EncodedEvents:
    """Events whose pairs are packed, as numbers or as their bytes."""
    packed = np.frombuffer(pairs, np.int64) if isinstance(pairs, bytes) else np.array(pairs, np.int64)
    return EncodedEvents(offsets, (packed >> LABEL_BITS).astype(np.int32), packed.astype(np.int32))


def packed_pairs(events: EncodedEvents) -> list[int]:
    """All pairs of some events, packed."""
    pairs: list[int] = ((events.attributes.astype(np.int64) << LABEL_BITS) + events.labels).tolist()
    return pairs


def sorted_pairs(plan: EventPlan, event: Mapping[Any, Any]) -> list[int] | None:
    """The event's pairs, packed, ordered by attribute; None if it needs a closer look: if a value does not fit, or an
    attribute stands in two places."""
    quick, slow = plan.quick, plan.slow
    items: Any = event.items() if len(event) < 2 * len(plan.trie) else [(key, event.get(key)) for key in quick]
    try:
        pairs = [quick[key][type(value)][value] for key, value in items if value is not None and key in quick]
        if slow and not further_pairs(plan, event, slow.intersection(event), pairs):
            return None
    except MisfitValue:
        return None
    except NullValue:
        return sorted_pairs(plan, {key: value for key, value in event.items() if not _is_null(plan, key, value)})
    pairs.sort()
    return pairs


def _is_null(plan: EventPlan, key: Any, value: Any) -> bool:
    """Whether the value of a quick key is NULL; one that does not fit is not."""
    try:
        return value is None or (key in plan.quick and plan.quick[key][type(value)][value] < 0)
    except NullValue:
        return True
    except MisfitValue:
        return False


def further_pairs(plan: EventPlan, event: Mapping[Any, Any], keys: Iterable[Any], pairs: list[int]) -> bool:
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
