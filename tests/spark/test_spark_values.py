"""Values of every Spark type against attributes of every type: what the embedded index says, or the same error."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pytest

import matchwood as mw
from matchwood import spark as mws
from matchwood.spark import NotVerified
from tests.conftest import SOAK
from tests.fuzz.values import COERCED, RULES

ROWS = 2_000 if SOAK else 12
COLUMNS: dict[str, tuple[str, Any]] = {
    "flag": ("boolean", lambda rng: rng.random() < 0.5),
    "tiny": ("tinyint", lambda rng: rng.randint(-128, 127)),
    "whole": ("bigint", lambda rng: rng.choice([0, 7, 2**63 - 1, rng.randint(-9, 9)])),
    "single": ("float", lambda rng: rng.choice([0.5, 7.0, float("nan")])),
    "real": ("double", lambda rng: rng.choice([0.5, 7.0, float("nan"), float("-inf")])),
    "price": ("decimal(10,2)", lambda rng: Decimal(rng.randint(-999, 999)).scaleb(-2)),
    "word": ("string", lambda rng: rng.choice(["7", " 7 ", "a", "true", "2026-01-31", "1e3", "nan", "1700000000"])),
    "day": ("date", lambda rng: datetime.date(2001, 1, 1) + datetime.timedelta(days=rng.randint(-99, 99))),
    "naive": ("timestamp_ntz", lambda rng: datetime.datetime(2001, 1, 1, rng.randint(0, 23))),
    "moment": ("timestamp", lambda rng: datetime.datetime(2001, 1, 1, rng.randint(0, 23))),
    "raw": ("binary", lambda rng: b"7"),
    "ints": ("array<int>", lambda rng: rng.choice([[], [7], [0, None]])),
    "words": ("array<string>", lambda rng: rng.choice([[], ["7"], ["a", None]])),
    "reals": ("array<double>", lambda rng: rng.choice([[], [7.0], [0.5]])),
    "shape": ("struct<a: int>", lambda rng: (rng.randint(0, 9),)),
    "named": ("map<string,int>", lambda rng: {"a": rng.randint(0, 9)}),
}


@pytest.fixture(scope="module")
def events(spark: Any) -> Any:
    rng = random.Random(18)
    rows = [(row, *(None if rng.random() < 0.1 else make(rng) for _, make in COLUMNS.values())) for row in range(ROWS)]
    schema = ", ".join(["id int", *(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())])
    return spark.createDataFrame(rows, schema).coalesce(2).cache()


@pytest.mark.long(5)
@pytest.mark.parametrize("kind", RULES)
def test_spark_says_what_the_index_says(spark: Any, events: Any, tmp_path: Any, kind: str) -> None:
    rng = random.Random(kind)
    nan, how = rng.choice([None, "value", "null"]), rng.choice([None, *COERCED.get(kind, [])])
    schema = None if kind in ("any", "number") else dict.fromkeys(COLUMNS, kind)
    index = mw.Index("scan", schema=schema, nan=nan, coerce=None if how is None else dict.fromkeys(COLUMNS, how))
    texts = [text.replace("x", name, 1) for name in COLUMNS for text in RULES[kind]]
    index.insert_many(enumerate(texts), on_error="raise")
    index.save(tmp_path / "index")
    found = mws.match(events, str(tmp_path / "index"), output="array", on_error="report").orderBy("id").collect()
    told = index.match_many(events.orderBy("id").toArrow(), on_error="report").to_pylist()
    expected: list[tuple[list[int], bool]] = [([], False) for _ in range(ROWS)]
    for row in told:
        hits, _ = expected[row["event"]]
        expected[row["event"]] = (hits + [row["rule"]] * (row["rule"] is not None), row["match_error"] is not None)
    assert [(row["rules"], row["match_error"] is not None) for row in found] == expected


@pytest.mark.long
@pytest.mark.parametrize("nan", ["value", "null"])
def test_spark_sql_agrees_on_what_the_index_reads(spark: Any, events: Any, tmp_path: Any, nan: str) -> None:
    """Every column as an attribute of every type, with and without conversion: `verify` reads them as `match` does."""
    columns, schema, coerce, rules = ["id"], {}, {}, []
    for kind, texts in RULES.items():
        for how in (None, *COERCED.get(kind, [])):
            for name in COLUMNS:
                attribute = f"{name}_{len(columns)}"
                columns.append(f"{name} AS {attribute}")
                schema.update({} if how or kind in ("any", "number") else {attribute: kind})
                coerce.update({attribute: how} if how else {})
                rules += [(len(rules) + place, text.replace("x", attribute, 1)) for place, text in enumerate(texts)]
    index, path = mw.Index("scan", schema=schema, nan=nan, coerce=coerce), str(tmp_path / "index")
    index.insert_many(rules, on_error="raise")
    index.save(path)
    wide, table = events.selectExpr(*columns), spark.createDataFrame(rules, "id int, expression string")
    hits = mws.match(wide, path, output="array", keep=["id"], on_error="null").collect()
    found = spark.createDataFrame([(row["id"], row["rules"]) for row in hits], "id int, rules array<int>")
    with pytest.warns(NotVerified, match="asks for text that the index reads as a list"):
        told = mws.verify(wide, table, found, key="id", rules_sample=len(rules), path=path).collect()
    texts = dict(rules)
    assert "\n".join(sorted({texts[row["rule"]] for row in told})) == ""
