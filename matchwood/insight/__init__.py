"""What can be told about rules: find, lint, explain, health, pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.insight.alike import reading_settings
    from matchwood.insight.drawing.atree import FORMATS, MOST_NODES, atree_drawing
    from matchwood.insight.drawing.atree_nodes import tree_nodes
    from matchwood.insight.drawing.betree import betree_drawing
    from matchwood.insight.drawing.hem import ENGINE, FORMAT, triangle_picture
    from matchwood.insight.explain import Explanation, explain_expression
    from matchwood.insight.explain.blame import reasons, tally, verdicts_of
    from matchwood.insight.explain.flat import FlatTree
    from matchwood.insight.explain.index import explain_text, find_witness
    from matchwood.insight.explain.truth import FALSE, NULL, TRUE
    from matchwood.insight.find.asked import found_rows
    from matchwood.insight.find.query import SEMANTICS, Query, query_of
    from matchwood.insight.health.stats import audit_of, stats_of
    from matchwood.insight.lint.report import lint_rules

__all__ = [
    "ENGINE",
    "FALSE",
    "FORMAT",
    "FORMATS",
    "MOST_NODES",
    "NULL",
    "SEMANTICS",
    "TRUE",
    "Explanation",
    "FlatTree",
    "Query",
    "atree_drawing",
    "audit_of",
    "betree_drawing",
    "explain_expression",
    "explain_text",
    "find_witness",
    "found_rows",
    "lint_rules",
    "query_of",
    "reading_settings",
    "reasons",
    "stats_of",
    "tally",
    "tree_nodes",
    "triangle_picture",
    "verdicts_of",
]

__getattr__ = exports(__name__)
