"""Random sequences of changes, saving and compaction included, against plain dictionaries."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
import pytest

from matchwood.engines.base import Hits, Work
from matchwood.engines.shared.workspace import Workspace
from matchwood.rules import RuleTable, UnitKind

STEPS = 60 if numba.config.DISABLE_JIT else 250
LETTERS = "aZ0 '\"\\é日\U0001f600\x00\n"


@dataclass
class Rule:
    text: str
    weight: float
    weights_json: str | None
    units: dict[UnitKind, list[int]] = field(default_factory=lambda: {"conjunctions": [], "forms": []})


class Pair:
    """The table, and the dictionary of rules in rule order that it must agree with."""

    def __init__(self, seed: int, make_id: Any) -> None:
        self.random, self.make_id = random.Random(seed), make_id
        self.table, self.model = RuleTable(), dict[Any, Rule]()
        self.workspace = Workspace()

    def text(self) -> str:
        return "".join(self.random.choices(LETTERS, k=self.random.randrange(12)))

    def rule(self) -> Rule:
        weights_json = json.dumps({"x": self.text()}) if self.random.random() < 0.2 else None
        return Rule(self.text(), self.random.choice([0.0, 1.0, 2.5]), weights_json)

    def some(self, most: int) -> list[Any]:
        return self.random.sample(list(self.model), min(len(self.model), self.random.randint(0, most)))

    def insert(self) -> None:
        fresh = [self.make_id(number) for number in self.random.sample(range(80), self.random.randint(0, 6))]
        added = {rule_id: self.rule() for rule_id in fresh if rule_id not in self.model}
        columns = zip(*((rule.text, rule.weight, rule.weights_json) for rule in added.values()), strict=True)
        texts, weights, weights_json = columns if added else ((), (), ())
        rows = self.table.insert_many(list(added), texts, weights, weights_json)
        assert self.table.rows_of(list(added)).tolist() == rows.tolist()
        self.model.update(added)
        self.link(list(added))

    def link(self, ids: list[Any]) -> None:
        for kind in ("conjunctions", "forms"):
            chosen = [
                (each, self.random.randrange(30)) for each in ids for _ in range(self.random.choice([0, 1, 1, 3]))
            ]
            rows = [self.table.row_of(rule_id) for rule_id, _ in chosen]
            self.table.link(rows, [unit for _, unit in chosen], kind)
            for rule_id, unit in chosen:
                self.model[rule_id].units[kind].append(unit)

    def replace(self) -> None:
        for rule_id in self.some(3):
            row, rule = self.table.row_of(rule_id), self.rule()
            self.check_units(self.table.unlink(row), [rule_id])
            self.table.replace_text(row, rule.text, rule.weight, rule.weights_json)
            self.model[rule_id] = rule
            self.link([rule_id])

    def remove(self) -> None:
        chosen = self.some(5)
        self.check_units(self.table.remove_many(self.table.rows_of(chosen)), chosen)
        for rule_id in chosen:
            del self.model[rule_id]

    def check_units(self, found: Any, ids: list[Any]) -> None:
        assert list(found) == ["conjunctions", "forms"]
        for kind, side in found.items():
            assert sorted(side.tolist()) == sorted(unit for each in ids for unit in self.model[each].units[kind])

    def reopen(self) -> None:
        """Save and restore from arrays that cannot be written to."""
        arrays = {name: array.copy() for name, array in self.table.arrays().items()}
        for array in arrays.values():
            array.flags.writeable = False
        header = json.loads(json.dumps(self.table.header()))
        self.table = RuleTable()
        self.table.restore(arrays, header)

    def compact(self) -> None:
        kinds: tuple[UnitKind, ...] = ("conjunctions", "forms")
        renamed = {kind: self.random.sample(range(30), 30) for kind in kinds}
        self.table.compact({kind: np.array(numbers) for kind, numbers in renamed.items()})
        for rule in self.model.values():
            rule.units = {kind: [renamed[kind][unit] for unit in units] for kind, units in rule.units.items()}
        assert self.table.row_count == len(self.model)

    def check_all(self) -> None:
        table, rows = self.table, self.table.live_rows()
        assert (list(table), len(table), table.id_list(rows)) == (list(self.model), len(self.model), list(self.model))
        assert table.ids(rows).to_pylist() == list(self.model)
        for row, rule in zip(rows.tolist(), self.model.values(), strict=True):
            assert (table.text(row), table.weight(row)) == (rule.text, rule.weight)
            assert table.weights_json(row) == rule.weights_json
            units = [sorted(side.tolist()) for side in table.units(row).values()]
            assert units == [sorted(rule.units["conjunctions"]), sorted(rule.units["forms"])]
        assert table.texts(rows).to_pylist() == [rule.text for rule in self.model.values()]
        assert all(table.find(self.make_id(number)) == -1 for number in range(80, 90))
        assert table.audit() == []
        table.check()

    def check_hits(self) -> None:
        chosen = {kind: self.used_units(kind) for kind in ("conjunctions", "forms")}
        hits = {kind: self.hits(units) for kind, units in chosen.items()}
        answer = self.table.rows(hits, 0, self.workspace)
        expected = [
            rule_id
            for rule_id, rule in self.model.items()
            if any(unit in chosen[kind] for kind in chosen for unit in rule.units[kind])
        ]
        assert self.table.id_list(answer.rows) == expected

    def used_units(self, kind: UnitKind) -> list[int]:
        used = sorted({unit for rule in self.model.values() for unit in rule.units[kind]})
        return self.random.sample(used, self.random.randint(0, len(used)))

    def hits(self, units: list[int]) -> Hits:
        return Hits(0, np.array([0, len(units)]), np.array(units, np.int32), Work(0, 0, 0))


@pytest.mark.few
@pytest.mark.parametrize("make_id", [lambda n: (n - 40) * 10**17, lambda n: f"é{n}"], ids=["int", "str"])
@pytest.mark.parametrize("seed", range(4))
def test_a_table_like_a_dictionary(seed: int, make_id: Any) -> None:
    pair = Pair(seed, make_id)
    actions = [pair.insert] * 5 + [pair.replace] * 3 + [pair.remove] * 3 + [pair.reopen, pair.compact]
    for _ in range(STEPS):
        pair.random.choice(actions)()
        pair.check_hits()
        pair.check_all()
    assert len(pair.model) > 5
