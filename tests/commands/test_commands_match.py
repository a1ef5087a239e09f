"""`match`: events of every format in, hits of every format out."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from commands_support import EVENTS, HITS

from matchwood.commands.files import reading

POSITIONS = {event["who"]: position for position, event in enumerate(EVENTS)}


def _rows(text: str) -> list[tuple[str, ...]]:
    return [tuple(row) for row in csv.reader(io.StringIO(text))]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_hits_as_csv_on_standard_output(built: Path, run: Any, ending: str) -> None:
    done = run("match", "rules.matchwood", f"events.{ending}")
    assert done.status == 0
    assert _rows(done.out) == [("event", "rule"), *((str(POSITIONS[who]), rule) for who, rule in HITS)]
    assert done.err.startswith("4 events, 5 hits in ")
    assert done.err.endswith(" s, written to standard output\n")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_key_takes_the_place_of_the_position(built: Path, run: Any, ending: str) -> None:
    done = run("match", "rules.matchwood", f"events.{ending}", "--key", "who")
    assert _rows(done.out) == [("who", "rule"), *HITS]


@pytest.mark.parametrize("engine", ["oracle", "scan"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_other_engines_give_the_same_hits(folder: Path, run: Any, ending: str, engine: str) -> None:
    run("build", "rules.csv", "index", "--engine", engine)
    assert _rows(run("match", "index", f"events.{ending}", "--key", "who").out)[1:] == HITS


@pytest.mark.parametrize("ending", ["csv", "jsonl", "ndjson", "parquet", "pq"])
def test_hits_go_to_a_file(built: Path, run: Any, ending: str) -> None:
    done = run("match", "rules.matchwood", "events.jsonl", "-o", f"hits.{ending}", "--key", "who")
    assert (done.status, done.out) == (0, "")
    assert f"written to hits.{ending}" in done.err
    path = Path(f"hits.{ending}")
    if ending == "csv":
        assert _rows(path.read_text()) == [("who", "rule"), *HITS]
    elif ending in ("parquet", "pq"):
        table = pa_parquet.read_table(path)
        assert list(zip(table["who"].to_pylist(), table["rule"].to_pylist(), strict=True)) == HITS
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert rows == [{"who": who, "rule": rule} for who, rule in HITS]
    assert [left.name for left in Path().iterdir() if "part" in left.suffix] == []


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_positions_and_keys_go_on_over_many_batches(
    built: Path, run: Any, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_ROWS", 3)
    done = run("match", "rules.matchwood", f"events.{ending}", "-o", "hits.parquet")
    assert done.status == 0
    hits = pa_parquet.read_table("hits.parquet")
    assert hits.schema.field("event").type == pa.int64()
    assert hits["event"].to_pylist() == [POSITIONS[who] for who, _ in HITS]
    assert _rows(run("match", "rules.matchwood", f"events.{ending}", "--key", "who").out)[1:] == HITS


@pytest.mark.parametrize(("name", "text"), [("none.csv", "age,country\n"), ("none.jsonl", "\n")])
def test_no_events_give_no_hits(built: Path, run: Any, name: str, text: str) -> None:
    Path(name).write_text(text)
    done = run("match", "rules.matchwood", name)
    assert (done.status, _rows(done.out)) == (0, [("event", "rule")])
    assert run("match", "rules.matchwood", name, "-o", "hits.parquet").status == 0
    assert pa_parquet.read_table("hits.parquet").num_rows == 0


def test_no_hits_still_make_a_whole_file(built: Path, run: Any) -> None:
    Path("few.jsonl").write_text('{"age": 3, "who": "x"}\n')
    assert run("match", "rules.matchwood", "few.jsonl", "--key", "who", "-o", "hits.jsonl").status == 0
    assert Path("hits.jsonl").read_text() == ""
    assert run("match", "rules.matchwood", "few.jsonl", "--key", "who", "-o", "hits.csv").status == 0
    assert _rows(Path("hits.csv").read_text()) == [("who", "rule")]


def test_integer_ids_stay_integers(folder: Path, run: Any) -> None:
    Path("r.csv").write_text("id,expression\n7,age > 5\n")
    run("build", "r.csv", "index")
    assert run("match", "index", "events.csv").out.splitlines()[1:] == ["0,7", "3,7"]
    run("match", "index", "events.csv", "-o", "hits.jsonl")
    assert json.loads(Path("hits.jsonl").read_text().splitlines()[0]) == {"event": 0, "rule": 7}


def test_missing_error_refuses_what_the_rules_name(built: Path, run: Any) -> None:
    Path("some.csv").write_text("age,contry,plan,tags,seen\n5,US,,,\n")
    done = run("match", "rules.matchwood", "some.csv", "--missing", "error", "-o", "hits.csv")
    assert (done.status, Path("hits.csv").exists()) == (1, False)
    assert done.err.startswith("matchwood: some.csv, the events' columns: 'country' must be given")
    assert "'contry'" in done.err
    Path("some.jsonl").write_text(json.dumps(EVENTS[0]) + '\n{"age": 5}\n')
    done = run("match", "rules.matchwood", "some.jsonl", "--missing", "error")
    assert done.status == 1
    assert "some.jsonl, event 1: " in done.err


@pytest.mark.parametrize(
    ("name", "text"), [("e.csv", "age,contry\n5,US\n"), ("e.jsonl", '{"age": 5, "contry": "US"}\n')]
)
def test_columns_that_no_event_has_are_noted(built: Path, run: Any, name: str, text: str) -> None:
    Path(name).write_text(text)
    done = run("match", "rules.matchwood", name)
    assert done.status == 0
    assert (
        "note: rules name attributes that no event has: 'country' (but 'contry'), 'plan', 'seen', 'tags'\n" in done.err
    )


def test_nested_events_need_no_note(folder: Path, run: Any) -> None:
    Path("r.csv").write_text("id,expression\na,geo.city = 'Rome'\n")
    run("build", "r.csv", "index")
    Path("e.jsonl").write_text('{"geo": {"city": "Rome"}}\n{"geo.city": "Rome"}\n{"geo": null}\n')
    done = run("match", "index", "e.jsonl")
    assert _rows(done.out)[1:] == [("0", "a"), ("1", "a")]
    assert "note" not in done.err
    Path("e.csv").write_text("geo.city\nRome\nParis\n")
    assert _rows(run("match", "index", "e.csv").out)[1:] == [("0", "a")]


def test_only_columns_that_rules_name_are_read(built: Path, run: Any) -> None:
    table = pa_parquet.read_table("events.parquet").append_column("odd", pa.array([1, 2, 3, 4], pa.duration("s")))
    pa_parquet.write_table(table, "odd.parquet")
    assert _rows(run("match", "rules.matchwood", "odd.parquet", "--key", "who").out)[1:] == HITS
    pa_parquet.write_table(table.select(["odd"]), "odd.parquet")
    assert _rows(run("match", "rules.matchwood", "odd.parquet").out)[1:] == [
        (str(row), "unknown age") for row in range(4)
    ]


@pytest.mark.parametrize("value", ['{"a": 1}', "[1]", '"\\ud800"', "99999999999999999999"])
def test_a_key_must_be_one_text_or_number(built: Path, run: Any, value: str) -> None:
    Path("e.jsonl").write_text(f'{{"who": {value}, "age": null}}\n')
    done = run("match", "rules.matchwood", "e.jsonl", "--key", "who")
    assert (done.status, done.out) == (1, "")
    assert done.err == "matchwood: e.jsonl: 'who' must be one text, or one number, in every event to be a key\n"


def test_keys_of_several_types_are_refused(built: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_ROWS", 1)
    Path("e.jsonl").write_text('{"who": 5}\n{"who": "x"}\n')
    done = run("match", "rules.matchwood", "e.jsonl", "--key", "who", "-o", "hits.csv")
    assert (done.status, Path("hits.csv").exists()) == (1, False)
    assert "'who' must be one text, or one number" in done.err


def test_a_failure_leaves_the_old_output(built: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_ROWS", 1)
    Path("hits.csv").write_text("old")
    Path("e.jsonl").write_text('{"age": 5}\n{"age": "five"}\n')
    done = run("match", "rules.matchwood", "e.jsonl", "-o", "hits.csv")
    assert (done.status, Path("hits.csv").read_text()) == (1, "old")
    assert done.err == "matchwood: e.jsonl, event 1: 'age' must be number (got 'five', a str)\n"
    assert [left.name for left in Path().iterdir() if "part" in left.suffix] == []


def test_the_best_rules(built: Path, run: Any) -> None:
    done = run("match", "rules.matchwood", "events.jsonl", "--key", "who", "--top", "2", "--weights", '{"seen": 3}')
    assert _rows(done.out) == [
        ("who", "rank", "rule", "score"),
        ("ann", "1", "recent", "3"),
        ("ann", "2", "adults", "2"),
        ("bob", "1", "unknown age", "0"),
        ("dee", "1", "adults", "2"),
    ]
    plain = run("match", "rules.matchwood", "events.csv", "--top", "1")
    assert _rows(plain.out)[0] == ("event", "rank", "rule", "score")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--top", "0"], "--top"),
        (["--weights", '{"age": 1}'], "give --top as well"),
        (["--top", "1", "--weights", "{"], "--weights must be JSON"),
        (["--top", "1", "--weights", "[1]"], "a JSON object"),
        (["--top", "1", "--key", "score"], "--key score"),
    ],
)
def test_rankings_that_cannot_be_made(built: Path, run: Any, options: list[str], told: str) -> None:
    done = run("match", "rules.matchwood", "events.jsonl", *options)
    assert done.status != 0
    assert told in done.err


def test_weights_of_what_no_rule_names_are_told_of(built: Path, run: Any) -> None:
    done = run("match", "rules.matchwood", "events.jsonl", "--top", "1", "--weights", '{"aeg": 1}')
    assert done.status == 0
    assert done.out == run("match", "rules.matchwood", "events.jsonl", "--top", "1").out
    assert "--weights has attributes that no rule names" in done.err


@pytest.mark.parametrize("threads", ["1", "3", "all"])
def test_threads_give_the_same_hits(built: Path, run: Any, threads: str) -> None:
    done = run("match", "rules.matchwood", "events.csv", "--key", "who", "--threads", threads)
    assert _rows(done.out) == [("who", "rule"), *HITS]
    best = run("match", "rules.matchwood", "events.csv", "--top", "1", "--threads", threads)
    assert best.out == run("match", "rules.matchwood", "events.csv", "--top", "1").out


@pytest.mark.parametrize("threads", ["0", "2000", "some", "-1"])
def test_what_is_no_number_of_threads(built: Path, run: Any, threads: str) -> None:
    done = run("match", "rules.matchwood", "events.csv", f"--threads={threads}")
    assert done.status == 2
    assert "must be a whole number from 1 to 1,024, or `all`" in done.err
