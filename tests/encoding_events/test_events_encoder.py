"""With the real Encoder: codes of events decide rules exactly as the oracle does, whatever holds the events."""

from __future__ import annotations

import datetime
import itertools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from events_support import Pairs, batch_rows, rows_of, single_rows

from matchwood.encoding.codes import EncodedConjunctions
from matchwood.encoding.encoder import Encoder
from matchwood.encoding.events.entry import columns_needed, encode_event, event_batches
from matchwood.encoding.schema.inferred import Schema
from matchwood.errors import EventError
from matchwood.language import parse
from matchwood.language.tree import Expression
from matchwood.logic import dnf, normalise
from matchwood.semantics.evaluation import Oracle
from tests.cases import Workload, workloads
from tests.contract.tables import COLUMNAR, arrow_table
from tests.pools import ATTRIBUTES


class Rules:
    """Rules of an encoder, each as its conjunctions, evaluated in plain Python on the codes of events."""

    def __init__(self, schema: Any = None, timezone: str = "UTC") -> None:
        self.encoder = Encoder(Schema(schema), timezone)
        self.encoded: dict[int, EncodedConjunctions] = {}
        self.uses: dict[int, Any] = {}

    def insert(self, rule_id: int, rule: Expression | str) -> bool:
        """Whether the rule's DNF is small enough to be put in."""
        expression = parse(rule)
        uses = self.encoder.schema.check(expression, rule_id)
        conjunctions = dnf(normalise(expression, self.encoder.bind), 256)
        if conjunctions is None:
            return False
        self.encoder.schema.add(uses, rule_id)
        self.uses[rule_id], self.encoded[rule_id] = uses, self.encoder.encode(conjunctions)
        self.encoder.drain_relabelled()
        return True

    def remove(self, rule_id: int) -> None:
        self.encoder.release(self.encoded.pop(rule_id))
        self.encoder.schema.remove(self.uses.pop(rule_id), rule_id)

    def match(self, row: Pairs) -> list[int]:
        labels = dict(row)
        return [rule_id for rule_id, encoded in self.encoded.items() if _holds(encoded, labels)]


def _holds(encoded: EncodedConjunctions, labels: dict[int, int]) -> bool:
    bounds = encoded.offsets.tolist()
    return any(
        all(_passes(encoded, constraint, labels) for constraint in range(start, stop))
        for start, stop in itertools.pairwise(bounds)
    )


def _passes(encoded: EncodedConjunctions, constraint: int, labels: dict[int, int]) -> bool:
    label = labels.get(int(encoded.attributes[constraint]))
    if label is None:
        return bool(encoded.accepts_null[constraint])
    pieces = range(int(encoded.pieces[constraint]), int(encoded.pieces[constraint + 1]))
    return any(encoded.low[piece] <= label < encoded.high[piece] for piece in pieces)


def loaded(rules: Sequence[Expression], schema: Any) -> tuple[Rules, Oracle]:
    """All rules put in at once, so that labels are final before any is evaluated."""
    first, oracle = Rules(schema), Oracle(schema)
    kept = [rule for number, rule in enumerate(rules) if first.insert(number, rule)]
    ours = Rules(schema)
    conjunctions = [dnf(normalise(rule, ours.encoder.bind), 256) or [] for rule in kept]
    for number, rule in enumerate(kept):
        ours.encoder.schema.add(ours.encoder.schema.check(rule, number), number)
        oracle.insert(number, rule)
    whole = ours.encoder.encode([each for several in conjunctions for each in several])
    start = 0
    for number, several in enumerate(conjunctions):
        ours.encoded[number] = _part(whole, start, start + len(several))
        start += len(several)
    return ours, oracle


def _part(whole: EncodedConjunctions, start: int, stop: int) -> EncodedConjunctions:
    return whole._replace(offsets=whole.offsets[start : stop + 1])


DECLARED = {name: kind for name, kind in ATTRIBUTES.items() if kind != "number"}
WAYS: dict[str, Callable[[Workload], Any]] = {
    "dicts": lambda work: work.events,
    "table": lambda work: arrow_table(work.events),
    "nested": lambda work: arrow_table(work.events, nested=True),
    "chunks": lambda work: pa.concat_tables([arrow_table(work.events[:7]), arrow_table(work.events[7:])]),
    "reader": lambda work: arrow_table(work.events).to_reader(max_chunksize=9),
    "slice": lambda work: arrow_table([{}, *work.events, {}]).slice(1, len(work.events)),
    "polars": lambda work: pl.from_arrow(arrow_table(work.events)),
}


@pytest.mark.parametrize("schema", [DECLARED, None], ids=["declared", "inferred"])
def test_every_input_decides_rules_as_the_oracle_does(schema: Any) -> None:
    hits = 0
    for work in workloads(seed=71, count=3, rules=40, events=30, attributes=COLUMNAR):
        ours, oracle = loaded(work.rules, schema)
        expected = [oracle.match(event) for event in work.events]
        hits += sum(map(len, expected))
        assert [ours.match(row) for row in single_rows(ours.encoder, work.events)] == expected
        for name, convert in WAYS.items():
            rows = batch_rows(ours.encoder, convert(work))
            assert [ours.match(row) for row in rows] == expected, name
    assert hits > 500


