"""`check` and `build`: rules of every format become an index, and what is refused is told and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import matchwood as mw

BAD = "id,expression\nok,age > 5\ntypo,age => 21\nconflict,\"age = 'x'\"\nok,age < 3\n,age = 1\nempty,\n"


def _write(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_build_reads_every_format(folder: Path, run: Any, ending: str) -> None:
    done = run("build", f"rules.{ending}", "index")
    assert (done.status, done.err) == (0, "")
    assert done.out == "index: version 1 with 4 rules, engine pstbloom (4 inserted, 0 replaced, 0 rejected)\n"
    index = mw.open("index")
    assert list(index) == ["adults", "sporty", "unknown age", "recent"]
    assert index.match({"age": 20, "country": "US"}) == ["adults"]


@pytest.mark.parametrize("engine", ["auto", "pstbloom", "counting", "oracle", "scan"])
def test_build_takes_an_engine(folder: Path, run: Any, engine: str) -> None:
    assert run("build", "rules.csv", "index", "--engine", engine).status == 0
    assert mw.open("index").engine == ("pstbloom" if engine == "auto" else engine)


def test_a_second_build_is_a_new_version(built: Path, run: Any) -> None:
    assert "version 2" in run("build", "rules.csv", "rules.matchwood").out


@pytest.mark.parametrize("command", [("check",), ("build",)])
def test_rejected_rules_are_shown_kept_and_fail_the_command(folder: Path, run: Any, command: tuple[str]) -> None:
    _write("bad.csv", BAD)
    done = run(*command, "bad.csv", *(["index"] if command == ("build",) else []))
    assert done.status == 1
    assert (
        "typo: line 1, column 5: found '=>', expected an operator (write >=)\n      age => 21\n          ^" in done.out
    )
    assert "conflict: 'age' must be number, as in rule 'ok'" in done.out
    assert "5 rejected rules in bad.rejects.csv" in done.out
    rejected = pa_csv.read_csv("bad.rejects.csv")
    assert rejected.column_names == ["id", "expression", "error", "line", "column"]
    assert rejected["id"].to_pylist() == ["typo", "conflict", "ok", "", "empty"]
    assert rejected["column"].to_pylist() == [5, None, None, None, None]


def test_build_saves_the_rules_that_can_be_used(folder: Path, run: Any) -> None:
    _write("bad.csv", BAD)
    assert run("build", "bad.csv", "index").status == 1
    assert dict(mw.open("index")) == {"ok": "age > 5"}


def test_nothing_is_saved_without_a_usable_rule(folder: Path, run: Any) -> None:
    _write("bad.csv", "id,expression\na,age =>\n")
    done = run("build", "bad.csv", "index")
    assert (done.status, Path("index").exists()) == (1, False)
    assert done.err == "matchwood: bad.csv: no rule can be used, so nothing was saved\n"


def test_only_the_first_rejects_are_shown(folder: Path, run: Any) -> None:
    _write("bad.csv", "id,expression\n" + "".join(f"r{number},x =\n" for number in range(9)))
    done = run("check", "bad.csv")
    assert "r4: " in done.out
    assert "r5: " not in done.out
    assert "9 rejected rules (and 4 more) in bad.rejects.csv" in done.out
    assert pa_csv.read_csv("bad.rejects.csv").num_rows == 9


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_rejects_go_where_they_are_sent(folder: Path, run: Any, ending: str) -> None:
    _write("bad.csv", BAD)
    run("check", "bad.csv", "--rejects", f"no.{ending}")
    if ending == "parquet":
        rows = pa_parquet.read_table("no.parquet").to_pylist()
    elif ending == "csv":
        rows = pa_csv.read_csv("no.csv").to_pylist()
    else:
        rows = [json.loads(line) for line in Path("no.jsonl").read_text().splitlines()]
    assert [row["line"] for row in rows] == [1, None, None, None, None]
    assert not Path("bad.rejects.csv").exists()


def test_the_rejects_of_an_earlier_run_do_not_stay(folder: Path, run: Any) -> None:
    _write("some.csv", BAD)
    run("check", "some.csv")
    _write("some.csv", "id,expression\na,age > 5\n")
    assert run("check", "some.csv").status == 0
    assert not Path("some.rejects.csv").exists()
    run("check", "some.csv", "--rejects", "named.csv")
    assert pa_csv.read_csv("named.csv").num_rows == 0


def test_duplicates_replace_when_asked(folder: Path, run: Any) -> None:
    _write("twice.csv", "id,expression\na,age > 5\nb,age > 6\na,age > 7\n")
    assert "a rule with the id 'a' already exists" in run("build", "twice.csv", "index").out
    done = run("build", "twice.csv", "index", "--on-duplicate", "replace")
    assert (done.status, dict(mw.open("index"))) == (0, {"a": "age > 7", "b": "age > 6"})


def test_columns_may_have_other_names(folder: Path, run: Any) -> None:
    _write("named.csv", "rule,condition,id\nr1,age > 5,9\n")
    assert run("build", "named.csv", "index", "--id", "rule", "--expression", "condition").status == 0
    assert dict(mw.open("index")) == {"r1": "age > 5"}


@pytest.mark.parametrize(
    ("ids", "options", "expected"),
    [
        (["1", "-20", "300"], [], [1, -20, 300]),
        (["1", "x"], [], ["1", "x"]),
        (["007", "8"], [], ["007", "8"]),
        (["1", "99999999999999999999"], [], ["1", "99999999999999999999"]),
        (["1", "2"], ["--id-type", "string"], ["1", "2"]),
        (["007", "8"], ["--id-type", "int"], [7, 8]),
    ],
)
def test_ids_of_csv_are_integers_if_all_are(
    folder: Path, run: Any, ids: list[str], options: list[str], expected: list[Any]
) -> None:
    _write("ids.csv", "id,expression\n" + "".join(f"{name},x = 1\n" for name in ids))
    assert run("build", "ids.csv", "index", *options).status == 0
    assert list(mw.open("index")) == expected


def test_id_type_turns_the_ids_of_other_formats(folder: Path, run: Any) -> None:
    pa_parquet.write_table(pa.table({"id": [1, 2], "expression": ["x = 1", "x = 2"]}), "ids.parquet")
    run("build", "ids.parquet", "plain")
    run("build", "ids.parquet", "text", "--id-type", "string")
    assert (list(mw.open("plain")), list(mw.open("text"))) == ([1, 2], ["1", "2"])


def test_an_id_that_is_no_integer_is_rejected_where_integers_are_asked_for(folder: Path, run: Any) -> None:
    _write("ids.csv", "id,expression\n1,x = 1\ntwo,x = 2\n")
    done = run("build", "ids.csv", "index", "--id-type", "int")
    assert (done.status, list(mw.open("index"))) == (1, [1])
    assert "two: " in done.out


def test_weights_come_along(folder: Path, run: Any) -> None:
    _write("w.csv", 'id,expression,weight,weights\na,x = 1,2.5,"{""x"": 0.5}"\nb,x = 2,heavy,\nc,x = 3,,"{"\n')
    done = run("build", "w.csv", "index")
    assert done.status == 1
    assert "b: weight must be a number (got 'heavy'" in done.out
    assert "c: weights must be JSON" in done.out
    assert list(mw.open("index")) == ["a"]


def test_json_rules_may_be_objects(folder: Path, run: Any) -> None:
    _write(
        "r.jsonl",
        '{"id": "a", "expression": {"attr": "age", "op": ">", "value": 5}}\n\n{"id": "b", "expression": "x"}\n',
    )
    assert run("build", "r.jsonl", "index").status == 0
    assert dict(mw.open("index")) == {"a": "age > 5", "b": "x"}


def test_schema_strict_and_timezone_are_heeded(folder: Path, run: Any) -> None:
    _write("r.csv", "id,expression\na,age > 'x'\nb,agee > 1\nc,day = date '2026-01-01'\n")
    done = run("build", "r.csv", "index", "--schema", "age int, day timestamp", "--strict", "--timezone", "Asia/Tokyo")
    assert "a: 'age' must be int, as declared" in done.out
    assert "did you mean 'age'?" in done.out
    assert mw.open("index").match({"day": "2025-12-31T15:00:00Z"}) == ["c"]


def test_check_changes_nothing_but_the_rejects(folder: Path, run: Any) -> None:
    before = sorted(path.name for path in folder.iterdir())
    done = run("check", "rules.csv")
    assert (done.status, done.out, done.err) == (0, "rules.csv: 4 rules can be used, 0 cannot\n", "")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_check_lints(folder: Path, run: Any) -> None:
    _write("r.csv", "id,expression\na,x > 5 and x < 5\nb,y = 1\nc,y = 1 and true\n")
    done = run("check", "r.csv", "--lint")
    assert done.status == 0
    assert "lint: 2 findings" in done.out
    assert "never      a: no event can make it true" in done.out
    assert "duplicate  c: the same as rule b" in done.out


def test_rules_with_line_breaks_and_any_script(folder: Path, run: Any) -> None:
    _write("r.csv", '\ufeffid,expression\n"ключ","имя = ""x""\nor\nимя = \'ж\'"\n')
    done = run("build", "r.csv", "index")
    assert done.status == 1
    _write("r.csv", "\ufeffid,expression\nключ,\"имя = 'x'\nor\nимя = 'ж'\"\n")
    assert run("build", "r.csv", "index").status == 0
    assert mw.open("index").match({"имя": "ж"}) == ["ключ"]
