"""`matchwood diff`: two sets of rules, and what differs for events."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import matchwood as mw
from matchwood.commands.diffs.hit_changes import Asked, HitComparison
from matchwood.commands.diffs.rule_changes import rule_changes

OLD = """\
adults: age >= 18 and country in ('US', 'CA')
same: age < 10
worded: age  =  5
gone: country = 'FR'
"""
NEW = """\
adults: age >= 21 and country in ('US', 'CA', 'NO')
same: age < 10
worded: age = 5
big: age > 60
"""
EVENTS = [
    {"who": "ann", "age": 20, "country": "US"},
    {"who": "bob", "age": 30, "country": "NO"},
    {"who": "cy", "age": 70, "country": "CA"},
    {"who": "dee", "age": None, "country": "FR"},
    {"who": "eve", "age": 5, "country": "DE"},
]


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`old.yaml`, `new.yaml` and `events` in all formats."""
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(OLD)
    Path("new.yaml").write_text(NEW)
    pa_parquet.write_table(pa.Table.from_pylist(EVENTS), "events.parquet")
    Path("events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    with Path("events.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(EVENTS[0]))
        writer.writeheader()
        writer.writerows(EVENTS)
    return tmp_path


TOLD = """\
old.yaml → new.yaml
rules: 1 added, 1 removed, 1 changed, 1 reworded, 1 the same
5 events: 2 hits gained, 2 lost

changed adults: 2 hits before, 2 after; 1 gained, 1 lost
  - age >= 18 and country in ('US', 'CA')
  + age >= 21 and country in ('US', 'CA', 'NO')
  gained event bob: country in ('US', 'CA') was false (country = 'NO')
  lost event ann: age >= 21 is false (age = 20)

added big: 0 hits before, 1 after; 1 gained, 0 lost
  + age > 60

removed gone: 1 hit before, 0 after; 0 gained, 1 lost
  - country = 'FR'

reworded worded
  - age  =  5
  + age = 5
"""


@pytest.mark.parametrize("events", ["events.parquet", "events.jsonl", "events.csv"])
def test_rules_and_hits_that_differ(events: str, sides: Path, run: Any) -> None:
    done = run("diff", "old.yaml", "new.yaml", "--events", events, "--key", "who")
    assert (done.status, done.err) == (0, "")
    assert done.out == TOLD


def test_positions_tell_events_without_a_key(sides: Path, run: Any) -> None:
    assert (
        "  lost event 0: age >= 21 is false (age = 20)\n"
        in run("diff", "old.yaml", "new.yaml", "--events", "events.csv").out
    )


def test_rules_alone(sides: Path, run: Any) -> None:
    done = run("diff", "old.yaml", "new.yaml")
    assert done.out.startswith(
        "old.yaml → new.yaml\nrules: 1 added, 1 removed, 1 changed, 1 reworded, 1 the same\n\nchanged"
    )
    assert "hits" not in done.out


@pytest.mark.parametrize(
    ("condition", "new", "status"),
    [
        ("never", NEW, 0),
        ("rules", NEW, 1),
        ("hits", NEW, 1),
        ("gained", NEW, 1),
        ("lost", NEW, 1),
        ("rules", OLD, 0),
        ("hits", OLD + "none: age > 1000\n", 0),
        ("rules", OLD + "none: age > 1000\n", 1),
        ("lost", OLD + "more: age > 1\n", 0),
        ("gained", OLD + "more: age > 1\n", 1),
    ],
)
def test_when_it_fails(condition: str, new: str, status: int, sides: Path, run: Any) -> None:
    Path("new.yaml").write_text(new)
    assert run("diff", "old.yaml", "new.yaml", "--events", "events.csv", "--fail-if", condition).status == status


