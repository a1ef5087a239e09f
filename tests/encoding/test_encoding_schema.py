"""Inference: the join over live rules, whatever their order; and the messages of contradictions."""

from __future__ import annotations

import itertools

import pytest

from matchwood.encoding import Schema
from matchwood.encoding.schema.requirements import requirement
from matchwood.errors import TypeConflict
from matchwood.language import parse


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x = 1", "number"),
        ("x in (1, 2.5)", "number"),
        ("x between 'a' and 'b'", "string"),
        ("x", "bool"),
        ("x in (true, false)", "bool"),
        ("x < date '2026-01-01'", "timestamp"),
        ("x in (date '2026-01-01', timestamp '2026-01-01 10:00:00')", "timestamp"),
        ("x like 'a%'", "string"),
        ("x rlike 'a'", "string"),
        ("x one of (1, 2)", "list<int>"),
        ("'a' in x", "list<string>"),
        ("x is null", "any"),
    ],
)
def test_requirements(text: str, kind: str) -> None:
    assert requirement(parse(text)) == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x in (1, 'a')",
            "rule: 'x' must be compared with constants of one type (got both number and string: x in (1, 'a'))",
        ),
        ("x between 1 and 'b'", "rule: 'x' must be compared with constants of one type"),
        ("x one of (1.5, 2)", "rule: 'x' must be tested for integers or strings, the elements that lists have"),
        ("true in x", "(got a test of a list for bool: true in x)"),
        ("x all of (1, 'a')", "(got both number and string: x all of (1, 'a'))"),
    ],
)
def test_predicates_that_contradict_themselves(text: str, message: str) -> None:
    with pytest.raises(TypeConflict) as caught:
        requirement(parse(text))
    assert message in str(caught.value)


RULES = {
    "null": "x is null",
    "number": "x > 5 and y = 'a'",
    "other": "x in (1, 2) or z is not null",
    "string": "y like 'a%'",
}


def test_the_kind_is_the_join_over_live_rules_in_every_order() -> None:
    for order in itertools.permutations(RULES):
        schema, uses = Schema(), {}
        for name in order:
            uses[name] = schema.check(parse(RULES[name]), name)
            schema.add(uses[name], name)
        assert [schema.kind(name) for name in "xyz"] == ["number", "string", "any"]
        for gone in itertools.permutations(("number", "other")):
            for name in gone:
                schema.remove(uses[name], name)
            assert [schema.kind(name) for name in "xyz"] == ["any", "string", "any"]
            schema.check(parse("x = 'now a string'"), "new")
            for name in gone:
                schema.add(uses[name], name)


def test_contradictions_are_found_in_every_order() -> None:
    texts = {"a": "x = 1", "b": "x = 'one'", "c": "x is null"}
    for order in itertools.permutations(texts):
        schema, refused = Schema(), []
        for name in order:
            try:
                schema.add(schema.check(parse(texts[name]), name), name)
            except TypeConflict:
                refused.append(name)
        assert refused == ["b" if order.index("a") < order.index("b") else "a"]


def conflict(schema: Schema, text: str, rule_id: object = "new") -> str:
    with pytest.raises(TypeConflict) as caught:
        schema.check(parse(text), rule_id)
    return str(caught.value)


def test_messages_name_both_rules() -> None:
    schema = Schema()
    schema.add(schema.check(parse("x = 1"), "old"), "old")
    expected = "rule 'new': 'x' must be number, as in rule 'old' (got a comparison with a string: x = 'a')"
    assert conflict(schema, "x = 'a'") == expected
    assert conflict(schema, "x like 'a%'", 7).startswith(
        "rule 7: 'x' must be number, as in rule 'old' (got a text pattern"
    )
    schema.remove([("x", "number")], "old")
    schema.add([("x", "number")])
    assert "as in another rule" in conflict(schema, "x = 'a'")
    schema.find_witness = lambda attribute, kind, passed_over: f"{attribute}/{kind}"
    assert "as in rule 'x/number'" in conflict(schema, "x = 'a'")


