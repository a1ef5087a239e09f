"""Pictures of A-Trees: what is drawn, and that no name or constant can break out of its label."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import matchwood as mw
from matchwood.engines.atree.draw import NodeView
from matchwood.insight.drawing.atree import atree_drawing, dot_text, mermaid_text, node_type
from matchwood.workloads.hem import hem


def leaf(number: int, constraint: str, uses: int = 1, rules: tuple[Any, ...] = ()) -> NodeView:
    return NodeView(number, "leaf", 1, uses, (), None, "x", constraint, rules)


def inner(number: int, kind: str, level: int, children: tuple[int, ...], **more: Any) -> NodeView:
    given = {"uses": 1, "access": None, "attribute": None, "constraint": "", "rules": (), **more}
    return NodeView(number=number, kind=kind, level=level, children=children, **given)


FIGURE_4 = [
    *(leaf(number, f"p{number} = 1") for number in range(1, 9)),
    inner(9, "or", 2, (1, 2, 3)),
    inner(10, "or", 2, (5, 6), uses=2),
    inner(11, "or", 2, (7, 8)),
    inner(12, "and", 3, (9, 4, 10), access=4, rules=("first",)),
    inner(13, "and", 3, (10, 11), access=10, rules=("second",)),
]
"""Two rules, (p1 or p2 or p3) and p4 and (p5 or p6), and (p5 or p6) and (p7 or p8): the paper's Fig. 4 by its text."""


def test_figure_4_for_mermaid() -> None:
    lines = atree_drawing(FIGURE_4, "mermaid").splitlines()
    assert lines[0] == "flowchart BT"
    assert [line.strip() for line in lines if "subgraph" in line] == [
        'subgraph level1["Level 1"]', 'subgraph level2["Level 2"]', 'subgraph level3["Level 3"]',
    ]  # fmt: skip
    assert '    n1["1: p1 = 1"]' in lines
    assert '    n10(["10: or ×2"])' in lines
    assert '    n12[["12: and<br/>= first"]]' in lines
    assert [line.strip() for line in lines if line.endswith("n12")] == ["n9 -.-> n12", "n4 ==> n12", "n10 -.-> n12"]
    assert [line.strip() for line in lines if line.endswith("n10")] == ["n5 --> n10", "n6 --> n10"]
    assert lines.index('  subgraph level2["Level 2"]') < lines.index('    n9(["9: or"])') < lines.index("  n5 --> n10")


def test_figure_4_for_graphviz() -> None:
    lines = atree_drawing(FIGURE_4, "dot").splitlines()
    assert (lines[0], lines[-1]) == ("digraph atree {", "}")
    assert '  n1 [shape=box, label="1: p1 = 1"];' in lines
    assert '  n10 [shape=ellipse, label="10: or ×2"];' in lines
    assert '  n12 [shape=box, style=bold, peripheries=2, label="12: and\\n= first"];' in lines
    assert "  { rank=same; level2; n9; n10; n11; }" in lines
    assert "  level1 -> level2 -> level3 [style=invis];" in lines
    for line in ("  n4 -> n12 [style=bold];", "  n9 -> n12 [style=dashed];", "  n5 -> n10;"):
        assert line in lines


def test_figure_4_as_svg() -> None:
    """Every node is a box with its text, every link a line; rows are named, and so are the styles of lines."""
    root = ElementTree.fromstring(atree_drawing(FIGURE_4, "svg"))
    texts = [text.text for text in root.findall(".//{*}text")]
    assert {f"Level {level}" for level in (1, 2, 3)} < set(texts)
    assert "to the access child of an and" in texts
    assert sum(text.startswith(f"{node.number}: ") for node in FIGURE_4 for text in texts if text) == len(FIGURE_4)
    links = sum(len(node.children) for node in FIGURE_4)
    assert len(root.findall(".//{*}line")) == links + 3  # and one for each style of them


def test_a_be_tree_as_svg() -> None:
    index = mw.Index("betree", options={"max_cap": 2})
    index.insert_many((f"r<{n}>", f"age between {10 * n} and {10 * n + 5} and city = 'c{n % 2}'") for n in range(6))
    root = ElementTree.fromstring(index.draw("svg"))
    texts = {text.text for text in root.findall(".//{*}text")}
    assert {"root", "age"} <= texts
    assert "to a bucket in the hash table" in texts or "to a half of a bucket" in texts


