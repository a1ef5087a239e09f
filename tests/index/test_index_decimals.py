"""Decimals are exact numbers beside integers and doubles, on every way in; a declared int is compared with anything."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.encoding import numbers_of
from tests.conftest import SOAK
from tests.contract.engines import ENGINES

PRICES = [Decimal(text) for text in ("10.00", "10.05", "10.10", "10.25", "-3.10", "0.00", "99999999.99")]


def hits(index: mw.Index, events: Any) -> list[list[str]]:
    found = index.match_many(events)
    rows: list[list[str]] = [[] for _ in range(len(PRICES))]
    for event, rule in zip(found["event"].to_pylist(), found["rule"].to_pylist(), strict=True):
        rows[event].append(rule)
    return rows


WAYS: dict[str, Callable[[list[Decimal]], Any]] = {
    "dicts": lambda values: [{"price": value} for value in values],
    "decimal32": lambda values: pa.table({"price": pa.array([v for v in values if v < 10**6], pa.decimal32(8, 2))}),
    "decimal64": lambda values: pa.table({"price": pa.array(values, pa.decimal64(10, 2))}),
    "decimal128": lambda values: pa.table({"price": pa.array(values, pa.decimal128(10, 2))}),
    "wide": lambda values: pa.table({"price": pa.array(values, pa.decimal128(38, 18))}),
    "decimal256": lambda values: pa.table({"price": pa.array(values, pa.decimal256(60, 30))}),
    "dictionary": lambda values: pa.table({"price": pa.array(values, pa.decimal128(10, 2)).dictionary_encode()}),
    "pandas": lambda values: pd.DataFrame({"price": pd.Series(values, dtype=object)}),
    "duckdb": lambda values: duckdb.sql(
        f"SELECT unnest([{', '.join(map(str, values))}])::DECIMAL(10, 2) AS price"
    ).to_arrow_table(),
    "doubles": lambda values: [{"price": float(value)} for value in values],
    "columns of doubles": lambda values: pa.table({"price": pa.array([float(value) for value in values])}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_price_is_what_it_says(way: str) -> None:
    """A decimal and the double that is nearest to it are equal to the same constants."""
    index = mw.Index()
    index.insert_many(
        {
            "positive": "price > 0",
            "is": "price = 10.05",
            "above": "price > 10.05",
            "range": "price between 10.1 and 10.25",
        }
    )
    expected: list[list[str]] = [
        ["positive"],
        ["positive", "is"],
        ["positive", "above", "range"],
        ["positive", "above", "range"],
        [],
        [],
        ["positive", "above"],
    ]
    if way == "decimal32":
        expected[-1] = []
    assert hits(index, WAYS[way](PRICES)) == expected


def test_one_event() -> None:
    index = mw.Index(schema={"price": "decimal(10,2)"})
    index["r"] = mw.attr("price") == Decimal("19.99")
    assert index.match({"price": Decimal("19.99")}) == index.match({"price": 19.99}) == ["r"]
    assert index.match({"price": Decimal("19.990000000000000001")}) == []
    assert str(index.explain({"price": Decimal("19.99")}, "r").verdict) == "True"
    assert index.top({"price": Decimal("19.99")}) == [("r", 1.0)]


def random_numbers(rng: random.Random, count: int) -> list[Any]:
    """Near each other at many scales: decimals of up to 40 digits, doubles and integers."""
    seeds = [0.1, 10.05, 1.0, 2.0**53, -0.3, 1e-5, 2.0**62, 123456.789]
    made: list[Any] = []
    for _ in range(count):
        near = Decimal(repr(rng.choice(seeds)))
        shift = Decimal(rng.randint(-20, 20)).scaleb(-rng.choice((0, 1, 2, 15, 17, 18, 20, 25)))
        value = near + shift
        kind = rng.choice(("decimal", "decimal", "double", "int"))
        made.append(value if kind == "decimal" else float(value) if kind == "double" else int(value))
    return made


def random_rules(rng: random.Random, count: int) -> dict[str, str]:
    rules = {}
    for number in range(count):
        low, high = sorted(random_numbers(rng, 2))
        told = [f"{each:f}" if isinstance(each, Decimal) else repr(each) for each in (low, high)]
        test = rng.choice(("= {}", "!= {}", "< {}", "<= {}", "> {}", ">= {}", "in ({}, {})", "between {} and {}"))
        rules[f"r{number}"] = "x " + test.format(*told)
    return rules


def table_hits(index: mw.Index, events: Any) -> list[tuple[int, str]]:
    found = index.match_many(events)
    return list(zip(found["event"].to_pylist(), found["rule"].to_pylist(), strict=True))


@pytest.mark.parametrize("spaces", ["sorted", "pstree"])
@pytest.mark.parametrize("seed", range(3 if SOAK else 1))
def test_random_numbers_on_every_way_in_are_the_oracles(seed: int, spaces: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    rules, values = random_rules(rng, 300), random_numbers(rng, 400 if SOAK else 100)
    events = [{"x": value} for value in values]
    oracle, index = mw.Index(engine="oracle"), mw.Index(engine="counting", options={"spaces": spaces})
    oracle.insert_many(rules)
    index.insert_many(dict(list(rules.items())[:200]))
    for rule_id, text in list(rules.items())[200:]:
        index[rule_id] = text
    expected = table_hits(oracle, events)
    assert table_hits(index, events) == expected
    assert [(row, rule) for row, event in enumerate(events) for rule in index.match(event)] == expected
    assert table_hits(index, pd.DataFrame({"x": pd.Series(values, dtype=object)})) == expected
    decimals = [Decimal(value) if isinstance(value, int | Decimal) else None for value in values]
    for kind in (pa.decimal128(38, 18), pa.decimal256(76, 40)):
        fitting = [
            value if value is not None and -value.as_tuple().exponent <= kind.scale else None for value in decimals
        ]
        rows = {row for row, value in enumerate(fitting) if value is not None}
        column = pa.table({"x": pa.array(fitting, kind)})
        assert table_hits(index, column) == [(row, rule) for row, rule in expected if row in rows]
    index.save(tmp_path / "index")
    again = mw.open(tmp_path / "index")
    assert table_hits(again, events) == expected
    for rule_id in list(rules)[::2]:
        del again[rule_id]
    assert again.audit() == []
    assert table_hits(again, events) == [pair for pair in expected if pair[1] in again]


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_engine(engine: str) -> None:
    rng = random.Random(9)
    rules, events = random_rules(rng, 60), [{"x": value} for value in random_numbers(rng, 60)]
    oracle, index = mw.Index(engine="oracle"), mw.Index(engine=engine)
    oracle.insert_many(rules)
    index.insert_many(rules)
    assert table_hits(index, events) == table_hits(oracle, events)
    for event in events[:10]:
        assert index.top(event, n=5) == oracle.top(event, n=5)


@pytest.mark.parametrize("engine", ["oracle", "auto", "kindex", "betree", "atree"])
def test_a_declared_int_is_compared_with_anything(engine: str) -> None:
    index = mw.Index(engine=engine, schema={"x": "int"})
    index.insert_many(
        {
            "above": "x > 1.5",
            "never": "x = 1.5",
            "in": "x in (1, 1.5)",
            "not": "x != 1.5",
            "range": "x between 0.5 and 2.000000000000000000001",
            "nan": "x < cast('NaN' as double)",
        }
    )
    assert [index.match({"x": value}) for value in (0, 1, 2, 3, None)] == [
        ["not", "nan"],
        ["in", "not", "range", "nan"],
        ["above", "not", "range", "nan"],
        ["above", "not", "nan"],
        [],
    ]
    assert [rule for rule, _ in index.top({"x": 2})] == ["above", "range", "nan", "not"]
    found = index.find("x >= 2", semantics="exact")
    assert found == ["above"]
    assert index.find("x = 1.0", semantics="exact") == ["in"]


def test_lint_knows_ints_and_decimals() -> None:
    index = mw.Index(schema={"i": "int"})
    index.insert_many(
        {
            "never": "i = 1.5",
            "two": "i > 1.5",
            "same": "i >= 2",
            "gap": "x > 10.05 and x < 10.0500000000000001",
            "none": "x > 10.05 and x < 10.05000",
        }
    )
    told = index.lint().to_pylist()
    assert {(row["id"], row["problem"]) for row in told} >= {
        ("never", "never"),
        ("none", "never"),
        ("same", "duplicate"),
    }
    assert ("gap", "never") not in {(row["id"], row["problem"]) for row in told}


def test_weights_by_decimal_values() -> None:
    index = mw.Index()
    index.insert_many([("r", "x > 0", {"weights": {"x": {"10.05": 4.0, "0.12345678901234567891": 3.0}}})])
    values = (Decimal("10.05"), 10.05, Decimal("0.12345678901234567891"), 0.12345678901234567891, 1)
    assert [index.top({"x": value})[0][1] for value in values] == [4.0, 4.0, 3.0, 3.0, 1.0]
    with pytest.raises(mw.MatchwoodError, match="the same value to a double"):
        index.insert_many(
            [("s", "x > 0", {"weights": {"x": {"0.12345678901234567891": 1.0, "0.12345678901234567892": 2.0}}})],
            on_error="raise",
        )


def test_what_numbers_are_not() -> None:
    index = mw.Index()
    index["r"] = "x > 0.5"
    for value in (Decimal("sNaN"), "0.7", True):
        with pytest.raises(mw.EventError, match="'x' must be number"):
            index.match({"x": value})
    assert index.match({"x": Decimal("NaN")}) == index.match({"x": Decimal("Infinity")}) == ["r"]
    assert index.match({"x": np.float32(0.75)}) == ["r"]


FINE = ["10.05", "10.0500000000000000001", "10.0499999999999999999", "1e400", "-1e-400", "10.050", "nan", "1005e-2"]
SAID = [["is"], ["above", "near"], ["below"], ["above"], ["below"], ["is"], ["above"], ["is"]]


@pytest.mark.parametrize("engine", ["counting", "oracle"])
def test_numbers_in_text_are_exact(engine: str) -> None:
    """All digits count, in the text and in the constant, and so in every column that the text stands in."""
    index = mw.Index(engine, coerce={"price": "double"})
    index["is"], index["above"], index["below"] = "price = 10.05", "price > 10.05", "price < 10.05"
    index["near"] = "price = 10.0500000000000000001"
    for start, stop in ((0, 8), (0, 1), (3, 8)):
        table = pa.table({"price": FINE[start:stop]})
        for events in (table, table.to_pylist()):
            found: list[list[str]] = [[] for _ in range(start, stop)]
            for row in index.match_many(events).to_pylist():
                found[row["event"]].append(row["rule"])
            assert found == SAID[start:stop]
    assert [index.match({"price": text}) for text in FINE] == SAID


def test_columns_of_decimals_in_text_stay_columns() -> None:
    assert numbers_of(pa.array(["1.5", None, "-20.25", "3", "+.5", "5."])).type == pa.decimal128(5, 2)
    assert numbers_of(pa.array(["0.5", "9007199254740993"])).to_pylist() == [Decimal("0.5"), 2**53 + 1]
    assert numbers_of(pa.array(["1.5", "1" * 40])) == [Decimal("1.5"), int("1" * 40)]
    assert numbers_of(pa.array(["1.5e-3", "1e23"])) == [Decimal("0.0015"), 1e23]