def test_messages_within_one_rule() -> None:
    expected = "rule 'new': 'x' must be number, as earlier in the rule (got a comparison with a string: x = 'a')"
    assert conflict(Schema(), "x = 1 and x = 'a'") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i = '1'", "'i' must be int, as declared (got a comparison with a string: i = '1'; write 1 without quotes)"),
        ("d = true", "'d' must be double, as declared (got a comparison with a bool: d = true)"),
        ("s > 1", "'s' must be string, as declared (got a comparison with a number: s > 1)"),
        ("s one of ('a')", "'s' must be string, as declared (got a test of a list's strings: s one of ('a'))"),
        ("l = 'a'", "'l' must be list<string>, as declared (got a comparison with a string: l = 'a')"),
        ("l one of (1)", "'l' must be list<string>, as declared (got a test of a list's integers: l one of (1))"),
        (
            "t = '2026-01-01'",
            "'t' must be timestamp, as declared (got a comparison with a string: t = '2026-01-01'; write t",
        ),
        ("m.key = 'a'", "'m.key' must be int, as declared (got a comparison with a string: m.key = 'a')"),
        ("m = 1", "'m' must be one field of it, such as m.key (got a struct or map as a whole: m = 1)"),
    ],
)
def test_messages_of_declarations(text: str, message: str) -> None:
    schema = Schema("i int, d double, s string, l array<string>, t timestamp, m map<string, int>")
    assert conflict(schema, text).startswith(f"rule 'new': {message}")


@pytest.mark.parametrize(
    "text",
    [
        "i = 1e3", "i < 99999999999999999999999", "d = 9007199254740993", "t < date '2026-01-01'",
        "day >= timestamp '2026-01-01 10:00:00'", "l is null and i is not null", "m.key = 3", "free = 1.5",
        "i = 1.5", "i in (1, 2.5)", "i < cast('NaN' as double)",
    ],
)  # fmt: skip
def test_what_declarations_allow(text: str) -> None:
    schema = Schema("i int, d double, l array<string>, t timestamp, day date, m map<string, int>")
    assert schema.check(parse(text), "r")


def test_strict_schema_names_near_misses() -> None:
    schema = Schema({"age": "int", "country": "string"}, strict=True)
    expected = (
        "rule 'new': 'agee' must be declared, as strict_schema asks; did you mean 'age'? (got an attribute that is not)"
    )
    assert conflict(schema, "agee > 5") == expected
    assert "'zzz' must be declared, as strict_schema asks (got" in conflict(schema, "zzz is null")
    assert schema.check(parse("age > 5"), "r") == [("age", "number")]


def test_uses_count_each_attribute_once() -> None:
    text = "x is null or x = 1 or x > 5 or y is null or z = 'a' and x in (7)"
    schema = Schema()
    assert schema.check(parse(text)) == [("x", "number"), ("y", "any"), ("z", "string")]
    assert schema.requirements(parse(text)) == schema.check(parse(text))


def test_a_replaced_rule_no_longer_counts() -> None:
    schema = Schema()
    old = schema.check(parse("x = 1"), "r")
    schema.add(old, "r")
    assert schema.check(parse("x = 'a'"), "r", replaced=old) == [("x", "string")]
    schema.add(old, "other")
    with pytest.raises(TypeConflict):
        schema.check(parse("x = 'a'"), "r", replaced=old)


def test_the_version_grows_only_when_a_kind_changes() -> None:
    schema = Schema()
    schema.add([("x", "any")])
    assert schema.version == 0
    schema.add([("x", "number")])
    schema.add([("x", "number")])
    assert schema.version == 1
    schema.remove([("x", "number")])
    assert schema.version == 1
    schema.remove([("x", "number")])
    assert schema.version == 2


def test_saved_counts_come_back() -> None:
    schema, other = Schema(), Schema()
    schema.add([("x", "number"), ("y", "any")])
    schema.add([("x", "number")])
    other.restore(schema.counts())
    assert other.counts() == {("x", "number"): 2, ("y", "any"): 1}
    assert other.kind("x") == "number"
    assert other.types() == {"x": "number"}
