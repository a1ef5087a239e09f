"""Mermaid's flowcharts on pages, drawn while the site is built: its own script would be loaded from another host.

Only what the pages use is known: boxes, links of three styles with or without a text, links both ways, named subgraphs.
"""

from __future__ import annotations

import re

from matchwood.insight.drawing.graph import Box, Link, graph_svg

_NODE = re.compile(r'(\w+)(?:(\(\[|\[\[|\[)"(.*?)"(?:\]\)|\]\]|\]))?')
_LINK = re.compile(r'\s*(<-->|-->|==>|-\.->)(?:\|"(.*?)"\|)?\s*')
_SUBGRAPH = re.compile(r'subgraph \w+\["(.*?)"\]')
_SHAPES = {"[": "plain", "([": "round", "[[": "double"}
_STYLES = {"-->": "plain", "==>": "thick", "-.->": "dotted", "<-->": "plain"}
_BOTH_WAYS = "<-->"
_ENTITY = re.compile(r"#(\d+);")


def drawn(text: str) -> str:
    """The flowchart as one piece of HTML without an empty line."""
    chart = _Chart()
    for line in text.strip().splitlines()[1:]:
        chart.read(line.strip())
    return f'<figure class="graph">{chart.svg(upwards=text.lstrip().startswith("flowchart BT"))}</figure>'


class _Chart:
    def __init__(self) -> None:
        self.lines: dict[str, tuple[str, ...]] = {}
        self.shapes: dict[str, str] = {}
        self.level: dict[str, int] = {}
        self.names: list[str] = []
        self.links: list[tuple[str, str, str, str]] = []

    def read(self, line: str) -> None:
        """A subgraph, the end of one, or boxes with links between them."""
        if found := _SUBGRAPH.match(line):
            self.names.append(found[1])
        elif line != "end":
            self._read_boxes(line)

    def _read_boxes(self, line: str) -> None:
        name, place = self._box(line, 0)
        while place < len(line):
            link = _LINK.match(line, place)
            if link is None:
                raise ValueError(f"a flowchart on a page has a line that is not known here: {line!r}")
            other, place = self._box(line, link.end())
            self.links.append((name, other, link[1], link[2] or ""))
            name = other

    def _box(self, line: str, place: int) -> tuple[str, int]:
        found = _NODE.match(line, place)
        if found is None:
            raise ValueError(f"a flowchart on a page has a line that is not known here: {line!r}")
        if found[2]:
            text = _ENTITY.sub(lambda entity: chr(int(entity[1])), found[3])
            self.lines[found[1]] = tuple(text.split("<br/>"))
            self.shapes[found[1]] = _SHAPES[found[2]]
            self.level[found[1]] = len(self.names)
        return found[1], found.end()

    def svg(self, upwards: bool) -> str:
        rows = {name: len(self.names) - level for name, level in self.level.items()} if upwards else self._depths()
        boxes = [Box(name, rows[name], self.lines[name], self.shapes[name]) for name in self._in_order()]
        links = [
            Link(*((end, start) if upwards else (start, end)), _STYLES[style], told)
            for start, end, style, told in self.links
        ]
        return graph_svg(boxes, links, {len(self.names) - 1 - n: name for n, name in enumerate(self.names)}, {}).strip()

    def _depths(self) -> dict[str, int]:
        """How far below the root each box is; boxes that are linked both ways are in one row, the lowest of theirs."""
        depth = dict.fromkeys(self.lines, 0)
        for _ in self.lines:
            for start, end, style, _told in self.links:
                both = style == _BOTH_WAYS
                depth[end] = max(depth[end], depth[start] + (0 if both else 1))
                depth[start] = max(depth[start], depth[end] if both else 0)
        return depth

    def _in_order(self) -> list[str]:
        """Boxes as they come; those of a chain in the order of the chain."""
        after = {start: end for start, end, style, _ in self.links if style == _BOTH_WAYS}
        chain = [name for name in after if name not in after.values()]
        while chain and chain[-1] in after:
            chain.append(after[chain[-1]])
        return [*(name for name in self.lines if name not in chain), *chain]
