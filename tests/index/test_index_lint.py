"""`index.lint()`, case by case: what is found, what is not, and the shape of the answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.insight.lint import containment
from matchwood.insight.lint import report as lint
from matchwood.insight.lint import units as lint_units


def findings(rules: dict[Any, str] | list[str], engine: str = "auto", **options: Any) -> set[tuple[Any, str, Any]]:
    """Id, problem and other of every finding; rules in a list are numbered."""
    index = mw.Index(engine=engine, **options)
    given = rules if isinstance(rules, dict) else dict(enumerate(rules))
    assert index.insert_many(given).rejected.num_rows == 0
    return {(row["id"], row["problem"], row["other"]) for row in index.lint().to_pylist()}


@pytest.mark.parametrize(
    "rule",
    [
        "false",
        "x = 1 and x = 2",
        "x is null and x > 1",
        "x between 3 and 1",
        "not (x = 1 or x != 1 or x is null)",
        "vip and not vip",
        "(x = 1) is unknown and x = 2",
        "s like 'a%' and s like 'b%'",
        "s like '%a_b' and s not like '%a_b'",
        "(x = 1 xor y = 1) and false",
        "x = 1 and x = 2 or y in (1, 2) and y = 3",
    ],
)
def test_never(rule: str, engine: str) -> None:
    assert findings([rule, "z = 5"], engine) == {(0, "never", None)}
    assert findings([rule], engine, dnf_limit=1) == {(0, "never", None)}


@pytest.mark.parametrize(
    "rule",
    [
        "true",
        "x is null or x is not null",
        "x = 1 or x != 1 or x is null",
        "(x = 1) is not true or x = 1",
        "(x > 5) is true or (x > 5) is false or (x > 5) is unknown",
        "x is null or x < 5 or x >= 5 and y is null or x >= 5 and y is not null",
        "not (vip and not vip) or vip is null",
        "(s like '%a%b') is not unknown or true",
    ],
)
def test_always(rule: str, engine: str) -> None:
    assert findings([rule, "z = 5"], engine) == {(0, "always", None)}
    assert findings([rule], engine, dnf_limit=1) == {(0, "always", None)}


@pytest.mark.parametrize(
    "rule",
    [
        "x = 1",
        "x = 1 or x != 1",  # not of an event without x
        "x is null",
        "x is null or x < 5 or x > 5",
        "not (x = 1 and x != 1)",
        "x is not null or y is not null",
        "x between 1 and 1",
        "vip or not vip",
        "x = 1 and y = 1",
        "(x = 1 xor y = 1) is not unknown",
    ],
)
def test_neither_never_nor_always(rule: str, engine: str) -> None:
    assert findings([rule], engine) == set()
    assert findings([rule], engine, dnf_limit=1) == set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", " X = 1 ".lower()),
        ("x > 1 and y = 2", "2 = y and 1 < x"),
        ("x in (1, 2)", "x = 2 or x = 1"),
        ("not (x = 1 or y = 1)", "x != 1 and y != 1"),
        ("x = 1 or y = 1", "not (x != 1 and y != 1)"),
        ("x between 1 and 5", "x >= 1 and x <= 5.0"),
        ("x is null or x not in (1)", "(x = 1) is not true"),
        ("x = 1 or x = 1 and y = 2", "x = 1"),
        ("a or b or c or d", "d or c or b or a"),
        ("tags one of ('a', 'b')", "tags one of ('b', 'a', 'a')"),
        ("s like 'a_c'", "s like 'a_c' escape '!'"),
        ("a xor b", "b xor a"),
    ],
)
@pytest.mark.parametrize("limit", [1, 256])
def test_duplicates(one: str, other: str, limit: int, engine: str) -> None:
    assert findings({"first": one, "second": other}, engine, dnf_limit=limit) == {("second", "duplicate", "first")}


def test_duplicates_by_declared_type() -> None:
    assert findings(["x > 1", "x >= 2"]) == {(0, "implied", 1)}
    assert findings(["x > 1", "x >= 2"], schema={"x": "int"}) == {(1, "duplicate", 0)}


def test_every_duplicate_names_the_first(engine: str) -> None:
    rules = {5: "x = 1", 3: "y = 1 or x = 2", 9: "x = 1", 1: "x = 2 or y = 1", 7: "x = 1", 2: "x = 3"}
    assert findings(rules, engine) == {(9, "duplicate", 5), (7, "duplicate", 5), (1, "duplicate", 3)}


@pytest.mark.parametrize(("one", "other"), [("x = 1", "x = 2"), ("x = 1", "x != 1"), ("x is null", "y is null")])
def test_no_duplicates(one: str, other: str, engine: str) -> None:
    assert findings([one, other], engine) == set()


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("x = 1", "x in (1, 2)"),
        ("x = 1", "x > 0"),
        ("x = 1", "x is not null"),
        ("x > 5", "x > 4"),
        ("x < 5", "x < 5.5"),
        ("x between 2 and 3", "x between 1 and 4"),
        ("x is null", "x is null or x > 5"),
        ("x > 5", "x is null or x > 4"),
        ("x = 1 and y = 2", "x = 1"),
        ("x = 1 and y = 2 and z = 3", "y > 1 and z is not null"),
        ("x is null and y = 1", "x is null"),
        ("x = 1", "x = 1 or y = 2"),
        ("x = 1 and z = 1", "x = 1 or y = 2"),
        ("x = 3", "x = 1 or x = 3 or y = 2"),
        ("vip and x = 1", "vip"),
        ("s like 'abc%'", "s like 'ab%'"),
        ("s = 'abc'", "s like 'ab%'"),
        ("s like '%a_b' and x = 1", "s like '%a_b'"),
        ("tags one of ('a') and x = 1", "tags one of ('a') or y = 1"),
        ("d = date '2026-01-01'", "d >= date '2026-01-01'"),
    ],
)
def test_implied(narrow: str, wide: str, engine: str) -> None:
    assert findings({"narrow": narrow, "wide": wide}, engine) == {("wide", "implied", "narrow")}
    assert findings({"wide": wide, "narrow": narrow}, engine) == {("wide", "implied", "narrow")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 2"),
        ("x > 5", "x < 5"),
        ("x between 1 and 3", "x between 2 and 4"),
        ("x is null", "x = 1"),
        ("x is null", "y = 1"),
        ("x = 1", "y is null or y = 1"),
        ("x is null or x > 5", "x > 5.5 and y = 1"),
        ("x = 1 or y = 1", "x = 2 or y = 2"),
        ("x in (1, 3)", "x in (1, 2)"),
        ("not tags one of ('a')", "tags one of ('a')"),
    ],
)
def test_not_implied(one: str, other: str, engine: str) -> None:
    found = findings({"one": one, "other": other}, engine)
    assert found == ({("one", "implied", "other")} if one.startswith("x is null or") else set())


def test_implied_names_the_first_rule_that_implies(engine: str) -> None:
    rules = {9: "x > 0", 5: "x = 5", 1: "x = 1", 7: "x > 0 and y = 1"}
    assert findings(rules, engine) == {(9, "implied", 5)}
    index = mw.Index(engine=engine)
    index.insert_many(rules)
    del index[5]
    assert [(row["id"], row["other"]) for row in index.lint().to_pylist()] == [(9, 1)]


def test_a_stronger_finding_hides_a_weaker_one(engine: str) -> None:
    rules = {
        "narrow": "x = 1",
        "wide": "x > 0",
        "again": "x > 0",
        "always": "x is null or x is not null",
        "never": "false",
    }
    assert findings(rules, engine) == {
        ("wide", "implied", "narrow"),
        ("again", "duplicate", "wide"),
        ("always", "always", None),
        ("never", "never", None),
    }


def test_rules_over_the_limit(engine: str) -> None:
    wide = " and ".join(f"(a{number} = 1 or b{number} = 1)" for number in range(10))
    rules = {"form": wide, "same": f"({wide}) and true", "never": f"({wide}) and a0 = 2 and b0 = 2", "other": "a0 = 1"}
    assert findings(rules, engine) == {("same", "duplicate", "form"), ("never", "never", None)}
    assert findings({"always": f"({wide}) is not true or a0 = 1 or b0 = 1"}, engine) == {("always", "always", None)}


@pytest.mark.parametrize(("ids", "kind"), [(["a", "b", "c"], pa.string()), ([3, 1, 2], pa.int64())])
def test_the_table(ids: list[Any], kind: pa.DataType, engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many(zip(ids, ["x > 0", "x = 1", "false"], strict=True))
    table = index.lint()
    assert table.schema.names == ["id", "problem", "other", "detail"]
    assert table.schema.types == [kind, pa.string(), kind, pa.string()]
    assert table.schema.metadata == {b"unsearched": b"0"}
    assert table.to_pylist() == [
        {"id": ids[2], "problem": "never", "other": None, "detail": "no event can make it true"},
        {"id": ids[0], "problem": "implied", "other": ids[1], "detail": f"true whenever rule {ids[1]} is"},
    ]
    assert set(table["problem"].to_pylist()) <= set(lint.PROBLEMS)


def test_an_empty_index(engine: str) -> None:
    index = mw.Index(engine=engine)
    for _ in range(2):
        table = index.lint()
        assert (table.num_rows, table.schema.names) == (0, ["id", "problem", "other", "detail"])
        index[1] = "x = 1"
        del index[1]
    assert index.lint().schema.field("id").type == pa.int64()


def test_deleted_rules_are_not_looked_at(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many([("gone", "x = 1"), ("wide", "x > 0"), ("gone too", "x > 0"), ("last", "false")])
    for rule_id in ("gone", "gone too", "last"):
        del index[rule_id]
    assert index.lint().num_rows == 0


def test_linting_changes_nothing(engine: str) -> None:
    index = mw.Index(engine=engine, dnf_limit=1)
    index.insert_many({1: "x = 1", 2: "x > 0 or y = 1", 3: "x is null or x is not null or y = 2"})
    before = (dict(index), index.types(), index.match({"x": 1}), index.stats()["encoding"])
    assert index.lint().equals(index.lint())
    assert (dict(index), index.types(), index.match({"x": 1}), index.stats()["encoding"]) == before
    assert index.audit() == []


def test_a_search_that_gives_up_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    small = lambda conjunctions, order: containment.contained(conjunctions, order, budget=5)  # noqa: E731
    monkeypatch.setattr(lint_units, "contained", small)
    index = mw.Index()
    index.insert_many({number: f"x > {number}" for number in range(100)})
    table = index.lint()
    assert 0 < int(table.schema.metadata[b"unsearched"]) <= 100
    for row in table.to_pylist():
        assert row["problem"] == "implied"
        assert row["other"] > row["id"]


def test_after_a_snapshot(engine: str, tmp_path: Any) -> None:
    index = mw.Index(engine=engine)
    index.insert_many({1: "x = 1", 2: "x > 0", 3: "x = 1", 4: "false", 5: "true"})
    index.save(tmp_path / "index")
    opened = mw.open(tmp_path / "index", read_only=True)
    assert opened.lint().equals(index.lint())
    assert opened.lint().num_rows == 4
