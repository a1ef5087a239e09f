"""Input that means harm, through the public interface: an error or an answer, in bounded time and memory.

What could crash the process, or hang it, runs in a process of its own with limits.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.encoding.events.columns import types as column_types
from matchwood.errors import EventError, InvalidArgument, LimitExceeded, MatchwoodError
from matchwood.language import jsonform, printing
from matchwood.matching.loading import report

RULES = {
    "number": "x between 1 and 10",
    "text": "s = 'a' or s like '%b%' or s rlike 'q+'",
    "list": "t one of ('p', 'q') or 'z' in t",
    "integers": "u none of (1, 2)",
    "date": "d > date '2020-01-01'",
    "moment": "ts <= timestamp '2020-01-01 00:00:00'",
    "path": "a.b.c = 1",
    "null": "n is null",
}


def hostile_index(engine: str = "counting") -> mw.Index:
    index = mw.Index(engine=engine)
    assert index.insert_many(RULES).inserted == len(RULES)
    return index


def run_limited(code: str, gigabytes: int = 3, seconds: int = 300) -> str:
    """What a program prints that may use so much memory and time; a crash or a hang fails the test."""
    head = f"""
        import resource
        import matchwood as mw
        from matchwood.errors import MatchwoodError
        resource.setrlimit(resource.RLIMIT_AS, ({gigabytes} * 2**30,) * 2)
    """
    program = textwrap.dedent(head) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


# --------------------------------------------------------------------- rules


def test_some_thousand_exclusions_of_one_attribute() -> None:
    index = mw.Index(engine="counting")
    index["r"] = " and ".join(f"x != {k}" for k in range(3_000))
    assert (index.match({"x": 5}), index.match({"x": -5})) == ([], ["r"])


@pytest.mark.long
def test_many_exclusions_of_one_attribute_take_linear_time() -> None:
    out = run_limited(
        """
        index = mw.Index()
        index["r"] = " and ".join(f"x != {k}" for k in range(60_000))
        print(index.match({"x": 5}), index.match({"x": -5}))
        """
    )
    assert out.split("\n")[0] == "[] ['r']"


def test_lint_gives_up_on_parities_of_sets() -> None:
    index = mw.Index(engine="counting")
    index["r"] = " xnor ".join(f"x = {k}" for k in range(2_000))
    assert index.lint().num_rows == 0


@pytest.mark.long
def test_lint_gives_up_on_parities_of_large_sets() -> None:
    out = run_limited(
        """
        index = mw.Index()
        index["r"] = " xnor ".join(f"x = {k}" for k in range(30_000))
        print(index.lint().num_rows)
        """
    )
    assert out == "0\n"


def test_a_regular_expression_of_large_classes_is_refused_before_re2_reads_it() -> None:
    with pytest.raises(LimitExceeded, match="rlike"):
        mw.Index()["r"] = "s rlike '" + r"\pL" * 100_000 + "'"


def test_list_operators_of_some_thousand_elements_are_explained() -> None:
    index = mw.Index(engine="counting")
    index["r"] = f"t all of ({', '.join(map(str, range(3_000)))})"
    event = {"t": list(range(3_000))[::-1]}
    assert index.match(event) == ["r"]
    assert index.explain(event, "r").verdict is True


@pytest.mark.long
def test_list_operators_of_many_elements_are_explained_in_linear_time() -> None:
    out = run_limited(
        """
        index = mw.Index()
        index["r"] = f"t all of ({', '.join(map(str, range(60_000)))})"
        event = {"t": list(range(60_000))[::-1]}
        print(index.match(event), index.explain(event, "r").verdict)
        """
    )
    assert out == "['r'] True\n"


def test_expressions_that_share_parts_are_refused_when_their_text_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "MAX_PRINTED", 10_000)
    expression = mw.attr("a") == 1
    for _ in range(12):
        expression = (expression | expression) & expression
    with pytest.raises(LimitExceeded, match="10,000"):
        mw.Index(engine="counting")["r"] = expression


@pytest.mark.long
def test_expressions_that_share_parts_without_end_are_refused() -> None:
    out = run_limited(
        """
        expression = mw.attr("a") == 1
        for _ in range(60):
            expression = (expression | expression) & expression
        try:
            mw.Index()["r"] = expression
        except MatchwoodError as error:
            print(type(error).__name__)
        """
    )
    assert out == "LimitExceeded\n"


def test_of_a_refused_json_rule_as_much_is_reported_as_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonform, "MAX_NODES", 1_000)
    monkeypatch.setattr(report, "MOST_SHOWN", 200)
    rule: dict[str, Any] = {"attr": "a", "op": "=", "value": 1}
    for _ in range(16):
        rule = {"and": [rule, rule]}
    found = mw.Index(engine="counting").insert_many([("r", rule)])
    assert str(found) == "0 inserted, 0 replaced, 1 rejected"
    assert len(found.rejected["expression"][0].as_py()) == 201


@pytest.mark.long
def test_a_refused_json_rule_that_shares_parts_without_end_is_reported_in_part() -> None:
    out = run_limited(
        """
        rule = {"attr": "a", "op": "=", "value": 1}
        for _ in range(60):
            rule = {"and": [rule, rule]}
        report = mw.Index().insert_many([("r", rule)])
        print(report, len(report.rejected["expression"][0].as_py()))
        """
    )
    assert out == "0 inserted, 0 replaced, 1 rejected 100001\n"


# -------------------------------------------------------------------- events


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("engine", ["scan", "counting", "oracle"])
@pytest.mark.parametrize(
    "event",
    [
        pytest.param({"x": nested(100_000)}, id="deep list"),
        pytest.param({"t": [nested(100_000)]}, id="deep list in a list"),
        pytest.param({"x": 10**5_000}, id="more digits than Python prints"),
        pytest.param({"u": [10**5_000]}, id="more digits in a list"),
        pytest.param({"ts": pa.scalar(2**62, pa.timestamp("s"))}, id="a moment beyond all calendars"),
    ],
)
def test_values_that_python_cannot_show_are_event_errors(engine: str, event: dict[str, Any]) -> None:
    index = hostile_index(engine)
    with pytest.raises(EventError):
        index.match(event)
    with pytest.raises(EventError):
        index.match_many([{}, event])


def from_buffers(kind: pa.DataType, length: int, *buffers: Any, children: list[pa.Array] | None = None) -> pa.Array:
    made = [None, *(pa.py_buffer(buffer if isinstance(buffer, bytes) else buffer.tobytes()) for buffer in buffers)]
    return pa.Array.from_buffers(kind, length, made, children=children or [])


def dictionary(index: int, values: list[Any]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0, index], pa.int64()), pa.array(values), safe=False)


def int32(*values: int) -> Any:
    return np.array(values, np.int32)


DAMAGED: dict[str, tuple[str, Callable[[], pa.Array]]] = {
    "text beyond its buffer": ("s", lambda: from_buffers(pa.string(), 2, int32(0, 10**9, 3), b"abc")),
    "text before its buffer": ("s", lambda: from_buffers(pa.string(), 2, int32(0, -(10**8), 3), b"abc")),
    "view of no buffer": ("s", lambda: from_buffers(pa.string_view(), 1, int32(100, 0, 7, 2**30), b"abc")),
    "list beyond its values": (
        "u",
        lambda: from_buffers(pa.list_(pa.int64()), 2, int32(0, 2**30, 2), children=[pa.array([1, 2])]),
    ),
    "list view beyond its values": (
        "u",
        lambda: pa.ListViewArray.from_arrays(pa.array(int32(2**30)), pa.array(int32(5)), pa.array([1, 2])),
    ),
    "index beyond the dictionary": ("x", lambda: dictionary(2**60, [1])),
    "index before the dictionary": ("s", lambda: dictionary(-5, ["a"])),
    "index beyond, only tested for NULL": ("n", lambda: dictionary(2**40, ["a"])),
    "index beyond, in a struct": (
        "a",
        lambda: pa.StructArray.from_arrays([pa.StructArray.from_arrays([dictionary(2**29, [1])], ["c"])], ["b"]),
    ),
    "index beyond, in a list": ("t", lambda: pa.ListArray.from_arrays([0, 1, 2], dictionary(2**29, ["a"]))),
    "union of no such type": (
        "x",
        lambda: from_buffers(
            pa.dense_union([pa.field("i", pa.int64())]), 2, np.array([0, 77], np.int8), int32(0, 2**30),
            children=[pa.array([1])],
        ),
    ),
    "runs out of order": (
        "x",
        lambda: from_buffers(
            pa.run_end_encoded(pa.int32(), pa.int64()), 5, children=[pa.array(int32(9, -5, 5)), pa.array([3, 4, 5])]
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["counting", "oracle"])
@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_arrow_columns_are_refused(damage: str, engine: str) -> None:
    column, make = DAMAGED[damage]
    index = hostile_index(engine)
    with pytest.raises(InvalidArgument, match=f"column '{column}' of the events"):
        index.match_many(pa.table({column: make()}))
    untouched = pa.table({"nobody names it": make()})
    assert index.match_many(untouched).column("rule").to_pylist() == ["null"] * len(untouched)


@pytest.mark.parametrize("engine", ["counting", "oracle"])
@pytest.mark.parametrize("column", ["t", "s"])
def test_text_that_is_no_utf8_names_its_row(column: str, engine: str) -> None:
    texts = pa.array([b"p", b"\xff\xfe"]).view(pa.string())
    array = texts if column == "s" else pa.ListArray.from_arrays([0, 1, 2], texts)
    with pytest.raises(EventError, match=f"event 1: '{column}'"):
        hostile_index(engine).match_many(pa.table({column: array}))


@pytest.mark.parametrize("engine", ["counting", "oracle"])
@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_beyond_all_calendars_are_event_errors(kind: pa.DataType, engine: str) -> None:
    days = pa.array([2**31 - 1 if kind == pa.date32() else 2**62], kind)
    with pytest.raises(EventError, match=r"beyond 64 bits|cannot hold"):
        hostile_index(engine).match_many(pa.table({"ts": days}))


@pytest.mark.parametrize("engine", ["counting", "oracle"])
def test_a_column_that_comes_twice_is_refused_if_a_rule_names_it(engine: str) -> None:
    index = hostile_index(engine)
    with pytest.raises(EventError, match="'x' must be given only once"):
        index.match_many(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]))
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["no rule", "no rule"])
    assert index.match_many(twice).num_rows == 1


def test_what_is_repeated_is_written_out_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_types, "EXPANDED", 2**20)
    index = mw.Index(engine="counting")
    index.insert_many({"text": "s like '%b%'", "list": "7 in u", "path": "a.b = 'b'"})
    ends, text, lists = pa.array([300], pa.int32()), pa.array(["b" * 10_000]), pa.array([list(range(1_000))])
    runs = pa.RunEndEncodedArray.from_arrays
    for table in ({"s": runs(ends, text)}, {"u": runs(ends, lists)}):
        assert index.match_many(pa.table(table)).num_rows == 300
    starts, sizes = pa.array([0] * 300, pa.int32()), pa.array([1_000] * 300, pa.int32())
    inside = pa.StructArray.from_arrays([runs(ends, text)], ["b"])
    for table in ({"u": pa.ListViewArray.from_arrays(starts, sizes, lists.values)}, {"a": inside}):
        with pytest.raises(LimitExceeded):
            index.match_many(pa.table(table))


@pytest.mark.long
def test_a_few_bytes_do_not_become_gigabytes() -> None:
    out = run_limited(
        """
        import numpy as np
        import pyarrow as pa
        rules = {"text": "s like '%b%'", "list": "7 in u", "path": "a.b = 'b'"}
        index = mw.Index()
        index.insert_many(rules)
        rows = 30_000
        ends, text, lists = pa.array([rows], pa.int32()), pa.array(["b" * 1_000_000]), pa.array([list(range(50_000))])
        runs = pa.RunEndEncodedArray.from_arrays
        print(index.match_many(pa.table({"s": runs(ends, text)})).num_rows)
        print(index.match_many(pa.table({"u": runs(ends, lists)})).num_rows)
        starts, sizes = pa.array([0] * rows, pa.int32()), pa.array([50_000] * rows, pa.int32())
        overlapping = pa.ListViewArray.from_arrays(starts, sizes, lists.values)
        inside = pa.StructArray.from_arrays([runs(ends, text)], ["b"])
        for table in ({"u": overlapping}, {"a": inside}):
            try:
                print(index.match_many(pa.table(table)).num_rows)
            except MatchwoodError as error:
                print(type(error).__name__)
        """
    )
    assert out == "30000\n30000\nLimitExceeded\nLimitExceeded\n"


def test_long_values_of_events_are_not_kept() -> None:
    index = mw.Index(engine="counting")
    index.insert_many({"text": "s not like '%b_%'", "list": "'v' in t"})

    def match(numbers: range) -> None:
        for k in numbers:
            index.match({"t": ["x" * 100_000 + str(k)], "s": "y" * 100_000 + str(k)})

    match(range(2))
    tracemalloc.start()
    try:
        match(range(2, 12))
        assert tracemalloc.get_traced_memory()[0] < 10 * 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_what_is_kept_of_events_is_bounded() -> None:
    out = run_limited(
        """
        index = mw.Index()
        index.insert_many({"text": "s not like '%b_%'", "list": "'v' in t"})
        for k in range(250):
            index.match({"t": ["x" * 1_000_000 + str(k)], "s": "y" * 1_000_000 + str(k)})
            if k == 50:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024)
        """
    )
    assert out == "True\n"


def test_errors_in_the_middle_of_events_leave_the_index_usable() -> None:
    index = hostile_index()

    def events() -> Any:
        yield {"x": 1}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        index.match_many(events())
    index["more"] = "x = 1"
    assert index.match({"x": 1, "n": 1}) == ["number", "more"]
    assert index.audit() == []


# --------------------------------------------------------------------- index


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_among_rules_leaves_whole_chunks(error: type[BaseException]) -> None:
    index = mw.Index()

    def rules() -> Any:
        for place in range(25_000):
            if place == 24_000:
                raise error
            yield f"r{place}", f"x = {place % 100}"

    with pytest.raises(error):
        index.insert_many(rules())
    assert index.audit() == []
    assert len(index.match({"x": 5})) * 100 == len(index)


@pytest.mark.parametrize(
    "make",
    [
        lambda place: f"a{place} = 1",
        lambda place: f"x between {place} and {place * 7}",
        lambda place: f"s like '%v{place}_%'",
        lambda place: ("f = 1", "f = 'x'", "f", "f > date '2020-01-01'", "1 in f", "'a' in f")[place % 6],
        lambda place: " and ".join(f"(a{each}={place} or b{each}={place})" for each in range(9)),
    ],
    ids=["attributes", "ranges", "patterns", "types", "forms"],
)
def test_rules_that_come_and_go_leave_nothing_behind(make: Callable[[int], str]) -> None:
    index = mw.Index()
    index["stays"] = "q = 1"
    for place in range(300):
        if place % 3 == 0:
            index.pop("goes", None)
        index["goes"] = make(place)
    del index["goes"]
    index.compact()
    fresh = mw.Index()
    fresh["stays"] = "q = 1"
    fresh.compact()
    names = ("units", "bytes_text", "bytes_index", "bytes_verify", "bytes_rules")
    assert {name: index.stats()[name] for name in names} == {name: fresh.stats()[name] for name in names}
    assert index.types() == fresh.types()
    assert index.audit() == []


def test_every_refusal_is_one_of_ours() -> None:
    texts = ["(" * 500_000, "not " * 250_000, "'" * 999_999, "=" * 1_000_000, "x in " + "(" * 500_000, "{" * 1_000_000]
    texts += ['{"not":' * 100_000, "x = " + "9" * 1_000_000, "x = 1e999999999", "x = '\ud800'", "`a\0` = 1"]
    texts += ["s rlike '((a{1,1000}){1,1000})'", "x = 1" + " is not unknown" * 60_000, "and " * 250_000]
    for text in texts:
        with pytest.raises(MatchwoodError):
            mw.Index()["r"] = text
