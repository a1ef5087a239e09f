"""What generators of conjunctions promise: reproducible, distinct events, and texts and tables that say the same."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np
import pytest

from matchwood.workloads.ads import ads
from matchwood.workloads.begen import begen
from matchwood.workloads.query_logs import query_logs
from matchwood.workloads.shared.base import OPERATORS, Workload
from matchwood.workloads.shared.brute import hits

GENERATORS = {
    "begen": lambda **more: begen(**{"rules": 600, "events": 40, "expressiveness": "high", "matching": 0.05, **more}),
    "ads": lambda **more: ads(**{"rules": 600, "events": 40, **more}),
    "query logs": lambda **more: query_logs(**{"rules": 600, "events": 40, "words": 900, "event_size": 20, **more}),
}


@pytest.fixture(params=GENERATORS.values(), ids=GENERATORS.keys())
def generate(request: pytest.FixtureRequest) -> Callable[..., Workload]:
    return request.param


def columns(work: Workload) -> list[np.ndarray]:
    return [*vars(work.rules).values(), *vars(work.events).values()]


def test_a_seed_gives_the_same_workload_again(generate: Callable[..., Workload]) -> None:
    for first, second in zip(columns(generate(seed=4)), columns(generate(seed=4)), strict=True):
        assert first.dtype == second.dtype
        assert np.array_equal(first, second)
    assert generate(seed=4).rules_text() != generate(seed=5).rules_text()
    assert generate(seed=4).events_dicts() != generate(seed=5).events_dicts()


def test_more_events_do_not_change_the_rules(generate: Callable[..., Workload]) -> None:
    assert generate(events=10).rules_text() == generate(events=300).rules_text()


def test_columns_are_well_formed(generate: Callable[..., Workload]) -> None:
    work = generate()
    rules, events = work.rules, work.events
    assert rules.offsets[-1] == len(rules.attributes) == len(rules.operators) == len(rules.constant_offsets) - 1
    assert rules.constant_offsets[-1] == len(rules.constants)
    assert events.offsets[-1] == len(events.attributes) == len(events.values)
    assert (np.diff(rules.offsets) >= 1).all()
    assert (np.diff(rules.constant_offsets) >= 1).all()
    for table in (rules, events):
        assert table.attributes.min() >= 0
        assert table.attributes.max() < work.dimensions
        inside = np.ones(len(table.attributes), dtype=bool)
        inside[table.offsets[:-1]] = False
        assert (np.diff(table.attributes)[inside[1:]] > 0).all()


def test_no_two_events_are_equal(generate: Callable[..., Workload]) -> None:
    events = generate(events=3_000).events_dicts()
    assert len({tuple(event.items()) for event in events}) == len(events) == 3_000


def test_tables_and_dicts_say_the_same(generate: Callable[..., Workload]) -> None:
    work = generate()
    table = work.events_table()
    assert table.column_names == work.attributes
    rows = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
    assert rows == work.events_dicts()
    rules = work.rules_table()
    assert rules["id"].to_pylist() == work.rule_ids.tolist() == list(range(600))
    assert rules["expression"].to_pylist() == work.rules_text()


def test_texts_mean_what_the_columns_say(generate: Callable[..., Workload]) -> None:
    """DuckDB reads the texts, brute force the columns."""
    work = generate()
    wanted = {"="} if work.name == "query logs" else {"=", "in", "between", "<=", ">="}
    assert {OPERATORS[code] for code in np.unique(work.rules.operators)} >= wanted
    found = hits(work, range(40))
    matching = np.unique(np.concatenate(found))
    texts = work.rules_text()
    with duckdb.connect() as database:
        database.register("arrow", work.events_table().append_column("event", [np.arange(40)]))
        database.execute("create table events as select * from arrow")
        for rule in {*matching.tolist()[:60], *range(60)}:
            rows = database.execute(f"select event from events where {texts[rule]} order by event").fetchall()
            assert [row[0] for row in rows] == [event for event in range(40) if rule in found[event]], texts[rule]
    assert len(matching) > 10


def test_descriptions_are_counted(generate: Callable[..., Workload]) -> None:
    work = generate()
    said = work.describe()
    predicates = [text for rule in work.rules_text() for text in split_predicates(rule)]
    assert said["predicates_per_rule"] * 600 == pytest.approx(len(predicates))
    assert said["sharing"] == pytest.approx(len(predicates) / len(set(predicates)))
    assert said["pairs_per_event"] * 40 == pytest.approx(sum(map(len, work.events_dicts())))


def split_predicates(rule: str) -> list[str]:
    return rule.replace(" and a", "\na").split("\n")
