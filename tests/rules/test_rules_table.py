"""The table of rules: what it keeps, what it refuses, compaction, audit."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest

from matchwood.engines.base import Hits, Work
from matchwood.engines.shared.workspace import Workspace
from matchwood.errors import InvalidArgument, UnknownRule
from matchwood.rules import RuleTable, UnitKind

MANY = 1_000 if numba.config.DISABLE_JIT else 200_000


OF_EACH: dict[UnitKind, int] = {"conjunctions": 0, "clauses": 1, "forms": 0}


def small() -> RuleTable:
    table = RuleTable()
    rows = table.insert_many(["a", "b", "c"], ["x = 1", "y = 'ü'", ""], [1.5, 0, 2], ['{"x": 2}', None, None])
    table.link(rows, [0, 1, 1], "conjunctions")
    table.link([2], [0], "forms")
    return table


def units(table: RuleTable, row: int) -> tuple[list[int], list[int]]:
    found = table.units(row)
    return sorted(found["conjunctions"].tolist()), sorted(found["forms"].tolist())


def test_a_table_tells_what_it_was_told() -> None:
    table = small()
    assert (len(table), table.row_count, list(table)) == (3, 3, ["a", "b", "c"])
    assert [table.text(row) for row in range(3)] == ["x = 1", "y = 'ü'", ""]
    assert [table.weight(row) for row in range(3)] == [1.5, 0.0, 2.0]
    assert [table.weights_json(row) for row in range(3)] == ['{"x": 2}', None, None]
    assert [units(table, row) for row in range(3)] == [([0], []), ([1], []), ([1], [0])]
    assert sorted(table.rows_of_unit(1, "conjunctions").tolist()) == [1, 2]
    assert table.texts(np.array([1, 0])).to_pylist() == ["y = 'ü'", "x = 1"]
    assert table.ids(np.array([2, 0])).to_pylist() == table.id_list(np.array([2, 0])) == ["c", "a"]
    assert table.rows_of(["c", "nobody"]).tolist() == [2, -1]
    assert (table.row_of("b"), table.find("z"), table.id_type, table.id_kind) == (1, -1, pa.string(), str)
    assert table.stats()["rules"] == 3
    assert table.checked_id(np.str_("new")) == "new"
    assert table.audit() == []


def test_an_empty_table() -> None:
    table = RuleTable()
    assert (len(table), list(table), table.live_rows().tolist(), table.find("a")) == (0, [], [], -1)
    assert table.insert_many([], []).tolist() == []
    assert table.compact().tolist() == []
    assert table.ids(np.empty(0, np.int32)).to_pylist() == []
    assert table.audit() == []


@pytest.mark.parametrize("unknown", ["z", 1, None, True, 1.5])
def test_an_unknown_id_is_named(unknown: object) -> None:
    with pytest.raises(UnknownRule, match="no rule has the id") as raised:
        small().row_of(unknown)
    assert raised.value.rule_id == unknown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["d", "a"], ["1", "2"]), "the id 'a' is already in the index"),
        ((["d", "d"], ["1", "2"]), "the id 'd' is given twice"),
        (([7, 8], ["1", "2"]), "the id 7 is an int"),
        ((["d"], ["1", "2"]), "1 ids but 2 texts"),
        ((["d", "e"], ["1", None]), "NULL at position 1"),
        ((["d", "e"], ["1", "2"], [1.0]), "2 rules but 1 weights"),
        ((["d", "e"], ["1", "2"], [1.0, -1.0]), "got -1.0 for the rule at position 1"),
        ((["d", "e"], ["1", "2"], [float("nan"), 1.0]), "got nan for the rule at position 0"),
        ((["d", "e"], ["1", "2"], [1.0, float("inf")]), "got inf"),
        ((["d", "e"], ["1", "2"], [1.0, "heavy"]), "must be a number"),
        ((["d", "e"], ["1", "2"], None, ["{}"]), "2 rules but 1 JSON texts"),
        ((["d", "e"], ["1", "2"], None, ["{}", 5]), "weights must be a string"),
        ((["d", "e"], ["1", "\ud800"]), "lone surrogate"),
    ],
)
def test_a_refused_insertion_changes_nothing(arguments: tuple[Any, ...], message: str) -> None:
    table = small()
    before = {name: array.tobytes() for name, array in table.arrays().items()}, table.header()
    with pytest.raises(InvalidArgument, match=message):
        table.insert_many(*arguments)
    assert ({name: array.tobytes() for name, array in table.arrays().items()}, table.header()) == before


def test_a_replacement_keeps_its_row_and_its_links() -> None:
    table = small()
    table.replace_text(0, "z > 1", weight=3.0)
    assert (table.text(0), table.weight(0), table.weights_json(0)) == ("z > 1", 3.0, None)
    assert units(table, 0) == ([0], [])
    table.replace_many([2, 1], ["two", "one"], [2.0, 1.0], [None, "{}"])
    assert [table.text(row) for row in range(3)] == ["z > 1", "one", "two"]
    assert [table.weights_json(row) for row in range(3)] == [None, "{}", None]
    assert list(table) == ["a", "b", "c"]
    assert table.audit() == []


@pytest.mark.parametrize("rows", [[3], [-1], [0, 0]])
def test_rows_that_hold_no_rule_are_refused(rows: list[int]) -> None:
    table = small()
    with pytest.raises(IndexError):
        table.remove_many(rows)
    with pytest.raises(IndexError):
        table.replace_many(rows, ["t"] * len(rows))
    table.remove(0)
    with pytest.raises(IndexError):
        table.link([0], [5], "conjunctions")
    assert table.audit() == []


def test_removal_hands_back_the_units_and_leaves_a_hole() -> None:
    table = small()
    table.replace_text(2, "z = 'long'")
    units = table.remove(2)
    assert table.stats()["garbage_text"] == len("z = 'long'")
    assert {kind: each.tolist() for kind, each in units.items()} == {"conjunctions": [1], "forms": [0]}
    assert (len(table), table.row_count, list(table), table.find("c")) == (2, 3, ["a", "b"], -1)
    assert table.insert_many(["c"], ["again"]).tolist() == [3]
    assert list(table) == ["a", "b", "c"]
    assert table.audit() == []


def test_a_rule_that_was_unlinked_hands_back_nothing_more() -> None:
    table = small()
    assert [side.tolist() for side in table.unlink(1).values()] == [[1], []]
    assert [side.tolist() for side in table.remove(1).values()] == [[], []]


def test_weights_as_json_cost_nothing_until_there_are_any() -> None:
    table = RuleTable()
    table.insert_many([1, 2], ["a", "b"], None, [None, None])
    assert not any(name.startswith("weights.json") for name in table.arrays())
    table.insert_many([3], ["c"], None, ["{}"])
    table.insert_many([4], ["d"])
    assert [table.weights_json(row) for row in range(4)] == [None, None, "{}", None]
    assert table.audit() == []


def test_compaction_closes_the_holes_and_keeps_the_order() -> None:
    table = small()
    table.insert_many(["d"], ["d > 0"], None, ['{"d": 1}'])
    table.link([3, 3], [2, 4], "conjunctions")
    table.replace_text(0, "shorter")
    table.remove(1)
    moved = table.compact({"conjunctions": np.array([10, 11, 12, -1, 3]), "forms": np.array([6])})
    assert moved.tolist() == [0, -1, 1, 2]
    assert (list(table), table.row_count, len(table)) == (["a", "c", "d"], 3, 3)
    assert [table.text(row) for row in range(3)] == ["shorter", "", "d > 0"]
    assert [units(table, row) for row in range(3)] == [([10], []), ([11], [6]), ([3, 12], [])]
    assert [table.row_of(each) for each in "acd"] == [0, 1, 2]
    assert table.weights_json(2) == '{"d": 1}'
    stats = table.stats()
    assert (stats["holes"], stats["garbage_text"], stats["garbage_links"]) == (0, 0, 0)
    assert table.audit() == []


@pytest.mark.parametrize("remap", [[0], [0, -1]])
def test_compaction_refuses_a_map_that_loses_units_in_use(remap: list[int]) -> None:
    table = small()
    with pytest.raises(IndexError, match="in use"):
        table.compact({"conjunctions": np.array(remap)})
    assert table.audit() == []
    assert [units(table, row) for row in range(3)] == [([0], []), ([1], []), ([1], [0])]


def test_iteration_notices_a_change() -> None:
    table = small()
    walk = iter(table)
    assert next(walk) == "a"
    table.remove(2)
    with pytest.raises(RuntimeError, match="during iteration"):
        next(walk)


def test_hits_of_either_kind_become_rows() -> None:
    table = small()
    hits = Hits(0, np.array([0, 1, 2]), np.array([1, 0], np.int32), Work(0, 0, 0))
    forms = Hits(0, np.array([0, 0, 1]), np.array([0], np.int32), Work(0, 0, 0))
    both = table.rows({"conjunctions": hits, "forms": forms}, 0, Workspace())
    assert (both.offsets.tolist(), both.rows.tolist()) == ([0, 2, 4], [1, 2, 0, 2])
    assert table.rows({"conjunctions": hits}, 0, Workspace()).rows.tolist() == [1, 2, 0]
    assert table.rows({"forms": forms}, 0, Workspace()).rows.tolist() == [2]


def test_hits_of_three_kinds_become_rows() -> None:
    table = small()
    table.tell_clauses_apart()
    table.link([0, 1], [0, 1], "clauses")
    hits = {kind: np.array([unit], np.int32) for kind, unit in OF_EACH.items()}
    found = {kind: Hits(0, np.array([0, 1]), units, Work(0, 0, 1)) for kind, units in hits.items()}
    assert table.rows(found, 0, Workspace()).rows.tolist() == [0, 1, 2]
    assert table.audit() == []


def test_clauses_are_saved_apart_and_older_snapshots_are_parted() -> None:
    table = small()
    table.link([0, 1, 2], [3, 5, 4], "forms")
    table.tell_clauses_apart()
    assert [table.units(row)["clauses"].tolist() for row in range(3)] == [[1], [2], []]
    assert [sorted(table.units(row)["forms"].tolist()) for row in range(3)] == [[], [], [0, 2]]
    again = RuleTable()
    again.restore(table.arrays(), table.header())
    again.tell_clauses_apart()
    again.check()
    assert [units(again, row) for row in range(3)] == [units(table, row) for row in range(3)]
    assert again.pairs("clauses")[1].tolist() == [1, 2]


def test_many_rules_at_once() -> None:
    table = RuleTable()
    texts = pa.array([f"a{i} = {i}" for i in range(MANY)])
    rows = table.insert_many(pa.array([f"r{i}" for i in range(MANY)]), texts, np.arange(MANY) % 3)
    table.link(rows, np.arange(MANY)[::-1], "conjunctions")
    assert table.texts(rows).equals(texts)
    gone = rows[::3]
    conjunctions = table.remove_many(gone)["conjunctions"]
    assert np.array_equal(np.sort(conjunctions), np.sort(MANY - 1 - gone))
    moved = table.compact()
    kept = np.flatnonzero(moved >= 0)
    assert table.ids(moved[kept]).to_pylist() == [f"r{i}" for i in kept]
    assert np.array_equal(table.weights(), kept % 3)
    assert table.rows_of_unit(MANY - 2, "conjunctions").tolist() == [0]
    assert table.audit() == []


def test_bytes_are_counted() -> None:
    table = small()
    stats = table.stats()
    assert stats["bytes_text"] == table.bytes_text
    assert sum(array.nbytes for array in table.arrays().values()) == table.row_count + sum(
        stats[name] for name in ("bytes_text", "bytes_ids", "bytes_links", "bytes_weights")
    )
    table.insert_many(["long"], ["x" * 1000])
    assert table.bytes_text == stats["bytes_text"] + 1000 + 12 + 12


def test_audit_notices_a_dead_row_that_is_linked() -> None:
    table = small()
    table._alive.writable()[1] = 0
    problems = table.audit()
    assert "conjunctions: row 1 is dead but linked" in problems
    assert "ids: 2 live rows, but 3 ids" in problems