def test_a_triangle_has_axes_with_names() -> None:
    texts = {text.text for text in ElementTree.fromstring(triangle_index().draw()).findall(".//{*}text")}
    assert {"middle of a rule's interval, among the constants of age", "half of its length", "0.5", "1"} <= texts


def test_the_papers_names_of_nodes() -> None:
    types = {node.number: node_type(node) for node in [*FIGURE_4, leaf(14, "x = 1", rules=(7,))]}
    assert (types[1], types[9], types[12], types[14]) == ("l", "i", "r", "r")


def test_many_rules_at_one_node_are_counted() -> None:
    assert "= 0, 1, 2, 3, 4, and 7 more" in atree_drawing([leaf(1, "x = 1", rules=tuple(range(12)))], "mermaid")


HOSTILE = [
    'a"] --> x["', "a\nb", "a\\", 'a\\"; evil [label="', "</svg><script>", "&lt;", "#quot;", "a\u202eb", "é中🎉", "`x`",
    "\x00", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("place", ["constraint", "rule"])
def test_no_text_breaks_out_of_its_label(text: str, place: str) -> None:
    node = leaf(1, text) if place == "constraint" else leaf(1, "x = 1", rules=(text,))
    mermaid, dot = atree_drawing([node], "mermaid").splitlines(), atree_drawing([node], "dot").splitlines()
    assert len(mermaid) == 4
    assert re.fullmatch(r' +n1\[?\["(?:[^"<>&`\\]|<br/>)*"\]\]?', mermaid[2])
    assert len(dot) == 7
    assert re.fullmatch(r'  n1 \[.*label="(?:[^"\\]|\\.)*"\];', dot[4])
    assert all(character.isprintable() for line in (*mermaid, *dot) for character in line)


def test_what_is_printable_stays() -> None:
    for drawn in (atree_drawing([leaf(1, "é中🎉 = 'x'")], form) for form in ("mermaid", "dot")):
        assert "1: é中🎉 = 'x'" in drawn
    assert mermaid_text("a_b*") == "a#95;b#42;"
    assert dot_text('"&"') == '\\"&amp;\\"'


def test_long_labels_are_cut() -> None:
    assert f"1: {'x' * 59}…" in atree_drawing([leaf(1, "x" * 5_000)], "dot")


def test_the_limit() -> None:
    nodes = [leaf(number, "x = 1") for number in range(201)]
    with pytest.raises(mw.LimitExceeded, match="the tree has 201 nodes, but a picture can have at most 200"):
        atree_drawing(nodes, "dot")
    assert atree_drawing(nodes, "dot", 201).count("label=") == 202


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("png",), "format must be one of mermaid, dot, svg"),
        (("dot", 0), "limit must be"),
        (("dot", True), "limit must be"),
        (("dot", "9"), "limit must be"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(mw.InvalidArgument, match=message):
        mw.Index("atree").draw(*arguments)


@pytest.mark.parametrize("engine", ["scan", "counting", "oracle", "auto"])
def test_only_an_a_tree_can_be_drawn(engine: str) -> None:
    index = mw.Index(engine)
    index[1] = "x = 1"
    with pytest.raises(mw.InvalidArgument, match="atree"):
        index.draw()


def test_an_index_draws_its_rules() -> None:
    index = mw.Index("atree")
    index["first"] = "(p1 = 1 or p2 = 1 or p3 = 1) and p4 = 1 and (p5 = 1 or p6 = 1)"
    index["second"] = "(p5 = 1 or p6 = 1) and (p7 = 1 or p8 = 1)"
    drawn = index.draw()
    assert drawn == index.draw("mermaid") != index.draw("dot")
    assert len(re.findall(r'^ +n\d+\["', drawn, re.MULTILINE)) == 8
    assert len(re.findall(r'^ +n\d+\(\["\d+: or', drawn, re.MULTILINE)) == 3
    assert re.findall(r'\[\["\d+: and<br/>= (\w+)', drawn) == ["first", "second"]
    assert len(re.findall("==>", drawn)) == 2
    assert "p4 = 1" in drawn
    index.clear()
    assert index.draw() == "flowchart BT\n"


def test_the_documentation_shows_what_is_drawn() -> None:
    page = (Path(__file__).parents[2] / "docs" / "atree.md").read_text(encoding="utf-8")
    rules = {
        "first": "(p1 = 1 or p2 = 1 or p3 = 1) and p4 = 1 and (p5 = 1 or p6 = 1)",
        "second": "(p5 = 1 or p6 = 1) and (p7 = 1 or p8 = 1)",
    }
    loaded, grown = mw.Index("atree"), mw.Index("atree")
    loaded.insert_many(rules)
    grown.update(rules)
    grown["third"] = "p1 = 1 or p2 = 1 or p3 = 1 or p4 = 1"
    grown["fourth"] = "(p1 = 1 or p2 = 1 or p3 = 1) and p4 = 1"
    assert re.findall(r"^```mermaid\n(.*?)^```", page, re.MULTILINE | re.DOTALL) == [loaded.draw(), grown.draw()]


# ------------------------------------------------------------------ triangles


def triangle_index() -> mw.Index:
    """150 rules on one attribute."""
    index = mw.Index("hem")
    index.insert_many(
        (f"r<{number}>", f"age >= {number} and age < {number + 10 + 7 * number % 190}") for number in range(150)
    )
    index["other"] = "country = 'US' and name rlike 'x.*y'"
    return index


def test_a_triangle_has_a_point_for_every_rule() -> None:
    drawn = triangle_index().draw()
    root = ElementTree.fromstring(drawn)
    assert len(root.findall(".//{*}circle")) == 150
    assert "age: 150 points in " in drawn
    assert len(root.findall(".//{*}polyline")) == 0
    titles = [title.text for title in root.findall(".//{*}title")]
    assert sorted(titles) == sorted(f"r<{number}>" for number in range(150))
    assert triangle_index().draw("svg") == drawn


def test_an_event_cuts_the_triangle() -> None:
    index = triangle_index()
    root = ElementTree.fromstring(drawn := index.draw(event={"age": 75}))
    told = re.search(r"age = 75: (\d+) points excluded, (\d+) checked, (\d+) kept", drawn)
    assert told is not None
    excluded, looked_at, kept = map(int, told.groups())
    hits = len(index.match({"age": 75}))
    assert excluded + looked_at + kept == 150
    assert kept <= hits <= kept + looked_at
    colours = {square.get("fill") for square in root.findall(".//{*}rect")}
    assert len(colours) == 3
    assert len(root.findall(".//{*}polyline")) == 1


def test_many_points_are_shades() -> None:
    root = ElementTree.fromstring(triangle_index().draw(limit=149))
    assert root.findall(".//{*}circle") == []
    assert len(root.findall(".//{*}rect")) > 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": "dot"}, "format must be svg for the engine 'hem'"),
        ({"limit": 0}, "limit must be"),
        ({"attribute": "nobody"}, "no rule constrains 'nobody'"),
        ({"attribute": "age", "event": {"country": "US"}}, "the event has no value for 'age'"),
    ],
)
def test_wrong_arguments_of_triangles(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mw.InvalidArgument, match=message):
        triangle_index().draw(**arguments)


def test_no_triangle_without_values() -> None:
    index = mw.Index("hem")
    with pytest.raises(mw.InvalidArgument, match="there is no triangle to draw"):
        index.draw()
    index["r"] = "x is null"
    with pytest.raises(mw.InvalidArgument, match="there is no triangle to draw"):
        index.draw()


def test_the_documentation_shows_the_triangle_that_is_drawn() -> None:
    """docs/hem.svg is drawn from the rules that docs/hem.md names."""
    work = hem(rules=150, events=1, attributes=1, width=0.2, seed=3)
    index = mw.Index("hem", options={"grid": 8})
    index.insert_many(list(enumerate(work.rules_text())))
    picture = Path(__file__).parents[2] / "docs" / "hem.svg"
    assert picture.read_text(encoding="utf-8") == index.draw(event={"a0": 450_000})
