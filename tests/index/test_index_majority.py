"""One mistyped rule never evicts the others: types by majority, and a limit to what may be refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.matching.loading import sources

MISTYPED = ("first", "age = '18'")
GOOD = [(f"r{number}", f"age >= {number}") for number in range(40)]
TOLD = (
    "rule 'first': 'age' must be number, as in rule 'r0' and 39 other rules "
    "(got a comparison with a string: age = '18'; write 18 without quotes)"
)


def streamed(rules: list[tuple[str, str]]) -> pa.RecordBatchReader:
    ids, texts = zip(*rules, strict=True)
    return pa.table({"id": ids, "expression": texts}).to_reader(max_chunksize=7)


@pytest.mark.parametrize("chunk", [7, 20_000])
@pytest.mark.parametrize("made", [list, iter, dict, streamed], ids=["list", "iterator", "mapping", "stream"])
def test_the_few_are_refused_whatever_comes_first(made: Any, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    index = mw.Index(engine="scan")
    report = index.insert_many(made([MISTYPED, *GOOD]))
    assert (report.inserted, report.rejected["error"].to_pylist()) == (40, [TOLD])
    assert list(index) == [rule_id for rule_id, _ in GOOD]
    assert index.match({"age": 2}) == ["r0", "r1", "r2"]
    assert index.audit() == []
    last = mw.Index(engine="scan").insert_many(made([*GOOD, MISTYPED]))
    assert last.rejected["error"].to_pylist() == [TOLD]


def test_plain_rules_by_the_hundred(engine: str) -> None:
    index = mw.Index(engine=engine)
    rules = [MISTYPED, *((f"r{number}", f"age >= {number} and x = 1") for number in range(300))]
    report = index.insert_many(rules)
    assert (report.inserted, report.rejected["id"].to_pylist()) == (300, ["first"])
    assert "and 299 other rules" in report.rejected["error"][0].as_py()


def test_raise_blames_the_few() -> None:
    index = mw.Index()
    with pytest.raises(mw.TypeConflict) as caught:
        index.insert_many([MISTYPED, *GOOD], on_error="raise")
    assert str(caught.value) == TOLD
    assert "in rule 'first'; nothing was inserted" in caught.value.__notes__
    assert len(index) == 0


def test_declared_types_and_live_rules_are_not_voted_on() -> None:
    declared = mw.Index(schema={"age": "string"})
    report = declared.insert_many([MISTYPED, *GOOD], max_rejected=1.0)
    assert (report.inserted, report.rejected.num_rows) == (1, 40)
    live = mw.Index()
    live["one"] = "age = '18'"
    report = live.insert_many(GOOD[:5])
    assert report.inserted == 0
    assert "must be string, as in rule 'one' (got" in report.rejected["error"][0].as_py()


def test_a_refused_rule_has_no_vote_elsewhere() -> None:
    rules = [
        (1, "x = 1"),
        (2, "x = 'a' and y = 'a'"),
        (3, "x = 'b' and y = 'b'"),
        (4, "x = 2"),
        (5, "x = 3"),
        (6, "y = 5"),
    ]
    index = mw.Index()
    report = index.insert_many(rules)
    assert list(index) == [1, 4, 5, 6]
    assert all(
        "'x' must be number, as in rule 1 and 2 other rules" in told for told in report.rejected["error"].to_pylist()
    )


BROKEN = [(f"b{number}", "age >") for number in range(20)]


@pytest.mark.parametrize("chunk", [9, 20_000])
@pytest.mark.parametrize("limit", [None, 0.1, 0.49, 19, 0])
def test_beyond_the_limit_nothing_is_inserted(limit: Any, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    index = mw.Index(engine="scan", schema={"vip": "bool"})
    index.insert_many([("r1", "age = 7", {"weight": 2.5}), ("old", "vip")])
    before = (dict(index), index.types(), index.top({"age": 7, "vip": True}))
    with pytest.raises(mw.LimitExceeded) as caught:
        index.insert_many([*GOOD[:20], *BROKEN], on_duplicate="replace", max_rejected=limit)
    told = str(caught.value).splitlines()
    allowed = "a share of 0.1" if limit is None else f"a share of {limit}" if isinstance(limit, float) else str(limit)
    assert told[0] == f"nothing was inserted: 20 of 40 rules were rejected, and max_rejected allows {allowed}"
    assert told[1].startswith("  rule 'b0': line 1, column 6")
    assert told[6] == "  and 15 more"
    assert "max_rejected=20" in told[7]
    assert (dict(index), index.types(), index.top({"age": 7, "vip": True})) == before
    assert index.audit() == []


@pytest.mark.parametrize("limit", [20, 0.5, 1.0])
def test_up_to_the_limit_the_others_are_inserted(limit: Any) -> None:
    report = mw.Index(engine="scan").insert_many([*GOOD[:20], *BROKEN], max_rejected=limit)
    assert (report.inserted, report.rejected.num_rows) == (20, 20)


def test_ten_of_a_small_batch_are_reported_unless_a_limit_is_given() -> None:
    rules = [*GOOD[:2], *BROKEN[:10]]
    assert mw.Index(engine="scan").insert_many(rules).inserted == 2
    with pytest.raises(mw.LimitExceeded, match="10 of 12 rules"):
        mw.Index(engine="scan").insert_many(rules, max_rejected=0.1)
    with pytest.raises(mw.LimitExceeded, match="11 of 13 rules"):
        mw.Index(engine="scan").insert_many([*rules, BROKEN[11]])


@pytest.mark.parametrize("limit", [-1, 1.5, True, "10%", float("nan")])
def test_limits_that_are_none(limit: Any) -> None:
    with pytest.raises(mw.InvalidArgument, match="max_rejected must be a number of rules"):
        mw.Index().insert_many([], max_rejected=limit)


def test_reports_count_rules_that_do_not_fit_by_attribute() -> None:
    index = mw.Index(schema={"age": "int", "vip": "bool"})
    report = index.insert_many(enumerate(["age = 'x'", "age > 5", "vip > 1", "age like 'a'", "x =>"]))
    assert (report.inserted, report.misfits) == (1, {"age": 2, "vip": 1})
