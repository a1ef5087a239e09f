"""The judge, by hand; and that it shares nothing with what it judges."""

from __future__ import annotations

import ast
import datetime
import math
from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from tests.fuzz.judge import Judge, zone_of
from tests.fuzz.spelling import Writer, literal
from tests.fuzz.trees import Join, Leaf, Not, Tree, Truth, size_of, smaller
from tests.fuzz.worlds import Put, world

A, B, C = (Leaf(name, "=", 1) for name in "abc")
HELD = ["judge.py", "patterns.py", "trees.py", "answers.py", "spelling.py", "growing.py", "domains.py", "worlds.py"]


def judged(tree: Tree, event: dict[str, Any], **weights: Any) -> tuple[bool | None, float]:
    return Judge(datetime.UTC, event, **weights).judge(tree)


@pytest.mark.parametrize("file", HELD)
def test_the_judge_imports_nothing_of_matchwood(file: str) -> None:
    tree = ast.parse((Path(__file__).parent / file).read_text())
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert names
    assert not [name for name in names if name.split(".")[0] == "matchwood"]
    assert {name for name in names if name.startswith("tests")} <= {f"tests.fuzz.{each[:-3]}" for each in HELD}


@pytest.mark.parametrize(
    ("kind", "verdicts", "expected"),
    [
        ("and", (1, None), None),
        ("and", (0, None), False),
        ("or", (1, None), True),
        ("or", (0, None), None),
        ("xor", (1, 1, 1), True),
        ("xor", (1, None), None),
        ("xnor", (1, 1), True),
        ("xnor", (0, 0, 0), False),
        ("xnor", (1, 0, 0), True),
    ],
)
def test_joins(kind: str, verdicts: tuple[Any, ...], expected: bool | None) -> None:
    parts = tuple(Leaf(f"p{place}", "=", 1) for place in range(len(verdicts)))
    event = {f"p{place}": value for place, value in enumerate(verdicts)}
    assert judged(Join(kind, parts), event)[0] is expected


@pytest.mark.parametrize(
    ("leaf", "value", "expected"),
    [
        (Leaf("a", "=", math.nan), math.nan, True),
        (Leaf("a", ">", math.inf), math.nan, True),
        (Leaf("a", "=", 0.0), -0.0, True),
        (Leaf("a", ">", 2.0**53), 2**53 + 1, True),
        (Leaf("a", "between", (3, 1)), 2, False),
        (Leaf("a", "not between", (3, 1)), 2, True),
        (Leaf("a", "not in", (1, 2)), None, None),
        (Leaf("a", "is null"), None, True),
        (Leaf("a", "none of", ("x",)), [], True),
        (Leaf("a", "all of", ("x",)), [], False),
        (Leaf("a", "contains", "x"), [None, "x"], True),
        (Leaf("a", "like", "a\\_b"), "a_b", True),
        (Leaf("a", "like", "a\\_b"), "axb", False),
        (Leaf("a", "like", "a!%b", "!"), "a%b", True),
        (Leaf("a", "like", "_"), "\n", True),
        (Leaf("a", "ilike", "É%"), "éa", True),
        (Leaf("a", "rlike", "b$"), "ab\n", False),
        (Leaf("a", "=", datetime.date(1970, 1, 1)), datetime.datetime(1970, 1, 1), True),
    ],
)
def test_leaves(leaf: Leaf, value: Any, expected: bool | None) -> None:
    assert judged(leaf, {"a": value})[0] is expected


def test_dates_begin_in_the_zone() -> None:
    leaf = Leaf("a", ">=", datetime.date(2026, 3, 8))
    noon = datetime.datetime(2026, 3, 8, 4, 30, tzinfo=datetime.UTC)
    assert Judge(zone_of("UTC"), {"a": noon}).judge(leaf)[0] is True
    assert Judge(zone_of("America/New_York"), {"a": noon}).judge(leaf)[0] is False


def test_scores() -> None:
    event, every = {"a": 1, "b": 1, "c": 1, "t": ["x", "y"]}, {"a": 2.0, "b": {1: 5.0, 2: 9.0}, "t": {"y": 3.0}}
    own = {"weights": every, "event_weights": {"a": 0.5}}
    assert judged(Join("and", (A, B, C)), event, **own) == (True, 7.0)
    assert judged(Join("or", (A, B, Leaf("c", "=", 2))), event, **own) == (True, 5.0)
    assert judged(Join("xnor", (A, B)), event, **own) == (True, 0.0)
    assert judged(Not(Leaf("b", "=", 2)), event, **own) == (True, 0.0)
    assert judged(Truth(B, "true", False), event, **own) == (True, 5.0)
    assert judged(Truth(B, "false", True), event, **own) == (True, 0.0)
    assert judged(Leaf("b", "!=", 2), event, **own) == (True, 0.0)
    assert judged(Leaf("t", "one of", ("x", "y")), event, **own) == (True, 3.0)
    assert judged(Leaf("t", "contains", "x"), event, **own) == (True, 1.0)


def test_texts_say_what_trees_say() -> None:
    """All styles of a tree are read as the same rule."""
    for case in range(20):
        for rule in (rule for step in world("texts", case).steps if isinstance(step, Put) for rule in step.rules):
            plain, styled = (mw.parse(Writer(style).text(rule.tree)) for style in (0, rule.style))
            assert plain == styled
    assert mw.parse(f"x = {literal(math.inf)}") == mw.parse("x = cast('Infinity' as double)")


def test_smaller_trees_are_smaller() -> None:
    tree = Join("and", (A, Not(Join("or", (B, C))), Truth(Leaf("d", "in", (1, 2)), "true", True)))
    found = list(smaller(tree))
    assert Join("and", (A, Not(B), tree.parts[2])) in found
    assert all(size_of(each) <= size_of(tree) and each != tree for each in found)
