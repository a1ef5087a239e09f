"""`matchwood spark`: from files and tables to an index, hits and a second opinion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from matchwood.commands.cli import main

RULES = "id,expression\n1,age > 5\n2,\"city = 'Rome' and age < 30\"\n3,age >\n"
EVENTS = [(10, 20, "Rome"), (11, 3, "Oslo"), (12, None, "Rome")]


@pytest.fixture
def files(spark: Any, tmp_path: Path) -> Path:
    (tmp_path / "rules.csv").write_text(RULES)
    events = spark.createDataFrame(EVENTS, "event_id long, age long, city string")
    events.write.parquet(str(tmp_path / "events.parquet"))
    return tmp_path


@pytest.mark.everywhere
def test_build_match_verify_update(spark: Any, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules, events, index, hits = (str(files / name) for name in ("rules.csv", "events.parquet", "index", "hits"))
    assert main(["spark", "build", rules, index]) == 1
    out = capsys.readouterr().out
    assert "version 1: 2 rules, 1 rejected; 1 shard of" in out
    assert "3: line 1, column 6" in out
    assert main(["spark", "match", events, index, hits, "--keep", "event_id"]) == 0
    assert "2 rows in " in capsys.readouterr().err
    rows = spark.read.parquet(hits).collect()
    assert sorted((row.event_id, row.rule) for row in rows) == [(10, 1), (10, 2)]
    assert main(["spark", "verify", events, rules, hits]) == 0
    assert main(["spark", "verify", events, rules, hits, "--index", index]) == 0
    told = capsys.readouterr()
    assert "0 disagreements" in told.out
    assert "1 of 3 sampled rules are not verified: 3: line 1, column 6" in told.err
    (files / "changes.jsonl").write_text('{"id": 1, "expression": null}\n{"id": 4, "expression": "age = 3"}\n')
    assert main(["spark", "update", str(files / "changes.jsonl"), index]) == 0
    assert "1 inserted, 0 replaced, 1 deleted" in capsys.readouterr().out
    assert list(mw.open(index)) == [2, 4]


@pytest.mark.long
def test_tables_by_name(spark: Any, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spark.createDataFrame([("a", "vip"), ("b", "not vip")], "id string, expression string").createOrReplaceTempView(
        "ours"
    )
    spark.createDataFrame([(True,)], "vip boolean").createOrReplaceTempView("seen")
    assert main(["spark", "build", "ours", str(files / "t"), "--shards", "2"]) == 0
    assert main(["spark", "match", "seen", str(files / "t"), "default.hits_table", "--output", "array"]) == 0
    assert [row.rules for row in spark.table("hits_table").collect()] == [["a"]]
    spark.sql("drop table hits_table")
    capsys.readouterr()
    wrong = spark.createDataFrame([(1, True, "b")], "event_id long, vip boolean, rule string")
    wrong.createOrReplaceTempView("wrong")
    wrong.drop("rule").createOrReplaceTempView("seen")
    assert main(["spark", "verify", "seen", "ours", "wrong"]) == 1
    assert "event 1, rule 'b': ours True, Spark SQL False" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "status", "told"),
    [
        (["build", "nowhere/rules.parquet", "x"], 1, "PATH_NOT_FOUND"),
        (["build", "no_such_table", "x"], 1, "no_such_table"),
        (["match", "events.parquet", "nowhere", "./hits"], 1, "no snapshot"),
        (["match", "events.parquet", "x", "hits"], 2, "write ./hits for a path, default.hits for a table"),
        (["build", "rules.csv", "x", "--conf", "memory=1"], 2, "--conf takes"),
        (["build", "rules.csv", "x", "--on-duplicate", "last"], 1, "go together"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(
    spark: Any, files: Path, capsys: pytest.CaptureFixture[str], call: list[str], status: int, told: str
) -> None:
    named = [str(files / word) if word.startswith(("rules.", "events.", "x", "nowhere")) else word for word in call]
    assert main(["spark", *named]) == status
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.long
def test_under_spark_submit(files: Path) -> None:
    """In a process of its own, as a script that spark-submit starts."""
    script = files / "run.py"
    script.write_text("import sys\nfrom matchwood.commands.cli import main\nsys.exit(main())\n")
    home = Path(__import__("pyspark").__file__).parent
    command = [str(home / "bin" / "spark-submit"), "--master", "local[1]", "--conf", "spark.app.name=submitted"]
    call = ["spark", "build", str(files / "rules.csv"), str(files / "index")]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)}
    done = subprocess.run([*command, str(script), *call], env=environment, capture_output=True, text=True, check=False)
    assert "version 1: 2 rules, 1 rejected" in done.stdout, done.stderr[-3000:]
    assert mw.open(files / "index").match({"age": 20}) == [1]
