"""The pipeline on Spark: build an index from a table of rules, match tables and streams of events against it.

    from matchwood import spark as mws

Everything uses the DataFrame API alone, so it also runs through Spark Connect.
"""

from __future__ import annotations

import matchwood.spark.supported  # noqa: F401 - before all that needs a Spark of this kind
from matchwood.spark import plot
from matchwood.spark.build.build import build
from matchwood.spark.build.rejects import rejects
from matchwood.spark.build.update import update
from matchwood.spark.executors import check_executors
from matchwood.spark.follow.follow import follow
from matchwood.spark.insight.backtest import backtest
from matchwood.spark.insight.diff import diff
from matchwood.spark.insight.explain import explain
from matchwood.spark.insight.verify import NotVerified, verify
from matchwood.spark.insight.why_not import why_not
from matchwood.spark.match.match import match, plan
from matchwood.spark.match.report import report
from matchwood.spark.session import session
from matchwood.spark.sql.functions import register
from matchwood.spark.stream.match_stream import match_stream
from matchwood.spark.stream.merging import merge_hits
from matchwood.spark.stream.update_stream import update_stream
from matchwood.storage import drop_stream, rollback, streams, vacuum, versions

__all__ = [
    "NotVerified",
    "backtest",
    "build",
    "check_executors",
    "diff",
    "drop_stream",
    "explain",
    "follow",
    "match",
    "match_stream",
    "merge_hits",
    "plan",
    "plot",
    "register",
    "rejects",
    "report",
    "rollback",
    "session",
    "streams",
    "update",
    "update_stream",
    "vacuum",
    "verify",
    "versions",
    "why_not",
]
