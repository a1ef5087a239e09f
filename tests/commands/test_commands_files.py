"""Formats of files beside the plain ones, findings in a file, and versions from the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest
from conftest import Run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rules_csv(path: Path) -> None:
    path.write_text('id,expression\na,age >= 18\nb,"age in (3, 20)"\n')


def test_tabs_and_compression(run: Run, here: Path) -> None:
    (here / "rules.tsv").write_text("id\texpression\na\tage >= 18\nb\tage in (3, 20)\n")
    assert run("build", "rules.tsv", "index").status == 0
    with gzip.open("rules.csv.gz", "wt") as file:
        file.write('id,expression\na,age >= 18\nb,"age in (3, 20)"\n')
    assert run("build", "rules.csv.gz", "index").out.startswith("index: version 2 with 2 rules")
    with gzip.open("events.jsonl.gz", "wt") as file:
        file.write('{"age": 20}\n{"age": 3}\n')
    done = run("match", "index", "events.jsonl.gz", "-o", "hits.tsv.gz")
    assert "2 events, 3 hits in" in done.err
    with gzip.open("hits.tsv.gz", "rt") as file:
        assert file.read().replace('"', "") == "event\trule\n0\ta\n0\tb\n1\tb\n"
    assert run("match", "index", "events.jsonl.gz", "-o", "hits.jsonl.gz").status == 0
    with gzip.open("hits.jsonl.gz", "rt") as file:
        assert [json.loads(line) for line in file][-1] == {"event": 1, "rule": "b"}


def test_rejects_beside_a_compressed_file(run: Run, here: Path) -> None:
    with gzip.open("rules.csv.gz", "wt") as file:
        file.write("id,expression\na,age >= 18\nb,age >\n")
    assert run("check", "rules.csv.gz").status == 1
    assert (here / "rules.rejects.csv").exists()


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("cut.jsonl.gz", gzip.compress(b'{"age": 1}\n' * 50_000)[:-20], "not a readable JSON lines file"),
        ("plain.jsonl.gz", b'{"age": 1}\n', "not a readable JSON lines file"),
        ("plain.csv.gz", b"age\n1\n", "plain.csv.gz"),
        ("events.parquet.gz", b"", "Parquet files are already compressed"),
        (
            "events.txt.gz",
            b"",
            "one of .csv, .tsv, .jsonl, .ndjson, .json, .parquet, .pq, .yaml, .yml; text also with .gz",
        ),
    ],
)
def test_files_that_are_not_what_they_say(name: str, data: bytes, told: str, run: Run, here: Path) -> None:
    rules_csv(here / "rules.csv")
    run("build", "rules.csv", "index")
    (here / name).write_bytes(data)
    done = run("match", "index", name)
    assert done.status in (1, 2)
    assert told in done.err.splitlines()[-1]


def test_an_expression_with_commas_is_quoted(run: Run, here: Path) -> None:
    (here / "rules.csv").write_text("id,expression\na,age in (3, 20)\n")
    done = run("build", "rules.csv", "index")
    assert done.status == 1
    assert 'put a cell that contains commas, such as an expression, in double quotes: 7,"x in (1, 2)"' in done.err


def test_findings_in_a_file(run: Run, here: Path) -> None:
    (here / "rules.csv").write_text("id,expression\na,age >= 18\nb,age >= 18\nc,x < 1 and x > 2\n")
    done = run("check", "rules.csv", "--findings", "found.csv")
    assert (done.status, "lint: 2 findings" in done.out, "  all in found.csv" in done.out) == (0, True, True)
    found = pa_csv.read_csv("found.csv")
    assert found.column_names == ["id", "problem", "other", "detail"]
    assert sorted(zip(*(found[name].to_pylist() for name in ("id", "problem")), strict=True)) == [
        ("b", "duplicate"),
        ("c", "never"),
    ]
    assert run("check", "rules.csv", "--findings", "rules.csv").status == 2
    done = run("check", "rules.csv", "--rejects", "r.csv", "--findings", "r.csv")
    assert (done.status, done.err) == (2, "matchwood: --findings r.csv would replace the rejected rules\n")


def test_one_is_not_many(run: Run, here: Path) -> None:
    (here / "rules.csv").write_text("id,expression\na,age >= 18\n")
    assert "1 rule can be used, 0 cannot" in run("check", "rules.csv").out
    assert "version 1 with 1 rule, engine" in run("build", "rules.csv", "index").out
    (here / "events.csv").write_text("age\n20\n")
    assert "1 event, 1 hit in" in run("match", "index", "events.csv").err


def test_versions(run: Run, here: Path) -> None:
    rules_csv(here / "rules.csv")
    for _ in range(3):
        run("build", "rules.csv", "index")
    lines = run("versions", "index").out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    assert ["current" in line for line in lines] == [False, False, True]
    assert "UTC  1 part of 0.0 MiB" in lines[0]
    done = run("rollback", "index", "1")
    assert done.out == "index: version 4, equal to version 1, is current\n"
    assert run("versions", "index").out.rstrip().endswith(", equal to version 1")
    assert run("vacuum", "index").out == "index: 0 versions removed\n"
    assert run("vacuum", "index", "--keep", "1", "--grace", "0 seconds").out == "index: 3 versions removed: 1, 2, 3\n"
    told = json.loads(run("versions", "index", "--json").out)
    assert [(each["version"], each["current"], each["restored_from"], each["problem"]) for each in told] == [
        (4, True, 1, None)
    ]


def test_versions_that_are_not_there(run: Run, here: Path) -> None:
    assert "no snapshot is there" in run("versions", "nowhere").err
    rules_csv(here / "rules.csv")
    run("build", "rules.csv", "index")
    assert "has no version 9 (it has 1)" in run("rollback", "index", "9").err
    assert "grace must be like" in run("vacuum", "index", "--grace", "soon").err
    (here / "index" / "v000001" / "manifest.json").write_text("{}")
    done = run("versions", "index")
    assert done.status == 1
    assert "does not begin like a manifest" in done.out


def test_a_directory_of_other_things(run: Run, here: Path) -> None:
    rules_csv(here / "rules.csv")
    done = run("build", "rules.csv", ".")
    assert done.status == 1
    assert "the directory holds something else (rules.csv); give a path that does not exist yet" in done.err
