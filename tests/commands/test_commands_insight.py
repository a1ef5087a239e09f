"""`explain` and `stats`: one rule and one event, and a whole index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from matchwood.index import Index


def test_explain_draws_the_rule(built: Path, run: Any) -> None:
    done = run("explain", "rules.matchwood", "adults", '{"age": 20, "country": "FR"}')
    assert done.status == 0
    assert "✗ country in ('US', 'CA')  country = 'FR'  ◄" in done.out
    assert done.out.endswith("FALSE, decided by ◄\n")


def test_explain_as_data_and_from_a_file(built: Path, run: Any) -> None:
    Path("event.json").write_text('\ufeff{"age": 20}', encoding="utf-8")
    found = json.loads(run("explain", "rules.matchwood", "adults", "@event.json", "--json").out)
    assert (found["verdict"], found["expression"]) == (None, "age >= 18 and country in ('US', 'CA')")


def test_explain_takes_integer_ids(folder: Path, run: Any) -> None:
    Path("r.csv").write_text("id,expression\n7,age > 5\n")
    run("build", "r.csv", "index")
    assert run("explain", "index", "7", '{"age": 6}').out.endswith("TRUE, decided by ◄\n")
    assert run("explain", "index", "8", "{}").err == "matchwood: no rule has the id 8\n"
    assert "the ids of this index are integers (got 'x')" in run("explain", "index", "x", "{}").err


def test_stats_as_a_table_and_as_data(built: Path, run: Any) -> None:
    table = run("stats", "rules.matchwood").out
    assert "\nrules                    4\n" in table
    found = json.loads(run("stats", "rules.matchwood", "--json").out)
    assert (found["version"], found["rules"], found["engine"]) == (1, 4, "pstbloom")
    assert "problems" not in found


def test_an_audit_that_finds_something_fails(built: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("stats", "rules.matchwood", "--audit")
    assert done.status == 0
    assert "problems                 none" in done.out
    monkeypatch.setattr(Index, "audit", lambda index: ["a list is not sorted"])
    done = run("stats", "rules.matchwood", "--audit")
    assert done.status == 1
    assert "problems                 1\n  a list is not sorted\n" in done.out
    assert json.loads(run("stats", "rules.matchwood", "--audit", "--json").out)["problems"] == ["a list is not sorted"]


def test_find_lists_rules(built: Path, run: Any) -> None:
    assert run("find", "rules.matchwood", "age >= 18", "--semantics", "implies").out.startswith("adults: age >= 18 and")
    told = run("find", "rules.matchwood", "age >= 18", "--semantics", "implies", "--json").out
    assert json.loads(told.splitlines()[0])["id"] == "adults"
    assert run("find", "rules.matchwood", "age > 5 and age < 3").err.startswith(
        "matchwood: no event can satisfy the query"
    )
    assert run("find", "rules.matchwood", "age > 5", "--semantics", "subset").status == 2
