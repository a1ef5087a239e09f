"""A stand-in for the Encoder: sources with a few boundaries, located by the plainest code there is.

What is tested here is how events are read, so look-ups must be beyond doubt.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.encoding import EventSettings, MisfitCounter
from matchwood.encoding.attribute import Source, Target
from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.derived.attributes import Verdicts
from matchwood.encoding.events import chunk as event_encoding
from matchwood.encoding.events.entry import EncodedBatch, encode_event, event_batches
from matchwood.encoding.events.plan import EventPlan
from matchwood.encoding.schema.timezones import Zone
from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.decimals import Decimals
from matchwood.encoding.spaces.lookups import lookup_of
from matchwood.encoding.spaces.number_keys import NumberKeys
from matchwood.errors import EventError


def order(element: Any) -> Any:
    """NaN above everything, text by its bytes."""
    if isinstance(element, str):
        return element.encode()
    return (1, 0) if element != element else (0, element)


class PlainSpaces:
    """Boundaries before some elements; the space after boundary i has the label 10 * (i + 1)."""

    def __init__(self, *boundaries: Any) -> None:
        self.boundaries = sorted(map(order, boundaries))
        self.memos: dict[Any, dict[Any, int]] = {}

    def locate(self, element: Any) -> int:
        return self.find(element)

    def find(self, element: Any) -> int:
        return 10 * bisect_right(self.boundaries, order(element))

    def lookup(self) -> Any:
        if any(isinstance(boundary, bytes) for boundary in self.boundaries):
            return None
        keys, _ = NumberKeys.of_elements([math.nan if beyond else value for beyond, value in self.boundaries])
        labels = 10 * np.arange(1, len(keys) + 1, dtype=np.int32)
        return lookup_of((keys, labels), (NumberKeys.of_keys([]), labels[:0]))

    def locate_many(self, elements: Any) -> Any:
        if isinstance(elements, Decimals):
            exact: list[Any] = [Decimal(repr(each)) for each in elements.nearest.tolist()]
            long = elements.exact.to_pylist() if isinstance(elements.exact, pa.Array) else elements.exact
            for place, value in zip(elements.fine.tolist(), long, strict=True):
                exact[place] = value
            elements = exact
        elif isinstance(elements, Strings):
            data = elements.data.tobytes()
            bounds = elements.offsets.tolist()
            elements = [data[start:stop].decode() for start, stop in itertools.pairwise(bounds)]
        else:
            assert elements.dtype in (np.int64, np.float64)
            assert not elements.flags.writeable
            elements = elements.tolist()
        return np.array([self.locate(element) for element in elements], np.int32)


class PlainDerived:
    """For each (number, wanted): label 1 if the value contains what is wanted; nothing if the value is empty."""

    def __init__(self, tests: dict[int, Any]) -> None:
        self.tests = tests

    def evaluate_one(self, value: Any) -> Any:
        pairs = [(number, int(wanted in value)) for number, wanted in sorted(self.tests.items()) if len(value)]
        numbers, labels = zip(*pairs, strict=True) if pairs else ((), ())
        return np.array(numbers, np.int32), np.array(labels, np.int32)

    def evaluate(self, values: pa.Array) -> Verdicts:
        assert values.null_count == 0
        assert values.type in (pa.string(), pa.large_string(), pa.list_(pa.int64()), pa.list_(pa.string()))
        found = [self.evaluate_one(_elements(value)) for value in values.to_pylist()]
        offsets = np.cumsum([0, *(len(numbers) for numbers, _ in found)])
        joined = [np.concatenate([pair[which] for pair in found] or [np.zeros(0, np.int32)]) for which in (0, 1)]
        return Verdicts(offsets.astype(np.int64), joined[0].astype(np.int32), joined[1].astype(np.int32))


def _elements(value: Any) -> Any:
    return value if isinstance(value, str) else [element for element in value if element is not None]


class PlainEncoder:
    """An encoder with given sources."""

    def __init__(self, sources: list[Source], timezone: str = "UTC") -> None:
        self.listed, self.zone, self.version = sources, Zone(timezone), 1
        self.event_plan: EventPlan | None = None
        self.event_settings, self.misfits = EventSettings(), MisfitCounter()

    def sources(self) -> list[Source]:
        return self.listed


def plain_source(name: str, kind: str, number: int, *boundaries: Any) -> Source:
    return Source(name, kind, (Target(number, PlainSpaces(*boundaries) if boundaries else None),), None)


WORDS = PlainDerived({2: "a", 9: "é"})
EVERY_KIND = [
    plain_source("flag", "bool", 3, 1),
    plain_source("count", "int", 0, -(2**63) + 1, -5, 0, 1, 2**53, 2**53 + 1, 2**63 - 1),
    plain_source("amount", "number", 5, -math.inf, -0.5, 0, 1, 2**53, 2**53 + 1, 1e300, math.inf, math.nan),
    plain_source("ratio", "double", 1, -1.5, 0.0, 0.1, 1, 2**53 + 1, math.nan),
    Source("word", "string", (Target(8, PlainSpaces("", "a", "b", "é", "\U0001f600", "z" * 50)),), WORDS),
    plain_source("day", "date", 4, -1, 0, 20_000),
    plain_source("seen", "timestamp", 7, -1, 0, 1_000_000, 1_700_000_000_000_000),
    Source("tags", "list<string>", (Target(11, None),), PlainDerived({6: "a", 12: "b"})),
    Source("sizes", "list<int>", (), PlainDerived({10: 1, 13: 2**63 - 1})),
    plain_source("thing", "any", 14),
]


Pairs = list[tuple[int, int]]


def rows_of(events: EncodedEvents) -> list[Pairs]:
    """The pairs of each event; checks what every batch promises."""
    assert (events.offsets.dtype, events.attributes.dtype, events.labels.dtype) == (np.int64, np.int32, np.int32)
    assert events.offsets[0] == 0
    assert events.offsets[-1] == len(events.attributes) == len(events.labels)
    pairs = list(zip(events.attributes.tolist(), events.labels.tolist(), strict=True))
    bounds = events.offsets.tolist()
    rows = [pairs[start:stop] for start, stop in itertools.pairwise(bounds)]
    for row in rows:
        numbers = [number for number, _ in row]
        assert numbers == sorted(set(numbers))
    return rows


def batches_of(encoder: Any, events: Any, **options: Any) -> list[EncodedBatch]:
    """All batches of an input. Dicts are encoded both ways, by columns and one by one, with the same outcome."""
    if not isinstance(events, list | dict):
        return list(event_batches(encoder, events, **options))
    outcomes = [_outcome(encoder, events, few, options) for few in (0, event_encoding.FEW_VALUES)]
    by_columns, one_by_one = outcomes
    if isinstance(by_columns, EventError):
        assert str(by_columns) == str(one_by_one)
        raise by_columns
    assert not isinstance(one_by_one, EventError)
    assert list(map(_comparable, by_columns)) == list(map(_comparable, one_by_one))
    return by_columns


def _outcome(encoder: Any, events: Any, few: int, options: dict[str, Any]) -> list[EncodedBatch] | EventError:
    usual, event_encoding.FEW_VALUES = event_encoding.FEW_VALUES, few
    try:
        return list(event_batches(encoder, events, **options))
    except EventError as error:
        return error
    finally:
        event_encoding.FEW_VALUES = usual


def _comparable(batch: EncodedBatch) -> Any:
    return batch.first_row, rows_of(batch.events), batch.errors, batch.misfits


def batch_rows(encoder: Any, events: Any, **options: Any) -> list[Pairs]:
    """The pairs of each event of any input; checks that the batches follow each other."""
    rows: list[Pairs] = []
    for batch in batches_of(encoder, events, **options):
        assert batch.first_row == len(rows)
        assert batch.events.count > 0
        rows += rows_of(batch.events)
    return rows


def single_rows(encoder: Any, events: Iterable[Mapping[str, Any]]) -> list[Pairs]:
    """The same, one event at a time."""
    return [row for event in events for row in rows_of(encode_event(encoder, event))]


def column_codes(kind: str, boundaries: tuple[Any, ...], column: Any, timezone: str = "UTC") -> list[int | None]:
    """The label of each value of a column, None for NULL, for an attribute with these boundaries."""
    encoder = PlainEncoder([plain_source("x", kind, 0, *boundaries)], timezone)
    return [row[0][1] if row else None for row in batch_rows(encoder, pa.table({"x": column}))]
