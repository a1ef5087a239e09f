"""Binding predicates: plain comparisons, patterns that are none, derived attributes, times, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.encoding import Encoder, Schema
from matchwood.encoding.derived.keys import FALSE, TRUE, read_key
from matchwood.errors import LimitExceeded, ParseError, TypeConflict
from matchwood.language import parse
from matchwood.logic.cuts import EMPTY, FULL
from matchwood.logic.leaf import Bound


def bound(text: str, schema: Any = None, timezone: str = "UTC") -> Bound:
    return Encoder(Schema(schema), timezone).bind(parse(text))


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        ("s like 'abc'", (("abc", 0), ("abc\0", 0))),
        ("s like 'a\\%'", (("a%", 0), ("a%\0", 0))),
        ("s like 'a!_' escape '!'", (("a_", 0), ("a_\0", 0))),
        ("s like 'abc%'", (("abc", 0), ("abd", 0))),
        ("s not like 'abc%%'", ((), ("abc", 0), ("abd", 0))),
        ("s like 'a\ud7ff%'", (("a\ud7ff", 0), ("a\ue000", 0))),
        ("s like '\U0010ffff%'", (("\U0010ffff", 0),)),
        ("s like '%'", FULL),
        ("s ilike '%%'", FULL),
        ("s not like '%'", EMPTY),
        ("s like ''", ((), ("\0", 0))),
        ("s ilike ''", ((), ("\0", 0))),
        ("vip", ((1, 0),)),
        ("vip = false", ((), (1, 0))),
        ("vip in (true, false)", FULL),
    ],
)
def test_predicates_that_are_sets_of_values(text: str, cuts: Any) -> None:
    assert bound(text) == Bound(text.split()[0], cuts, None)


def test_null_tests() -> None:
    assert bound("x is null") == Bound("x", EMPTY, True)
    assert bound("x is not null") == Bound("x", FULL, False)


SAME = [
    ("s like '%a%_b'", "s like '%%a_%b'"),
    ("s like 'a!%_' escape '!'", "s like 'a\\%_'"),
    ("s ilike 'AbC%'", "s ilike 'aBc%'"),
    ("s ilike 'É_'", "s ilike 'é_'"),
    ("tags one of ('a', 'b', 'a')", "tags one of ('b', 'a')"),
    ("'a' in tags", "tags all of ('a')"),
    ("ids one of (3)", "3 in ids"),
]
DIFFERENT = [
    ("s like 'a_'", "s like 'a\\_'"),
    ("s like '%A'", "s like '%a'"),
    ("s like '_a%'", "s ilike '_a%'"),
    ("s like '_x'", "t like '_x'"),
    ("tags one of ('1')", "tags one of (1)"),
    ("tags one of ('a', 'b')", "tags all of ('a', 'b')"),
    ("tags one of ('a', 'b')", "tags one of ('a, b')"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_equal_tests_share_a_derived_attribute(left: str, right: str) -> None:
    assert bound(left) == bound(right)
    assert bound(left).cuts == TRUE


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different_tests_do_not(left: str, right: str) -> None:
    assert bound(left).attribute != bound(right).attribute


@pytest.mark.parametrize(
    ("text", "positive"),
    [
        ("s not like '_a'", "s like '_a'"),
        ("s not ilike 'a'", "s ilike 'A'"),
        ("s not rlike 'a+'", "s rlike 'a+'"),
        ("tags none of ('a', 'b')", "tags one of ('a', 'b')"),
        ("'a' not in tags", "'a' in tags"),
    ],
)
def test_negations_are_the_false_of_the_positive_test(text: str, positive: str) -> None:
    assert bound(text) == Bound(bound(positive).attribute, FALSE, None)


def test_keys_of_derived_attributes_say_what_they_test() -> None:
    test = read_key(bound("`a b`.c rlike 'x\\x00y'").attribute)
    assert (test.source, test.op, test.operand, test.kind) == ("a b.c", "rlike", "x\\x00y", "string")
    assert read_key(bound("ids one of (2, 1)").attribute).kind == "list<int>"
    assert read_key(bound("ids all of ('2', '1')").attribute).kind == "list<string>"


DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("text", "schema", "timezone", "cuts"),
    [
        ("t >= timestamp '1970-01-02 00:00:00'", None, "UTC", ((DAY, 0),)),
        ("t >= date '1970-01-02'", None, "Europe/Paris", ((DAY - 3_600_000_000, 0),)),
        ("t = date '1970-01-02'", "t timestamp", "UTC", ((DAY, 0), (DAY + 1, 0))),
        ("d = date '1970-01-02'", "d date", "Asia/Tokyo", ((1, 0), (2, 0))),
        ("d >= timestamp '1970-01-02 00:00:00'", "d date", "UTC", ((1, 0),)),
        ("d > timestamp '1970-01-02 00:00:00'", "d date", "UTC", ((2, 0),)),
        ("d > timestamp '1970-01-02 00:00:01'", "d date", "UTC", ((2, 0),)),
        ("d < timestamp '1970-01-02 00:00:01'", "d date", "UTC", ((), (2, 0))),
        ("d = timestamp '1970-01-02 00:00:01'", "d date", "UTC", EMPTY),
        ("d = timestamp '1970-01-02 00:00:00'", "d date", "America/New_York", ((1, 0), (2, 0))),
        ("d >= timestamp '1970-01-01 05:00:00+00:00'", "d date", "America/New_York", ((0, 0),)),
        ("d >= timestamp '1970-01-01 05:00:01+00:00'", "d date", "America/New_York", ((1, 0),)),
    ],
)
def test_times(text: str, schema: Any, timezone: str, cuts: Any) -> None:
    assert bound(text, schema, timezone).cuts == cuts


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            "a\\b",
            "found '\\\\b', expected %, _ or \\ after the escape character (write \\\\ for the",
        ),
        ("a\\", "found '\\\\', expected %, _ or \\ after the escape character"),
    ],
)
def test_escapes_before_ordinary_characters_are_refused(pattern: str, message: str) -> None:
    for op in ("like", "not ilike"):
        with pytest.raises(ParseError) as caught:
            bound(f"s {op} '{pattern}'")
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("s like 'a\\b'", 10),
        ("s not ilike 'it''s!x%' escape '!'", 19),
        ("`a b` rlike '('", 14),
    ],
)
def test_errors_in_patterns_show_the_predicate(text: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        bound(text)
    assert (caught.value.text, caught.value.line, caught.value.column) == (text, 1, column)


def test_very_long_patterns_are_refused() -> None:
    with pytest.raises(LimitExceeded, match="at most 10,000 characters"):
        bound(f"s like '%{'a' * 10_000}'")


@pytest.mark.parametrize("pattern", ["(", "a**", "[z-a]", "(?=a)", "\\1", "a{1001}", "(?<!a)b"])
def test_what_is_not_re2_is_refused(pattern: str) -> None:
    with pytest.raises(ParseError, match="expected a regular expression of RE2"):
        bound(f"s rlike '{pattern}'")


def test_bind_checks_declarations_even_alone() -> None:
    with pytest.raises(TypeConflict):
        bound("s > 1", "s string")


def test_a_declared_int_is_compared_exactly() -> None:
    assert bound("i = 1.5", "i int") == Bound("i", (), None)
    assert bound("i > 1.5", "i int") == bound("i >= 2", "i int")
    assert bound("i in (1, 1.5)", "i int") == bound("i = 1", "i int")
