"""Pictures of a BE-Tree: text that Graphviz or Mermaid turns into a drawing, or SVG.

The root is at the top. A p-node is a rounded box with its attribute; a c-node a box with its bucket and, below it,
the rules in its leaf. A bucket is named by its place among those of its size, since labels do not tell their values:
`2 of 4` is the second quarter of the attribute's constants. Links to buckets in the hash table are thick, those to
halves dotted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from matchwood.encoding import TOP_LABEL, Encoder, leaf_name
from matchwood.engines import BETree, Bucket, buckets
from matchwood.errors import LimitExceeded
from matchwood.insight.drawing.atree import check_format, check_limit, dot_text, mermaid_text, rule_names, shortened
from matchwood.insight.drawing.graph import Box, Link, graph_svg
from matchwood.logic import Leaf
from matchwood.rules import RuleTable

_LINKS = {"plain": ("-->", ""), "hashed": ("==>", " [style=bold]"), "half": ("-.->", " [style=dashed]")}
_SVG_LINKS = {"plain": "plain", "hashed": "thick", "half": "dotted"}
_SVG_STYLES = {
    "plain": "to a partition, or to all values of its attribute",
    "thick": "to a bucket in the hash table",
    "dotted": "to a half of a bucket",
}


class _Node(NamedTuple):
    name: str
    lines: tuple[str, ...]
    partition: bool


class _Link(NamedTuple):
    above: str
    below: str
    style: str


def betree_drawing(engine: BETree, table: RuleTable, encoder: Encoder, form: str, limit: int) -> str:
    """The tree in one of the `FORMATS` of A-Trees; empty Z is left out."""
    check_format(form)
    check_limit(limit)
    nodes, links = _picture(engine, table, encoder)
    if len(nodes) > limit:
        raise LimitExceeded(
            f"the tree has {len(nodes):,} nodes, but a picture can have at most {limit:,} (raise the limit)"
        )
    if form == "svg":
        return _svg(nodes, links)
    lines = _mermaid(nodes, links) if form == "mermaid" else _dot(nodes, links)
    return "\n".join(lines) + "\n"


def _picture(engine: BETree, table: RuleTable, encoder: Encoder) -> tuple[list[_Node], list[_Link]]:
    nodes, links, seen = list[_Node](), list[_Link](), set[str]()
    for bucket in buckets(engine):
        if bucket.number == 1 and not bucket.units:
            continue
        nodes.append(_Node(f"c{bucket.number}", (_title(bucket), *_rules(bucket, table)), False))
        if bucket.attribute is None or bucket.above is None:
            continue
        if bucket.half:
            links.append(_Link(f"c{bucket.above}", f"c{bucket.number}", "half"))
            continue
        partition = f"p{bucket.above}_{bucket.attribute}"
        if partition not in seen:
            seen.add(partition)
            nodes.append(_Node(partition, (_attribute(encoder, bucket.attribute),), True))
            links.append(_Link(f"c{bucket.above}", partition, "plain"))
        links.append(_Link(partition, f"c{bucket.number}", "hashed" if bucket.exact else "plain"))
    return nodes, links


def _attribute(encoder: Encoder, number: int) -> str:
    return shortened(leaf_name(Leaf(encoder.vocabulary.table.key(number), (), False)))


def _title(bucket: Bucket) -> str:
    if bucket.attribute is None:
        return "root" if bucket.number == 0 else "Z: no predicate leads here"
    size = (TOP_LABEL + 1) if bucket.high == TOP_LABEL and bucket.low == 0 else bucket.high - bucket.low
    size = TOP_LABEL + 1 - bucket.low if bucket.high == TOP_LABEL else size
    count = (TOP_LABEL + 1) // size
    where = "all" if count == 1 else f"{bucket.low // size + 1:,} of {count:,}"
    return f"{where} (cut)" if bucket.split else where


def _rules(bucket: Bucket, table: RuleTable) -> list[str]:
    rows = [table.rows_of_unit(unit, "conjunctions") for unit in bucket.units]
    return [rule_names(table.id_list(np.unique(np.concatenate(rows))))] if rows else []


def _mermaid(nodes: Sequence[_Node], links: Sequence[_Link]) -> list[str]:
    lines = ["flowchart TB"]
    for node in nodes:
        before, after = ('(["', '"])') if node.partition else ('["', '"]')
        lines.append(f"  {node.name}{before}{'<br/>'.join(map(mermaid_text, node.lines))}{after}")
    return lines + [f"  {link.above} {_LINKS[link.style][0]} {link.below}" for link in links]


def _dot(nodes: Sequence[_Node], links: Sequence[_Link]) -> list[str]:
    lines = ["digraph betree {", '  node [fontname="sans-serif"];']
    for node in nodes:
        shape, text = "ellipse" if node.partition else "box", "\\n".join(map(dot_text, node.lines))
        lines.append(f'  {node.name} [shape={shape}, label="{text}"];')
    return [*lines, *(f"  {link.above} -> {link.below}{_LINKS[link.style][1]};" for link in links), "}"]


def _svg(nodes: Sequence[_Node], links: Sequence[_Link]) -> str:
    """The root in the first row, every other node below the one that leads to it."""
    above = {link.below: link.above for link in links}
    boxes = [
        Box(node.name, _depth(node.name, above), node.lines, "round" if node.partition else "plain") for node in nodes
    ]
    drawn = [Link(link.above, link.below, _SVG_LINKS[link.style]) for link in links]
    return graph_svg(boxes, drawn, {}, _SVG_STYLES)


def _depth(name: str, above: Mapping[str, str]) -> int:
    depth = 0
    while name in above:
        name, depth = above[name], depth + 1
    return depth
