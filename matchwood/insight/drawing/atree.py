"""Pictures of an A-Tree: text that Graphviz or Mermaid turns into a drawing, or SVG.

Leaves are at the bottom and rules at the top, one row per level. An `and` is only looked at when its *access child* is
true: that link is thick, and those to its other children, which it asks on demand, are dotted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matchwood.errors import InvalidArgument, LimitExceeded
from matchwood.insight.drawing.graph import Box, Link, graph_svg

if TYPE_CHECKING:
    from matchwood.engines import NodeView

FORMATS = ("mermaid", "dot", "svg")
MOST_NODES = 200
"""Nodes that a picture has at most unless asked for more: beyond that nobody can read it."""

_MOST_RULES, _WIDEST = 5, 60
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_LEAVES = ("leaf", "predicate")

Lines = list[str]


def atree_drawing(nodes: Sequence[NodeView], form: str, limit: int = MOST_NODES) -> str:
    """The tree in one of the `FORMATS`."""
    check_format(form)
    check_limit(limit)
    if len(nodes) > limit:
        raise LimitExceeded(
            f"the tree has {len(nodes):,} nodes, but a picture can have at most {limit:,} (raise the limit)"
        )
    if form == "svg":
        return _svg(nodes)
    draw = {"mermaid": _mermaid, "dot": _dot}[form]
    return "\n".join(draw(_levels(nodes))) + "\n"


def check_format(form: Any) -> None:
    if form not in FORMATS:
        raise InvalidArgument(f"format must be one of {', '.join(FORMATS)} (got {form!r:.80})")


def check_limit(limit: Any) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidArgument(f"limit must be an integer of at least 1 (got {limit!r:.80})")


def _levels(nodes: Iterable[NodeView]) -> dict[int, list[NodeView]]:
    """Nodes by level, in the order of their numbers."""
    levels: dict[int, list[NodeView]] = {}
    for node in sorted(nodes, key=lambda node: (node.level, node.number)):
        levels.setdefault(node.level, []).append(node)
    return levels


def node_type(node: NodeView) -> str:
    """The paper's name: an r-node is a whole rule, an l-node a predicate, an i-node what lies between."""
    return "r" if node.rules else "l" if node.kind in _LEAVES else "i"


def _label(node: NodeView, escape: Callable[[str], str], newline: str) -> str:
    return newline.join(map(escape, _lines(node)))


def _lines(node: NodeView) -> Lines:
    """Number, predicate or operator, how many use it where several do, and the rules that it is."""
    shared = f" ×{node.uses}" if node.uses > 1 else ""
    lines = [f"{node.number}: {shortened(node.constraint if node.kind in _LEAVES else node.kind)}{shared}"]
    if node.rules:
        lines.append(f"= {rule_names(node.rules)}")
    return lines


def rule_names(rules: Sequence[Any]) -> str:
    """A few ids, and how many there are beside them."""
    more = f", and {len(rules) - _MOST_RULES:,} more" if len(rules) > _MOST_RULES else ""
    return f"{', '.join(shortened(str(rule)) for rule in rules[:_MOST_RULES])}{more}"


def shortened(text: str) -> str:
    """One line of visible characters, whatever a name or a constant holds."""
    shown = "".join(map(_visible, text))
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _links(node: NodeView, styles: Mapping[str, Any]) -> Iterable[tuple[int, Any]]:
    """The children of a node, each with the style of its link."""
    for child in node.children:
        if node.access is None:
            yield child, styles["plain"]
        else:
            yield child, styles["access" if child == node.access else "on demand"]


# ------------------------------------------------------------------ Mermaid

_MERMAID_SHAPES = {"l": ('["', '"]'), "i": ('(["', '"])'), "r": ('[["', '"]]')}
_MERMAID_LINKS = {"plain": "-->", "access": "==>", "on demand": "-.->"}


def _mermaid(levels: Mapping[int, Sequence[NodeView]]) -> Lines:
    lines = ["flowchart BT"]
    for level, nodes in levels.items():
        lines += [f'  subgraph level{level}["Level {level}"]', *map(_mermaid_node, nodes), "  end"]
    for nodes in levels.values():
        for node in nodes:
            lines += [f"  n{child} {link} n{node.number}" for child, link in _links(node, _MERMAID_LINKS)]
    return lines


def _mermaid_node(node: NodeView) -> str:
    before, after = _MERMAID_SHAPES[node_type(node)]
    return f"    n{node.number}{before}{_label(node, mermaid_text, '<br/>')}{after}"


def mermaid_text(text: str) -> str:
    """Text that Mermaid shows as it is: what means something to it, or to HTML, as its numbered entity.

    >>> mermaid_text('say "<b>" #1')
    'say #34;#60;b#62;#34; #35;1'
    """
    return "".join(f"#{ord(character)};" if character in '"#&<>`\\*_~' else character for character in text)


# ---------------------------------------------------------------------- DOT

_DOT_SHAPES = {"l": "shape=box", "i": "shape=ellipse", "r": "shape=box, style=bold, peripheries=2"}
_DOT_LINKS = {"plain": "", "access": " [style=bold]", "on demand": " [style=dashed]"}


def _dot(levels: Mapping[int, Sequence[NodeView]]) -> Lines:
    lines = ["digraph atree {", "  rankdir=BT;", '  node [fontname="sans-serif"];']
    for level, nodes in levels.items():
        members = "; ".join([f"level{level}", *(f"n{node.number}" for node in nodes)])
        lines += [f'  level{level} [shape=plaintext, label="Level {level}"];', *map(_dot_node, nodes)]
        lines.append(f"  {{ rank=same; {members}; }}")
    if len(levels) > 1:
        lines.append(f"  {' -> '.join(f'level{level}' for level in levels)} [style=invis];")
    for nodes in levels.values():
        for node in nodes:
            lines += [f"  n{child} -> n{node.number}{style};" for child, style in _links(node, _DOT_LINKS)]
    return [*lines, "}"]


def _dot_node(node: NodeView) -> str:
    return f'  n{node.number} [{_DOT_SHAPES[node_type(node)]}, label="{_label(node, dot_text, chr(92) + "n")}"];'


def dot_text(text: str) -> str:
    r"""Text that Graphviz shows as it is, inside double quotes.

    >>> print(dot_text('say "a\\b" &lt;'))
    say \"a\\b\" &amp;lt;
    """
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


# ---------------------------------------------------------------------- SVG

_SVG_SHAPES = {"l": "plain", "i": "round", "r": "double"}
_SVG_LINKS = {"plain": "plain", "access": "thick", "on demand": "dotted"}
_SVG_STYLES = {
    "plain": "to a child of an or",
    "thick": "to the access child of an and",
    "dotted": "to its other children, which are checked on demand",
}


def _svg(nodes: Sequence[NodeView]) -> str:
    """The same as SVG: the highest level is the first row."""
    highest = max((node.level for node in nodes), default=0)
    boxes = [
        Box(str(node.number), highest - node.level, tuple(_lines(node)), _SVG_SHAPES[node_type(node)])
        for node in sorted(nodes, key=lambda node: node.number)
    ]
    links = [Link(str(node.number), str(child), style) for node in nodes for child, style in _links(node, _SVG_LINKS)]
    rows = {highest - level: f"Level {level}" for level in _levels(nodes)}
    return graph_svg(boxes, links, rows, _SVG_STYLES)
