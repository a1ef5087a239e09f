"""The picture of an index: of a tree, or of a triangle, as its engine has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.encoding import Encoder
from matchwood.engines import BETree
from matchwood.insight.drawing.atree import FORMATS, atree_drawing
from matchwood.insight.drawing.atree_nodes import tree_nodes
from matchwood.insight.drawing.betree import betree_drawing
from matchwood.insight.drawing.hem import ENGINE, triangle_picture
from matchwood.matching import Matcher
from matchwood.rules import RuleTable


def picture_of(
    table: RuleTable,
    encoder: Encoder,
    matcher: Matcher,
    form: str | None,
    limit: int,
    attribute: str | None,
    event: Mapping[str, Any] | None,
) -> str:
    """What `Index.draw` returns; the caller is the only writer."""
    if matcher.name == ENGINE:
        return triangle_picture(table, encoder, matcher, form, limit, attribute, event)
    engine, form = getattr(matcher, "engine", None), form or FORMATS[0]
    if isinstance(engine, BETree):
        return betree_drawing(engine, table, encoder, form, limit)
    return atree_drawing(tree_nodes(table, encoder, matcher), form, limit)
