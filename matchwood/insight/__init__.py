"""What can be told about rules: find, lint, explain, health, pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.insight.alike import reading_settings
    from matchwood.insight.drawing.atree import FORMATS, MOST_NODES
    from matchwood.insight.drawing.atree_nodes import tree_nodes
    from matchwood.insight.drawing.hem import FORMAT
    from matchwood.insight.drawing.picture import picture_of
    from matchwood.insight.explain import Explanation, explain_expression
    from matchwood.insight.explain.blame_counts import BLAME_COUNTS, BlameCounts
    from matchwood.insight.explain.index import explain_text, find_witness
    from matchwood.insight.find.asked import found_rows
    from matchwood.insight.find.query import SEMANTICS, Query, query_of
    from matchwood.insight.health.stats import audit_of, stats_of
    from matchwood.insight.lint.report import lint_rules
    from matchwood.insight.plots.charts import hits_per_event, hits_per_rule, overlap, why_not
    from matchwood.insight.plots.index_plots import IndexPlots
    from matchwood.insight.plots.overlap import graph_of
    from matchwood.insight.plots.tables import events_by_hits

__all__ = [
    "BLAME_COUNTS",
    "FORMAT",
    "FORMATS",
    "MOST_NODES",
    "SEMANTICS",
    "BlameCounts",
    "Explanation",
    "IndexPlots",
    "Query",
    "audit_of",
    "events_by_hits",
    "explain_expression",
    "explain_text",
    "find_witness",
    "found_rows",
    "graph_of",
    "hits_per_event",
    "hits_per_rule",
    "lint_rules",
    "overlap",
    "picture_of",
    "query_of",
    "reading_settings",
    "stats_of",
    "tree_nodes",
    "why_not",
]

__getattr__ = exports(__name__)
