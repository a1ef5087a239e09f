"""Rules as Spark SQL: Spark's evaluator agrees with the oracle on thousands of generated pairs, NULLs included."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sql_support import disagreements, nested_event, plain_event, spark_verdicts

from matchwood.language import parse
from matchwood.semantics.evaluation import evaluate
from matchwood.spark.match.event_columns import attribute_columns, columns_of
from matchwood.spark.sql import values as sql_values
from matchwood.spark.sql.java_regex import java_regex
from matchwood.spark.sql.text import Slot, sql_text
from matchwood.spark.sql.values import Untranslatable
from tests.cases import PAIRS, Workload, workloads
from tests.pools import REGEXES, STRINGS


def test_agreement_on_seeded_cases(spark: Any) -> None:
    """6,000 pairs, every operator × type among them; at least 30% TRUE, 15% NULL."""
    cover: Counter[tuple[str, str]] = Counter()
    seen: Counter[bool | None] = Counter()
    for work in workloads(seed=22, count=3, rules=50, events=40):
        assert disagreements(spark, work) == []
        cover.update(work.cover())
        events = [nested_event(plain_event(event, work)) for event in work.events]
        seen.update(evaluate(rule, event) for event in events[:10] for rule in work.rules)
    assert [pair for pair in PAIRS if cover[pair] < 20] == []
    assert seen[True] >= 0.30 * seen.total()
    assert seen[None] >= 0.15 * seen.total()


@pytest.mark.long
def test_agreement_when_spark_compiles(spark: Any) -> None:
    for work in workloads(seed=22, count=1, rules=12, events=60):
        assert disagreements(spark, work, compiled=True) == []


@pytest.mark.long
def test_agreement_in_another_zone(spark: Any) -> None:
    times = {"born": "date", "seen_at": "timestamp", "vip": "bool"}
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        for work in workloads(seed=23, count=1, rules=40, events=40, attributes=times):
            assert disagreements(spark, work, "America/New_York") == []
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_a_planted_bug_is_found(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_values, "exact_value", lambda value, kind: value if kind != "int" else int(value))
    numbers = {"age": "int", "vip": "bool"}
    work = Workload([parse("age < 1.5"), parse("age <= 1")], [{"age": 1}, {"age": 2}, {"age": None}], numbers)
    assert disagreements(spark, work) != []


BY_HAND = [
    *("x = 9007199254740993", "x > 9007199254740992.0", "x < 9223372036854775808", "x >= 1.5", "x between 2 and 1"),
    *("x in (1, 2.5)", "x not in (1, 2.5)", "x between 0.5 and 2.5", "x > cast('NaN' as double)"),
    *("d = 9007199254740993", "d > 9007199254740992", "d = cast('NaN' as double)", "d >= cast('Infinity' as double)"),
    *("d = 0", "d not in (0.0, 1)", "d in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)", "f = 0.1", "f > 0.1"),
    *("tags none of ('a')", "tags all of ('a', 'b')", "'a' in tags", "'a' not in tags", "tags one of ('b')"),
    *("n one of (1, 10000000000000000000000)", "m.k = 'v'", "m.k is null", "m.other is null", "m.`a.b` = 'dotted'"),
    *("X = 1", "X is null", "s.B = 1", "s.b = 2", "t > date '2026-01-01'", "ntz >= timestamp '2026-01-01 00:00:00'"),
    *("iso > timestamp '2026-01-01 00:00:00'", "nothing = 1", "nothing is null", "(nothing = 1) is unknown"),
    *("b < true", "b", "not b xor x = 1", "b xnor x = 1", "true", "false and x = 1", "iso like '2026%'"),
    *(r"iso rlike '\d{4}-\d\d'", "iso = 'it''s'", r"iso = 'a\b'"),
]


def test_agreement_by_hand(spark: Any) -> None:
    """Types and places that generated workloads do not have: float32, structs and maps, names that differ in case."""
    zoned = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    rows = [
        (2**53, 0.0, 0.1, True, ["a", None], [1], {"k": "v"}, 1, {"b": 2, "B": 1}, zoned, zoned, "2026-01-01T00:00:01"),
        (
            2**53 + 1,
            -0.0,
            None,
            False,
            ["a", "b"],
            [],
            {},
            None,
            {"b": 1, "B": 2},
            None,
            zoned,
            "2026-01-01 12:00:00+14:00",
        ),
        (1, float("nan"), 0.5, None, [None], None, {"a.b": "dotted"}, 2, None, zoned, None, "it's"),
        (2, 2.0**53, -0.0, True, None, [None, 1], None, 1, {"b": None, "B": 1}, zoned, zoned, "a\\b"),
        (None, float("inf"), 1.5, False, [], [2], {"k": None}, None, None, None, None, None),
    ]
    types = [
        pa.int64(), pa.float64(), pa.float32(), pa.bool_(), pa.list_(pa.string()), pa.list_(pa.int32()),
        pa.map_(pa.string(), pa.string()), pa.int16(), pa.struct([("b", pa.int64()), ("B", pa.int64())]),
        pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.string(),
    ]  # fmt: skip
    names = ["x", "d", "f", "b", "tags", "n", "m", "X", "s", "t", "ntz", "iso"]
    columns = [[row[number] for row in rows] for number in range(len(names))]
    columns[10] = [value and value.replace(tzinfo=None) for value in columns[10]]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)]
    table = pa.table([pa.array(range(len(rows))), *arrays], names=["event_id", *names])
    work = Workload(list(map(parse, BY_HAND)), [])
    events = table.drop_columns("event_id").to_pylist(maps_as_pydicts="lossy")
    for event, theirs in zip(events, spark_verdicts(spark.createDataFrame(table), work), strict=True):
        for rule, their in zip(work.rules, theirs, strict=True):
            if "iso" in str(rule) and "timestamp" in str(rule) and "2026" not in str(event["iso"]):
                assert their is None
                continue
            assert their is evaluate(rule, event), f"{rule} of {event}"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("age = 'x'", "compares string with a column of type int"),
        ("price > 1", "compares number with a column of type decimal"),
        ("age one of (1)", "compares list<int> with a column of type int"),
        (r"country rlike '\C'", "one byte"),
        ("not " * 100 + "age = 1", "more than 60 levels deep"),
        (" xor ".join(["age = 1"] * 100), "more than 60 levels deep"),
    ],
)
def test_what_has_no_form_is_told(rule: str, reason: str) -> None:
    slots = {
        "age": Slot("a0", "int"),
        "price": Slot("a1", "other", "decimal(5,2)"),
        "country": Slot("a2", "string"),
    }
    with pytest.raises(Untranslatable, match=re.escape(reason)):
        sql_text(parse(rule), slots)


def test_an_attribute_in_two_places_is_refused(spark: Any) -> None:
    both = spark.range(1).selectExpr("named_struct('b', 1) AS a", "1 AS `a.b`")
    slots = attribute_columns(both.schema, ["a.b"])[1]
    with pytest.raises(Untranslatable, match="two columns"):
        sql_text(parse("a.b = 1"), slots)
    assert columns_of(both.schema, ["a.b", "z"]) == ["a", "a.b"]


MORE_REGEXES = [
    *(r"(?i)straße", r"(?i)[k-l]", r"\s", r"[[:space:]]", r"[^[:alpha:]]", r"\v", r"a\b", r"\Bb", r"(?m)^b", r"(?m)a$"),
    *(
        r"(?m)^$",
        r"a{,2}",
        r"[a&&b]",
        r"[\]a-]",
        r"\Qa.b\E",
        r"(?P<name>a)(b)?",
        r"(?s).",
        r"\x{1F600}",
        r"\x41",
        r"\101",
    ),
    *(
        r"\p{Greek}",
        r"\P{Lu}",
        r"[\p{Han}a]",
        r"(?i:a)b",
        r"(?i)a(?-i)b",
        r"(?U)a+?",
        r"a|",
        r"^",
        r"$",
        r"\z",
        r"[^\x00-\x{10FFFF}]",
    ),
    *(r"(?i)ǆ", r"(?i)İ", r"(?i)ı", r"(?i)σ", "(?i)\u212a", r"[^a]", r"(a|b)*c", r"\pN+"),
]
TEXTS = [
    *STRINGS,
    "a.b",
    "aAbB",
    "a\n",
    "a\nb",
    "\n",
    "a\r\n",
    "\u2028",
    "\x0b",
    "\u00a0",
    "a{,2}",
    "5",
    "٣",
    "ΑΒΓ",
    "漢",
    "ſ",
    "A B",
    "&",
]


def test_regular_expressions_find_what_re2_finds(spark: Any) -> None:
    """Every pattern on every text, against RE2 itself."""
    from pyspark.sql import functions as sf

    patterns = [*REGEXES, *MORE_REGEXES]
    literals = [sf.rlike(sf.col("text"), sf.expr(sql_values.text_literal(java_regex(each)))) for each in patterns]
    frame = spark.createDataFrame([(text,) for text in TEXTS], "text string")
    theirs = {row["text"]: row["found"] for row in frame.select("text", sf.array(*literals).alias("found")).collect()}
    wrong = [
        (pattern, text)
        for number, pattern in enumerate(patterns)
        for text, ours in zip(TEXTS, pc.match_substring_regex(pa.array(TEXTS), pattern).to_pylist(), strict=True)
        if theirs[text][number] is not ours
    ]
    assert wrong == []
