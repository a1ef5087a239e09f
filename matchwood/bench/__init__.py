"""Experiments that check their own answers: the papers' figures, peers, rivals, and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.bench.frame.measure import WrongAnswer
    from matchwood.bench.registry import EXPERIMENTS, SCALES, experiment, merged
    from matchwood.bench.report.charts import bar_chart
    from matchwood.bench.report.docs_charts import page_with_charts
    from matchwood.bench.report.docs_tables import page_with_figures, write_pages
    from matchwood.bench.report.figures import FIGURES, PAPERS
    from matchwood.bench.report.page import read_result, write_report, write_result
    from matchwood.bench.report.tables import filled_columns, text_table, transposed

__all__ = [
    "EXPERIMENTS",
    "FIGURES",
    "PAPERS",
    "SCALES",
    "WrongAnswer",
    "bar_chart",
    "experiment",
    "filled_columns",
    "merged",
    "page_with_charts",
    "page_with_figures",
    "read_result",
    "text_table",
    "transposed",
    "write_pages",
    "write_report",
    "write_result",
]

__getattr__ = exports(__name__)
