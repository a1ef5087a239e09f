"""The checker of the contract: an index and the oracle side by side, given the same changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

import matchwood
from matchwood.language.tree import Expression
from matchwood.semantics.evaluation import Oracle
from tests.cases import Workload, event, expression
from tests.pools import ATTRIBUTES, palettes

SCHEMA = {name: kind for name, kind in ATTRIBUTES.items() if kind != "number"}
FORMS: dict[str, Callable[[list[tuple[Any, str]]], Any]] = {
    "tuples": lambda rules: rules,
    "iterator": iter,
    "mapping": dict,
    "arrow": lambda rules: pa.table({"id": [each for each, _ in rules], "expression": [text for _, text in rules]}),
    "pandas": lambda rules: pd.DataFrame(rules, columns=["id", "expression"]),
}
"""The ways to hand over many rules at once."""


def hits(table: pa.Table, count: int) -> list[list[Any]]:
    """The rules of each of `count` events, from the table that `match_many` returns."""
    assert table.column_names == ["event", "rule"]
    assert table.schema.field("event").type == pa.int64()
    found: list[list[Any]] = [[] for _ in range(count)]
    positions = table["event"].to_pylist()
    assert positions == sorted(positions)
    for position, rule in zip(positions, table["rule"].to_pylist(), strict=True):
        found[position].append(rule)
    return found


class Twin:
    """An index under test and its model; `check` compares all that they answer."""

    def __init__(self, engine: str, types: Mapping[str, str] | None = None, **options: Any) -> None:
        self.index = matchwood.Index(engine=engine, schema=types, **options)
        self.model = Oracle(types, options.get("timezone", "UTC"))
        self.rules: dict[Any, Expression] = {}

    def put(self, rule_id: Any, rule: Expression | str, source: Any = None) -> None:
        """Insert or replace one rule; `source` is the spelling handed to the index."""
        parsed = matchwood.parse(rule)
        self.index[rule_id] = rule if source is None else source
        self._model_put(rule_id, parsed)

    def put_many(self, rules: Sequence[tuple[Any, Expression]], form: str = "tuples") -> None:
        """Insert or replace many at once, in one of FORMS; none may be refused."""
        known = set(self.rules)
        report = self.index.insert_many(
            FORMS[form]([(rule_id, str(rule)) for rule_id, rule in rules]), on_duplicate="replace"
        )
        assert report.rejected.num_rows == 0, report.rejected.to_pylist()[0]["error"]
        for rule_id, rule in rules:
            self._model_put(rule_id, rule)
        assert (report.inserted, report.replaced) == (len(self.rules) - len(known), len(known & dict(rules).keys()))

    def _model_put(self, rule_id: Any, rule: Expression) -> None:
        self.model.insert(rule_id, rule)
        self.rules[rule_id] = rule

    def remove(self, rule_id: Any) -> None:
        del self.index[rule_id]
        self.model.remove(rule_id)
        del self.rules[rule_id]

    def reopen(self, path: Path) -> None:
        """Go on with what a snapshot holds."""
        self.index.save(path)
        self.index = matchwood.open(path)

    def check(self, events: Sequence[Mapping[str, Any]], answers: list[list[Any]] | None = None) -> int:
        """Compare ids, order and all answers, one event at a time and as a batch; returns the number of hits.

        `answers` are those of the oracle, where another twin with the same rules has asked it already.
        """
        assert list(self.index) == list(self.rules)
        assert len(self.index) == len(self.rules)
        expected = [self.model.match(each) for each in events] if answers is None else answers
        for each, wanted in zip(events, expected, strict=True):
            self._same(self.index.match(each), wanted, each)
        for each, found, wanted in zip(
            events, hits(self.index.match_many(list(events)), len(events)), expected, strict=True
        ):
            self._same(found, wanted, each)
        return sum(map(len, expected))

    def _same(self, found: list[Any], wanted: list[Any], event: Mapping[str, Any]) -> None:
        if found == wanted:
            return
        wrong = [rule_id for rule_id in self.rules if (rule_id in found) != (rule_id in wanted)]
        told = "\n".join(f"{'lost' if each in wanted else 'false'}: {each!r}: {self.rules[each]}" for each in wrong[:5])
        raise AssertionError(f"{event!r}\n{told or f'order: {found} is not {wanted}'}")


def script(twin: Twin, rng: random.Random, steps: int, path: Path | None = None, text_ids: bool = False) -> int:
    """A random life of an index: changes of every kind, answers checked in between; returns the hits seen."""
    shared = palettes(rng)
    seen = 0
    for step in range(steps):
        _change(twin, rng, shared, text_ids)
        if rng.random() < 0.1:
            twin.index.compact()
        if path is not None and rng.random() < 0.1:
            twin.reopen(path)
        if step % 3 == 2 or step == steps - 1:
            seen += twin.check([event(rng, shared) for _ in range(rng.randint(1, 6))])
    assert twin.index.audit() == []
    return seen


def _change(twin: Twin, rng: random.Random, shared: Any, text_ids: bool) -> None:
    """Insert, replace or delete one rule, or insert and replace many."""

    def rule_id(number: int) -> Any:
        return f"r{number}" if text_ids else number * 7 - 40

    def rule() -> Expression:
        return expression(rng, shared, leaves=rng.randint(1, 6))

    chance = rng.random()
    if chance < 0.3 and twin.rules:
        twin.remove(rng.choice(list(twin.rules)))
    elif chance < 0.7 or not twin.rules:
        made = rule()
        twin.put(rule_id(rng.randrange(60)), made, rng.choice((str(made), made, made.to_json())))
    else:
        numbers = rng.sample(range(60), rng.randint(1, 20))
        twin.put_many([(rule_id(number), rule()) for number in numbers], rng.choice(list(FORMS)))


def check_workload(
    engine: str, work: Workload, types: Mapping[str, str] | None = None, answers: list[list[Any]] | None = None
) -> int:
    """All rules of a workload in one index, all its events; returns the hits seen."""
    twin = Twin(engine, types)
    twin.put_many(list(enumerate(work.rules)))
    return twin.check(work.events, answers)


def oracle_answers(work: Workload, types: Mapping[str, str] | None = None) -> list[list[Any]]:
    """The rules of each event of a workload: the same for every engine."""
    oracle = Oracle(types)
    for number, rule in enumerate(work.rules):
        oracle.insert(number, rule)
    return [oracle.match(each) for each in work.events]
