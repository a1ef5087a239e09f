"""`matchwood draw`: from a file of rules to a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_draw_prints_a_picture(folder: Path, run: Any) -> None:
    done = run("draw", "rules.csv")
    assert done.status == 0
    assert done.out.startswith("flowchart BT\n")
    assert "<br/>= adults" in done.out
    assert "age #62;= 18" in done.out
    assert done.err == ""


def test_draw_writes_a_file_for_graphviz(folder: Path, run: Any) -> None:
    done = run("draw", "rules.jsonl", "--format", "dot", "--output", "tree.dot")
    assert (done.status, done.out) == (0, "tree.dot: 4 rules\n")
    assert Path("tree.dot").read_text().startswith("digraph atree {\n")
    assert Path("tree.dot").read_text() == run("draw", "rules.csv", "--format", "dot").out


def test_the_ending_of_the_file_says_the_format(folder: Path, run: Any) -> None:
    for engine in ("atree", "betree"):
        assert run("draw", "rules.csv", "--engine", engine, "-o", "tree.svg").status == 0
        drawn = Path("tree.svg").read_text()
        assert drawn == run("draw", "rules.csv", "--engine", engine, "--format", "svg").out
        assert drawn.startswith("<svg")


def test_a_rejected_rule_leaves_no_picture(folder: Path, run: Any) -> None:
    Path("bad.csv").write_text("id,expression\nok,age > 5\nodd,age => 5\n")
    done = run("draw", "bad.csv", "-o", "tree.mmd")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "matchwood: bad.csv: no picture, because 1 rule cannot be used (matchwood check lists them); "
        "the first is odd: line 1, column 5: found '=>', expected an operator (write >=)\n"
    )
    assert sorted(path.name for path in folder.iterdir() if "tree" in path.name or "rejects" in path.name) == []


def test_too_many_nodes(folder: Path, run: Any) -> None:
    done = run("draw", "rules.csv", "--limit", "3")
    assert done.status == 1
    assert "nodes, but a picture can have at most 3" in done.err
    assert run("draw", "rules.csv", "--limit", "0").status == 2


def test_draw_writes_a_triangle(folder: Path, run: Any) -> None:
    done = run("draw", "rules.csv", "--engine", "hem", "--attribute", "age", "--event", '{"age": 20}', "-o", "age.svg")
    assert (done.status, done.out) == (0, "age.svg: 4 rules\n")
    drawn = Path("age.svg").read_text()
    assert "age = 20: " in drawn
    assert "Subarea 3" in drawn
    assert "<title>adults</title>" in drawn
    assert run("draw", "rules.csv", "--engine", "hem", "--attribute", "age").out.startswith("<svg")


def test_options_of_the_other_engine_are_refused(folder: Path, run: Any) -> None:
    done = run("draw", "rules.csv", "--event", "{}")
    assert (done.status, done.err) == (2, "matchwood: --attribute and --event are for --engine hem\n")
    done = run("draw", "rules.csv", "--engine", "hem", "--format", "dot")
    assert (done.status, done.err) == (2, "matchwood: --format dot is not for --engine hem\n")
    assert run("draw", "rules.csv", "--engine", "hem", "--event", "[]").status == 2
    assert run("draw", "rules.csv", "--engine", "hem", "--attribute", "nobody").status == 1


def test_wrong_calls(folder: Path, run: Any) -> None:
    assert run("draw", "rules.csv", "--format", "png").status == 2
    done = run("draw", "rules.csv", "-o", "./rules.csv")
    assert (done.status, done.err) == (2, "matchwood: --output rules.csv would replace the rules\n")
    assert run("draw", "nothing.csv").status == 1
    done = run("draw", "rules.csv", "-o", "missing/tree.dot")
    assert (done.status, done.err) == (1, "matchwood: missing/tree.dot: cannot be written: No such file or directory\n")
