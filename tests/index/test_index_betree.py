"""The engine `betree` behind the façade: pictures, options, and what a snapshot keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import matchwood
from matchwood.commands.cli import main
from matchwood.errors import InvalidArgument, LimitExceeded

RULES = {f"r{number}": f"age between {number} and {number + 5} and city = 'c{number}'" for number in range(12)}


def filled(**options: Any) -> matchwood.Index:
    index = matchwood.Index("betree", options={"max_cap": 5, **options})
    for name, text in RULES.items():
        index[name] = text
    index["any"] = "age is null"
    return index


@pytest.mark.parametrize("form", ["mermaid", "dot"])
def test_every_rule_is_in_the_picture_once(form: str) -> None:
    picture = filled().draw(form)
    assert picture.startswith({"mermaid": "flowchart TB", "dot": "digraph betree {"}[form])
    assert "city" in picture
    assert "Z: no predicate leads here" in picture
    words = picture.replace('"', " ").replace("<br/>", " ").replace("\\n", " ").replace(",", " ").split()
    assert all(words.count(name) == 1 for name in (*RULES, "any"))


def test_an_empty_tree_is_its_root() -> None:
    assert matchwood.Index("betree").draw() == 'flowchart TB\n  c0["root"]\n'


def test_pictures_are_for_small_trees_and_known_formats() -> None:
    with pytest.raises(LimitExceeded, match="raise the limit"):
        filled().draw(limit=3)
    with pytest.raises(InvalidArgument, match="format must be one of"):
        filled().draw("png")
    with pytest.raises(InvalidArgument, match="only the engine 'atree'"):
        filled().nodes()


def test_the_command_draws_either_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.csv"
    rules.write_text("id,expression\nfirst,age > 5\nsecond,age < 3\n", encoding="utf-8")
    assert main(["draw", str(rules), "--engine", "betree"]) == 0
    assert capsys.readouterr().out == 'flowchart TB\n  c0["root<br/>first, second"]\n'
    rules.write_text("id,expression\n" + "".join(f"{n},age > {n}\n" for n in range(4)), encoding="utf-8")
    assert main(["draw", str(rules), "--engine", "betree", "--max-cap", "2"]) == 0
    assert "age" in capsys.readouterr().out
    assert main(["draw", str(rules), "--max-cap", "1"]) == 2


def test_a_snapshot_keeps_the_tree(tmp_path: Path) -> None:
    index = filled(max_cap=2, evaluation="hybrid", bloom_bits=32)
    index.save(tmp_path / "saved")
    opened = matchwood.open(tmp_path / "saved")
    assert opened.draw() == index.draw()
    event = {"age": 7, "city": "c4"}
    assert opened.match(event) == index.match(event) == ["r4"]
    opened["more"] = "age > 6"
    del opened["r4"]
    assert opened.match(event) == ["more"]
    assert opened.audit() == []


def test_rules_that_come_at_once_make_one_tree_in_any_order() -> None:
    """Labels of a bulk are assigned together; one by one they depend on who came first (docs)."""
    rules = [(number, f"x between {number * 37} and {number * 37 + 90 + number % 50 * 400}") for number in range(300)]
    shapes = []
    for order in (rules, rules[::-1], rules[1::2] + rules[::2]):
        index = matchwood.Index("betree", options={"max_cap": 5})
        index.insert_many(order)
        stats = index.stats()
        shapes.append([stats[name] for name in ("c_nodes", "l_nodes", "split_buckets", "largest_leaf", "depth")])
    assert shapes[0] == shapes[1] == shapes[2]
    assert shapes[0][2] > 5


@pytest.mark.parametrize("saved", [False, True])
def test_as_published_is_saved(tmp_path: Path, saved: bool) -> None:
    index = matchwood.Index("betree", options={"as_published": True})
    index.insert_many([(number, f"x = {number % 9} and y > {number}") for number in range(300)])
    if saved:
        index.save(tmp_path / "saved")
        index = matchwood.open(tmp_path / "saved")
    stats = index.stats()
    assert (stats["max_cap"], stats["options"]["as_published"], stats["options"]["node_window"]) == (5, True, 0.1)
    assert index.match({"x": 3, "y": 30}) == [3, 12, 21]
    assert index.audit() == []


def test_events_decide_the_capacity_of_leaves() -> None:
    """Half of the rules match, so leaves become larger once that is known."""
    index = matchwood.Index("betree")
    index.insert_many([(number, f"x >= {number}") for number in range(400)])
    assert index.stats()["max_cap"] == 320
    index.match_many([{"x": 200 + number % 5} for number in range(300)])
    index._matcher.reconsider()
    assert index.stats()["max_cap"] == 1280
    assert index.match({"x": 2}) == [0, 1, 2]