class _Texts(HTMLParser):
    """Checks that tags close, and gathers what a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.seen.append(data)


def test_the_page(sides: Path, run: Any) -> None:
    Path("new.yaml").write_text(NEW + "\"<script>\": country = '<b>'\n")
    done = run("diff", "old.yaml", "new.yaml", "--events", "events.csv", "--key", "who", "--html", "diff.html")
    assert done.out.endswith("full report in diff.html\n")
    page = _Texts()
    page.feed(Path("diff.html").read_text())
    assert page.open == []
    assert {"changed", "adults", "1 gained, 1 lost"} <= set(page.seen) | {t[-16:] for t in page.seen}
    assert "country in ('US', 'CA') was false (country = 'NO')" in page.seen
    assert "<script>" in page.seen
    assert "<script>" not in Path("diff.html").read_text()


def test_the_table(sides: Path, run: Any) -> None:
    run("diff", "old.yaml", "new.yaml", "--events", "events.csv", "--output", "diff.parquet")
    rows = {row["rule"]: row for row in pa_parquet.read_table("diff.parquet").to_pylist()}
    assert list(rows) == ["adults", "worded", "big", "gone"]
    assert [rows["adults"][name] for name in ("kind", "before", "after", "gained", "lost")] == ["changed", 2, 2, 1, 1]
    assert rows["worded"]["gained"] is None
    assert (rows["gone"]["old"], rows["gone"]["new"]) == ("country = 'FR'", None)


def test_a_rejected_rule_fails(sides: Path, run: Any) -> None:
    Path("new.yaml").write_text(NEW + "typo: age => 5\n")
    done = run("diff", "old.yaml", "new.yaml")
    assert done.status == 1
    assert done.err.startswith("new.yaml, rule typo: rejected, line 1, column 5: found '=>'")
    assert run("diff", "new.yaml", "old.yaml").status == 0


def test_versions_of_an_index(sides: Path, run: Any) -> None:
    for rules in ("old.yaml", "new.yaml"):
        run("build", rules, "index")
    done = run("diff", "index@1", "index", "--events", "events.csv", "--key", "who")
    assert done.out == TOLD.replace("old.yaml → new.yaml", "index@1 → index")


def test_wrong_calls(sides: Path, run: Any) -> None:
    assert run("diff", "old.yaml", "new.yaml", "--key", "who").err.startswith("matchwood: --key is for events")
    assert run("diff", "old.yaml", "new.yaml", "--fail-if", "lost").status == 2
    assert run("diff", "old.yaml", "new.yaml", "--html", "new.yaml").status == 2
    assert run("diff", "old.yaml", "nowhere").err == "matchwood: nowhere: there is no such file or folder\n"
    Path("ids.csv").write_text("id,expression\n1,age = 1\n")
    assert "the ids of the old rules are text, those of the new ones integers" in run("diff", "old.yaml", "ids.csv").err
    Path("wrong.csv").write_text("age,country\n1,US\nold,CA\n")
    wrong = ("diff", "old.yaml", "new.yaml", "--events", "wrong.csv")
    assert run(*wrong).err == "matchwood: wrong.csv, event 1: 'age' must be a number (got 'old')\n"


def test_values_that_do_not_fit_may_be_missing(sides: Path, run: Any) -> None:
    Path("wrong.jsonl").write_text('{"age": "old", "country": "FR"}\n{"age": 70}\n')
    wrong = ("diff", "old.yaml", "new.yaml", "--events", "wrong.jsonl")
    assert "'age' must be number" in run(*wrong).err
    assert "2 events: 1 hit gained, 1 lost" in run(*wrong, "--on-error", "null").out


def indexes(old: dict[str, Any], new: dict[str, Any], **settings: Any) -> tuple[mw.Index, mw.Index]:
    made = mw.Index(), mw.Index(**settings)
    for index, rules in zip(made, (old, new), strict=True):
        index.insert_many([(name, *rule) if isinstance(rule, tuple) else (name, rule) for name, rule in rules.items()])
    return made


def test_kinds_of_changes() -> None:
    old, new = indexes(
        {"typed": "x is null", "other": "y = 1", "weight": "y = 2", "weights": "y = 3"},
        {
            "typed": "x is null",
            "other": "x = 'a' and y = 1",
            "weight": ("y = 2", {"weight": 2.0}),
            "weights": ("y = 3", {"weights": {"y": 2}}),
        },
    )
    kinds = {change.rule: change.kind for change in rule_changes(old, new)}
    assert kinds == {"typed": "retyped", "other": "changed", "weight": "reweighted", "weights": "reweighted"}
    assert rule_changes(old, old) == []


def test_another_time_zone_is_a_change_of_all_rules() -> None:
    old, new = indexes({"a": "t >= date '2026-01-01'"}, {"a": "t >= date '2026-01-01'"}, timezone="Asia/Tokyo")
    assert [change.kind for change in rule_changes(old, new)] == ["retyped"]


def test_only_rules_that_differ_are_matched(sides: Path) -> None:
    old, new = indexes({"a": "x = 1", "b": "x = 2", "c": "x = 3"}, {"a": "x = 1", "b": "x > 2", "d": "x = 4"})
    comparison = HitComparison(old, new, rule_changes(old, new))
    assert (list(comparison.old), list(comparison.new)) == (["b", "c"], ["b", "d"])


def test_hits_are_those_of_whole_indexes(sides: Path) -> None:
    """Over many batches, gained and lost are what two whole indexes say, and samples are the first of them."""
    events = pa.table({"x": [number % 97 for number in range(20_000)], "y": [number % 7 for number in range(20_000)]})
    pa_parquet.write_table(events, "many.parquet")
    old, new = indexes(
        {f"r{number}": f"x between {number} and {number + 5} and y < 3" for number in range(60)},
        {f"r{number}": f"x between {number} and {number + number % 3} and y < 4" for number in range(10, 70)},
    )
    comparison = HitComparison(old, new, rule_changes(old, new))
    comparison.run(Asked(Path("many.parquet"), None, None, "raise", 2))
    was, now = (set(zip(*index.match_many(events).to_pydict().values(), strict=True)) for index in (old, new))
    for rule, found in comparison.found.items():
        gained, lost = (sorted(event for event, hit in pairs if hit == rule) for pairs in (now - was, was - now))
        assert (found.gained, found.lost) == (len(gained), len(lost))
        assert [sample.key for sample in found.gained_samples] == gained[:2]
        assert [sample.key for sample in found.lost_samples] == lost[:2]
    assert comparison.events == 20_000
    assert sum(found.gained for found in comparison.found.values()) > 0
