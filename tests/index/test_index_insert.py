"""Loading many rules: every source, every kind of bad rule, and what the report says."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.core import arrays
from matchwood.matching.loading import sources
from matchwood.matching.loading.report import Report

RULES = {"a": "x = 1", "b": "x = 2 or y = 'q'", "c": "y is null"}
TABLE = pa.table({"id": list(RULES), "expression": list(RULES.values())})
REJECT_COLUMNS = ["id", "expression", "error", "line", "column"]


def rejected(report: Report) -> list[tuple[Any, str]]:
    """Ids and messages of what was refused."""
    return [(row["id"], row["error"]) for row in report.rejected.to_pylist()]


SOURCES: dict[str, Any] = {
    "tuples": lambda: list(RULES.items()),
    "lists": lambda: [[rule_id, text] for rule_id, text in RULES.items()],
    "generator": lambda: (pair for pair in RULES.items()),
    "mapping": lambda: RULES,
    "index": lambda: _index(RULES),
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(max_chunksize=2),
    "chunks": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
    "structs": lambda: TABLE.to_struct_array().combine_chunks(),
    "chunked structs": lambda: TABLE.to_struct_array(),
    "dictionary": lambda: TABLE.set_column(1, "expression", TABLE["expression"].dictionary_encode()),
    "large strings": lambda: TABLE.cast(pa.schema([("id", pa.large_string()), ("expression", pa.large_string())])),
    "more columns": lambda: TABLE.append_column("note", [[None, "n", "n"]]),
    "pandas": lambda: TABLE.to_pandas(),
    "pandas, other index": lambda: TABLE.to_pandas().set_index(pd.Index([7, 7, 9])),
    "polars": lambda: pl.from_arrow(TABLE),
}


def _index(rules: dict[Any, str]) -> mw.Index:
    index = mw.Index()
    for rule_id, text in rules.items():
        index[rule_id] = text
    return index


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_index(source: str, engine: str) -> None:
    index = mw.Index(engine=engine)
    report = index.insert_many(SOURCES[source]())
    assert (report.inserted, report.replaced, report.rejected.num_rows) == (3, 0, 0)
    assert dict(index) == RULES
    assert list(index) == list(RULES)
    assert index.match({"x": 2}) == ["b", "c"]
    assert index.audit() == []


@pytest.mark.parametrize(
    "given",
    [5, None, "x = 1", b"x = 1", pa.array(["x = 1"]), pa.chunked_array([["x"]]), {"id", "expression"}.__len__],
    ids=["int", "None", "str", "bytes", "array", "chunks", "function"],
)
def test_what_is_no_source_is_refused(given: Any) -> None:
    index = mw.Index()
    with pytest.raises(mw.InvalidArgument, match="id and expression"):
        index.insert_many(given)
    assert len(index) == 0


@pytest.mark.parametrize("missing", ["id", "expression"])
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_a_missing_column_is_named(kind: str, missing: str) -> None:
    table = TABLE.rename_columns([f"{name}s" if name == missing else name for name in TABLE.column_names])
    given = {"arrow": lambda: table, "pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table)}[kind]()
    with pytest.raises(mw.InvalidArgument, match=f"no column '{missing}'.*{missing}s"):
        mw.Index().insert_many(given)


def test_a_column_that_comes_twice_is_refused() -> None:
    twice = pa.Table.from_arrays([*TABLE.columns, TABLE["id"]], names=["id", "expression", "id"])
    for given in (twice, twice.to_pandas()):
        with pytest.raises(mw.InvalidArgument, match="2 columns 'id'"):
            mw.Index().insert_many(given)


@pytest.mark.parametrize("option", ["on_error", "on_duplicate"])
@pytest.mark.parametrize("value", ["ignore", None, True])
def test_wrong_argument_values(option: str, value: Any) -> None:
    index = mw.Index()
    with pytest.raises(mw.InvalidArgument, match=f"{option} must be"):
        index.insert_many(RULES, **{option: value})
    assert len(index) == 0


# ---------------------------------------------------------------------- weights


def weights_of(index: mw.Index, rule_id: Any) -> tuple[float, str | None]:
    row = index._table.row_of(rule_id)
    return index._table.weight(row), index._table.weights_json(row)


def test_weights_are_kept(engine: str) -> None:
    index = mw.Index(engine=engine)
    report = index.insert_many(
        [
            ("plain", "x = 1"),
            ("none", "x = 1", None),
            ("constant", "x = 1", {"weight": 2}),
            ("zero", "x = 1", {"weight": -0.0}),
            ("numpy", "x = 1", {"weight": np.float32(0.5)}),
            ("decimal", "x = 1", {"weight": Decimal("1.25")}),
            ("both", "x = 1", {"weight": 2.5, "weights": {"state": {"NY": 4.0, 3: 1}, "age": 0.1}}),
            ("text", "x = 1", {"weights": '{"age": 3}'}),
            ("empty", "x = 1", {"weights": {}}),
        ]
    )
    assert rejected(report) == []
    assert [weights_of(index, rule_id)[0] for rule_id in index] == [0, 0, 2, 0, 0.5, 1.25, 2.5, 0, 0]
    assert weights_of(index, "both")[1] == '{"age": 0.1, "state": {"3": 1.0, "NY": 4.0}}'
    assert weights_of(index, "text")[1] == '{"age": 3.0}'
    assert math.copysign(1, weights_of(index, "zero")[0]) == 1
    assert weights_of(index, "empty")[1] is None
    index["both"] = "x = 2"
    assert weights_of(index, "both") == (2.5, '{"age": 0.1, "state": {"3": 1.0, "NY": 4.0}}')


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"weight": -1}, "at least 0"),
        ({"weight": math.nan}, "finite"),
        ({"weight": math.inf}, "finite"),
        ({"weight": 10**400}, "finite"),
        ({"weight": "2"}, "a number"),
        ({"weight": True}, "a number"),
        ({"weight": np.True_}, "a number"),
        ({"weight": np.array([2.0])}, "a number"),
        ({"weights": {"age": -0.5}}, r"weights\['age'\]"),
        ({"weights": {"age": {"a": None}}}, r"weights\['age'\]\['a'\]"),
        ({"weights": [1]}, "map attributes"),
        ({"weights": "{"}, "JSON"),
        ({"weights": '{"age": NaN}'}, "finite"),
        ({"weights": "[" * 100_000}, "JSON"),
        ({"weights": {"\ud800": 1}}, "surrogate"),
        ({"wieght": 1}, "no option 'wieght'"),
        ({1: 1}, "no option '1'"),
        (5, "must be a dict"),
        ("weight", "must be a dict"),
        (0, "must be a dict"),
    ],
)
def test_bad_weights_refuse_the_rule_and_no_other(options: Any, told: str) -> None:
    index = mw.Index()
    report = index.insert_many([("bad", "x = 1", options), ("good", "x = 's'")])
    assert [rule_id for rule_id, _ in rejected(report)] == ["bad"]
    assert pa.compute.match_substring_regex(report.rejected["error"], told).to_pylist() == [True]
    assert list(index) == ["good"]
    with pytest.raises(mw.InvalidArgument, match=told):
        mw.Index().insert_many([("bad", "x = 1", options)], on_error="raise")


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_weights_in_tables_are_json(kind: str) -> None:
    table = pa.table(
        {
            "id": [1, 2, 3, 4],
            "expression": ["x = 1"] * 4,
            "weight": [1.5, None, -1.0, None],
            "weights": ['{"age": 2}', None, None, "not json"],
        }
    )
    given = {"arrow": lambda: table, "pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table)}[kind]()
    index = mw.Index()
    report = index.insert_many(given)
    assert report.rejected["id"].to_pylist() == [3, 4]
    assert weights_of(index, 1) == (1.5, '{"age": 2.0}')
    assert weights_of(index, 2) == (0.0, None)


def test_weights_as_dicts_in_pandas() -> None:
    frame = pd.DataFrame({"id": [1, 2], "expression": ["x", "x"], "weights": [{"age": 2}, {"state": {"NY": 1}}]})
    index = mw.Index()
    assert rejected(index.insert_many(frame)) == []
    assert weights_of(index, 2)[1] == '{"state": {"NY": 1.0}}'


# ---------------------------------------------------------------------- rejected rules

BAD_RULES: list[tuple[str, Any, str]] = [
    ("syntax", "x =", "line 1"),
    ("second line", "x = 1 and\n  y = ", "line 2"),
    ("null", None, "text, JSON or an Expression"),
    ("number", 5, "text, JSON or an Expression"),
    ("bytes", b"x = 1", "text, JSON or an Expression"),
    ("empty", "", "expected"),
    ("json", {"attr": "x"}, "expected"),
    ("json text", '{"and": 5}', "expected"),
    ("conflict", "x = 'text'", "rule 'good'"),
    ("regex", "s rlike '('", "regular expression"),
    ("surrogate", "s = '\ud800'", "surrogate"),
    ("deep", "(" * 100_000 + "x" + ")" * 100_000, ""),
]


def test_bad_rules_are_reported_and_the_others_inserted(engine: str) -> None:
    index = mw.Index(engine=engine)
    rules = [("good", "x = 1"), *((rule_id, text) for rule_id, text, _ in BAD_RULES), ("last", "x = 2")]
    report = index.insert_many(rules, max_rejected=1.0)
    assert report.inserted == len(index) == 2
    assert report.rejected.column_names == REJECT_COLUMNS
    assert report.rejected.schema.types == [pa.string()] * 3 + [pa.int64()] * 2
    assert [rule_id for rule_id, _ in rejected(report)] == [rule_id for rule_id, _, _ in BAD_RULES]
    for (_, error), (_, _, told) in zip(rejected(report), BAD_RULES, strict=True):
        assert told in error
    by_id = {row["id"]: row for row in report.rejected.to_pylist()}
    assert (by_id["second line"]["line"], by_id["second line"]["column"]) == (2, 7)
    assert (by_id["conflict"]["line"], by_id["conflict"]["column"]) == (None, None)
    assert by_id["null"]["expression"] is None
    assert by_id["json"]["expression"] == '{"attr": "x"}'
    assert str(report) == f"2 inserted, 0 replaced, {len(BAD_RULES)} rejected"
    assert index.match({"x": 2}) == ["last"]
    assert index.audit() == []


@pytest.mark.parametrize(("rule_id", "text", "told"), BAD_RULES, ids=[rule_id for rule_id, _, _ in BAD_RULES])
def test_raise_inserts_nothing_and_names_the_rule(rule_id: str, text: Any, told: str) -> None:
    index = mw.Index()
    index["good"] = "x = 1"
    before = index.types()
    with pytest.raises(mw.MatchwoodError) as caught:
        index.insert_many([("one", "x = 3 and z = 'new'"), (rule_id, text)], on_error="raise")
    assert told in str(caught.value)
    assert f"in rule {rule_id!r}; nothing was inserted" in caught.value.__notes__
    assert list(index) == ["good"]
    assert index.types() == before
    index["two"] = "z = 5"
    assert index.match({"z": 5}) == ["two"]
    assert index.audit() == []


@pytest.mark.parametrize("rule", [(), ("a",), ("a", "x = 1", {}, 4), "ab", 5, None, {"id": 1, "expression": "x"}])
def test_an_element_that_is_no_rule(rule: Any) -> None:
    index = mw.Index()
    report = index.insert_many([("a", "x = 1"), rule, ("b", "x = 1")])
    assert report.inserted == 2
    assert [rule_id for rule_id, _ in rejected(report)] == [None]
    assert "rule 1: must be (id, expression)" in rejected(report)[0][1]
    with pytest.raises(mw.InvalidArgument, match="rule 1: must be"):
        index.insert_many([("c", "x = 1"), rule], on_error="raise")
    assert list(index) == ["a", "b"]


def test_a_deep_json_rule_is_reported_not_a_crash() -> None:
    deep: dict[str, Any] = {"attr": "x", "op": "=", "value": 1}
    for _ in range(200_000):
        deep = {"not": deep}
    report = mw.Index().insert_many([("deep", deep), ("set", {"and": {1, 2}})])
    assert [rule_id for rule_id, _ in rejected(report)] in (["deep", "set"], ["set"])


@pytest.mark.parametrize("bad", [None, 1.0, 1.5, math.nan, True, False, b"a", ("a",), 2**63, -(2**63) - 1, "\ud800"])
def test_unusable_ids(bad: Any, engine: str) -> None:
    index = mw.Index(engine=engine)
    report = index.insert_many([(bad, "x = 1")])
    assert (report.inserted, report.rejected.num_rows) == (0, 1)
    assert report.rejected["id"].type == pa.string()
    assert report.rejected["id"].null_count == (bad is None)
    with pytest.raises(mw.InvalidArgument, match="id"):
        index[bad] = "y = 1"
    with pytest.raises(mw.InvalidArgument, match="id"):
        index.insert_many([(bad, "x = 1")], on_error="raise")
    assert len(index) == 0
    assert index.types() == {}
    index["fine"] = "x = 'text' and y = 'text'"
    assert index.audit() == []


def test_the_type_of_rejected_ids() -> None:
    def ids(rules: list[Any], first: Any = "a") -> pa.ChunkedArray:
        index = mw.Index()
        index[first] = "x = 1"
        return index.insert_many(rules).rejected["id"]

    assert ids([("b", "x =")]).type == pa.string()
    assert ids([(5, "x ="), (-(2**63), "x =")], first=1).type == pa.int64()
    assert ids([(5, "x ="), (None, "x = 1")], first=1).to_pylist() == [5, None]
    assert ids([(5, "x ="), ("b", "x = 1")], first=1).to_pylist() == ["5", "b"]
    assert ids([(5, "x ="), (True, "x = 1")], first=1).to_pylist() == ["5", "True"]
    assert ids([], first=1).type == pa.int64()
    assert ids([(None, "x")], first=1).type == pa.int64()
    assert ids([], first="a").type == pa.string()
    assert Report().rejected.num_rows == 0


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_nulls_in_a_table_are_rejected_and_counted(kind: str) -> None:
    table = pa.table({"id": [1, None, 3, 4], "expression": ["x = 1", "x = 2", None, "x = 4"]})
    frame = table.to_pandas().astype({"id": "Int64"})
    given = {"arrow": table, "pandas": frame, "polars": pl.from_arrow(table)}[kind]
    index = mw.Index()
    report = index.insert_many(given)
    assert (report.inserted, list(index)) == (2, [1, 4])
    assert report.rejected["id"].to_pylist() == [None, 3]
    assert report.rejected["expression"].to_pylist() == ["x = 2", None]


def test_ids_of_every_type_in_a_column_of_objects() -> None:
    frame = pd.DataFrame({"id": [1, "a", None, True, 2.5, 2], "expression": ["x = 1"] * 6})
    index = mw.Index()
    report = index.insert_many(frame)
    assert list(index) == [1, 2]
    assert report.rejected["id"].to_pylist() == ["a", None, "True", "2.5"]


def test_integer_columns_of_every_width() -> None:
    for kind in (pa.int8(), pa.uint16(), pa.int64(), pa.uint64()):
        index = mw.Index()
        index.insert_many(pa.table({"id": pa.array([1, 2], kind), "expression": ["x", "x"]}))
        assert list(index) == [1, 2]
    report = mw.Index().insert_many(pa.table({"id": pa.array([2**63], pa.uint64()), "expression": ["x"]}))
    assert "64 bits" in rejected(report)[0][1]


# ---------------------------------------------------------------------- duplicates


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_duplicates_within_a_batch_and_across_chunks(chunk: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    rules = [("a", "x = 1"), ("b", "x = 1"), ("a", "x = 2"), ("c", "x = 1"), ("a", "x = 3"), ("b", "x = 3")]
    index = mw.Index(engine=engine)
    report = index.insert_many(rules)
    assert (report.inserted, report.replaced) == (3, 0)
    assert [rule_id for rule_id, _ in rejected(report)] == ["a", "a", "b"]
    assert "already exists" in rejected(report)[0][1]
    assert dict(index) == {"a": "x = 1", "b": "x = 1", "c": "x = 1"}
    index = mw.Index(engine=engine)
    report = index.insert_many(rules, on_duplicate="replace")
    assert (report.inserted, report.replaced, report.rejected.num_rows) == (3, 3, 0)
    assert list(index.items()) == [("a", "x = 3"), ("b", "x = 3"), ("c", "x = 1")]
    assert (index.match({"x": 1}), index.match({"x": 2}), index.match({"x": 3})) == (["c"], [], ["a", "b"])
    assert index.audit() == []
    with pytest.raises(mw.InvalidArgument, match="already exists"):
        mw.Index(engine=engine).insert_many(rules, on_error="raise")


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_types_change_with_replacements(chunk: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule is held against those before it, whether they are stored yet or not."""
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    index = mw.Index(engine=engine)
    index["a"] = "x > 5"
    rules = [
        ("a", "x = 'one'"),  # the only user of x: it may change the type
        ("b", "x = 'two'"),
        ("c", "x > 1"),  # refused: a and b compare x with strings
        ("b", "y = 1"),
        ("a", "x = 7"),  # now a is the only one again
        ("d", "x = 'three'"),  # refused: a compares x with a number
        ("e", "x = 8"),
    ]
    for on_error in ("raise", "collect"):
        if on_error == "raise":
            with pytest.raises(mw.TypeConflict, match=r"rule 'c'.*as in rule '[ab]'"):
                index.insert_many(rules, on_error="raise", on_duplicate="replace")
            assert dict(index) == {"a": "x > 5"}
            assert index.match({"x": 6}) == ["a"]
            continue
        report = index.insert_many(rules, on_duplicate="replace")
        assert (report.inserted, report.replaced) == (2, 3)
        assert [rule_id for rule_id, _ in rejected(report)] == ["c", "d"]
        assert "rule 'a'" in rejected(report)[1][1]
    assert dict(index) == {"a": "x = 7", "b": "y = 1", "e": "x = 8"}
    assert index.types() == {"x": "number", "y": "number"}
    assert index.match({"x": 7, "y": 1}) == ["a", "b"]
    assert index.audit() == []


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_a_failed_replacement_leaves_the_old_rule(chunk: int, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    index = mw.Index(engine=engine)
    index.insert_many([("a", "x = 1", {"weight": 3}), ("b", "x = 2")])
    report = index.insert_many(
        [("a", "x ="), ("a", "x = 'text'"), ("a", "x = 9", {"weight": -1}), ("b", "x = 3"), ("b", "y y")],
        on_duplicate="replace",
    )
    assert (report.inserted, report.replaced, report.rejected.num_rows) == (0, 1, 4)
    assert dict(index) == {"a": "x = 1", "b": "x = 3"}
    assert weights_of(index, "a") == (3.0, None)
    assert (index.match({"x": 1}), index.match({"x": 2}), index.match({"x": 3})) == (["a"], [], ["b"])


def test_replacing_shares_and_frees_conjunctions(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many(dict.fromkeys(range(50), "x = 1 or y = 2"))
    index.insert_many({number: f"x = {number} and z is null" for number in range(0, 50, 2)}, on_duplicate="replace")
    assert index.match({"x": 4}) == [4]
    assert index.match({"y": 2}) == list(range(1, 50, 2))
    assert index.audit() == []


def test_a_source_that_fails_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", 2)

    def failing() -> Iterator[tuple[int, str]]:
        for number in range(5):
            yield number, f"x = {number}"
        raise OSError("the disk is gone")

    index = mw.Index()
    with pytest.raises(OSError, match="disk"):
        index.insert_many(failing(), on_error="raise")
    assert len(index) == 0
    with pytest.raises(OSError, match="disk"):
        index.insert_many(failing())
    assert list(index) == [0, 1, 2, 3]
    assert index.match({"x": 3}) == [3]
    assert index.audit() == []
    index[9] = "x = 9"
    assert index.match({"x": 9}) == [9]


def test_many_chunks_and_every_shape_of_rule(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules over the DNF limit, shared conjunctions, rules that are never true: chunk by chunk as at once."""
    wide = " and ".join(f"(a{number} = 1 or b{number} = 1)" for number in range(10))
    texts = [f"x = {n % 7} or y = {n}" for n in range(60)] + [wide, "false", "true", f"not ({wide})"] * 5
    events: list[dict[str, Any]] = [{"x": 3}, {"y": 9}, {f"a{n}": 1 for n in range(10)}, {}]
    answers = []
    for chunk in (3, 1000):
        monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
        index = mw.Index(engine=engine)
        index.insert_many(enumerate(texts))
        assert index.audit() == []
        answers.append(index.match_many(events).to_pydict())
    assert answers[0] == answers[1]
    assert len(answers[0]["rule"]) > 20


def test_a_damaged_arrow_column_of_rules_is_refused() -> None:
    offsets = pa.py_buffer(np.array([0, 2**30, 1], np.int32).tobytes())
    damaged = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"x"))
    with pytest.raises(mw.InvalidArgument, match="column 'expression' of the rules is damaged"):
        mw.Index().insert_many(pa.table({"id": ["a", "b"], "expression": damaged}))
    latin = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], np.int32).tobytes()), pa.py_buffer(b"\xe9"))
    with pytest.raises(mw.InvalidArgument, match="not UTF-8"):
        mw.Index().insert_many(pa.table({"id": ["a"], "expression": latin}))


@pytest.mark.parametrize("refused", [[], ["b =", "a0 = 'text'", "b in ()"]])
def test_a_load_that_has_ended_keeps_no_scratch_memory(refused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and not when Python next looks for what refers to itself; and nothing of the index lies in it.

    Nor does the report keep any, whose errors came through the load.
    """
    arenas: list[weakref.ref[arrays.Arena]] = []

    class Noted(arrays.Arena):
        def array(self, count: int, kind: np.dtype[Any]) -> Any:
            arenas.append(weakref.ref(self))
            return super().array(count, kind)

    monkeypatch.setattr(arrays, "Arena", Noted)
    index = mw.Index()
    gc.disable()
    try:
        sound = [f"a{number % 7} > {number} and b = {number}" for number in range(5_000)]
        report = index.insert_many(enumerate(sound + refused))
        kept = [arena for arena in arenas if arena() is not None]
    finally:
        gc.enable()
    assert arenas
    assert kept == []
    assert report.rejections == len(refused)
    assert index.match({"a0": 6_000, "b": 0}) == [0]
