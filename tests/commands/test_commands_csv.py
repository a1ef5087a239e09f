"""Cells of CSV files as values: by the types of the rules, never by a guess."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from matchwood.commands.files.csv_values import typed
from matchwood.errors import EventError


def _column(kind: str, cells: list[str | None], separator: str | None = None) -> list[Any]:
    batch = typed(pa.record_batch({"x": pa.array(cells, pa.string())}), {"x": kind}, separator)
    return [row["x"] for row in (batch if isinstance(batch, list) else batch.to_pylist())]


@pytest.mark.parametrize(
    ("kind", "cells", "expected"),
    [
        ("number", ["1", "-20", None, " 3 ", "+4", ""], [1, -20, None, 3, 4, None]),
        ("number", ["1", "2.5", ".5", "5."], [Decimal(1), Decimal("2.5"), Decimal("0.5"), Decimal(5)]),
        ("number", ["1", "2.5", "1e3", "1e300"], [1, Decimal("2.5"), Decimal(1000), 1e300]),
        ("number", [], []),
        ("number", [None, None], [None, None]),
        ("int", ["9223372036854775807"], [2**63 - 1]),
        ("double", ["inf", "-Infinity"], [float("inf"), float("-inf")]),
        ("bool", ["true", "FALSE", "1", "0", "", None], [True, False, True, False, None, None]),
        ("string", ["1", "NA", "null", "", None, " a "], ["1", "NA", "null", "", None, " a "]),
        ("any", ["1", None], ["1", None]),
        ("timestamp", ["2026-01-01", " 2026-01-01T10:00:00Z", ""], ["2026-01-01", "2026-01-01T10:00:00Z", None]),
        ("list<string>", ['["a", null]', "[]", "", None], [["a", None], [], None, None]),
        ("list<int>", ["[1, 2]", "[3]"], [[1, 2], [3]]),
    ],
)
def test_cells_become_values(kind: str, cells: list[str | None], expected: list[Any]) -> None:
    found = _column(kind, cells)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_nan_is_a_number() -> None:
    assert [value != value for value in _column("number", ["nan", "NaN"])] == [True, True]


def test_numbers_lose_nothing() -> None:
    large = [str(2**53 + 1), "0.5", str(2**70 + 1), None]
    assert _column("number", large) == [2**53 + 1, 0.5, 2**70 + 1, None]
    assert _column("number", ["1e400", "5"]) == [Decimal("1E+400"), 5]


def test_lists_with_a_separator() -> None:
    assert _column("list<string>", ["a|b", "c", "", None], "|") == [["a", "b"], ["c"], [], None]
    assert _column("list<int>", ["1;2", "3"], ";") == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("kind", "cell", "separator", "expected"),
    [
        ("number", "abc", None, "a number"),
        ("number", "0x1F", None, "a number"),
        ("number", "1,5", None, "a number"),
        ("bool", "yes", None, "true or false"),
        ("list<string>", "a|b", None, "--list-separator"),
        ("list<string>", "[1]", None, "JSON array"),
        ("list<int>", "[true]", None, "JSON array"),
        ("list<int>", '{"a": 1}', None, "JSON array"),
        ("list<int>", "1|x", "|", "separated by '|'"),
    ],
)
def test_cells_that_do_not_fit(kind: str, cell: str, separator: str | None, expected: str) -> None:
    good = {"number": "1", "bool": "true", "list<string>": "[]", "list<int>": "[]" if separator is None else "1"}[kind]
    with pytest.raises(EventError) as raised:
        _column(kind, [good, cell, cell], separator)
    assert raised.value.where == "event 1"
    assert raised.value.got == repr(cell)
    assert expected in raised.value.expected


def test_digits_are_text_where_rules_compare_text(folder: Path, run: Any) -> None:
    Path("r.csv").write_text(
        "id,expression\nzip,zip = '00123'\nyear,year = 123\nflag,flag\nday,day < date '2026-01-02'\n"
    )
    run("build", "r.csv", "index")
    Path("e.csv").write_text("zip,year,flag,day\n00123,00123,true,2026-01-01\n123,123.0,false,2026-01-02\n")
    rows = list(csv.reader(io.StringIO(run("match", "index", "e.csv").out)))[1:]
    assert rows == [["0", "zip"], ["0", "year"], ["0", "flag"], ["0", "day"], ["1", "year"]]


def test_a_column_may_hold_integers_and_fractions(folder: Path, run: Any) -> None:
    Path("r.csv").write_text(f"id,expression\nodd,x = {2**53 + 1}\nhalf,x = 0.5\n")
    run("build", "r.csv", "index")
    Path("e.csv").write_text(f"x\n{2**53 + 1}\n{2**53}\n0.5\n\n")
    rows = list(csv.reader(io.StringIO(run("match", "index", "e.csv").out)))[1:]
    assert rows == [["0", "odd"], ["2", "half"]]


def test_lists_in_a_file(folder: Path, run: Any) -> None:
    Path("r.csv").write_text("id,expression\na,tags one of ('x')\nb,tags none of ('x')\n")
    run("build", "r.csv", "index")
    Path("e.csv").write_text('who,tags\n1,x|y\n2,y\n3,\n4,""\n')
    done = run("match", "index", "e.csv", "--list-separator", "|", "--key", "who")
    assert list(csv.reader(io.StringIO(done.out)))[1:] == [["1", "a"], ["2", "b"], ["4", "b"]]
    done = run("match", "index", "e.csv")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("matchwood: e.csv, event 0: 'tags' must be list<string>, which in CSV is a JSON array")


def test_the_event_of_an_error_counts_over_the_whole_file(
    folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matchwood.commands.files.reading.BATCH_ROWS", 2)
    Path("r.csv").write_text("id,expression\na,x > 1\nb,seen > date '2026-01-01'\n")
    run("build", "r.csv", "index")
    Path("e.csv").write_text("x,seen\n1,\n2,\n3,\nfour,\n")
    assert "e.csv, event 3: 'x' must be a number (got 'four')" in run("match", "index", "e.csv").err
    Path("e.csv").write_text("x,seen\n1,\n2,\n3,soon\n")
    assert "e.csv, event 2: 'seen' must be " in run("match", "index", "e.csv").err


def test_decimals_of_files_are_exact(folder: Path, run: Any) -> None:
    """More digits than a double has, from CSV and JSON alike; weights may have as many, and are doubles."""
    Path("r.jsonl").write_text(
        '{"id": 1, "expression": "price > 10.05", "weight": 0.1000000000000000055511151231257827}\n'
        '{"id": 2, "expression": {"attr": "price", "op": "=", "value": 10.0500000000000000001}}\n'
    )
    assert run("build", "r.jsonl", "index").status == 0
    prices = ["10.0499999999999999999", "10.0500000000000000001", "10.0500000000000000002"]
    Path("e.csv").write_text("\n".join(["price", *prices]))
    Path("e.jsonl").write_text("\n".join(f'{{"price": {price}}}' for price in prices))
    for name in ("e.csv", "e.jsonl"):
        rows = list(csv.reader(io.StringIO(run("match", "index", name).out)))[1:]
        assert rows == [["1", "1"], ["1", "2"], ["2", "1"]]
    assert "TRUE" in run("explain", "index", "2", '{"price": 10.0500000000000000001}').out


def test_cells_that_do_not_fit_may_count_as_missing(folder: Path, run: Any) -> None:
    Path("r.csv").write_text("id,expression\nold,age > 30\nvip,vip\nnone,age is null\ntag,\"tags one of ('x')\"\n")
    run("build", "r.csv", "index")
    Path("e.csv").write_text('age,vip,tags\n40,true,"[""x""]"\nmany,perhaps,x\n50.5,1,\n')
    assert "e.csv, event 1: 'age' must be a number (got 'many')" in run("match", "index", "e.csv").err
    done = run("match", "index", "e.csv", "--on-error", "null")
    expected = [["0", "old"], ["0", "vip"], ["0", "tag"], ["1", "none"], ["2", "old"], ["2", "vip"]]
    assert list(csv.reader(io.StringIO(done.out)))[1:] == expected
    assert "note: 3 values did not fit and count as missing: 'age' 1, 'vip' 1, 'tags' 1" in done.err
    Path("e.jsonl").write_text('{"age": "40"}\n')
    told = "e.jsonl, event 0: 'age' must be number (got '40', a str): convert it, or read such text with coerce="
    assert told in run("match", "index", "e.jsonl").err
    done = run("match", "index", "e.jsonl", "--on-error", "null", "--top", "2")
    assert "note: 1 value did not fit and counts as missing: 'age' 1" in done.err