def test_mixed_numbers_decide_rules_as_the_oracle_does() -> None:
    hits = 0
    for work in workloads(seed=72, count=4, rules=30, events=30):
        ours, oracle = loaded(work.rules, DECLARED)
        expected = [oracle.match(event) for event in work.events]
        hits += sum(map(len, expected))
        assert [ours.match(row) for row in single_rows(ours.encoder, work.events)] == expected
        assert [ours.match(row) for row in batch_rows(ours.encoder, work.events)] == expected
    assert hits > 500


def test_only_what_live_rules_name_is_asked_for() -> None:
    rules = Rules()
    rules.insert(1, "age > 5 and `a.b` = 'x'")
    rules.insert(2, "tags one of ('a') or name like '%b%'")
    assert columns_needed(rules.encoder) == ["`a.b`", "age", "name", "tags"]
    event = {"age": 7, "a.b": "x", "tags": ["a"], "name": "abc", "other": object()}
    assert rules.match(single_rows(rules.encoder, [event])[0]) == [1, 2]
    rules.remove(1)
    assert columns_needed(rules.encoder) == ["name", "tags"]
    wrong = event | {"age": "text is fine where nobody asks"}
    for rows in (single_rows(rules.encoder, [wrong]), batch_rows(rules.encoder, [wrong])):
        assert rules.match(rows[0]) == [2]
    rules.remove(2)
    assert columns_needed(rules.encoder) == []
    assert single_rows(rules.encoder, [event]) == batch_rows(rules.encoder, [event]) == [[]]


def test_labels_follow_new_boundaries_in_both_ways() -> None:
    """Look-ups that are kept between events must not outlive the boundaries they were made with."""
    rules, events = Rules(), [{"x": value} for value in range(40)]
    for constant in (20, 10, 30, 5, 15, 25, 35):
        rules.insert(constant, f"x >= {constant}")
        expected = [[rule for rule in rules.encoded if event["x"] >= rule] for event in events]
        for rows in (single_rows(rules.encoder, events), batch_rows(rules.encoder, events)):
            assert [rules.match(row) for row in rows] == expected
    for constant in (10, 25, 5):
        rules.remove(constant)
        expected = [[rule for rule in rules.encoded if event["x"] >= rule] for event in events]
        for rows in (single_rows(rules.encoder, events), batch_rows(rules.encoder, events)):
            assert [rules.match(row) for row in rows] == expected


def test_declared_and_inferred_kinds() -> None:
    inferred, declared = Rules(), Rules({"x": "int", "y": "double"})
    for rules in (inferred, declared):
        rules.insert(1, "x > 1")
        rules.insert(2, "y = 0.5 or y = 9007199254740993")
    assert inferred.match(single_rows(inferred.encoder, [{"x": 1.5}])[0]) == [1]
    with pytest.raises(EventError, match=r"event 0: 'x' must be int \(got 1.5, a float\)"):
        encode_event(declared.encoder, {"x": 1.5})
    for rules in (inferred, declared):
        rows = batch_rows(rules.encoder, [{"y": 2**53 + 1}, {"y": 2.0**53}, {"y": 0.5}, {"y": math.nan}])
        assert [rules.match(row) for row in rows] == [[2], [], [2], []]


def test_zones() -> None:
    rules = Rules(timezone="America/New_York")
    rules.insert(1, "t >= timestamp '2026-07-01 00:00:00'")
    instant = datetime.datetime(2026, 7, 1, 4, tzinfo=datetime.UTC)
    early = instant - datetime.timedelta(microseconds=1)
    values: list[Any] = [instant, early, datetime.datetime(2026, 7, 1), datetime.date(2026, 7, 1), "2026-06-30T23:59"]
    expected = [[1], [], [1], [1], []]
    assert [rules.match(row) for row in single_rows(rules.encoder, [{"t": value} for value in values])] == expected
    naive = pa.table({"t": pa.array([datetime.datetime(2026, 7, 1), datetime.datetime(2026, 6, 30, 23)])})
    aware = pa.table({"t": pa.array([instant, early], pa.timestamp("us", "Asia/Tokyo"))})
    for table in (naive, aware, aware.to_pandas(), naive.to_pandas()):
        assert [rules.match(row) for row in batch_rows(rules.encoder, table)] == [[1], []]


def test_pandas_semantics() -> None:
    rules = Rules()
    rules.insert(1, "x is null")
    rules.insert(2, "x = cast('NaN' as double)")
    frame = pd.DataFrame({"x": [1.0, math.nan]})
    assert [rules.match(row) for row in batch_rows(rules.encoder, frame)] == [[], [1]]
    assert [rules.match(row) for row in batch_rows(rules.encoder, pa.table({"x": [1.0, math.nan]}))] == [[], [2]]


def test_many_threads_read_at_once() -> None:
    rules = Rules()
    for number in range(50):
        rules.insert(number, f"x > {number * 3} and name like '%{number}%' and tags one of ({number}, {number + 1})")
    rng = np.random.default_rng(5)
    events = [
        {"x": int(x), "name": f"n{x}", "tags": [int(x), None, int(y)]}
        for x, y in rng.integers(0, 200, (400, 2)).tolist()
    ]
    table = pa.Table.from_pylist(events)
    expected, answers = single_rows(rules.encoder, events), []

    def read() -> None:
        rows = [row for batch in event_batches(rules.encoder, table) for row in rows_of(batch.events)]
        answers.append(rows == expected == single_rows(rules.encoder, events))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 4
