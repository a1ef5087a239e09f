"""Types of attributes through the index: conflicts name both rules, declarations of every kind hold."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.insight.explain import index as explaining


def conflict(index: mw.Index, rule_id: Any, text: str) -> mw.TypeConflict:
    with pytest.raises(mw.TypeConflict) as caught:
        index[rule_id] = text
    return caught.value


def test_a_conflict_names_both_rules(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["first"] = "x = 1"
    error = conflict(index, "second", "y = 1 and x = 'text'")
    assert isinstance(error, TypeError)
    assert (error.what, error.where) == ("x", "rule 'second'")
    assert (error.got, error.expected) == ("a comparison with a string: x = 'text'", "number, as in rule 'first'")
    assert index.types() == {"x": "number"}


CLASHES = {
    "number": "x > 1.5",
    "string": "x like 'a%b'",
    "bool": "x",
    "timestamp": "x < date '2026-01-01'",
    "list<int>": "x one of (1, 2)",
    "list<string>": "'a' in x",
}


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(CLASHES, 2)))
def test_every_pair_of_kinds_in_either_order(one: str, other: str) -> None:
    index = mw.Index()
    index["one"] = CLASHES[one]
    error = conflict(index, "other", CLASHES[other])
    assert str(error).startswith("rule 'other': 'x' must be ")
    assert "as in rule 'one'" in str(error)
    report = mw.Index().insert_many([("one", CLASHES[one]), ("other", CLASHES[other])])
    assert report.rejected["error"].to_pylist() == [str(error)]


def test_a_conflict_within_a_rule() -> None:
    error = conflict(mw.Index(), "alone", "x = 1 or x = 'a'")
    assert "as earlier in the rule" in str(error)


def test_null_tests_take_any_type(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["null"] = "x is null"
    assert index.match({}) == ["null"]
    assert index.match({"x": object()}) == []
    index["number"] = "x = 1"
    assert "as in rule 'number'" in str(conflict(index, "text", "x = 'a'"))
    index["number"] = "x is not null"
    index["text"] = "x = 'a'"
    assert index.match({"x": "a"}) == ["number", "text"]


def test_the_witness_may_be_deleted_or_replaced(engine: str) -> None:
    index = mw.Index(engine=engine)
    for rule_id in ("a", "b", "c"):
        index[rule_id] = f"x = {ord(rule_id)}"
    assert "as in rule 'a'" in str(conflict(index, "new", "x = 's'"))
    del index["a"]
    assert "as in rule 'b'" in str(conflict(index, "new", "x = 's'"))
    index["b"] = "y = 1"
    assert "as in rule 'c'" in str(conflict(index, "new", "x = 's'"))
    index["b"] = "x = 4"
    assert "as in rule '" in str(conflict(index, "new", "x = 's'"))
    del index["c"]
    assert "as in rule 'b'" in str(conflict(index, "new", "x = 's'"))
    index["b"] = "x = 's'"
    index["new"] = "x = 't'"
    assert index.match({"x": "t"}) == ["new"]
    assert "as in rule" in str(conflict(index, "late", "x = 1"))


def test_the_witness_is_a_rule_that_is_live(engine: str) -> None:
    """Random changes: whoever a conflict names compares the attribute with a number."""
    rng = random.Random(5)
    index = mw.Index(engine=engine)
    for _ in range(150):
        rule_id = rng.randrange(10)
        chance = rng.random()
        if chance < 0.4:
            index[rule_id] = rng.choice(("x = 1", "x > 2 or y = 1", "y = 3", "x is null"))
        elif chance < 0.6:
            index.pop(rule_id, None)
        elif chance < 0.7:
            index.insert_many(
                [(rng.randrange(10), rng.choice(("x = 1", "y = 3"))) for _ in range(3)], on_duplicate="replace"
            )
        users = [each for each, text in index.items() if "x =" in text or "x >" in text]
        if users and rng.random() < 0.5:
            told = str(conflict(index, 99, "x = 's'")).partition("as in rule ")[2].partition(" ")[0]
            assert int(told) in users
        elif not users:
            index[99] = "x = 's'"
            del index[99]


@pytest.mark.parametrize(
    "spelling",
    ["`odd name` = 1", '"odd name" = 1', '{"attr": "`odd\\u0020name`", "op": "=", "value": 1}'],
    ids=["backquotes", "quotes", "escaped"],
)
def test_the_witness_however_it_spells_the_name(spelling: str) -> None:
    index = mw.Index()
    index["filler"] = "y = 1"
    index["one"] = spelling
    index["two"] = spelling
    del index["one"]
    assert "as in rule 'two'" in str(conflict(index, "new", "`odd name` = 'a'"))


def test_many_conflicts_search_for_a_witness_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []
    real = explaining.find_witness
    monkeypatch.setattr("matchwood.insight.find_witness", lambda *args: searches.append(args) or real(*args))
    index = mw.Index()
    index.insert_many([("a", "x = 1"), ("b", "x = 2")])
    del index["a"]
    report = index.insert_many([(f"r{number}", f"x = 't{number}'") for number in range(500)], max_rejected=1.0)
    assert report.rejected.num_rows == 500
    assert all("rule 'b'" in error for error in report.rejected["error"].to_pylist())
    assert len(searches) == 1


def test_a_witness_that_waits_to_be_stored() -> None:
    index = mw.Index()
    report = index.insert_many(
        [("a", "x = 1"), ("b", "x = 2"), ("a", "y = 1"), ("c", "x = 's'")], on_duplicate="replace"
    )
    assert "as in rule 'b'" in report.rejected["error"].to_pylist()[0]


# ---------------------------------------------------------------------- declarations


@dataclass
class Named:
    """A type of Spark, as far as a schema looks at it."""

    spelling: str

    def simpleString(self) -> str:  # noqa: N802 - Spark's name
        return self.spelling


@dataclass
class Field:
    name: str
    dataType: Any  # noqa: N815 - Spark's name


@dataclass
class Struct:
    fields: list[Field] = field(default_factory=list)


@dataclass
class Array:
    elementType: Any  # noqa: N815 - Spark's name


SCHEMAS: dict[str, Any] = {
    "dict": {"age": "int", "city": "string", "tags": "array<string>", "seen": "timestamp", "geo.zip": "int"},
    "nested dict": {
        "age": "long",
        "city": "str",
        "tags": "list<string>",
        "seen": "timestamp",
        "geo": {"zip": "integer"},
    },
    "ddl": "age int, city string, tags array<string>, seen timestamp, geo struct<zip: bigint>",
    "arrow": pa.schema(
        {
            "age": pa.int32(),
            "city": pa.dictionary(pa.int8(), pa.string()),
            "tags": pa.list_(pa.string()),
            "seen": pa.timestamp("ms"),
            "geo": pa.struct({"zip": pa.int16()}),
        }
    ),
    "spark": Struct(
        [
            Field("age", Named("int")),
            Field("city", Named("string")),
            Field("tags", Array(Named("string"))),
            Field("seen", Named("timestamp")),
            Field("geo", Struct([Field("zip", Named("bigint"))])),
        ]
    ),
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schemas_of_every_kind(kind: str, engine: str) -> None:
    index = mw.Index(engine=engine, schema=SCHEMAS[kind])
    index["all"] = (
        "age >= 18 and city = 'Rome' and 'a' in tags and seen > timestamp '2026-01-01 00:00:00' and geo.zip = 5"
    )
    event = {"age": 20, "city": "Rome", "tags": ["a"], "seen": "2026-02-01T00:00:00", "geo": {"zip": 5}}
    assert index.match(event) == ["all"]
    assert "'age' must be int, as declared" in str(conflict(index, "bad", "age = 'x'"))
    assert "int, as declared" in str(conflict(index, "bad", "age in ('x', 'y')"))
    assert "as declared" in str(conflict(index, "bad", "city > 5"))
    index["free"] = "other = 1"
    with pytest.raises(mw.EventError, match="'age' must be int"):
        index.match({"age": 20.5})


@pytest.mark.parametrize("kind", SCHEMAS)
def test_strict_schemas(kind: str, engine: str) -> None:
    index = mw.Index(engine=engine, schema=SCHEMAS[kind], strict_schema=True)
    error = conflict(index, "bad", "aeg = 5 or age = 5")
    assert "'aeg' must be declared, as strict_schema asks; did you mean 'age'?" in str(error)
    conflict(index, "bad", "other is null")
    index["good"] = "age = 5"
    report = index.insert_many([("x", "other = 1"), ("y", "age = 6")])
    assert report.rejected["id"].to_pylist() == ["x"]
    assert index.match({"age": 6, "other": object()}) == ["y"]


def test_types_and_column_types() -> None:
    index = mw.Index(schema={"age": "int", "d": "date", "unused": "double"})
    index["a"] = (
        "score > 1 and name = 'x' and `a.b` = true and t.u > date '2026-01-01' and tags one of ('a') and z is null"
    )
    assert index.types() == {
        "age": "int",
        "d": "date",
        "unused": "double",
        "score": "number",
        "name": "string",
        "`a.b`": "bool",
        "t.u": "timestamp",
        "tags": "list<string>",
    }
    assert index.arrow_types() == {
        "age": pa.int64(),
        "d": pa.date32(),
        "unused": pa.float64(),
        "name": pa.string(),
        "a.b": pa.bool_(),
        "t.u": pa.timestamp("us"),
    }


def test_rules_in_any_order_give_the_same_types(engine: str) -> None:
    rules = [("a", "x = 1"), ("b", "x > 1.5"), ("c", "x is null"), ("d", "x between 1 and 2")]
    events = [{"x": value} for value in (1, 1.5, 2, 3.5, None, 2**60)]
    answers = set()
    for order in itertools.permutations(rules):
        index = mw.Index(engine=engine)
        for rule_id, text in order:
            index[rule_id] = text
        assert index.types() == {"x": "number"}
        answers.add(tuple(tuple(sorted(index.match(event))) for event in events))
    assert len(answers) == 1


def test_a_bad_pattern_is_pointed_at_in_the_rule() -> None:
    index = mw.Index()
    rule = "age > 5 and\n  name rlike '('"
    report = index.insert_many([("r", rule)])
    row = report.rejected.to_pylist()[0]
    assert (row["line"], row["column"]) == (2, rule.split("\n")[1].index("(") + 1)
    with pytest.raises(mw.ParseError) as caught:
        index["r"] = rule
    assert caught.value.text == rule


def test_a_bare_attribute_is_a_rule() -> None:
    index = mw.Index()
    index["vip"] = mw.attr("vip")
    assert index["vip"] == "vip = true"
    assert index.match({"vip": True}) == ["vip"]


def test_a_refused_replacement_names_another_rule_than_itself(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["one"] = "x = 1"
    index["two"] = "x = 2"
    assert "as in rule 'two'" in str(conflict(index, "one", "x = 's'"))
    assert "as in rule 'one'" in str(conflict(index, "two", "x = 's'"))
    report = index.insert_many([("one", "x = 's'")], on_duplicate="replace")
    assert "as in rule 'two'" in report.rejected["error"][0].as_py()


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("ts > '2026-01-01'", "'ts' must be timestamp, as declared .*; write timestamp '2026-01-01'"),
        ("ts > '2026-01-01 10:00:00'", "; write timestamp '2026-01-01 10:00:00'"),
        ("day = '2026-01-01'", "'day' must be date, as declared .*; write date '2026-01-01'"),
        ("age = '18'", "'age' must be number, as in rule 'first' .*; write 18 without quotes"),
        ("age = 'old'", r"age = 'old'\)$"),
    ],
)
def test_times_and_numbers_in_quotes(rule: str, told: str) -> None:
    index = mw.Index(schema={"ts": "timestamp", "day": "date"})
    index["first"] = "age = 1"
    with pytest.raises(mw.TypeConflict, match=told):
        index["second"] = rule
